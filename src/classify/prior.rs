//! The label prior: what is known without any feature.

use super::{Classifier, Model, Prediction, Targets};
use crate::Result;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::measure::Scores;
use crate::rng::Streams;

/// Scores every instance with the prevalence of each label and predicts no label at all: the floor
/// of every ranking metric, and Micro-F1 0.
pub struct Prior;

impl Classifier for Prior {
    fn name(&self) -> &'static str {
        "prior"
    }

    fn fit(&self, x: &Mat<f64>, targets: Targets<'_>, _: &Streams) -> Result<Box<dyn Model>> {
        targets.check(x)?;
        Ok(Box::new(PriorModel(targets.prevalence())))
    }
}

struct PriorModel(Vec<f64>);

impl Model for PriorModel {
    fn predict(&self, x: &Mat<f64>) -> Result<Prediction> {
        let scores = Mat::from_fn(x.rows(), self.0.len(), |_, j| self.0[j]);
        let labels = Labels::none(x.rows(), self.0.len());
        Ok(Prediction { scores: Scores::new(scores), labels })
    }
}
