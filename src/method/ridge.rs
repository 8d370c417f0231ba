//! Control: row norms of ridge regression.
//!
//! min over W of ‖B − Z W‖² + λ‖W‖² on all features at once; feature a scores ‖W_a‖. Targets B and λ are
//! those of `forward`. Cost: n·d² + d³/3.

use serde_json::Value;

use super::factorise::row_norms;
use super::probe::columns::Columns;
use super::probe::penalty::{choose_factor, ridge};
use super::probe::targets::TargetSettings;
use super::{Context, Fitted, Method, Training, rank, settings};
use crate::Result;

/// Ridge regression, ranked by row norms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ridge {
    settings: TargetSettings,
}

impl Method for Ridge {
    fn name(&self) -> &str {
        "ridge"
    }

    fn settings(&self) -> Value {
        settings::object(&self.settings)
    }

    fn with(&self, changes: &Value) -> Result<Box<dyn Method>> {
        Ok(Box::new(Ridge { settings: settings::changed(&self.settings, changes)? }))
    }

    fn fit(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let (x, targets) = self.settings.problem(training, &context.streams)?;
        let factor = choose_factor(&x, &targets, &context.streams);
        let weights = ridge(&Columns::new(&x), &targets, factor);
        Ok(Fitted { ranking: rank(&row_norms(&weights)), ..Fitted::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::planted::{
        Planted, assert_survives_bad_input, assert_thread_independent, mean_hits,
    };
    use super::*;

    #[test]
    fn finds_planted_features() {
        assert!(mean_hits(&Ridge::default(), Planted::positive) >= 11.5);
        assert!(mean_hits(&Ridge::default(), Planted::signed) >= 7.5);
    }

    #[test]
    fn robust() {
        assert_survives_bad_input(&Ridge::default());
        assert_thread_independent(&Ridge::default(), &Planted::positive(1));
    }
}
