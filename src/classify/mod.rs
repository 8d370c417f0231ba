//! Classifiers: from selected features to a score for each label.

pub mod blend;
#[cfg(test)]
mod fixture;
pub mod judge;
pub mod mlknn;
pub mod pair;
pub mod platt;
pub mod prior;
pub mod rbf_svm;
pub mod svm;
pub mod threshold;
pub mod tune;
#[cfg(test)]
mod tune_tests;

use crate::data::{Folds, Labels, Splitter};
use crate::linalg::Mat;
use crate::measure::Scores;
use crate::num::Real;
use crate::rng::Streams;
use crate::{Error, Result};

/// What a classifier learns from: hard labels, or the probability of each label.
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a> {
    /// Yes or no.
    Labels(&'a Labels),
    /// A probability in [0, 1]: the instance counts that much as a positive, the rest as a negative.
    Confidence(&'a Mat<f32>),
}

impl Targets<'_> {
    /// Number of instances n.
    pub fn rows(&self) -> usize {
        match self {
            Targets::Labels(y) => y.rows(),
            Targets::Confidence(p) => p.rows(),
        }
    }

    /// Number of labels L.
    pub fn cols(&self) -> usize {
        match self {
            Targets::Labels(y) => y.cols(),
            Targets::Confidence(p) => p.cols(),
        }
    }

    /// Probability that instance i has label j.
    #[inline]
    pub fn probability(&self, i: usize, j: usize) -> f64 {
        match self {
            Targets::Labels(y) => f64::from(u8::from(y.get(i, j))),
            Targets::Confidence(p) => f64::from(p[(i, j)]),
        }
    }

    /// Mean probability of each label.
    pub fn prevalence(&self) -> Vec<f64> {
        (0..self.cols())
            .map(|j| {
                let sum: f64 = (0..self.rows()).map(|i| self.probability(i, j)).sum();
                sum / self.rows() as f64
            })
            .collect()
    }

    /// Refuses targets that cannot belong to the n rows of `x`, and numbers that are not finite.
    pub(crate) fn check(&self, x: &Mat<f64>) -> Result<()> {
        self.check_rows(x, x.rows())
    }

    /// The same where so many rows of `x` count.
    pub(crate) fn check_rows(&self, x: &Mat<f64>, rows: usize) -> Result<()> {
        if self.rows() != rows || rows == 0 || self.cols() == 0 {
            return Err(Error::found(
                format!("targets of shape {} × {}", self.rows(), self.cols()),
                format!("{} rows, as the features have, and a label", rows.max(1)),
            ));
        }
        if !crate::num::all_finite(x.as_slice()) {
            return Err(Error::found("a feature that is not finite", "finite numbers"));
        }
        if let Targets::Confidence(p) = self
            && let Some(bad) = p.as_slice().iter().find(|p| !(0.0..=1.0).contains(*p))
        {
            return Err(Error::found(
                format!("a confidence of {bad}"),
                "a probability between 0 and 1",
            ));
        }
        Ok(())
    }
}

/// Targets of some of the instances.
pub(crate) enum OwnedTargets {
    Labels(Labels),
    Confidence(Mat<f32>),
}

impl OwnedTargets {
    /// The targets of the given instances, in that order.
    pub(crate) fn select(targets: Targets<'_>, rows: &[usize]) -> Self {
        match targets {
            Targets::Labels(y) => OwnedTargets::Labels(y.select_rows(rows)),
            Targets::Confidence(p) => OwnedTargets::Confidence(p.select_rows(rows)),
        }
    }

    /// The same, with [`tempered`] confidences.
    pub(crate) fn tempered(self, power: f64) -> Self {
        match self {
            OwnedTargets::Confidence(p) => OwnedTargets::Confidence(tempered(p, power)),
            same => same,
        }
    }

    pub(crate) fn borrow(&self) -> Targets<'_> {
        match self {
            OwnedTargets::Labels(y) => Targets::Labels(y),
            OwnedTargets::Confidence(p) => Targets::Confidence(p),
        }
    }
}

/// p to a power. Below 1 it lifts what is unlikely and leaves 0 and 1 alone: p^½ is the geometric mean of
/// the probability and the candidate itself.
pub(crate) fn tempered(mut p: Mat<f32>, power: f64) -> Mat<f32> {
    if power != 1.0 {
        for p in p.as_mut_slice().iter_mut().filter(|p| **p > 0.0) {
            *p = (Real::exp(power * Real::ln(f64::from(*p))) as f32).min(1.0);
        }
    }
    p
}

/// Training and test rows of at most `k` folds; a single instance is trained on and tested.
pub(crate) fn inner_folds(
    n: usize,
    k: usize,
    streams: &Streams,
) -> Result<Vec<(Vec<usize>, Vec<usize>)>> {
    if n < 2 {
        return Ok(vec![((0..n).collect(), (0..n).collect())]);
    }
    let folds = Folds::new(&Labels::none(n, 0), k.min(n), Splitter::KFold, streams)?;
    Ok((0..folds.k()).map(|f| (folds.train(f), folds.test(f))).collect())
}

/// Scores and hard predictions for the labels of some instances.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The larger the more relevant.
    pub scores: Scores,
    /// Which labels are on.
    pub labels: Labels,
}

impl Prediction {
    /// Label j is on when its score lies above (or, if `inclusive`, at) the threshold.
    pub fn at_threshold(scores: Mat<f64>, threshold: f64, inclusive: bool) -> Self {
        let labels = Labels::from_fn(scores.rows(), scores.cols(), |i, j| {
            let s = scores[(i, j)];
            s > threshold || (inclusive && s == threshold)
        });
        Prediction { scores: Scores::new(scores), labels }
    }

    /// The same scores; a label is on when its score lies above the threshold.
    pub fn above(self, threshold: f64) -> Self {
        let s = self.scores.values();
        let labels = Labels::from_fn(s.rows(), s.cols(), |i, j| s[(i, j)] > threshold);
        Prediction { labels, ..self }
    }
}

/// A way to learn labels from features.
pub trait Classifier: Send + Sync {
    /// Name on the command line and in tables.
    fn name(&self) -> &'static str;
    /// Learns from n × d features and n × L targets.
    fn fit(&self, x: &Mat<f64>, targets: Targets<'_>, streams: &Streams) -> Result<Box<dyn Model>>;
    /// Learns from some rows of x and as many rows of targets. A classifier that can do without a copy
    /// of large features does; the result is the same.
    fn fit_rows(
        &self,
        x: &Mat<f64>,
        rows: &[usize],
        targets: Targets<'_>,
        streams: &Streams,
    ) -> Result<Box<dyn Model>> {
        self.fit(&x.select_rows(rows), targets, streams)
    }
}

/// What was learned.
pub trait Model: Send + Sync {
    /// Scores and labels of new instances.
    fn predict(&self, x: &Mat<f64>) -> Result<Prediction>;
    /// The cost C of an error that was chosen, if one was.
    fn chosen_c(&self) -> Option<f64> {
        None
    }
    /// The threshold of the scores that was chosen, if one was.
    fn chosen_threshold(&self) -> Option<f64> {
        None
    }
}

/// Refuses features whose number differs from that of the training data.
pub(crate) fn check_width(x: &Mat<f64>, expected: usize) -> Result<()> {
    if x.cols() == expected {
        return Ok(());
    }
    Err(Error::found(format!("{} features", x.cols()), format!("{expected}, as in training")))
}
