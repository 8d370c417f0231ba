//! Predicts labels by one linear function per label.

use super::Predictor;
use super::factorise::product;
use crate::classify::{Prediction, check_width};
use crate::data::{Labels, Scaler};
use crate::linalg::Mat;
use crate::measure::Scores;
use crate::num::{Real, log_sum_exp, sum};
use crate::{Error, Result};

/// Outputs X W + b of rows scaled as in training, and how they become labels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LinearPredictor {
    /// The method's own scaling, on top of that of its input.
    pub scaler: Scaler,
    /// W, d × L.
    pub weights: Mat<f64>,
    /// b, one value per label.
    pub bias: Vec<f64>,
    /// From outputs to scores and labels.
    pub rule: Rule,
}

/// From outputs to scores and labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    /// An output is a confidence: a label is on from ½ on.
    Confidence,
    /// The softmax of the outputs is a label distribution: a label is on if its output lies above
    /// the mean of the row.
    Distribution,
}

impl Predictor for LinearPredictor {
    fn predict(&self, x: &Mat<f32>) -> Result<Prediction> {
        let x: Mat<f64> = x.cast();
        check_width(&x, self.weights.rows())?;
        let rows: Vec<usize> = (0..x.rows()).collect();
        let mut outputs = product(self.scaler.apply::<f64>(&x, &rows).view(), self.weights.view());
        for i in rows {
            crate::num::add_assign(outputs.row_mut(i), &self.bias);
        }
        self.rule.decide(outputs)
    }
}

impl Rule {
    /// Scores and labels; refuses outputs that are not finite.
    pub fn decide(self, outputs: Mat<f64>) -> Result<Prediction> {
        if !crate::num::all_finite(outputs.as_slice()) {
            return Err(Error::numeric("a prediction is not finite").hint("scale the features"));
        }
        Ok(match self {
            Rule::Confidence => Prediction::at_threshold(outputs, 0.5, true),
            Rule::Distribution => distribution(outputs),
        })
    }
}

fn distribution(mut outputs: Mat<f64>) -> Prediction {
    let mut labels = Labels::none(outputs.rows(), outputs.cols());
    for i in 0..outputs.rows() {
        let row = outputs.row_mut(i);
        let mean = sum(row) / row.len() as f64;
        row.iter().enumerate().for_each(|(j, v)| labels.set(i, j, *v > mean));
        softmax(row);
    }
    Prediction { scores: Scores::new(outputs), labels }
}

/// Positive values that sum to 1, in the ratios of their exponentials.
pub(super) fn softmax(row: &mut [f64]) {
    let total = log_sum_exp(row);
    row.iter_mut().for_each(|v| *v = Real::exp(*v - total));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predictor(rule: Rule) -> LinearPredictor {
        let scaler = Scaler::from_columns(vec![(1.0, 0.5), (0.0, 1.0)]);
        let weights = Mat::from_vec(2, 3, vec![1.0, 0.0, -1.0, 0.0, 2.0, 0.0]);
        LinearPredictor { scaler, weights, bias: vec![0.0, 0.5, 1.0], rule }
    }

    #[test]
    fn outputs_become_labels() {
        let x = Mat::from_vec(2, 2, vec![3.0, 0.0, 1.0, -1.0]);
        let outputs = [[1.0, 0.5, 0.0], [0.0, -1.5, 1.0]];
        let p = predictor(Rule::Confidence).predict(&x).unwrap();
        assert_eq!(p.scores.values().as_slice(), outputs.as_flattened());
        assert_eq!(p.labels.as_slice(), [true, true, false, false, false, true]);
        let p = predictor(Rule::Distribution).predict(&x).unwrap();
        assert_eq!(p.labels.as_slice(), [true, false, false, true, false, true]);
        for (row, outputs) in p.scores.values().rows_iter().zip(outputs) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let ratio = row[0] / row[2];
            assert!((ratio - libm::exp(outputs[0] - outputs[2])).abs() < 1e-12 * ratio);
        }
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let p = predictor(Rule::Confidence);
        let e = p.predict(&Mat::zeros(1, 3)).unwrap_err();
        assert_eq!(e.message(), "found 3 features, expected 2, as in training");
        let e = p.predict(&Mat::from_vec(1, 2, vec![f32::NAN, 0.0])).unwrap_err();
        assert_eq!(e.message(), "a prediction is not finite");
    }
}
