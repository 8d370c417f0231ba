//! Stage 2 as a training loop: let the policy select features, judge the selections, improve it.
//!
//! Preset `paper`, to the letter: one advantage r − b, with r = −ℓ_sup at the end of the rollouts and b
//! the moving average of r (17), weights every action; the targets are hard pseudo labels.

use serde::{Deserialize, Serialize};

use super::loss::{Advantages, Replay, Stage2Weights};
use super::ranking::{Credits, FeatureStatistics};
use super::rollout::{Rollouts, Sampled, Sampling};
use crate::linalg::Mat;
use crate::method::pomdp_fs::{Config, Network};
use crate::nn::Adam;
use crate::nn::adam::clip;
use crate::num::add_assign;
use crate::rng::Streams;
use crate::{Error, Result};

/// One epoch of Stage 2, for the history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Epoch2 {
    /// Mean supervised loss in the first state: nothing selected.
    pub loss_start: f64,
    /// Mean supervised loss in the last state: k_fs features selected.
    pub loss_end: f64,
    /// Mean policy loss.
    pub policy: f64,
    /// Baseline b after the epoch (preset `paper`).
    pub baseline: f64,
    /// Mean norm of the gradient before clipping.
    pub gradient_norm: f64,
}

/// The state of Stage 2 between epochs.
#[derive(Clone, Debug, PartialEq)]
pub struct State2 {
    /// All weights.
    pub p: Vec<f32>,
    /// Optimiser of encoder and h_disc.
    pub main: Adam<f32>,
    /// Optimiser of ψ.
    pub psi: Adam<f32>,
    /// b.
    pub baseline: f64,
    /// Epochs done.
    pub epoch: usize,
    /// Selections and their credits since the middle epoch.
    pub credits: Credits,
}

/// The training rows of Stage 2 with their targets, and the memory of one step on them.
pub struct Trainer2<'a> {
    config: &'a Config,
    x: &'a Mat<f32>,
    y: Mat<f32>,
    steps: usize,
    /// Whether memory allows to keep the activations of all states.
    keep: bool,
    /// Otherwise, rollouts that are replayed at once, as memory allows.
    piece: usize,
    streams: Streams,
    rollouts: Rollouts<f32>,
    memory: Memory,
}

/// What a step writes to; sized by the first batch, used again by the next.
struct Memory {
    x: Mat<f32>,
    y: Mat<f32>,
    sampled: Sampled<f32>,
    advantages: Advantages<f32>,
    weights: Stage2Weights<f32>,
    dp: Vec<f32>,
}

impl<'a> Trainer2<'a> {
    /// T = min(k_fs, d) features are selected per rollout (12), or fewer: a ranking by credit does
    /// not need every rollout to reach the budget, and the price of a rollout is its length.
    pub fn new(
        config: &'a Config,
        network: Network,
        x: &'a Mat<f32>,
        y: Mat<f32>,
        budget: usize,
        streams: Streams,
    ) -> Self {
        let steps = budget.min(config.rollout.unwrap_or(budget)).min(x.cols());
        let limit = config.memory_limit << 20;
        let need = |rows: usize, kept| Rollouts::<f32>::memory(&network, rows, steps, kept);
        let keep = need(config.batch, true) <= limit;
        let piece = (1..=config.batch).rev().find(|&rows| need(rows, false) <= limit).unwrap_or(1);
        let memory = Memory {
            x: Mat::zeros(0, x.cols()),
            y: Mat::zeros(0, y.cols()),
            sampled: Sampled::default(),
            advantages: Advantages::default(),
            weights: Stage2Weights {
                supervised: vec![0.0; steps + 1],
                policy: 0.0,
                temperature: config.temperature as f32,
            },
            dp: vec![0.0; network.layout.len()],
        };
        let rollouts = Rollouts::new(network);
        Trainer2 { config, x, y, steps, keep, piece, streams, rollouts, memory }
    }

    /// The state before the first epoch, from Stage 1's weights.
    pub fn start(&self, p: Vec<f32>) -> State2 {
        let [.., main, psi] = self.config.optimisers();
        let network = self.rollouts.network();
        State2 {
            main: Adam::new(network.disc_range().len(), main),
            psi: Adam::new(network.feature_policy_range().len(), psi),
            p,
            baseline: 0.0,
            epoch: 0,
            credits: Credits::new(self.x.cols()),
        }
    }

    /// One epoch: one rollout for every row, in random order.
    pub fn epoch(&mut self, state: &mut State2) -> Result<Epoch2> {
        self.rollouts.network().check_inputs(self.x, &state.p)?;
        self.rollouts.network().check_targets(self.x.rows(), &self.y)?;
        let streams = self.streams.child(&format!("epoch/{}", state.epoch));
        let order = streams.stream("order").permutation(self.x.rows());
        let mut record = Epoch2::default();
        let batches = order.chunks(self.config.batch);
        let count = batches.len().max(1) as f64;
        for (k, rows) in batches.enumerate() {
            let key = streams.key(&format!("batch/{k}/actions"));
            self.step(state, rows, key, &mut record).map_err(|e| {
                Error::numeric(format!(
                    "Stage 2, epoch {}, batch {}: {}",
                    state.epoch + 1,
                    k + 1,
                    e.message()
                ))
                .hint("lower rate_fs or rate_psi, or look for extreme values in the features")
            })?;
        }
        for mean in [
            &mut record.loss_start,
            &mut record.loss_end,
            &mut record.policy,
            &mut record.gradient_norm,
        ] {
            *mean /= count;
        }
        record.baseline = state.baseline;
        state.epoch += 1;
        Ok(record)
    }

