//! One-error: the share of instances whose best label is irrelevant.
//!
//! MULAN and the reference package count an instance without labels as an error; MATLAB drops it
//! (and one with all labels), and is content when *any* of the tied best labels is relevant.
//! scikit-learn has no such function; its convention is NumPy's argmax, as in the reference package.

use super::order::{Ties, relevant};
use super::{Comparison, Convention, mean};

/// Mean one-error; NaN when the convention drops every instance. O(L) per instance.
pub fn one_error(compared: &Comparison<'_>, convention: Convention) -> f64 {
    mean(compared.rows().map(|(truth, scores)| {
        let hit = match convention {
            Convention::ScikitLearn | Convention::Reference => {
                truth[best(scores, Ties::LowerFirst)]
            }
            Convention::Mulan => truth[best(scores, Ties::HigherFirst)],
            Convention::Matlab => {
                if [0, truth.len()].contains(&relevant(truth)) {
                    return None;
                }
                let top = scores[best(scores, Ties::LowerFirst)];
                truth.iter().zip(scores).any(|(&y, &f)| y && f == top)
            }
        };
        Some(f64::from(u8::from(!hit)))
    }))
}

fn best(scores: &[f64], ties: Ties) -> usize {
    (1..scores.len())
        .fold(0, |top, j| if ties.precedes((scores[j], j), (scores[top], top)) { j } else { top })
}
