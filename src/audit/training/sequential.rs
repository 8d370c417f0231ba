//! Stage 2 of the default preset: the value of every open action against ridges that are solved anew, and the
//! ranking from rollouts against greedy selection by such ridges.

use super::relative_gap;
use crate::Result;
use crate::audit::check::{Check, Limit};
use crate::linalg::Mat;
use crate::method::Silent;
use crate::method::pomdp_fs::stage2::sequential::environment::Environment;
use crate::method::pomdp_fs::stage2::sequential::{Stage2Settings, select_features};
use crate::method::probe::columns::Columns;
use crate::method::probe::folds::{Folds, partition};
use crate::method::probe::weighting::Weighting;
use crate::rng::Streams;

const ROWS: usize = 90;
const FEATURES: usize = 7;
const LABELS: usize = 3;
const BUDGET: usize = 4;
const EXACT: Limit = Limit::AtMost(1e-9);

struct Slow<'a> {
    x: &'a Mat<f64>,
    y: &'a Mat<f64>,
    parts: &'a [Vec<usize>],
    factor: f64,
}

impl Slow<'_> {
    /// ℓ per row: half the squared error of held-out rows, half the objective on the others, of ridges on these
    /// features, each solved by elimination.
    fn error(&self, features: &[usize]) -> f64 {
        self.parts.iter().map(|part| self.fold_error(part, features)).sum::<f64>() / ROWS as f64
    }

    fn fold_error(&self, part: &[usize], features: &[usize]) -> f64 {
        let learns: Vec<usize> = (0..ROWS).filter(|i| !part.contains(i)).collect();
        let count = learns.len() as f64;
        let mean = |m: &Mat<f64>, a: usize| learns.iter().map(|&i| m[(i, a)]).sum::<f64>() / count;
        let means: Vec<f64> = features.iter().map(|&a| mean(self.x, a)).collect();
        let z = |i: usize, k: usize| self.x[(i, features[k])] - means[k];
        let k = features.len();
        let sum = |f: &dyn Fn(usize) -> f64| learns.iter().map(|&i| f(i)).sum::<f64>();
        let mut error = 0.0;
        for j in 0..LABELS {
            let centre = mean(self.y, j);
            // [ZᵀZ + λI | Zᵀb], reduced to the identity.
            let mut system = Mat::from_fn(k, k + 1, |a, b| match b {
                _ if b == k => sum(&|i| z(i, a) * (self.y[(i, j)] - centre)),
                _ => sum(&|i| z(i, a) * z(i, b)) + if a == b { self.factor * count } else { 0.0 },
            });
            eliminate(&mut system);
            let off = |i: usize| {
                let said: f64 = (0..k).map(|a| system[(a, k)] * z(i, a)).sum();
                let off = self.y[(i, j)] - centre - said;
                off * off
            };
            let size: f64 = (0..k).map(|a| system[(a, k)] * system[(a, k)]).sum();
            let objective = sum(&off) + self.factor * count * size;
            let held_out: f64 = part.iter().map(|&i| off(i)).sum();
            error += 0.5 * (held_out + part.len() as f64 / count * objective);
        }
        error
    }

    /// What each open feature adds to those that are selected.
    fn gains(&self, selected: &[usize]) -> Vec<(usize, f64)> {
        let before = self.error(selected);
        let open = (0..FEATURES).filter(|a| !selected.contains(a));
        open.map(|a| (a, before - self.error(&[selected, &[a]].concat()))).collect()
    }
}

/// Gauss-Jordan without pivots: the matrix is positive definite.
fn eliminate(system: &mut Mat<f64>) {
    for a in 0..system.rows() {
        let pivot = system[(a, a)];
        system.row_mut(a).iter_mut().for_each(|v| *v /= pivot);
        let own = system.row(a).to_vec();
        for b in (0..system.rows()).filter(|&b| b != a) {
            let factor = system[(b, a)];
            system.row_mut(b).iter_mut().zip(&own).for_each(|(v, o)| *v -= factor * o);
        }
    }
}

