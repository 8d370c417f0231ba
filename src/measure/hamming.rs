//! Hamming loss and subset accuracy: the two that all packages agree on.

use super::Comparison;

/// Share of the n·L cells in which prediction and truth differ.
pub fn hamming_loss(compared: &Comparison<'_>) -> f64 {
    compared.truth.hamming_distance(compared.predictions)
}

/// Share of the instances whose labels are all predicted correctly.
pub fn subset_accuracy(compared: &Comparison<'_>) -> f64 {
    let exact = compared.hard_rows().filter(|(y, p)| y == p).count();
    exact as f64 / compared.truth.rows() as f64
}
