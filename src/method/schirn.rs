//! Schirn (CVPR 2026): sparse noise and predictions of *high* rank.
//!
//! ```text
//! min ‖C − (Y − N)‖² + α‖N‖₁ − 2λ‖C‖_* + β‖W‖²    s.t. C = X W, N ∈ {0, 1}, N ≤ Y
//! ```
//!
//! by an augmented Lagrangian with multipliers Φ, from C = Φ = 1, N = 0, ρ = 10⁻⁴:
//!
//! ```text
//! W ← (2βI + ρXᵀX)⁻¹ Xᵀ(ρC − Φ)
//! N ← Y ∘ 1[C < ½ − α/2]
//! C ← U(S + λ/(1 + ρ/2))Vᵀ,  U S Vᵀ = (2(Y − N) + Φ + ρ X W)/(2 + ρ)
//! Φ ← Φ + ρ(X W − C),  ρ ← min(1.1ρ, 10)
//! ```
//!
//! Source: the authors' MATLAB code; its settings α, λ, β are not published. The code adds
//! λ/(1 + ρ/2) to *every* entry of S, where the diagonal is meant: the result then depends on the
//! arbitrary signs of singular vectors (`off_diagonal` brings it back, with the sign that makes the
//! largest entry of each right vector positive). Its step is exact for 2λ, so the problem is stated
//! with 2λ. Rewarding the nuclear norm makes the problem concave in part: the objective, reported at
//! C = X W, need not fall from round to round; the constraint closes as ρ grows.
//!
//! Choices: z-scored features with a bias column; a label is on where X W > ½.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::factorise::{distance, product};
use super::learner::Learner;
use super::ridge_form::{RidgeForm, eigen, with_bias};
use super::settings::{Settings, within};
use super::standard::{Standard, rank_by_rows};
use super::{Context, Fitted, Predictor, Training};
use crate::classify::Prediction;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::{Error, Result};

/// The first ρ, its growth and its bound.
const PENALTY: (f64, f64, f64) = (1e-4, 1.1, 10.0);
/// Singular values below this share of the largest have no direction to grow along.
const RANK_TOLERANCE: f64 = 1e-7;
/// How far the constraint may be open at the end without a word.
const WORTH_A_NOTE: f64 = 0.2;

/// Schirn and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schirn {
    /// α: price of a noisy label; candidates that score below ½ − α/2 are noise.
    pub alpha: f64,
    /// β: ridge on the weights.
    pub beta: f64,
    /// λ: reward of a high rank.
    pub lambda: f64,
    /// Rounds.
    pub rounds: usize,
    /// As the public code: shift every entry of S, not its diagonal alone.
    pub off_diagonal: bool,
}

impl Default for Schirn {
    fn default() -> Self {
        Schirn { alpha: 0.3, beta: 10.0, lambda: 1.0, rounds: 100, off_diagonal: false }
    }
}

impl Settings for Schirn {
    fn check(&self) -> Result<()> {
        within("alpha", self.alpha, 0.0, 10.0)?;
        within("beta", self.beta, 1e-6, 1e9)?;
        within("lambda", self.lambda, 0.0, 1e6)?;
        within("rounds", self.rounds as f64, 1.0, 1e6)
    }
}

impl Learner for Schirn {
    const NAME: &'static str = "schirn";

    fn alternatives(&self) -> Vec<Value> {
        vec![
            json!({"alpha": 0.1}),
            json!({"alpha": 0.6}),
            json!({"lambda": 0.1}),
            json!({"lambda": 5.0}),
            json!({"beta": 1.0}),
            json!({"beta": 100.0}),
        ]
    }

    fn learn(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let standard = Standard::centred(training.x);
        let design = RidgeForm::new(with_bias(&standard.apply(training.x)?));
        let candidates = training.candidates;
        let solved = solve(&design, candidates, self, context)?;
        let weights = design.weights(&solved.coefficients);
        let confidence = Mat::from_fn(candidates.rows(), candidates.cols(), |i, j| {
            let p = solved.outputs[(i, j)].clamp(0.0, 1.0) as f32;
            if candidates.get(i, j) { p } else { 0.0 }
        });
        let mut notes = Standard::note(training.x);
        if solved.open > WORTH_A_NOTE {
            let percent = 100.0 * solved.open;
            notes.push(format!("C and X W still differ by {percent:.0} %: more rounds are needed"));
        }
        Ok(Fitted {
            ranking: rank_by_rows(&weights, training.x.cols()),
            pseudo: Some(solved.kept),
            confidence: Some(confidence),
            predictor: Some(Arc::new(Regression { standard, weights })),
            objective: solved.objective,
            notes,
            ..Fitted::default()
        })
    }
}

/// What the rounds end with.
struct Solved {
    /// Coefficients of W.
    coefficients: Mat<f64>,
    /// X W.
    outputs: Mat<f64>,
    /// ‖X W − C‖ / ‖C‖: how far the constraint is open.
    open: f64,
    /// Y − N.
    kept: Labels,
    objective: Vec<f64>,
}

