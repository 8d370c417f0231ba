//! Controls: what a ranking is worth that knows nothing, uses everything, or uses nothing.
//!
//! Every table has them. `random` ranks by chance (evaluation averages ten such rankings), `all`
//! ignores the budget, `zeros` uses no feature: what is left is the label prior. `drop-all` is the
//! control of the labels: it believes none of them. `mutual-information` is the plain filter that
//! every ranking has to beat.

mod mutual_information;

pub(super) use mutual_information::MutualInformation;

use serde_json::Value;

use super::settings::{self, NoSettings};
use super::{Context, Fitted, Method, Training, rank};
use crate::Result;
use crate::data::Labels;
use crate::linalg::Mat;

/// A control has no settings.
macro_rules! no_settings {
    ($control:expr) => {
        fn settings(&self) -> Value {
            settings::object(&NoSettings {})
        }

        fn with(&self, changes: &Value) -> Result<Box<dyn Method>> {
            settings::changed(&NoSettings {}, changes)?;
            Ok(Box::new($control))
        }
    };
}

/// Features in random order.
pub struct Random;

impl Method for Random {
    fn name(&self) -> &str {
        "random"
    }

    no_settings!(Random);

    fn fit(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let mut stream = context.streams.stream("random");
        let scores: Vec<f64> = (0..training.x.cols()).map(|_| stream.uniform()).collect();
        Ok(ranking_only(&scores))
    }

    fn repetitions(&self) -> usize {
        10
    }
}

/// All features, whatever the budget.
pub struct All;

impl Method for All {
    fn name(&self) -> &str {
        "all"
    }

    no_settings!(All);

    fn fit(&self, training: &Training<'_>, _: &mut Context<'_>) -> Result<Fitted> {
        Ok(ranking_only(&vec![0.0; training.x.cols()]))
    }

    fn selected(&self, _: usize, d: usize) -> usize {
        d
    }
}

/// No feature, whatever the budget.
pub struct Zeros;

impl Method for Zeros {
    fn name(&self) -> &str {
        "zeros"
    }

    no_settings!(Zeros);

    fn fit(&self, training: &Training<'_>, _: &mut Context<'_>) -> Result<Fitted> {
        Ok(ranking_only(&vec![0.0; training.x.cols()]))
    }

    fn selected(&self, _: usize, _: usize) -> usize {
        0
    }
}

/// No label, whatever the candidates: ε is the density of the true labels. The features come in the
/// order of their indices, which means nothing.
pub struct DropAll;

impl Method for DropAll {
    fn name(&self) -> &str {
        "drop-all"
    }

    no_settings!(DropAll);

    fn fit(&self, training: &Training<'_>, _: &mut Context<'_>) -> Result<Fitted> {
        let (n, labels) = (training.candidates.rows(), training.candidates.cols());
        Ok(Fitted {
            pseudo: Some(Labels::none(n, labels)),
            confidence: Some(Mat::zeros(n, labels)),
            ..ranking_only(&vec![0.0; training.x.cols()])
        })
    }
}

fn ranking_only(scores: &[f64]) -> Fitted {
    Fitted { ranking: rank(scores), ..Fitted::default() }
}

#[cfg(test)]
mod tests {
    use super::super::{Silent, by_name};
    use super::*;
    use crate::rng::Streams;

    #[test]
    fn controls_rank_every_feature_once() {
        let (x, candidates) = (Mat::zeros(3, 7), Labels::none(3, 2));
        let training = Training { x: &x, candidates: &candidates };
        for (name, used) in [("random", 4), ("all", 7), ("zeros", 0), ("drop-all", 4)] {
            let method = by_name(name).unwrap();
            let fit = |seed| {
                let streams = Streams::new(seed);
                let mut context = Context { streams, budget: 4, observer: &mut Silent };
                let fitted = method.fit(&training, &mut context).unwrap();
                fitted.ranking.iter().map(|r| r.feature).collect::<Vec<_>>()
            };
            let mut order = fit(1);
            assert_eq!(order, fit(1));
            assert_eq!(name == "random", order != fit(2));
            order.sort_unstable();
            assert_eq!(order, (0..7).collect::<Vec<_>>());
            assert_eq!(method.selected(4, 7), used);
        }
        let unknown = by_name("no-such").err().unwrap().to_string();
        assert!(unknown.contains("random, all, zeros"), "{unknown}");
    }

    #[test]
    fn drop_all_believes_nothing() {
        let (x, candidates) = (Mat::zeros(3, 2), Labels::from_fn(3, 4, |i, j| i != j));
        let training = Training { x: &x, candidates: &candidates };
        let mut context = Context { streams: Streams::new(0), budget: 1, observer: &mut Silent };
        let fitted = DropAll.fit(&training, &mut context).unwrap();
        assert_eq!(fitted.pseudo, Some(Labels::none(3, 4)));
        assert_eq!(fitted.confidence, Some(Mat::zeros(3, 4)));
        let order: Vec<usize> = fitted.ranking.iter().map(|r| r.feature).collect();
        assert_eq!(order, [0, 1]);
    }
}
