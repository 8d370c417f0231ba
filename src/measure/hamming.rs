//! Hamming loss and subset accuracy: the two that all packages agree on.

use super::Case;

/// Share of the n·L cells in which prediction and truth differ.
pub fn hamming_loss(case: &Case<'_>) -> f64 {
    case.truth.hamming_distance(case.predictions)
}

/// Share of the instances whose labels are all predicted correctly.
pub fn subset_accuracy(case: &Case<'_>) -> f64 {
    let exact = case.hard_rows().filter(|(y, p)| y == p).count();
    exact as f64 / case.truth.rows() as f64
}
