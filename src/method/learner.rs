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

/// A tenth and ten times of each of the named settings, one change at a time.
pub(super) fn decades<S: Settings>(settings: &S, names: &[&str]) -> Vec<Value> {
    let now = settings::object(settings);
    let change = |name: &str, factor: f64| {
        let value = now[name].as_f64().expect("the name of a number");
        serde_json::json!({ name: value * factor })
    };
    names.iter().flat_map(|name| [change(name, 0.1), change(name, 10.0)]).collect()
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
        training.check()?;
        self.learn(training, context)
    }

    fn grid(&self) -> Vec<Value> {
        self.alternatives()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::planted::Planted;
    use super::super::{Context, Observer, by_name};
    use crate::ErrorKind;
    use crate::data::Labels;
    use crate::linalg::Mat;
    use crate::method::{Silent, Training};
    use crate::rng::Streams;

    const LEARNERS: [&str; 5] = ["pml-fsla", "pml-fsmir", "pml-fsso", "fpml", "pml-ld"];

    /// Asks to stop at once.
    struct Stops;
    impl Observer for Stops {
        fn progress(&mut self, _: &str, _: usize, _: usize) -> bool {
            false
        }
    }

    #[test]
    fn settings_can_be_changed_and_tuned() {
        for name in LEARNERS {
            let method = by_name(name).unwrap();
            assert_eq!(method.name(), name);
            let grid = method.grid();
            assert!((3..=7).contains(&grid.len()), "{name}");
            for change in grid {
                let changed = method.with(&change).unwrap();
                assert_ne!(
                    changed.settings(),
                    method.settings(),
                    "{name}: {change} is the default"
                );
            }
            let e = method.with(&json!({"no-such": 1})).err().unwrap();
            assert!(e.message().contains("found setting 'no-such'"), "{name}: {e}");
            let e = method.with(&json!({"tolerance": -1.0})).err().unwrap();
            assert_eq!(e.message(), "tolerance is -1, allowed: 0 to 1", "{name}");
        }
    }

    #[test]
    fn stops_on_request_and_refuses_wrong_shapes() {
        let set = Planted::positive(0).first(40);
        for name in LEARNERS {
            let method = by_name(name).unwrap();
            let streams = Streams::new(0);
            let mut context = Context { streams, budget: 1, observer: &mut Stops };
            let e = method.fit(&set.training(), &mut context).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Cancelled, "{name}");
            let mut context =
                Context { streams: Streams::new(0), budget: 1, observer: &mut Silent };
            let mut refuse = |x: &Mat<f32>, candidates: &Labels| {
                let e = method.fit(&Training { x, candidates }, &mut context).unwrap_err();
                assert_eq!(e.kind(), ErrorKind::Input, "{name}: {e}");
            };
            refuse(&set.x, &Labels::none(39, 6));
            refuse(&Mat::zeros(0, 3), &Labels::none(0, 6));
            refuse(&Mat::zeros(5, 3), &Labels::none(5, 0));
            refuse(&Mat::from_fn(5, 3, |_, _| f32::NAN), &Labels::none(5, 2));
        }
    }
}
