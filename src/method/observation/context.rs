//! Label context by a linear model: what the candidates of the *other* labels say about a label.
//!
//! ```text
//! u′_ij = (1 + s_j) u_ij + Σ_{k ≠ j} M_jk h_ik + b_j
//! ```
//!
//! h_k is the posterior of label k, which has seen C_k, centred and scaled. Under noise that is
//! independent between labels P(C_j | x, C_−j) has the form of the likelihood with the prior
//! P(Y_j | x, C_−j), so the same solver fits it. Nothing computed from C_j may reach u′_j: k = j is
//! left out, and u must be a function of x alone. (Context on top of context would see C_j through the
//! others: its held-out likelihood rises and its labels get worse.)

use rayon::prelude::*;

use super::cross_fit::{Parts, cross_fit, mean_loss};
use super::features::Features;
use super::likelihood::NoiseRate;
use crate::linalg::Mat;

/// How much the slope s is penalised beside M.
const SLOPE_PENALTY: f64 = 0.01;

/// Cross-fitted context, and the mean of its models for new rows.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearContext {
    /// u′ of rows that their models never saw.
    pub logits: Mat<f64>,
    /// Mean −ln P(C) of a held-out cell.
    pub loss: f64,
    /// A, L × L: how much a posterior of label k (row) adds to label j (column); 0 on the diagonal.
    pub mixing: Mat<f64>,
    /// s and b, 2 × L.
    pub own: Mat<f64>,
}

impl LinearContext {
    /// From cross-fitted `logits` of x alone.
    pub fn fit(logits: &Mat<f64>, c: &Mat<f64>, noise: &[NoiseRate<f64>], parts: &Parts) -> Self {
        let (n, labels) = (logits.rows(), logits.cols());
        let h = posteriors(logits, c, noise);
        let scale: Vec<(f64, f64)> = (0..labels).map(|k| centre_and_factor(&h, k)).collect();
        let mut penalised = vec![1.0; labels];
        penalised[0] = SLOPE_PENALTY;
        let each: Vec<_> = (0..labels)
            .into_par_iter()
            .map(|j| {
                // The own logit first, then the others.
                let x = Mat::from_fn(n, labels, |i, f| match other(f, j) {
                    None => logits[(i, j)],
                    Some(k) => (h[(i, k)] - scale[k].0) * scale[k].1,
                });
                let offset = logits.select_cols(&[j]);
                let own = c.select_cols(&[j]);
                let features = Features::Dense(x);
                cross_fit(&features, &own, &noise[j..=j], Some(&offset), &penalised, parts)
            })
            .collect();
        let logits = Mat::from_fn(n, labels, |i, j| each[j].logits[(i, 0)]);
        let (mut mixing, mut own) = (Mat::zeros(labels, labels), Mat::zeros(2, labels));
        for (j, fitted) in each.iter().enumerate() {
            let weights = fitted.mean_weights();
            own[(0, j)] = weights[(0, 0)];
            own[(1, j)] = weights[(labels, 0)];
            for f in 1..labels {
                let k = other(f, j).expect("f > 0");
                mixing[(k, j)] = weights[(f, 0)] * scale[k].1;
                own[(1, j)] -= weights[(f, 0)] * scale[k].1 * scale[k].0;
            }
        }
        let loss = mean_loss(&logits, c, noise);
        LinearContext { logits, loss, mixing, own }
    }

    /// u′ of new rows.
    pub fn apply(&self, logits: &Mat<f64>, c: &Mat<f64>, noise: &[NoiseRate<f64>]) -> Mat<f64> {
        let h = posteriors(logits, c, noise);
        Mat::from_fn(logits.rows(), logits.cols(), |i, j| {
            let others: f64 = (0..h.cols()).map(|k| h[(i, k)] * self.mixing[(k, j)]).sum();
            (1.0 + self.own[(0, j)]) * logits[(i, j)] + others + self.own[(1, j)]
        })
    }
}

/// The label behind feature `f` of label j's model: none for the own logit.
fn other(f: usize, j: usize) -> Option<usize> {
    match f {
        0 => None,
        f if f <= j => Some(f - 1),
        f => Some(f),
    }
}

/// P(Y | u, C) of each cell.
pub fn posteriors(logits: &Mat<f64>, c: &Mat<f64>, noise: &[NoiseRate<f64>]) -> Mat<f64> {
    Mat::from_fn(logits.rows(), logits.cols(), |i, j| {
        c[(i, j)] * noise[j].posterior(logits[(i, j)])
    })
}

/// Mean and reciprocal of the deviation of a column; factor 0 for a constant one.
fn centre_and_factor(h: &Mat<f64>, k: usize) -> (f64, f64) {
    let n = h.rows().max(1) as f64;
    let mean = (0..h.rows()).map(|i| h[(i, k)]).sum::<f64>() / n;
    let squares = (0..h.rows()).map(|i| (h[(i, k)] - mean) * (h[(i, k)] - mean)).sum::<f64>();
    (mean, if squares > 0.0 { 1.0 / (squares / n).sqrt() } else { 0.0 })
}
