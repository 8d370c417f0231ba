//! Stage 2 of the default preset: a sequential policy with exact advantages.
//!
//! The POMDP is the paper's (4.2): the mask starts empty, an action selects one open feature, T = k_fs
//! actions make a rollout, the reward is the negative supervised loss on the pseudo labels. The loss is
//! the squared error of a ridge regression, held out over five folds that are drawn anew for every
//! rollout. It has a closed form (`method/probe`), so the environment knows in each state what *every*
//! open action is worth, and the policy learns from all of them, not from the one that was drawn. The
//! first rollout takes the action of the largest value, so that all runs start from much the same
//! states; from the second on the policy acts. [`pairs`] lets it see two steps ahead where one step
//! shows nothing. `docs/stage2.md` has costs, measurements and limits.

mod checkpoint;
pub(crate) mod environment;
pub mod pairs;
mod policy;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use self::checkpoint::fingerprint;
use self::environment::Environment;
use self::pairs::Pair;
use self::policy::Policy;
use super::ranking::FeatureStatistics;
use crate::linalg::Mat;
use crate::method::probe::columns::Columns;
use crate::method::probe::folds::{Folds, partition};
use crate::method::probe::penalty::choose_factor;
use crate::method::probe::weighting::Weighting;
use crate::method::settings::{Settings, within};
use crate::method::{Observer, Ranked, rank};
use crate::rng::Streams;
use crate::{Error, Result};

/// Folds of a rollout.
const FOLDS: usize = 5;

/// Actions that are drawn at once.
const PANEL: usize = 32;

/// Settings of the sequential policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage2Settings {
    /// Rollouts; the last half of them makes the ranking.
    pub rollouts: usize,
    /// η of the natural gradient.
    pub rate: f64,
    /// γ: weight of a second step. 0 is greedy, 1 plans two steps where a pair calls for it.
    pub gamma: f64,
    /// How much features and labels count.
    pub weighting: Weighting,
    /// Longest rollout, if it is to be shorter than the budget.
    pub longest: Option<usize>,
}

impl Default for Stage2Settings {
    fn default() -> Self {
        Stage2Settings {
            rollouts: 20,
            rate: 1.0,
            gamma: 1.0,
            weighting: Weighting::Spread,
            longest: None,
        }
    }
}

impl Settings for Stage2Settings {
    fn check(&self) -> Result<()> {
        within("rollouts", self.rollouts as f64, 1.0, 1e6)?;
        within("rate", self.rate, 0.0, 1e3)?;
        within("gamma", self.gamma, 0.0, 1.0)?;
        self.longest.map_or(Ok(()), |longest| within("rollout", longest as f64, 1.0, 1e6))
    }
}

/// One rollout, for the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RolloutRecord {
    /// Held-out loss of the empty mask: squared error per row and label.
    pub loss_start: f64,
    /// The same after T features.
    pub loss_end: f64,
    /// Mean over the steps of the largest probability: 1/d at first, 1 when the policy is settled.
    pub certainty: f64,
}

/// What Stage 2 found out.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    /// All features, best first.
    pub ranking: Vec<Ranked>,
    /// What the last half of the rollouts does with each feature: share that selects it, mean reward
    /// of its selection (of those that never select it: what it would add in the end), mean
    /// probability over the visited states.
    pub statistics: FeatureStatistics,
    /// All rollouts.
    pub history: Vec<RolloutRecord>,
    /// Pairs of features that were planned together.
    pub pairs: Vec<Pair>,
    /// λ of the ridge, as a multiple of its rows.
    pub lambda: f64,
}