    /// One batch: rollouts, joint loss and gradient, one step of both optimisers. After the first
    /// batch it allocates nothing but what matrix products need (see `num/raw`).
    pub fn step(
        &mut self,
        state: &mut State2,
        rows: &[usize],
        key: u64,
        record: &mut Epoch2,
    ) -> Result<()> {
        let (config, steps) = (self.config, self.steps);
        self.sample(rows, &state.p, key, self.keep);
        let m = &mut self.memory;
        let losses = &m.sampled.losses;
        let (first, last) = (mean_at(losses, 0), mean_at(losses, steps));
        if 2 * state.epoch >= config.epochs2 {
            state.credits.add(&m.sampled.actions, losses);
        }
        terminal_advantages(&mut m.advantages, losses, state.baseline);
        set_weights(&mut m.weights, config, (rows.len(), self.y.cols()));

        m.dp.fill(0.0);
        let mut policy = 0.0;
        let replay = Replay {
            x: &m.x,
            y: &m.y,
            actions: &m.sampled.actions,
            advantages: &m.advantages,
            weights: &m.weights,
        };
        if self.keep {
            policy = f64::from(self.rollouts.loss_of_kept(&mut m.dp, &replay, &state.p).policy);
        } else {
            for from in (0..rows.len()).step_by(self.piece) {
                let part = from..rows.len().min(from + self.piece);
                let loss = self.rollouts.loss(Some(&mut m.dp), &replay, part, &state.p);
                policy += f64::from(loss.policy);
            }
        }
        let network = self.rollouts.network();
        network.layout.check_finite(&m.dp, "gradient")?;
        record.gradient_norm += clip(&mut m.dp, config.clip);
        let (main, psi) = (network.disc_range(), network.feature_policy_range());
        state.main.step(&mut state.p[main.clone()], &m.dp[main]);
        state.psi.step(&mut state.p[psi.clone()], &m.dp[psi]);
        state.baseline = (1.0 - config.beta) * state.baseline - config.beta * last;
        record.loss_start += first;
        record.loss_end += last;
        record.policy += policy;
        Ok(())
    }

    /// Rollouts of the given rows, in `memory.sampled`.
    fn sample(&mut self, rows: &[usize], p: &[f32], key: u64, keep: bool) {
        let m = &mut self.memory;
        m.x.gather_rows(self.x, rows);
        m.y.gather_rows(&self.y, rows);
        let temperature = self.config.temperature as f32;
        let how = Sampling { steps: self.steps, temperature, key };
        let (rollouts, data) = (&mut self.rollouts, (&m.x, &m.y));
        match keep {
            true => rollouts.sample_and_keep(&mut m.sampled, data, p, how),
            false => rollouts.sample(&mut m.sampled, data, p, how),
        }
    }

    /// One more rollout for every row with the final policy; nothing is learned.
    pub fn statistics(&mut self, state: &State2) -> FeatureStatistics {
        let mut credits = state.credits.clone();
        let mut count = vec![0.0; self.x.cols()];
        let mut score = vec![0.0; self.x.cols()];
        let rows: Vec<usize> = (0..self.x.rows()).collect();
        for (k, part) in rows.chunks(self.config.batch).enumerate() {
            let key = self.streams.key(&format!("final/{k}"));
            self.sample(part, &state.p, key, false);
            let Sampled { actions, losses, probabilities } = &self.memory.sampled;
            credits.add(actions, losses);
            for &a in actions.as_slice() {
                count[a] += 1.0;
            }
            add_assign(&mut score, probabilities);
        }
        let n = self.x.rows().max(1) as f64;
        FeatureStatistics {
            frequency: count.iter().map(|c| c / n).collect(),
            credit: credits.shrunken(),
            score: score.iter().map(|s| s / n).collect(),
        }
    }
}

/// Weights of the joint loss (18) for a batch of `rows`: means over rows and labels, the supervised
/// loss at the end of the rollouts alone (14).
fn set_weights(weights: &mut Stage2Weights<f32>, config: &Config, (rows, labels): (usize, usize)) {
    weights.supervised.fill(0.0);
    if let Some(last) = weights.supervised.last_mut() {
        *last = 1.0 / (rows * labels) as f32;
    }
    weights.policy = config.lambda_fs as f32 / rows as f32;
}

/// A = r − b for every action of the batch (17), r = −mean ℓ_T.
fn terminal_advantages(advantages: &mut Advantages<f32>, losses: &Mat<f32>, baseline: f64) {
    let (rows, steps) = (losses.rows(), losses.cols() - 1);
    advantages.resize(rows, steps);
    advantages.reward.fill(-mean_at(losses, steps) as f32);
    advantages.baseline.fill(baseline as f32);
    advantages.scale.fill(1.0);
}

/// Mean of column t.
fn mean_at(values: &Mat<f32>, t: usize) -> f64 {
    mean((0..values.rows()).map(|i| f64::from(values[(i, t)])))
}

/// 0 for no values.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0usize), |(s, c), v| (s + v, c + 1));
    sum / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_advantage_is_one_number() {
        let losses = Mat::from_vec(2, 3, vec![0.9, 0.5, 0.4, 0.8, 0.7, 0.1]);
        let mut a = Advantages::default();
        terminal_advantages(&mut a, &losses, -0.5);
        assert!(a.reward.as_slice().iter().all(|r| (r + 0.25).abs() < 1e-6));
        assert_eq!((a.baseline, a.scale), (vec![-0.5; 2], vec![1.0; 2]));
    }
}
