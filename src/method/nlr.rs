//! NLR (Yang, Jia, Liu, Dong & Hou, KDD 2024, "Noisy label removal for partial multi-label
//! learning"): a classifier for "is a label" and a competitor for "is none", whose outputs should
//! add up to one, and a binary noise matrix.
//!
//! ```text
//! min  ‖X W₁ − (Y − N)‖² + ‖X W₂ − (1 − Y + N)‖² + β‖X W₁ + X W₂ − 1‖²
//!      + γ(‖W₁‖² + ‖W₂‖²) + (λ − 2)‖N‖₁         s.t. N ∈ {0, 1}, N ≤ Y
//! ```
//!
//! by turns, from 0:
//!
//! ```text
//! W₁ ← M⁻¹ Xᵀ(Y − N + β(1 − X W₂)),  W₂ ← M⁻¹ Xᵀ(1 − Y + N + β(1 − X W₁)),  M = (1 + β)XᵀX + γI
//! N  ← Y ∘ 1[1 + X W₂ − X W₁ > λ/2]
//! ```
//!
//! Source: the authors' MATLAB code. It states the problem with λ‖N‖₁, relaxes N to [0, 1], and
//! rounds what is left after shrinking by λ/4 up to 1. That rounding is the exact minimiser over
//! binary N with λ − 2 in the place of λ: for a candidate, setting N to 1 costs
//! 2(X W₁ − X W₂) + λ − 2. Stated like this the iterates are the same and every step is a
//! minimisation, so the objective never rises.
//!
//! Choices: features are z-scored with a bias column, so that the rows of W₁ can be compared (the
//! code takes features as they are: `standardise = false`); the code
//! runs 100 rounds, here they end early only when neither N nor the objective moves any more (N
//! stands still for the first rounds, because β couples W₁ and W₂ tightly). Features are ranked by
//! W₁. The code chooses λ by results on test data; tune it by the fit to held-out candidates.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::factorise::product;
use super::learner::Learner;
use super::ridge_form::{RidgeForm, with_bias};
use super::settings::{Settings, within};
use super::standard::{Standard, rank_by_rows};
use super::{Context, Fitted, Predictor, Training};
use crate::classify::{Prediction, check_width};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::measure::Scores;
use crate::{Error, Result};

/// Relative decrease of the objective at which the rounds end, if N stands still too.
const TOLERANCE: f64 = 1e-12;
/// Labels whose score, scaled to [0, 1] in each row, exceeds this are on.
const ON_ABOVE: f64 = 0.9;

/// NLR and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nlr {
    /// β: how strongly the two outputs are made to add up to one.
    pub beta: f64,
    /// γ: ridge on the weights.
    pub gamma: f64,
    /// λ as in the authors' code (2.1 on Birds, 1.7 on music_style): the higher the less noise.
    pub lambda: f64,
    /// Rounds at most.
    pub rounds: usize,
    /// z-scored features and a bias; false: features as they come and no bias, as the authors.
    pub standardise: bool,
}

impl Default for Nlr {
    fn default() -> Self {
        Nlr { beta: 100.0, gamma: 10.0, lambda: 2.1, rounds: 100, standardise: true }
    }
}

impl Settings for Nlr {
    fn check(&self) -> Result<()> {
        within("beta", self.beta, 0.0, 1e6)?;
        within("gamma", self.gamma, 1e-6, 1e9)?;
        within("lambda", self.lambda, 0.0, 100.0)?;
        within("rounds", self.rounds as f64, 1.0, 1e6)
    }
}

impl Learner for Nlr {
    const NAME: &'static str = "nlr";

    fn alternatives(&self) -> Vec<Value> {
        let lambda = [1.5, 1.7, 1.9, 2.3, 2.6, 3.0].map(|lambda| json!({"lambda": lambda}));
        lambda.into_iter().chain([json!({"gamma": 100.0})]).collect()
    }

    fn learn(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let standard = self.standardise.then(|| Standard::centred(training.x));
        let design = RidgeForm::new(inputs(standard.as_ref(), training.x)?);
        let solved = solve(&design, training.candidates, self, context)?;
        let weights = design.weights(&solved.coefficients);
        let candidates = training.candidates;
        // X W₁ estimates P(label) and X W₂ its complement: the mean of both opinions.
        let confidence = Mat::from_fn(candidates.rows(), candidates.cols(), |i, j| {
            let p = 0.5 + 0.5 * solved.difference[(i, j)];
            if candidates.get(i, j) { p.clamp(0.0, 1.0) as f32 } else { 0.0 }
        });
        Ok(Fitted {
            ranking: rank_by_rows(&weights, training.x.cols()),
            pseudo: Some(Labels::from_fn(candidates.rows(), candidates.cols(), |i, j| {
                candidates.get(i, j) && !solved.noise.get(i, j)
            })),
            confidence: Some(confidence),
            predictor: Some(Arc::new(Regression { standard, weights })),
            objective: solved.objective,
            notes: if self.standardise { Standard::note(training.x) } else { Vec::new() },
            ..Fitted::default()
        })
    }
}