/// Ranks the features of `x` (scaled) by a policy that learns to explain the targets, n × L posteriors
/// in [0, 1], with `budget` features.
pub fn select_features(
    x: &Mat<f32>,
    targets: &Mat<f32>,
    settings: &Stage2Settings,
    budget: usize,
    streams: &Streams,
    observer: &mut dyn Observer,
) -> Result<Selected> {
    settings.check()?;
    check(x, targets, budget)?;
    let d = x.cols();
    let (mut x, targets) =
        (settings.weighting.features(x), settings.weighting.targets(&targets.cast()));
    let name = fingerprint(&x, &targets, settings, budget, streams);
    let factor = choose_factor(&x, &targets, streams);
    let mut found = Vec::new();
    if settings.gamma > 0.0 {
        found = pairs::find(&x, &Columns::new(&x), &targets, factor, streams);
        if !found.is_empty() {
            x = pairs::with_products(&x, &found);
        }
    }
    let columns = Columns::new(&x);
    let steps = budget.min(d).min(settings.longest.unwrap_or(d));
    let cells = targets.cols() as f64;
    let mut policy = Policy::new(d);
    let mut history = Vec::with_capacity(settings.rollouts);
    let mut tally = Tally::new(d, steps, settings.rollouts.div_ceil(2));
    if let Some(stored) = observer.resume()? {
        history = checkpoint::unpack(&stored, &name, &mut policy.scores, &mut tally)?;
    }
    for r in history.len()..settings.rollouts {
        if !observer.progress("Stage 2", r, settings.rollouts) {
            return Err(Error::cancelled());
        }
        let streams = streams.child(&format!("rollout/{r}"));
        let parts = partition(x.rows(), FOLDS, &mut streams.stream("folds"));
        let mut actions = streams.stream("actions");
        let probes = Folds::new(&columns, &targets, &parts, factor);
        let mut environment = Environment::new(probes, d, &found, settings.gamma);
        let counts = r >= settings.rollouts / 2;
        let mut record =
            RolloutRecord { loss_start: environment.loss() / cells, ..RolloutRecord::default() };
        let mut planned = VecDeque::new();
        let mut worth = vec![0.0; d];
        for step in 0..steps {
            policy.observe(environment.open(), environment.values());
            environment.open().iter().for_each(|&a| worth[a] += environment.values()[a]);
            if r > 0 && planned.is_empty() {
                let count = PANEL.min(steps - step);
                planned = policy.plan(environment.open(), count, &mut actions).into();
                environment.announce(planned.make_contiguous());
            }
            let a = planned.pop_front().unwrap_or_else(|| environment.best());
            let reward = environment.step(a);
            record.certainty += crate::num::max(&policy.probabilities) / steps as f64;
            if counts {
                tally.selected(a, step, reward, &policy.probabilities);
            }
        }
        record.loss_end = environment.loss() / cells;
        history.push(record);
        policy.learn(settings.rate);
        if counts {
            tally.left(environment.open(), environment.values(), &worth);
        }
        observer.checkpoint(&|| checkpoint::pack(&name, &history, &policy.scores, &tally))?;
    }
    let (statistics, score) = tally.finish();
    Ok(Selected { ranking: rank(&score), statistics, history, pairs: found, lambda: factor })
}

fn check(x: &Mat<f32>, targets: &Mat<f32>, budget: usize) -> Result<()> {
    let (n, d, labels) = (x.rows(), x.cols(), targets.cols());
    if n == 0 || d == 0 || labels == 0 || targets.rows() != n {
        return Err(Error::found(
            format!("{n} rows of {d} features, {} of {labels} targets", targets.rows()),
            "as many rows of targets as of features, and at least one of each",
        ));
    }
    if budget == 0 {
        return Err(Error::config("the budget is 0, expected at least one feature"));
    }
    x.check_finite("features")?;
    targets.check_finite("targets")
}

/// What the rollouts that count did with each feature.
///
/// The score of a feature is the mean over these rollouts of the share of steps that were left when it
/// was selected. A feature that is not selected takes its place among those left by what it was worth in
/// the states of the rollout together, and that place is worth less than one selection in the last step:
/// whatever stands within the budget was selected. Its value in the last state alone is small, and mostly
/// chance where features are alike; so is most of ψ, whose advantages are scaled up in the late states.
struct Tally {
    steps: usize,
    rollouts: f64,
    score: Vec<f64>,
    count: Vec<f64>,
    reward: Vec<f64>,
    left: Vec<f64>,
    probability: Vec<f64>,
}

impl Tally {
    fn new(d: usize, steps: usize, rollouts: usize) -> Self {
        let zeros = || vec![0.0; d];
        Tally {
            steps,
            rollouts: rollouts as f64,
            score: zeros(),
            count: zeros(),
            reward: zeros(),
            left: zeros(),
            probability: zeros(),
        }
    }

    /// All that changes from rollout to rollout.
    fn columns(&self) -> [&Vec<f64>; 5] {
        [&self.score, &self.count, &self.reward, &self.left, &self.probability]
    }

    fn columns_mut(&mut self) -> [&mut Vec<f64>; 5] {
        let Tally { score, count, reward, left, probability, .. } = self;
        [score, count, reward, left, probability]
    }

    fn selected(&mut self, a: usize, step: usize, reward: f64, probabilities: &[f64]) {
        self.score[a] += (self.steps - step) as f64;
        self.count[a] += 1.0;
        self.reward[a] += reward;
        crate::num::add_assign(&mut self.probability, probabilities);
    }

    fn left(&mut self, open: &[usize], values: &[f64], worth: &[f64]) {
        let of_open: Vec<f64> = open.iter().map(|&a| worth[a]).collect();
        let places = open.len() as f64;
        for (place, r) in rank(&of_open).iter().enumerate() {
            let a = open[r.feature];
            self.score[a] += (1.0 - (place + 1) as f64 / (places + 1.0)) / self.rollouts;
            self.left[a] += values[a];
        }
    }

    fn finish(self) -> (FeatureStatistics, Vec<f64>) {
        let over = |v: Vec<f64>, by: f64| v.into_iter().map(|v| v / by).collect();
        let credit = |a: usize| match self.count[a] {
            0.0 => self.left[a] / self.rollouts,
            count => self.reward[a] / count,
        };
        let statistics = FeatureStatistics {
            credit: (0..self.count.len()).map(credit).collect(),
            frequency: over(self.count, self.rollouts),
            score: over(self.probability, self.rollouts * self.steps as f64),
        };
        (statistics, over(self.score, self.rollouts * self.steps as f64))
    }
}

#[cfg(test)]
mod tests;
