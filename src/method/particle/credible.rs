//! Stage 1: which candidates are credible.

use rayon::prelude::*;

use super::ParticleSettings;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::linalg::nearest::{Neighbour, nearest_among};
use crate::method::Context;
use crate::num::dot;
use crate::{Error, Result};

/// Propagation ends when the confidences move less than this (Frobenius norm) …
const PROPAGATION_TOLERANCE: f64 = 1e-5;
/// … or after so many rounds.
const PROPAGATION_ROUNDS: usize = 1000;
/// Rounds between two reports of progress.
const ROUNDS_PER_REPORT: usize = 100;
/// Coordinate descent for the weights of neighbours ends at this change or after so many sweeps.
const WEIGHT_TOLERANCE: f64 = 1e-10;
const WEIGHT_SWEEPS: usize = 200;

/// What stage 1 found out.
pub(super) struct Elicited {
    /// E, a part of the candidates.
    pub credible: Labels,
    /// Scaled confidence of each candidate, 0 elsewhere.
    pub confidence: Mat<f64>,
}

/// Row i of H: the neighbours of row i and their weights.
pub(super) type Reconstruction = Vec<Vec<(usize, f64)>>;

/// Propagates the candidates along the neighbours and keeps what is credible.
pub(super) fn elicit(
    x: &Mat<f64>,
    candidates: &Labels,
    settings: &ParticleSettings,
    context: &mut Context<'_>,
) -> Result<Elicited> {
    if !context.observer.progress("neighbours", 0, 1) {
        return Err(Error::cancelled());
    }
    let neighbours = nearest_among(x, settings.k, settings.include_self);
    let h = reconstruct(x, &neighbours);
    let mut f = propagate(&h, candidates, settings.alpha, context)?;
    if settings.mass_correction {
        correct_mass(&mut f, candidates);
    }
    let c = aggregate(&f, &neighbours);
    Ok(select(&c, candidates, settings))
}

/// H: non-negative weights with which the neighbours of a row reconstruct it, divided by their sum.
pub(super) fn reconstruct(x: &Mat<f64>, neighbours: &[Vec<Neighbour<f64>>]) -> Reconstruction {
    let row = |i: usize| {
        let around: Vec<usize> = neighbours[i].iter().map(|(a, _)| *a).collect();
        let weights = non_negative_weights(x, i, &around);
        let total: f64 = weights.iter().sum();
        let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
        around.into_iter().zip(weights.into_iter().map(|w| w * scale)).collect()
    };
    (0..x.rows()).into_par_iter().map(row).collect()
}

/// argmin ‖x_i − Σ w_a x_a‖² s.t. w ≥ 0 by coordinate descent on the Gram matrix.
fn non_negative_weights(x: &Mat<f64>, i: usize, around: &[usize]) -> Vec<f64> {
    let k = around.len();
    let gram = Mat::from_fn(k, k, |a, b| match a <= b {
        true => dot(x.row(around[a]), x.row(around[b])),
        false => 0.0,
    });
    let product = |a: usize, b: usize| gram[(a.min(b), a.max(b))];
    let target: Vec<f64> = around.iter().map(|&a| dot(x.row(a), x.row(i))).collect();
    let mut w = vec![0.0; k];
    for _ in 0..WEIGHT_SWEEPS {
        let mut change = 0.0f64;
        for a in (0..k).filter(|&a| gram[(a, a)] > 0.0) {
            let gradient = (0..k).map(|b| product(a, b) * w[b]).sum::<f64>() - target[a];
            let next = (w[a] - gradient / gram[(a, a)]).max(0.0);
            change = change.max((next - w[a]).abs());
            w[a] = next;
        }
        if change < WEIGHT_TOLERANCE {
            break;
        }
    }
    w
}