/// What the rounds end with.
struct Solved {
    /// Coefficients of W₁.
    coefficients: Mat<f64>,
    /// X W₁ − X W₂.
    difference: Mat<f64>,
    /// N.
    noise: Labels,
    objective: Vec<f64>,
}

fn solve(
    design: &RidgeForm,
    candidates: &Labels,
    s: &Nlr,
    context: &mut Context<'_>,
) -> Result<Solved> {
    let (n, labels) = (candidates.rows(), candidates.cols());
    let system = design.factorise(1.0 + s.beta, s.gamma)?;
    let coupling = s.beta / (1.0 + s.beta);
    // M⁻¹ XᵀX = (I − γM⁻¹) / (1 + β), so that no product with X is needed for β X W₂:
    // W₁ = M⁻¹(Xᵀ(T + β1) + γβ/(1 + β) W₂) − β/(1 + β) W₂.
    let next = |target: &Mat<f64>, other: &Mat<f64>| {
        let raised = map(target, |t| t + s.beta);
        let mut right = design.project(&raised);
        add_scaled(&mut right, s.gamma * coupling, other);
        let mut w = system.solve(right);
        add_scaled(&mut w, -coupling, other);
        w
    };
    let mut noise = Labels::none(n, labels);
    let (mut one, mut two) = (Mat::zeros(design.size(), labels), Mat::zeros(design.size(), labels));
    let mut difference = Mat::zeros(n, labels);
    let mut objective: Vec<f64> = Vec::new();
    for round in 0..s.rounds {
        if !context.observer.progress("rounds", round, s.rounds) {
            return Err(Error::cancelled());
        }
        let target = clean(candidates, &noise);
        one = next(&target, &two);
        two = next(&map(&target, |t| 1.0 - t), &one);
        let (first, second) = (design.outputs(&one), design.outputs(&two));
        difference = Mat::from_fn(n, labels, |i, j| first[(i, j)] - second[(i, j)]);
        let found = Labels::from_fn(n, labels, |i, j| {
            candidates.get(i, j) && 1.0 - difference[(i, j)] > 0.5 * s.lambda
        });
        let still = found == noise;
        noise = found;

        let target = clean(candidates, &noise);
        let mut value = (s.lambda - 2.0) * noise.count() as f64;
        for ((a, b), t) in first.as_slice().iter().zip(second.as_slice()).zip(target.as_slice()) {
            let (e, f, g) = (a - t, b - (1.0 - t), a + b - 1.0);
            value += e * e + f * f + s.beta * g * g;
        }
        let norms = design.squared_norm(&one, &first) + design.squared_norm(&two, &second);
        value += s.gamma * norms;
        let before = objective.last().copied().unwrap_or(f64::INFINITY);
        objective.push(value);
        if still && before - value <= TOLERANCE * value.abs() {
            break;
        }
    }
    Ok(Solved { coefficients: one, difference, noise, objective })
}

/// Y − N.
fn clean(candidates: &Labels, noise: &Labels) -> Mat<f64> {
    Mat::from_fn(candidates.rows(), candidates.cols(), |i, j| {
        f64::from(u8::from(candidates.get(i, j) && !noise.get(i, j)))
    })
}

fn map(m: &Mat<f64>, f: impl Fn(f64) -> f64) -> Mat<f64> {
    Mat::from_vec(m.rows(), m.cols(), m.as_slice().iter().map(|&v| f(v)).collect())
}

fn add_scaled(to: &mut Mat<f64>, factor: f64, from: &Mat<f64>) {
    for (v, w) in to.as_mut_slice().iter_mut().zip(from.as_slice()) {
        *v += factor * w;
    }
}

/// What the regressions see.
fn inputs(standard: Option<&Standard>, x: &Mat<f32>) -> Result<Mat<f64>> {
    match standard {
        Some(standard) => Ok(with_bias(&standard.apply(x)?)),
        None => x.check_finite("features").map(|()| x.cast()),
    }
}

/// X W₁, and the labels whose score is near the best of their row.
#[derive(Debug)]
struct Regression {
    standard: Option<Standard>,
    weights: Mat<f64>,
}

impl Predictor for Regression {
    fn predict(&self, x: &Mat<f32>) -> Result<Prediction> {
        let x = inputs(self.standard.as_ref(), x)?;
        check_width(&x, self.weights.rows())?;
        let scores = product(x.view(), self.weights.view());
        let labels = Labels::from_fn(scores.rows(), scores.cols(), |i, j| {
            let row = scores.row(i);
            let low = row.iter().copied().fold(f64::INFINITY, f64::min);
            let high = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row[j] - low > ON_ABOVE * (high - low)
        });
        Ok(Prediction { scores: Scores::new(scores), labels })
    }
}

#[cfg(test)]
#[path = "nlr_tests.rs"]
pub(super) mod tests;
