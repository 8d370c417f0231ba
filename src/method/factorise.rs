//! What the factorising methods share: products, multiplicative updates, the ‖·‖₂,₁ penalty and
//! the loop that lowers an objective.
//!
//! A multiplicative update F ← F ∘ N / (M + eps), with the gradient's negative part N and its
//! positive part M, keeps F ≥ 0 and never raises the objective. The penalty ‖W‖₂,₁ enters it by
//! re-weighting: its gradient is 2 D W with D_ii = 1 / (2 √(‖W_i‖² + eps)).

use super::{Context, Fitted, Training, rank};
use crate::data::{Labels, Scaler, Scaling};
use crate::linalg::{Acc, Mat, View, gemm_parallel};
use crate::num::{dot, squared_distance, vectorize};
use crate::rng::Rng;
use crate::{Error, Result};

/// What keeps denominators from zero.
pub(super) const EPS: f64 = f64::EPSILON;

/// Said by every method that scales to [0, 1].
pub(super) const SCALED: &str =
    "features were scaled to [0, 1]: the method needs non-negative values";

/// A·B.
pub(super) fn product(a: View<'_, f64>, b: View<'_, f64>) -> Mat<f64> {
    let mut c = Mat::zeros(a.rows(), b.cols());
    gemm_parallel(Acc::Set, c.view_mut(), a, b);
    c
}

/// Aᵀ·B.
pub(super) fn product_t(a: &Mat<f64>, b: &Mat<f64>) -> Mat<f64> {
    product(a.view().t(), b.view())
}

/// A·Bᵀ.
pub(super) fn product_of_t(a: &Mat<f64>, b: &Mat<f64>) -> Mat<f64> {
    product(a.view(), b.view().t())
}

/// c·A.
pub(super) fn scaled(mut a: Mat<f64>, c: f64) -> Mat<f64> {
    crate::num::scale(a.as_mut_slice(), c);
    a
}

/// A + c·B.
pub(super) fn plus(mut a: Mat<f64>, c: f64, b: &Mat<f64>) -> Mat<f64> {
    assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()), "a sum of matrices");
    vectorize(
        #[inline(always)]
        || crate::num::axpy(a.as_mut_slice(), c, b.as_slice()),
    );
    a
}

/// F ← F ∘ numerator / (denominator + eps).
pub(super) fn update(factor: &mut Mat<f64>, numerator: &Mat<f64>, denominator: &Mat<f64>) {
    let parts = numerator.as_slice().iter().zip(denominator.as_slice());
    for (f, (n, m)) in factor.as_mut_slice().iter_mut().zip(parts) {
        *f *= n / (m + EPS);
    }
}

/// Σ A ∘ B.
pub(super) fn inner(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    vectorize(
        #[inline(always)]
        || dot(a.as_slice(), b.as_slice()),
    )
}

/// ‖A‖².
pub(super) fn square(a: &Mat<f64>) -> f64 {
    inner(a, a)
}

/// ‖A − B‖².
pub(super) fn distance(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    vectorize(
        #[inline(always)]
        || squared_distance(a.as_slice(), b.as_slice()),
    )
}

/// The 2-norm of each row: the score of each feature.
pub(super) fn row_norms(w: &Mat<f64>) -> Vec<f64> {
    (0..w.rows()).map(|i| dot(w.row(i), w.row(i)).sqrt()).collect()
}

/// The result of a method on features in [0, 1] that only selects: the row norms of W rank.
pub(super) fn selection(w: &Mat<f64>, objective: Vec<f64>) -> Fitted {
    let notes = vec![SCALED.to_owned()];
    Fitted { ranking: rank(&row_norms(w)), objective, notes, ..Fitted::default() }
}

/// ‖W‖₂,₁.
pub(super) fn norm_21(w: &Mat<f64>) -> f64 {
    row_norms(w).iter().sum()
}

/// D·W for the ‖·‖₂,₁ penalty of W.
pub(super) fn reweighted(w: &Mat<f64>) -> Mat<f64> {
    scale_rows(w, &reweighting(w))
}

/// The diagonal of D.
pub(super) fn reweighting(w: &Mat<f64>) -> Vec<f64> {
    (0..w.rows()).map(|i| 0.5 / (dot(w.row(i), w.row(i)) + EPS).sqrt()).collect()
}

/// Row i times `weights[i]`.
pub(super) fn scale_rows(w: &Mat<f64>, weights: &[f64]) -> Mat<f64> {
    Mat::from_fn(w.rows(), w.cols(), |i, j| w[(i, j)] * weights[i])
}

