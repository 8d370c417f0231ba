//! POMDP-FS behind the trait that all methods share: a fit that its observer can watch, stop, and
//! continue from a checkpoint.

use serde_json::Value;

use super::checkpoint::{pack, unpack};
use super::config::{Config, Preset};
use super::default_fit;
use super::fit::Fit;
use crate::method::{Context, Fitted, Method, Training, settings};
use crate::{Error, Result};

/// The method, for tables and comparisons.
#[derive(Clone, Debug)]
pub struct PomdpFs {
    /// Its settings.
    pub config: Config,
}

impl PomdpFs {
    /// `pomdp-fs` or, with preset `paper`, `pomdp-fs-paper`; `pomdp-fs-soft` if that learns from
    /// probabilities in Stage 2.
    pub fn new(config: Config) -> Self {
        PomdpFs { config }
    }
}

impl Method for PomdpFs {
    fn name(&self) -> &str {
        match (self.config.preset, self.config.soft) {
            (Preset::Observation, _) => "pomdp-fs",
            (Preset::Paper, false) => "pomdp-fs-paper",
            (Preset::Paper, true) => "pomdp-fs-soft",
        }
    }

    fn settings(&self) -> Value {
        settings::object(&self.config)
    }

    fn unread(&self) -> &'static [&'static str] {
        self.config.preset.unread()
    }

    fn revision(&self) -> u32 {
        match self.config.preset {
            Preset::Paper => 0,
            // It did not hear `cross_fit` at first, and an SVM that learned its confidences had not heard of
            // the prior.
            Preset::Observation => 1 + u32::from(self.config.cross_fit.is_some()),
        }
    }

    fn with(&self, changes: &Value) -> Result<Box<dyn Method>> {
        Ok(Box::new(PomdpFs::new(settings::changed(&self.config, changes)?)))
    }

    fn fit(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        if self.config.preset == Preset::Observation {
            return default_fit::fit(&self.config, training, context);
        }
        let streams = context.streams.child("pomdp-fs");
        let mut fit = Fit::new(&self.config, *training, context.budget, streams)?;
        let fingerprint = fit.fingerprint();
        let observer = &mut *context.observer;
        if let Some(stored) = observer.resume()? {
            let (progress, weights) = unpack(&stored, &fingerprint, self.config.optimisers())?;
            fit.resume(progress, weights);
        }
        loop {
            let (done, total) = fit.done();
            let phase = if fit.stage() == 1 { "Stage 1" } else { "Stage 2" };
            if !observer.progress(phase, done, total) {
                return Err(Error::cancelled());
            }
            if !fit.advance()? {
                return Ok(fit.finish());
            }
            fit.record_epsilon(|pseudo| observer.epsilon(pseudo));
            let (progress, weights) = fit.progress();
            observer.checkpoint(&|| pack(progress, weights, &fingerprint))?;
        }
    }
}

#[cfg(test)]
#[path = "method_tests.rs"]
mod tests;
