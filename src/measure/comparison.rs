//! `Comparison`: truth, scores and predictions of the same shape, checked once so that no metric has to.

use crate::data::Labels;
use crate::linalg::Mat;
use crate::{Error, Result};

/// Label scores, n × L, the larger the more relevant. Never NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    values: Mat<f64>,
    nan: usize,
}

impl Scores {
    /// Takes the scores. A NaN becomes −∞, the worst score there is, and is counted.
    pub fn new(mut values: Mat<f64>) -> Self {
        let mut nan = 0;
        for v in values.as_mut_slice() {
            if v.is_nan() {
                *v = f64::NEG_INFINITY;
                nan += 1;
            }
        }
        Scores { values, nan }
    }

    /// How many of the scores were NaN.
    pub fn nan(&self) -> usize {
        self.nan
    }

    /// The scores.
    pub fn values(&self) -> &Mat<f64> {
        &self.values
    }
}

/// What a metric compares: y (truth), f (scores), ŷ (predictions).
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    pub(super) truth: &'a Labels,
    pub(super) scores: &'a Mat<f64>,
    pub(super) predictions: &'a Labels,
}

impl<'a> Comparison<'a> {
    /// Refuses shapes that differ, and a comparison of nothing.
    pub fn new(truth: &'a Labels, scores: &'a Scores, predictions: &'a Labels) -> Result<Self> {
        let shape = (truth.rows(), truth.cols());
        if shape.0 == 0 || shape.1 == 0 {
            return Err(Error::found(
                format!("{} instances with {} labels", shape.0, shape.1),
                "at least one of each to measure",
            ));
        }
        let others = [
            ("scores", scores.values.rows(), scores.values.cols()),
            ("predictions", predictions.rows(), predictions.cols()),
        ];
        for (what, rows, cols) in others {
            if (rows, cols) != shape {
                return Err(Error::found(
                    format!("{what} of shape {rows} × {cols}"),
                    format!("{} × {}, the shape of the true labels", shape.0, shape.1),
                ));
            }
        }
        Ok(Comparison { truth, scores: &scores.values, predictions })
    }

    /// Number of labels L.
    pub(super) fn labels(&self) -> usize {
        self.truth.cols()
    }

    /// Truth and scores, instance after instance.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'a [bool], &'a [f64])> + use<'a> {
        let (truth, scores) = (self.truth, self.scores);
        (0..truth.rows()).map(move |i| (truth.row(i), scores.row(i)))
    }

    /// Truth and predictions, instance after instance.
    pub(super) fn hard_rows(&self) -> impl Iterator<Item = (&'a [bool], &'a [bool])> + use<'a> {
        let (truth, predictions) = (self.truth, self.predictions);
        (0..truth.rows()).map(move |i| (truth.row(i), predictions.row(i)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_must_match_and_nan_is_counted() {
        let truth = Labels::none(3, 2);
        let scores = Scores::new(Mat::from_fn(3, 2, |i, j| if i == j { f64::NAN } else { 1.0 }));
        assert_eq!(scores.nan(), 2);
        assert_eq!(scores.values()[(0, 0)], f64::NEG_INFINITY);
        assert!(Comparison::new(&truth, &scores, &truth).is_ok());
        let text = |e: Result<Comparison<'_>>| e.unwrap_err().to_string();
        let narrow = Labels::none(3, 1);
        assert!(text(Comparison::new(&narrow, &scores, &narrow)).contains("scores of shape 3 × 2"));
        assert!(
            text(Comparison::new(&truth, &scores, &narrow)).contains("predictions of shape 3 × 1")
        );
        let nothing = Labels::none(0, 2);
        let none = Scores::new(Mat::zeros(0, 2));
        assert!(text(Comparison::new(&nothing, &none, &nothing)).contains("0 instances"));
    }
}
