//! Control: greedy forward selection by ridge regression.
//!
//! min over S, |S| = k, and W of ‖B − Z_S W‖² + λ‖W‖², approximately: starting from no feature, the one
//! that lowers the objective most is added, k times. The targets B are those of the setting `targets`; λ is
//! chosen by cross-validation. Features beyond the budget are ranked by what each would add to the
//! selected ones. Cost: k·(n·d + d·k + d·L).

use serde_json::Value;

use super::probe::all_rows::AllRows;
use super::probe::columns::Columns;
use super::probe::penalty::choose_factor;
use super::probe::targets::TargetSettings;
use super::{Context, Fitted, Method, Ranked, Training, rank, settings};
use crate::{Error, Result};

/// Greedy ridge forward selection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forward {
    settings: TargetSettings,
}

impl Method for Forward {
    fn name(&self) -> &str {
        "forward"
    }

    fn settings(&self) -> Value {
        settings::object(&self.settings)
    }

    fn with(&self, changes: &Value) -> Result<Box<dyn Method>> {
        Ok(Box::new(Forward { settings: settings::changed(&self.settings, changes)? }))
    }

    fn fit(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let (x, targets) = self.settings.problem(training, &context.streams)?;
        let factor = choose_factor(&x, &targets, &context.streams);
        let columns = Columns::new(&x);
        let mut probe = AllRows::new(&columns, &targets, factor);
        let (d, steps) = (columns.count(), context.budget.min(columns.count()));
        let mut open: Vec<usize> = (0..d).collect();
        let mut order = Vec::with_capacity(d);
        for step in 0..steps {
            if !context.observer.progress("forward", step, steps) {
                return Err(Error::cancelled());
            }
            // The largest gain; among equals the lowest index.
            let gain = |&a: &usize| probe.gain(a);
            let best = open.iter().rev().copied().max_by(|a, b| gain(a).total_cmp(&gain(b)));
            let best = best.expect("a step is left, so a feature is open");
            open.retain(|&a| a != best);
            order.push(best);
            probe.select(best);
        }
        let gains: Vec<f64> = open.iter().map(|&a| probe.gain(a)).collect();
        order.extend(rank(&gains).iter().map(|r| open[r.feature]));
        Ok(Fitted { ranking: by_place(&order), ..Fitted::default() })
    }
}

/// A ranking with the given order; the score is the share of features at this place or below.
fn by_place(order: &[usize]) -> Vec<Ranked> {
    let d = order.len();
    let score = |place: usize| (d - place) as f64 / d as f64;
    order.iter().enumerate().map(|(p, &feature)| Ranked { feature, score: score(p) }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::planted::{
        Planted, assert_survives_bad_input, assert_thread_independent, mean_hits,
    };
    use super::*;
    use crate::linalg::Mat;

    #[test]
    fn finds_planted_features() {
        assert!(mean_hits(&Forward::default(), Planted::positive) >= 11.5);
        assert!(mean_hits(&Forward::default(), Planted::signed) >= 7.5);
    }

    /// Alone, a copy of the best feature is as good as that; beside it, it is not (what is left of it
    /// is the penalty's doing: see the tests of the probe).
    #[test]
    fn a_copy_is_not_second() {
        let mut planted = Planted::signed(2);
        let best = planted.fit(&Forward::default(), 1).ranking[0].feature;
        let (n, d) = (planted.x.rows(), planted.x.cols());
        planted.x = Mat::from_fn(n, d + 1, |i, a| planted.x[(i, if a < d { a } else { best })]);
        let fitted = planted.fit(&Forward::default(), 1);
        assert_eq!(fitted.ranking[0].feature, best);
        assert!(fitted.ranking[1].feature != d, "{:?}", fitted.ranking);
    }

    #[test]
    fn robust() {
        assert_survives_bad_input(&Forward::default());
        assert_thread_independent(&Forward::default(), &Planted::positive(1));
    }
}
