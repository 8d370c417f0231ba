//! A method that is nothing but its settings: the settings are the method.

use serde_json::Value;

use super::settings::{self, Settings};
use super::{Context, Fitted, Method, Training};
use crate::Result;

/// Settings that can learn. Everything else a [`Method`] needs follows.
pub(super) trait Learner: Settings + Clone + Send + Sync + 'static {
    /// Name on the command line and in tables.
    const NAME: &'static str;
    /// Learns from candidate labels; see [`Method::fit`].
    fn learn(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted>;
    /// What tuning tries; see [`Method::grid`].
    fn alternatives(&self) -> Vec<Value>;
}

impl<S: Learner> Method for S {
    fn name(&self) -> &str {
        S::NAME
    }

    fn settings(&self) -> Value {
        settings::object(self)
    }

    fn with(&self, changes: &Value) -> Result<Box<dyn Method>> {
        Ok(Box::new(settings::changed(self, changes)?))
    }

    fn fit(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        self.check()?;
        super::pomdp_fs::fit::check_data(training)?;
        self.learn(training, context)
    }

    fn grid(&self) -> Vec<Value> {
        self.alternatives()
    }
}
