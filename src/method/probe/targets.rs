//! What the controls `forward` and `ridge` explain by features.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::linalg::Mat;
use crate::method::Training;
use crate::method::factorise::indicator;
use crate::method::logistic::default_posteriors;
use crate::method::probe::weighting::Weighting;
use crate::method::settings::Settings;
use crate::rng::Streams;

/// Where the targets come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Cross-fitted posteriors of logistic regression with label context.
    #[default]
    Posterior,
    /// The candidate labels as they are.
    Candidates,
}

impl Source {
    /// The targets, n × L in [0, 1]. The one place where they are made.
    pub fn make(self, training: &Training<'_>, streams: &Streams) -> Result<Mat<f64>> {
        training.check()?;
        match self {
            Source::Posterior => Ok(default_posteriors(training, streams)),
            Source::Candidates => Ok(indicator(training.candidates)),
        }
    }
}

/// Settings of both controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSettings {
    /// What the features must explain.
    pub targets: Source,
    /// How much columns and labels count; `none` is the textbook's.
    pub weighting: Weighting,
}

impl Default for TargetSettings {
    fn default() -> Self {
        TargetSettings { targets: Source::default(), weighting: Weighting::None }
    }
}

impl TargetSettings {
    /// Features and targets as the probe sees them.
    pub fn problem(
        &self,
        training: &Training<'_>,
        streams: &Streams,
    ) -> Result<(Mat<f32>, Mat<f64>)> {
        let targets = self.targets.make(training, streams)?;
        Ok((self.weighting.features(training.x), self.weighting.targets(&targets)))
    }
}

impl Settings for TargetSettings {
    fn check(&self) -> Result<()> {
        Ok(())
    }
}
