//! Ranking loss: the share of (relevant, irrelevant) pairs in the wrong order.
//!
//! Per instance |{(p, q) ∈ P × N : f_p ≤ f_q}| / (|P|·|N|), averaged over the instances. A tie is an
//! error for scikit-learn, MATLAB and the reference package; MULAN ranks first (higher index first)
//! and counts strictly. An instance with P or N empty counts 0; MATLAB drops it.

use super::order::{Sorter, Ties, relevant};
use super::{Case, Convention, mean};

/// Mean ranking loss; NaN when the convention drops every instance. O(L log L) per instance.
pub fn ranking_loss(case: &Case<'_>, convention: Convention) -> f64 {
    let ties = match convention {
        Convention::Mulan => Ties::HigherFirst,
        _ => Ties::Worst,
    };
    let mut sorter = Sorter::default();
    mean(case.rows().map(|(truth, scores)| {
        let positive = relevant(truth);
        let pairs = positive * (truth.len() - positive);
        if pairs == 0 {
            return (convention != Convention::Matlab).then_some(0.0);
        }
        let (mut above, mut wrong) = (0, 0);
        sorter.visit(truth, scores, ties, |group| {
            above += group.irrelevant;
            wrong += group.relevant * above;
        });
        Some(wrong as f64 / pairs as f64)
    }))
}