/// Row i of each matrix is a right-hand side: solves with the factor of [`crate::linalg::cholesky`].
pub(super) fn solve_rows(factor: &Mat<f64>, rows: &mut Mat<f64>) {
    use rayon::prelude::*;
    let width = rows.cols().max(1);
    rows.as_mut_slice()
        .par_chunks_mut(width)
        .for_each(|row| crate::linalg::cholesky::solve(factor, row));
}

/// Labels as zeros and ones.
pub(super) fn indicator(labels: &Labels) -> Mat<f64> {
    let cells = labels.as_slice().iter().map(|&on| f64::from(u8::from(on))).collect();
    Mat::from_vec(labels.rows(), labels.cols(), cells)
}

/// Independent uniform entries on [0, 1).
pub(super) fn uniform(rows: usize, cols: usize, rng: &mut Rng) -> Mat<f64> {
    Mat::from_fn(rows, cols, |_, _| rng.uniform())
}

/// The training features in double precision, scaled as the method needs them; and the scaling.
pub(super) fn features(training: &Training<'_>, scaling: Scaling) -> (Mat<f64>, Scaler) {
    let x: Mat<f64> = training.x.cast();
    let rows: Vec<usize> = (0..x.rows()).collect();
    let scaler = Scaler::fit(&x, &rows, scaling);
    (scaler.apply(&x, &rows), scaler)
}

/// When to stop lowering an objective.
#[derive(Clone, Copy)]
pub(super) struct Stop {
    /// At most so many sweeps.
    pub sweeps: usize,
    /// Earlier when the relative change falls below, from the third sweep on.
    pub tolerance: f64,
}

/// Repeats `sweep`, which returns the objective after it. Returns all these values.
pub(super) fn descend(
    context: &mut Context<'_>,
    phase: &str,
    stop: Stop,
    mut sweep: impl FnMut() -> f64,
) -> Result<Vec<f64>> {
    let mut objective: Vec<f64> = Vec::new();
    while objective.len() < stop.sweeps {
        let value = sweep();
        if !value.is_finite() {
            let message =
                format!("the objective of {phase} is {value} after {} sweeps", objective.len() + 1);
            return Err(Error::numeric(message).hint("choose smaller weights"));
        }
        let before = objective.last().copied();
        objective.push(value);
        if !context.observer.progress(phase, objective.len(), stop.sweeps) {
            return Err(Error::cancelled());
        }
        let Some(before) = before else { continue };
        if objective.len() > 2 && (value - before).abs() < stop.tolerance * before.abs() {
            break;
        }
    }
    Ok(objective)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Observer, Silent};
    use super::*;
    use crate::rng::Streams;

    /// Asserts that no value exceeds the one before by more than rounding.
    #[track_caller]
    pub fn assert_falls(what: &str, objective: &[f64]) {
        assert!(objective.len() > 2, "{what}: {objective:?}");
        for (t, pair) in objective.windows(2).enumerate() {
            let allowed = 1e-9 * pair[0].abs();
            assert!(pair[1] <= pair[0] + allowed, "{what}: sweep {t}: {} to {}", pair[0], pair[1]);
        }
    }

    #[test]
    #[should_panic(expected = "sweep 1: 2 to 2.1")]
    fn a_rise_is_seen() {
        assert_falls("control", &[3.0, 2.0, 2.1]);
    }

    struct Stops(usize);
    impl Observer for Stops {
        fn progress(&mut self, _: &str, done: usize, _: usize) -> bool {
            done < self.0
        }
    }

    #[test]
    fn descent_stops_for_every_reason() {
        let stop = Stop { sweeps: 50, tolerance: 1e-3 };
        let run = |observer: &mut dyn Observer, values: &dyn Fn(i32) -> f64| {
            let mut context = Context { streams: Streams::new(0), budget: 1, observer };
            let mut t = 0;
            descend(&mut context, "test", stop, || {
                t += 1;
                values(t)
            })
        };
        let halves = |t: i32| 1.0 + 0.5f64.powi(t);
        assert_eq!(run(&mut Silent, &halves).unwrap().len(), 10);
        assert_eq!(run(&mut Silent, &|_| 1.0).unwrap().len(), 3);
        assert_eq!(run(&mut Silent, &|t| 0.9f64.powi(t)).unwrap().len(), 50);
        let cancelled = run(&mut Stops(4), &halves).unwrap_err();
        assert_eq!(cancelled.kind(), crate::ErrorKind::Cancelled);
        let lost = run(&mut Silent, &|t| if t < 3 { 1.0 / f64::from(t) } else { f64::NAN });
        assert_eq!(lost.unwrap_err().message(), "the objective of test is NaN after 3 sweeps");
    }
}
