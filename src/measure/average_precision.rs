//! Label-ranking average precision: at each relevant label, the share of relevant ones so far.
//!
//! Per instance (1/|P|) Σ_{p∈P} |{p' ∈ P : rank p' ≤ rank p}| / rank p. Not the area under the
//! precision-recall curve. |P| = 0: scikit-learn 1, all others skip the instance; |P| = L: 1, MATLAB
//! drops it.

use super::order::{Sorter, relevant};
use super::{Comparison, Convention, mean};

/// Mean average precision; NaN when the convention drops every instance. O(L log L) per instance.
pub fn average_precision(compared: &Comparison<'_>, convention: Convention) -> f64 {
    let ties = convention.ties();
    let mut sorter = Sorter::default();
    mean(compared.rows().map(|(truth, scores)| {
        let positive = relevant(truth);
        if positive == 0 {
            return (convention == Convention::ScikitLearn).then_some(1.0);
        }
        if positive == truth.len() {
            return (convention != Convention::Matlab).then_some(1.0);
        }
        let (mut rank, mut hits, mut sum) = (0, 0, 0.0);
        sorter.visit(truth, scores, ties, |group| {
            rank += group.relevant + group.irrelevant;
            hits += group.relevant;
            if group.relevant > 0 {
                sum += group.relevant as f64 * (hits as f64 / rank as f64);
            }
        });
        Some(sum / positive as f64)
    }))
}