pub(super) fn checks(streams: &Streams) -> Result<Vec<Check>> {
    let mut rng = streams.stream("data");
    // Feature 1 nearly repeats feature 0: alone it is worth much, beside it nothing.
    let mut x = Mat::from_fn(ROWS, FEATURES, |_, _| rng.normal() as f32);
    (0..ROWS).for_each(|i| x[(i, 1)] = x[(i, 0)] + 0.1 * rng.normal() as f32);
    let targets = Mat::from_fn(ROWS, LABELS, |i, j| {
        let signal = x[(i, 0)] + 0.5 * x[(i, 2 + j)] + 0.3 * rng.normal() as f32;
        f32::from(u8::from(signal > 0.0))
    });
    let (wide, y): (Mat<f64>, Mat<f64>) = (x.cast(), targets.cast());

    let parts = partition(ROWS, 5, &mut streams.stream("folds"));
    let slow = Slow { x: &wide, y: &y, parts: &parts, factor: 0.03 };
    let heavier = Slow { factor: 0.06, ..Slow { x: &wide, y: &y, parts: &parts, factor: 0.0 } };
    let columns = Columns::new(&x);
    let mut environment =
        Environment::new(Folds::new(&columns, &y, &parts, 0.03), FEATURES, &[], 0.0);
    let (mut values, mut wrong, mut rewards, mut selected) = (0.0f64, 0.0f64, 0.0f64, Vec::new());
    for a in [2, 0, 5] {
        let gap = |slow: &Slow<'_>| {
            let gains = slow.gains(&selected);
            let said: Vec<f64> = gains.iter().map(|&(a, _)| environment.values()[a]).collect();
            relative_gap(said, &gains.iter().map(|g| g.1).collect::<Vec<_>>())
        };
        values = values.max(gap(&slow));
        wrong = wrong.max(gap(&heavier));
        let before = slow.error(&selected);
        let reward = environment.step(a);
        selected.push(a);
        rewards = rewards.max((reward - (before - slow.error(&selected))).abs());
    }

    let settings = Stage2Settings {
        rollouts: 1,
        gamma: 0.0,
        weighting: Weighting::None,
        ..Stage2Settings::default()
    };
    let found =
        select_features(&x, &targets, &settings, BUDGET, &streams.child("fit"), &mut Silent)?;
    let parts = partition(ROWS, 5, &mut streams.child("fit").child("rollout/0").stream("folds"));
    let slow = Slow { x: &wide, y: &y, parts: &parts, factor: found.lambda };
    let greedy = greedy(&slow);
    let mut alone = slow.gains(&[]);
    alone.sort_by(|a, b| b.1.total_cmp(&a.1));
    let differ = |order: &[usize]| {
        found.ranking.iter().zip(order).filter(|(r, a)| r.feature != **a).count() as f64
    };
    let score = |place: usize| (BUDGET - place) as f64 / BUDGET as f64;
    let scores = (0..BUDGET).map(|k| (found.ranking[k].score - score(k)).abs()).fold(0.0, f64::max);
    Ok(vec![
        Check::new(
            "stage2/observation/values",
            "values of all open actions in 3 states against ridges solved anew, 5 folds",
            values,
            EXACT,
        ),
        Check::new(
            "stage2/observation/reward",
            "reward of each step against the same",
            rewards,
            EXACT,
        ),
        Check::control("stage2/observation/values", "a ridge with twice the penalty", wrong, EXACT),
        Check::new(
            "stage2/observation/ranking",
            "places of the ranking of one rollout that differ from greedy selection by such ridges",
            differ(&greedy),
            Limit::Exactly(0.0),
        ),
        Check::new(
            "stage2/observation/score",
            "score of a selected feature against the share of steps that were left",
            scores,
            Limit::AtMost(1e-12),
        ),
        Check::control(
            "stage2/observation/ranking",
            "features ranked by their value alone, not in sequence",
            differ(&alone.iter().map(|g| g.0).collect::<Vec<_>>()),
            Limit::Exactly(0.0),
        ),
    ])
}

/// The best feature, then the best beside it, …; the rest by value in the last state.
fn greedy(slow: &Slow<'_>) -> Vec<usize> {
    let mut order = Vec::new();
    for _ in 0..BUDGET {
        let gains = slow.gains(&order);
        let best = gains.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1)).expect("an open feature");
        order.push(best.0);
    }
    let mut rest = slow.gains(&order);
    rest.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.extend(rest.iter().map(|g| g.0));
    order
}
