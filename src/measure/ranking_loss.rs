//! Ranking loss: the share of (relevant, irrelevant) pairs in the wrong order.
//!
//! Per instance |{(p, q) ∈ P × N : f_p ≤ f_q}| / (|P|·|N|), averaged over the instances. A tie is an
//! error for scikit-learn, MATLAB and the reference package; MULAN ranks first (higher index first)
//! and counts strictly. An instance with P or N empty counts 0; MATLAB drops it.

use super::order::{Sorter, Ties, relevant};
use super::{Comparison, Convention, mean};
use crate::num::vectorize;

/// Mean ranking loss; NaN when the convention drops every instance. O(L log L) per instance.
pub fn ranking_loss(compared: &Comparison<'_>, convention: Convention) -> f64 {
    let ties = match convention {
        Convention::Mulan => Ties::HigherFirst,
        _ => Ties::Worst,
    };
    let (mut sorter, mut irrelevant) = (Sorter::default(), Vec::new());
    mean(compared.rows().map(|(truth, scores)| {
        let positive = relevant(truth);
        let pairs = positive * (truth.len() - positive);
        if pairs == 0 {
            return (convention != Convention::Matlab).then_some(0.0);
        }
        let few = positive.min(truth.len() - positive) <= FEW * truth.len().ilog2() as usize;
        let wrong = if few && ties == Ties::Worst {
            wrong_pairs(truth, scores, &mut irrelevant)
        } else {
            let (mut above, mut wrong) = (0, 0);
            sorter.visit(truth, scores, ties, |group| {
                above += group.irrelevant;
                wrong += group.relevant * above;
            });
            wrong
        };
        Some(wrong as f64 / pairs as f64)
    }))
}

/// With at most this many times log₂ L labels on one side, counting is faster than sorting and not
/// of a higher order.
const FEW: usize = 4;

/// |{(p, q) ∈ P × N : f_p ≤ f_q}| by comparing every pair.
fn wrong_pairs(truth: &[bool], scores: &[f64], irrelevant: &mut Vec<f64>) -> usize {
    irrelevant.clear();
    irrelevant.extend(truth.iter().zip(scores).filter(|(y, _)| !**y).map(|(_, &f)| f));
    vectorize(
        #[inline(always)]
        || {
            let mut wrong = 0;
            for (_, &p) in truth.iter().zip(scores).filter(|(y, _)| **y) {
                let mut above = 0u32;
                for &q in irrelevant.iter() {
                    above += u32::from(p <= q);
                }
                wrong += above as usize;
            }
            wrong
        },
    )
}
