//! Controls: logistic regression under the observation model, without and with label context.
//!
//! min over w_j, b_j of Σ_i −ln P(C_ij | σ(w_j·x_i + b_j), ρ) + (nλ/2)‖w_j‖², one noise rate ρ from the
//! envelope, λ by held-out likelihood, labels from cross-fitted posteriors: see [`super::observation`].
//! This is Stage 1 of POMDP-FS without its networks, and an honest rival: whatever the networks are
//! worth must show against it. Features are ranked by the row norms of the weights.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::observation::context::posteriors;
use super::observation::{LinearBelief, LinearOptions};
use super::settings::{self, Settings, within};
use super::{Context, Fitted, Method, Training, rank};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::rng::Streams;
use crate::{Error, Result};

/// Settings of both controls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogisticSettings {
    /// ρ, if it is known.
    pub rho: Option<f64>,
    /// A rate ρ_j for each label.
    pub rho_per_label: bool,
}

impl Settings for LogisticSettings {
    fn check(&self) -> Result<()> {
        self.rho.map_or(Ok(()), |rho| within("rho", rho, 0.01, 0.6))
    }
}

/// Logistic regression as a method.
#[derive(Clone, Copy, Debug)]
pub struct Logistic {
    /// Whether a label sees the candidates of the others.
    pub context: bool,
    /// Settings.
    pub settings: LogisticSettings,
}

impl Logistic {
    /// `logistic` or, with context, `logistic-context`.
    pub fn new(context: bool) -> Self {
        Logistic { context, settings: LogisticSettings::default() }
    }

    fn belief(&self, training: &Training<'_>, streams: &Streams) -> LinearBelief {
        let options = LinearOptions {
            rho: self.settings.rho,
            rho_per_label: self.settings.rho_per_label,
            without_context: !self.context,
            ..LinearOptions::default()
        };
        LinearBelief::fit(training.x, training.candidates, &options, streams)
    }
}

/// Cross-fitted posteriors with label context: what other controls explain by features.
pub(super) fn default_posteriors(training: &Training<'_>, streams: &Streams) -> Mat<f64> {
    let belief = Logistic::new(true).belief(training, &streams.child("posteriors"));
    posteriors(&belief.logits, &training.candidates.to_mat(), &belief.noise())
}

impl Method for Logistic {
    fn name(&self) -> &str {
        if self.context { "logistic-context" } else { "logistic" }
    }

    fn settings(&self) -> Value {
        settings::object(&self.settings)
    }

    fn with(&self, changes: &Value) -> Result<Box<dyn Method>> {
        let settings = settings::changed(&self.settings, changes)?;
        Ok(Box::new(Logistic { settings, ..*self }))
    }

    fn revision(&self) -> u32 {
        1 // An SVM that learned its confidences had not heard of the prior before.
    }

    fn fit(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        training.check()?;
        if !context.observer.progress(self.name(), 0, 1) {
            return Err(Error::cancelled());
        }
        let belief = self.belief(training, &context.streams);
        let p = posteriors(&belief.logits, &training.candidates.to_mat(), &belief.noise());
        let weights = &belief.model;
        let norm = |f: usize| -> f64 {
            let both = weights.plain.row(f).iter().zip(weights.unit.row(f));
            both.map(|(a, b)| (a + b) * (a + b)).sum::<f64>().sqrt()
        };
        let scores: Vec<f64> = (0..training.x.cols()).map(norm).collect();
        Ok(Fitted {
            ranking: rank(&scores),
            pseudo: Some(Labels::from_fn(p.rows(), p.cols(), |i, j| p[(i, j)] >= 0.5)),
            confidence: Some(p.cast()),
            prior: Some(belief.prior()),
            notes: vec![format!(
                "noise rate {:.3}",
                belief.rho.iter().sum::<f64>() / belief.rho.len() as f64
            )],
            ..Fitted::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Silent;
    use serde_json::json;

    /// Label 1 follows label 0 in nine rows of ten and has no feature of its own.
    fn data() -> (Mat<f32>, Labels, Labels) {
        let mut r = Streams::new(2).stream("logistic");
        let x = Mat::from_fn(500, 5, |_, _| r.normal() as f32);
        let mut truth = Labels::from_fn(500, 3, |i, j| j != 1 && x[(i, j)] > 0.5);
        for i in 0..500 {
            truth.set(i, 1, truth.get(i, 0) != r.bernoulli(0.1));
        }
        let candidates = Labels::from_fn(500, 3, |i, j| truth.get(i, j) || r.bernoulli(0.3));
        (x, truth, candidates)
    }

    #[test]
    fn labels_become_cleaner_and_context_helps_where_labels_are_dependent() {
        let (x, truth, candidates) = data();
        let training = Training { x: &x, candidates: &candidates };
        let errors = [false, true].map(|context| {
            let method = Logistic::new(context);
            let mut c = Context { streams: Streams::new(1), budget: 2, observer: &mut Silent };
            let fitted = method.fit(&training, &mut c).unwrap();
            let best: Vec<usize> = fitted.ranking[..2].iter().map(|r| r.feature).collect();
            assert!(best.contains(&0) && best.contains(&2), "{best:?}");
            fitted.pseudo.unwrap().hamming_distance(&truth)
        });
        let before = candidates.hamming_distance(&truth);
        assert!(errors[0] < 0.7 * before && errors[1] < errors[0], "{before} {errors:?}");
    }

    #[test]
    fn the_rate_can_be_given() {
        let method = Logistic::new(true).with(&json!({"rho": 0.4})).unwrap();
        assert_eq!(method.settings()["rho"], 0.4);
        assert!(Logistic::new(true).with(&json!({"rho": 0.9})).is_err());
    }
}
