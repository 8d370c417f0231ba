//! Facts about the data that need no truth: what a verdict is built on.

use serde::{Deserialize, Serialize};

use super::cross_fit::mean_loss;
use super::envelope;
use super::likelihood::NoiseRate;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::num::Real;

/// The number of candidates among the less likely half of a row's cells varies less than independent
/// noise makes it vary when its ratio is below EVEN − 2√(2/n); √(2/n) is the ratio's own deviation.
const EVEN: f64 = 0.95;

/// What the candidates look like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signs {
    /// Held-out −ln P(C) of a cell when every candidate is taken for true.
    pub loss_without_noise: f64,
    /// How well x orders candidates before other cells: area under the ROC curve.
    pub candidate_auc: f64,
    /// Variance of the number of candidates among the less likely cells of a row, over the variance
    /// of independent cells.
    pub dispersion: f64,
    /// Whether this number varies so little that rows seem to have a fixed number of wrong labels.
    pub even_counts: bool,
    /// Median over the labels of a label's own bound on its noise rate.
    pub median_bound: f64,
}

impl Signs {
    /// From cross-fitted `logits` of P(C | x).
    pub fn new(logits: &Mat<f64>, candidates: &Labels, no_noise: &[NoiseRate<f64>]) -> Self {
        let c = candidates.to_mat();
        let dispersion = dispersion(logits, &c);
        let limit = EVEN - 2.0 * (2.0 / logits.rows().max(1) as f64).sqrt();
        Signs {
            loss_without_noise: mean_loss(logits, &c, no_noise),
            candidate_auc: candidate_auc(logits, candidates),
            dispersion,
            even_counts: dispersion < limit,
            median_bound: envelope::BOUNDS.0,
        }
    }
}

/// Σ_i (Σ_j C_ij − P_ij)² / Σ_ij P_ij (1 − P_ij) with P = σ(u), over the cells whose P is not above the
/// median of all. True labels are dependent, so |C_i| itself may vary less or more than independent
/// labels would; among the less likely cells nearly all candidates are noise.
fn dispersion(logits: &Mat<f64>, c: &Mat<f64>) -> f64 {
    let middle = median(logits.as_slice().to_vec());
    let (mut squares, mut expected) = (0.0, 0.0);
    for (u, c) in logits.rows_iter().zip(c.rows_iter()) {
        let mut off = 0.0;
        for (&u, &c) in u.iter().zip(c).filter(|(u, _)| **u <= middle) {
            let p = u.sigmoid();
            off += c - p;
            expected += p * (1.0 - p);
        }
        squares += off * off;
    }
    squares / expected.max(f64::MIN_POSITIVE)
}

/// Chance that a random candidate cell has a higher score than a random other cell.
fn candidate_auc(scores: &Mat<f64>, candidates: &Labels) -> f64 {
    let mut cells: Vec<(f64, bool)> =
        scores.as_slice().iter().copied().zip(candidates.as_slice().iter().copied()).collect();
    cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut pairs, mut on) = (0.0, 0.0, 0.0);
    for (_, candidate) in cells {
        if candidate {
            pairs += below;
            on += 1.0;
        } else {
            below += 1.0;
        }
    }
    if on * below > 0.0 { pairs / (on * below) } else { 0.5 }
}

/// The middle of the values; 0 without any.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
