//! Platt scaling: probabilities from decision values f, p = 1/(1 + exp(A·f + B)).
//!
//! A and B minimise −Σ tᵢ ln pᵢ + (1 − tᵢ) ln(1 − pᵢ) with targets (N₊+1)/(N₊+2) for positives and
//! 1/(N₋+2) for negatives (Platt 1999), by Newton's method with backtracking (Lin, Lin & Weng,
//! Machine Learning 68, 2007). Decision values come from five-fold cross-validation, so that they are
//! those of unseen instances. Each label gets its own map: ranks within a label stay, ranks between
//! labels change.

use super::{Classifier, Model, Prediction, Targets};
use crate::Result;
use crate::linalg::Mat;
use crate::num::Real;
use crate::rng::Streams;

const FOLDS: usize = 5;
const MAX_STEPS: usize = 100;

/// The map of one label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sigmoid {
    /// A; negative when larger decision values mean more probable.
    pub a: f64,
    /// B.
    pub b: f64,
}

impl Sigmoid {
    /// Fits A and B to decision values and labels.
    pub fn fit(decisions: &[f64], labels: &[bool]) -> Self {
        let positives = labels.iter().filter(|&&y| y).count() as f64;
        let negatives = labels.len() as f64 - positives;
        let target = |y: bool| {
            if y { (positives + 1.0) / (positives + 2.0) } else { 1.0 / (negatives + 2.0) }
        };
        let data: Vec<(f64, f64)> =
            decisions.iter().zip(labels).map(|(&f, &y)| (f, target(y))).collect();
        let start = Sigmoid { a: 0.0, b: Real::ln((negatives + 1.0) / (positives + 1.0)) };
        start.descend(&data)
    }

    fn descend(mut self, data: &[(f64, f64)]) -> Self {
        let mut value = self.loss(data);
        for _ in 0..MAX_STEPS {
            let (mut haa, mut hbb, mut hab) = (1e-12, 1e-12, 0.0);
            let (mut ga, mut gb) = (0.0, 0.0);
            for &(f, t) in data {
                let p = self.probability(f);
                let (curvature, slope) = (p * (1.0 - p), t - p);
                haa += f * f * curvature;
                hbb += curvature;
                hab += f * curvature;
                ga += f * slope;
                gb += slope;
            }
            if ga.abs() < 1e-5 && gb.abs() < 1e-5 {
                break;
            }
            let determinant = haa * hbb - hab * hab;
            let da = -(hbb * ga - hab * gb) / determinant;
            let db = -(haa * gb - hab * ga) / determinant;
            let slope = ga * da + gb * db;
            let mut step = 1.0;
            while step >= 1e-10 {
                let next = Sigmoid { a: self.a + step * da, b: self.b + step * db };
                let reached = next.loss(data);
                if reached < value + 1e-4 * step * slope {
                    (self, value) = (next, reached);
                    break;
                }
                step *= 0.5;
            }
            if step < 1e-10 {
                break;
            }
        }
        self
    }

    /// Σ t·z + softplus(−z) with z = A·f + B: the likelihood without overflow.
    fn loss(&self, data: &[(f64, f64)]) -> f64 {
        data.iter()
            .map(|&(f, t)| {
                let z = self.a * f + self.b;
                t * z + Real::softplus(-z)
            })
            .sum()
    }

    /// 1/(1 + exp(A·f + B)).
    pub fn probability(&self, f: f64) -> f64 {
        Real::sigmoid(-(self.a * f + self.b))
    }
}

/// A classifier whose scores are turned into probabilities.
pub struct Platt<C> {
    /// The classifier that gives the decision values.
    pub inner: C,
}

impl<C: Classifier> Classifier for Platt<C> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn fit(&self, x: &Mat<f64>, targets: Targets<'_>, streams: &Streams) -> Result<Box<dyn Model>> {
        targets.check(x)?;
        let model = self.inner.fit(x, targets, streams)?;
        let (n, labels) = (targets.rows(), targets.cols());
        let mut decisions = Mat::zeros(n, labels);
        for (fold, (train, test)) in super::inner_folds(n, FOLDS, streams)?.iter().enumerate() {
            let part = super::OwnedTargets::select(targets, train);
            let streams = streams.child(&format!("platt/{fold}"));
            let inner = self.inner.fit(&x.select_rows(train), part.borrow(), &streams)?;
            let found = inner.predict(&x.select_rows(test))?;
            for (k, &i) in test.iter().enumerate() {
                decisions.row_mut(i).copy_from_slice(found.scores.values().row(k));
            }
        }
        let sigmoids = (0..labels)
            .map(|j| {
                let f: Vec<f64> = (0..n).map(|i| decisions[(i, j)]).collect();
                let y: Vec<bool> = (0..n).map(|i| targets.probability(i, j) >= 0.5).collect();
                Sigmoid::fit(&f, &y)
            })
            .collect();
        Ok(Box::new(Calibrated { model, sigmoids }))
    }
}

struct Calibrated {
    model: Box<dyn Model>,
    sigmoids: Vec<Sigmoid>,
}

impl Model for Calibrated {
    /// Probabilities as scores; a label is on from ½ on.
    fn predict(&self, x: &Mat<f64>) -> Result<Prediction> {
        let raw = self.model.predict(x)?;
        let values = raw.scores.values();
        let scores = Mat::from_fn(values.rows(), values.cols(), |i, j| {
            self.sigmoids[j].probability(values[(i, j)])
        });
        Ok(Prediction::at_threshold(scores, 0.5, true))
    }
}

#[cfg(test)]
mod tests {
    use super::super::svm::LinearSvm;
    use super::*;
    use crate::data::Labels;

    /// scikit-learn 1.9: `sklearn.calibration._sigmoid_calibration(f, y)`.
    #[test]
    fn sigmoid_of_scikit_learn() {
        let f = [-2.0, -1.2, -0.7, -0.1, 0.2, 0.9, 1.1, 2.5, -0.4, 0.6];
        let y = [false, false, true, false, true, true, false, true, false, true];
        let found = Sigmoid::fit(&f, &y);
        assert!((found.a - SKLEARN.0).abs() < 1e-4, "{found:?}");
        assert!((found.b - SKLEARN.1).abs() < 1e-4, "{found:?}");
        let extreme = Sigmoid::fit(&[-1e6, 1e6, -1e6, 1e6], &[false, true, false, true]);
        assert!(extreme.probability(1e6) > 0.5 && extreme.probability(-1e6) < 0.5);
    }

    const SKLEARN: (f64, f64) = (-0.6758059912021283, 0.053458736759733276);

    #[test]
    fn probabilities_keep_the_order_within_a_label() {
        let x = Mat::from_fn(30, 1, |i, _| f64::from((i * 7 % 30) as u8) - 15.0);
        let y = Labels::from_fn(30, 2, |i, j| j == 0 && x[(i, 0)] > 0.0);
        let platt = Platt { inner: LinearSvm::default() };
        let model = platt.fit(&x, Targets::Labels(&y), &Streams::new(0)).unwrap();
        let scores = model.predict(&x).unwrap().scores;
        for i in 0..30 {
            assert!((0.0..=1.0).contains(&scores.values()[(i, 0)]));
            assert_eq!(scores.values()[(i, 0)] > 0.5, y.get(i, 0), "row {i}");
            // The label that never occurs stays improbable.
            assert!(scores.values()[(i, 1)] < 0.5);
        }
    }
}
