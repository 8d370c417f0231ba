//! C and the threshold by cross-validation inside the training data.
//!
//! Every C of the grid, from small to large, is judged on held-out training rows by a [`Judge`],
//! never by the truth of a test row. The machine's own loss is not used: it is measured in units of
//! the margin, which a small C shrinks, and prefers too large a C for rare labels. The search ends
//! when two values in a row were worse than the best one. The held-out scores at the C that won then
//! give the threshold, so it costs no fit of its own.
//!
//! Confidences may be tempered: the machine learns p^½, say, while C and the threshold are still
//! judged by the candidates and by p. A label that a method hardly believes in stays a weak positive
//! (docs/evaluation.md says what that is worth).

use super::judge::Judge;
use super::platt::Platt;
use super::rbf_svm::RbfSvm;
use super::svm::LinearSvm;
use super::threshold::{Threshold, best_f1};
use super::{Classifier, Model, OwnedTargets, Prediction, Targets, inner_folds};
use crate::linalg::Mat;
use crate::rng::Streams;
use crate::{Error, Result};

/// The values that are tried.
pub const GRID: [f64; 7] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0];
const FOLDS: usize = 3;
const WORSE_IN_A_ROW: usize = 2;

/// A classifier with a cost C of an error.
pub trait HasCost: Classifier + Sized {
    /// The same with another C.
    fn with_c(&self, c: f64) -> Self;
}

impl HasCost for LinearSvm {
    fn with_c(&self, c: f64) -> Self {
        LinearSvm { c, ..self.clone() }
    }
}

impl HasCost for RbfSvm {
    fn with_c(&self, c: f64) -> Self {
        RbfSvm { c, ..self.clone() }
    }
}

impl<C: HasCost> HasCost for Platt<C> {
    fn with_c(&self, c: f64) -> Self {
        Platt { inner: self.inner.with_c(c) }
    }
}

/// How C and the threshold are found.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'a> {
    /// C, if it is not to be chosen.
    pub c: Option<f64>,
    /// What a C is judged by.
    pub judge: Judge<'a>,
    /// How scores become labels.
    pub threshold: Threshold,
    /// Confidences train the machine as p^temper; the judge and the threshold see p itself.
    pub temper: f64,
    /// Probabilities that the threshold is judged by, if not the targets ([`super::blend`]).
    pub believed: Option<&'a Mat<f32>>,
}

/// A machine that chooses its own C and its own threshold.
pub struct Tuned<'a, C> {
    /// The machine; its C is not used.
    pub machine: C,
    /// How it chooses.
    pub rule: Rule<'a>,
}

/// What the search found.
pub(super) struct Choice {
    pub c: f64,
    /// Scores of all training rows, each by the machine that did not see it.
    pub scores: Mat<f64>,
}

impl<C: HasCost> Tuned<'_, C> {
    /// The C of the grid with the smallest held-out loss; the smaller one of equals.
    pub(super) fn choose(
        &self,
        x: &Mat<f64>,
        targets: Targets<'_>,
        streams: &Streams,
    ) -> Result<Choice> {
        let parts = inner_folds(x.rows(), FOLDS, &streams.child("tune"))?;
        // Rows are picked when they are needed: those of all parts would be three copies of `x`.
        let fit = |machine: &C, train: &[usize]| {
            let y_train = OwnedTargets::select(targets, train).tempered(self.rule.temper);
            machine.fit_rows(x, train, y_train.borrow(), streams)
        };
        let grid = self.rule.c.as_ref().map_or(&GRID[..], std::slice::from_ref);
        let empty = || Mat::zeros(targets.rows(), targets.cols());
        let mut best = (f64::INFINITY, Choice { c: grid[0], scores: empty() });
        let mut worse = 0;
        for &c in grid {
            let machine = self.machine.with_c(c);
            let mut total = 0.0;
            let mut scores = empty();
            for (train, test) in &parts {
                let model = fit(&machine, train)?;
                let found = model.predict(&x.select_rows(test))?;
                let y_test = OwnedTargets::select(targets, test);
                total += self.rule.judge.loss(&found, test, y_test.borrow())?;
                for (k, &i) in test.iter().enumerate() {
                    scores.row_mut(i).copy_from_slice(found.scores.values().row(k));
                }
            }
            if total < best.0 {
                (best, worse) = ((total, Choice { c, scores }), 0);
            } else if total > best.0 {
                worse += 1;
            }
            if worse == WORSE_IN_A_ROW {
                break;
            }
        }
        Ok(best.1)
    }

    /// The machine with this C, on all rows.
    pub(super) fn fit_all(
        &self,
        x: &Mat<f64>,
        targets: Targets<'_>,
        c: f64,
        streams: &Streams,
    ) -> Result<Box<dyn Model>> {
        let all: Vec<usize> = (0..x.rows()).collect();
        let tempered = OwnedTargets::select(targets, &all).tempered(self.rule.temper);
        self.machine.with_c(c).fit(x, tempered.borrow(), streams)
    }

    /// Refuses labels to be judged by that do not belong to the rows.
    pub(super) fn check(&self, x: &Mat<f64>, targets: Targets<'_>) -> Result<()> {
        targets.check(x)?;
        self.rule.believed.map_or(Ok(()), |p| Targets::Confidence(p).check(x))?;
        match self.rule.judge {
            Judge::Ranking(y) if (y.rows(), y.cols()) != (targets.rows(), targets.cols()) => {
                Err(Error::found(
                    format!("labels of shape {} × {} to judge by", y.rows(), y.cols()),
                    format!("{} × {}, the shape of the targets", targets.rows(), targets.cols()),
                ))
            }
            _ => Ok(()),
        }
    }
}

impl<C: HasCost> Classifier for Tuned<'_, C> {
    fn name(&self) -> &'static str {
        self.machine.name()
    }

    fn fit(&self, x: &Mat<f64>, targets: Targets<'_>, streams: &Streams) -> Result<Box<dyn Model>> {
        self.check(x, targets)?;
        let (c, threshold) = match (self.rule.c, self.rule.threshold) {
            (Some(c), Threshold::Fixed) => (c, None),
            (_, threshold) => {
                let Choice { c, scores } = self.choose(x, targets, streams)?;
                let believed = self.rule.believed.map_or(targets, Targets::Confidence);
                (c, (threshold == Threshold::F1).then(|| best_f1(&scores, believed)))
            }
        };
        let model = self.fit_all(x, targets, c, streams)?;
        Ok(Box::new(TunedModel { model, c: self.rule.c.is_none().then_some(c), threshold }))
    }
}

struct TunedModel {
    model: Box<dyn Model>,
    c: Option<f64>,
    threshold: Option<f64>,
}

impl Model for TunedModel {
    fn predict(&self, x: &Mat<f64>) -> Result<Prediction> {
        let found = self.model.predict(x)?;
        Ok(match self.threshold {
            Some(threshold) => found.above(threshold),
            None => found,
        })
    }

    fn chosen_c(&self) -> Option<f64> {
        self.c
    }

    fn chosen_threshold(&self) -> Option<f64> {
        self.threshold
    }
}