fn solve(
    design: &RidgeForm,
    candidates: &Labels,
    s: &Schirn,
    context: &mut Context<'_>,
) -> Result<Solved> {
    let (n, labels) = (candidates.rows(), candidates.cols());
    let ones = Mat::from_fn(n, labels, |_, _| 1.0);
    let (mut copy, mut phi) = (ones.clone(), ones);
    let (mut rho, growth, bound) = PENALTY;
    if !context.observer.progress("decomposition", 0, 1) {
        return Err(Error::cancelled());
    }
    let system = design.tridiagonal();
    let mut kept = candidates.clone();
    let (mut coefficients, mut outputs) = (Mat::default(), Mat::default());
    let mut objective = Vec::new();
    for round in 0..s.rounds {
        if !context.observer.progress("rounds", round, s.rounds) {
            return Err(Error::cancelled());
        }
        // Divided by ρ, the system is XᵀX with a ridge of 2β/ρ.
        let right = Mat::from_fn(n, labels, |i, j| copy[(i, j)] - phi[(i, j)] / rho);
        coefficients = system.solve(2.0 * s.beta / rho, &design.project(&right));
        outputs = design.outputs(&coefficients);
        kept = Labels::from_fn(n, labels, |i, j| {
            candidates.get(i, j) && copy[(i, j)] >= 0.5 - 0.5 * s.alpha
        });
        let blend = Mat::from_fn(n, labels, |i, j| {
            let target = f64::from(u8::from(kept.get(i, j)));
            (2.0 * target + phi[(i, j)] + rho * outputs[(i, j)]) / (2.0 + rho)
        });
        copy = raise_rank(&blend, s.lambda / (1.0 + 0.5 * rho), s.off_diagonal);
        for (k, v) in phi.as_mut_slice().iter_mut().enumerate() {
            *v += rho * (outputs.as_slice()[k] - copy.as_slice()[k]);
        }
        rho = (growth * rho).min(bound);

        let noise = (candidates.count() - kept.count()) as f64;
        let errors = outputs.as_slice().iter().zip(kept.as_slice()).map(|(p, &on)| {
            let e = p - f64::from(u8::from(on));
            e * e
        });
        objective.push(
            errors.sum::<f64>() + s.alpha * noise - 2.0 * s.lambda * nuclear_norm(&outputs)
                + s.beta * design.squared_norm(&coefficients, &outputs),
        );
    }
    // Squared distances: the constraint is open by the root of their ratio.
    let size = distance(&copy, &Mat::zeros(n, labels)).max(1e-300);
    let open = (distance(&outputs, &copy) / size).sqrt();
    Ok(Solved { coefficients, outputs, open, kept, objective })
}

/// Sum of the singular values.
fn nuclear_norm(m: &Mat<f64>) -> f64 {
    let (squares, _) = eigen(&product(m.view().t(), m.view()));
    squares.iter().map(|v| v.max(0.0).sqrt()).sum()
}

/// Adds `shift` to the singular values of T; those that are 0 stay 0. The thin decomposition comes
/// from the L × L matrix TᵀT: U(S + shift)Vᵀ = T + shift · Σ_k u_k v_kᵀ, u_k = T v_k / s_k.
fn raise_rank(t: &Mat<f64>, shift: f64, off_diagonal: bool) -> Mat<f64> {
    let labels = t.cols();
    let (squares, mut v) = eigen(&product(t.view().t(), t.view()));
    let largest = squares.iter().copied().fold(0.0, f64::max).sqrt();
    // Rows: v_k, and v_k / s_k.
    let mut scaled = Mat::zeros(labels, labels);
    for k in 0..labels {
        let s = squares[k].max(0.0).sqrt();
        if s <= RANK_TOLERANCE * largest {
            v.row_mut(k).fill(0.0);
            continue;
        }
        let top =
            v.row(k).iter().copied().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
        let sign = top.signum();
        v.row_mut(k).iter_mut().for_each(|x| *x *= sign);
        let row: Vec<f64> = v.row(k).iter().map(|x| shift * x / s).collect();
        scaled.row_mut(k).copy_from_slice(&row);
    }
    if off_diagonal {
        // Σ_kl u_k v_lᵀ instead of Σ_k u_k v_kᵀ: every row of V becomes the sum of all.
        let total: Vec<f64> = (0..labels).map(|j| (0..labels).map(|k| v[(k, j)]).sum()).collect();
        (0..labels).for_each(|k| v.row_mut(k).copy_from_slice(&total));
    }
    let mut factor = product(scaled.view().t(), v.view());
    (0..labels).for_each(|j| factor[(j, j)] += 1.0);
    product(t.view(), factor.view())
}

/// X W, on above ½.
#[derive(Debug)]
struct Regression {
    standard: Standard,
    weights: Mat<f64>,
}

impl Predictor for Regression {
    fn predict(&self, x: &Mat<f32>) -> Result<Prediction> {
        let x = with_bias(&self.standard.apply(x)?);
        Ok(Prediction::at_threshold(product(x.view(), self.weights.view()), 0.5, false))
    }
}

#[cfg(test)]
#[path = "schirn_tests.rs"]
mod tests;