/// F ← α H F + (1 − α) F⁰ among the candidates, rows summing to 1, until it stands still.
pub(super) fn propagate(
    h: &Reconstruction,
    candidates: &Labels,
    alpha: f64,
    context: &mut Context<'_>,
) -> Result<Mat<f64>> {
    let (n, labels) = (candidates.rows(), candidates.cols());
    let mut start = Mat::from_fn(n, labels, |i, j| f64::from(u8::from(candidates.get(i, j))));
    for i in 0..n {
        normalise(start.row_mut(i));
    }
    let mut f = start.clone();
    for round in 0..PROPAGATION_ROUNDS {
        if round % ROUNDS_PER_REPORT == 0
            && !context.observer.progress("propagation", round, PROPAGATION_ROUNDS)
        {
            return Err(Error::cancelled());
        }
        let mut next = Mat::zeros(n, labels);
        next.as_mut_slice().par_chunks_mut(labels).enumerate().for_each(|(i, row)| {
            for &(a, w) in &h[i] {
                for (v, &from) in row.iter_mut().zip(f.row(a)) {
                    *v = w.mul_add(from, *v);
                }
            }
            for (j, v) in row.iter_mut().enumerate() {
                let mixed = alpha * *v + (1.0 - alpha) * start[(i, j)];
                *v = if candidates.get(i, j) { mixed } else { 0.0 };
            }
            // With α = 1 the neighbours may know none of the candidates.
            if !normalise(row) {
                row.copy_from_slice(start.row(i));
            }
        });
        let moved: f64 =
            next.as_slice().iter().zip(f.as_slice()).map(|(a, b)| (a - b) * (a - b)).sum();
        f = next;
        if moved.sqrt() < PROPAGATION_TOLERANCE {
            break;
        }
    }
    Ok(f)
}

/// Divides by the sum; false when there is none.
fn normalise(row: &mut [f64]) -> bool {
    let total: f64 = row.iter().sum();
    if total > 0.0 {
        row.iter_mut().for_each(|v| *v /= total);
    }
    total > 0.0
}

/// Gives each label the total confidence of its number of candidates, then scales rows to [0, 1].
fn correct_mass(f: &mut Mat<f64>, candidates: &Labels) {
    let counts = candidates.count_by_label();
    for (j, &count) in counts.iter().enumerate() {
        let mass: f64 = (0..f.rows()).map(|i| f[(i, j)]).sum();
        if mass > 0.0 {
            let factor = count as f64 / mass;
            (0..f.rows()).for_each(|i| f[(i, j)] *= factor);
        }
    }
    for i in 0..f.rows() {
        let row = f.row_mut(i);
        if let Some((low, range)) = extent(row.iter().copied()) {
            row.iter_mut().for_each(|v| *v = (*v - low) / range);
        }
    }
}

/// Smallest value and range, or None when all values are equal.
fn extent(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    (low < high).then_some((low, high - low))
}

/// c_i = Σ_a (1 − dist(i, a) / Σ dist) F_a over the neighbours. Without a sum of distances, or with
/// one neighbour, whose weight would be 0, the weights are equal.
fn aggregate(f: &Mat<f64>, neighbours: &[Vec<Neighbour<f64>>]) -> Mat<f64> {
    let mut c = Mat::zeros(f.rows(), f.cols());
    for (i, around) in neighbours.iter().enumerate() {
        let total: f64 = around.iter().map(|(_, square)| square.sqrt()).sum();
        for &(a, square) in around {
            let graded = total > 0.0 && around.len() > 1;
            let weight = if graded { 1.0 - square.sqrt() / total } else { 1.0 };
            for (v, &from) in c.row_mut(i).iter_mut().zip(f.row(a)) {
                *v = weight.mul_add(from, *v);
            }
        }
    }
    c
}

/// Scales the confidences of each row and keeps those from the threshold on.
fn select(c: &Mat<f64>, candidates: &Labels, settings: &ParticleSettings) -> Elicited {
    let (n, labels) = (c.rows(), c.cols());
    let mut credible = Labels::none(n, labels);
    let mut confidence = Mat::zeros(n, labels);
    for i in 0..n {
        let compared = |j: &usize| settings.threshold_over_all || candidates.get(i, *j);
        let extent = extent((0..labels).filter(compared).map(|j| c[(i, j)]));
        let scaled = |j: usize| extent.map_or(1.0, |(low, range)| (c[(i, j)] - low) / range);
        for j in (0..labels).filter(|&j| candidates.get(i, j)) {
            confidence[(i, j)] = scaled(j);
            credible.set(i, j, scaled(j) >= settings.threshold);
        }
        // Only when all labels were compared: the public code then takes labels that are none.
        let empty = !credible.row(i).contains(&true);
        if settings.threshold_over_all && empty && candidates.row(i).contains(&true) {
            (0..labels).for_each(|j| credible.set(i, j, scaled(j) >= settings.threshold));
        }
    }
    Elicited { credible, confidence }
}

#[cfg(test)]
#[path = "credible_tests.rs"]
mod tests;
