//! Stage 2 as a training loop: let the policy select features, judge the selections, improve it.
//!
//! Preset `paper`: one advantage r − b for the whole batch, with r = −ℓ_sup at the end of the
//! rollouts and b the moving average of r (17); hard pseudo labels.
//!
//! Preset `observation`: potential-based shaping. With ℓ_t the supervised loss in state t the reward
//! of step t is ℓ_t − ℓ_{t+1}; over a rollout it adds up to the paper's terminal reward up to a
//! constant, so the best policies are the same, but each action has its own credit. Advantage:
//! Σ_{s ≥ t} γ^(s−t) r_s minus its batch mean at step t, divided by its deviation. The encoder learns
//! from the losses along the rollout and at its end, against the posteriors p.

use serde::{Deserialize, Serialize};

use super::config::{Config, Preset};
use super::network::Network;
use super::rollout::{Rollouts, Sampled, Stage2Weights, Trajectories};
use crate::linalg::Mat;
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
    /// How often each feature was selected, and the sum of its credits, since the middle epoch.
    pub selected: Vec<f64>,
    /// Sum of ℓ_t − ℓ_{t+1} over these selections.
    pub credit: Vec<f64>,
}

/// The training rows of Stage 2 with their targets.
pub struct Trainer2<'a> {
    config: &'a Config,
    x: &'a Mat<f32>,
    y: &'a Mat<f32>,
    steps: usize,
    streams: Streams,
    rollouts: Rollouts<f32>,
}

/// How the final policy treats each feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Treatment {
    /// Share of the rollouts that select the feature.
    pub frequency: Vec<f64>,
    /// Mean credit of a selection, shrunken: c̄ = Σ credit / (selections + their mean over the
    /// features). A feature that was tried a few times by luck does not pass one that proved itself.
    pub credit: Vec<f64>,
    /// Mean probability over the visited states.
    pub score: Vec<f64>,
}

impl<'a> Trainer2<'a> {
    /// T = min(k_fs, d) features are selected a rollout (12), or fewer: a ranking by credit does not
    /// need every rollout to reach the budget, and the price of a rollout is its length.
    pub fn new(
        config: &'a Config,
        network: Network,
        x: &'a Mat<f32>,
        y: &'a Mat<f32>,
        budget: usize,
        streams: Streams,
    ) -> Self {
        let longest = if config.rollout == 0 { budget } else { config.rollout };
        let steps = budget.min(longest).min(x.cols());
        Trainer2 { config, x, y, steps, streams, rollouts: Rollouts::new(network) }
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
            selected: vec![0.0; self.x.cols()],
            credit: vec![0.0; self.x.cols()],
        }
    }

    /// One epoch: one rollout for every row, in random order.
    pub fn epoch(&mut self, state: &mut State2) -> Result<Epoch2> {
        self.rollouts.network().check_inputs(self.x, &state.p)?;
        self.rollouts.network().check_targets(self.x.rows(), self.y)?;
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

    fn step(
        &mut self,
        state: &mut State2,
        rows: &[usize],
        key: u64,
        record: &mut Epoch2,
    ) -> Result<()> {
        let (x, y) = (self.x.select_rows(rows), self.y.select_rows(rows));
        let (config, steps) = (self.config, self.steps);
        let temperature = config.temperature as f32;
        let Sampled { actions, losses, .. } =
            self.rollouts.sample(&x, &y, &state.p, steps, temperature, key);
        let mean_at = |t: usize| mean((0..rows.len()).map(|i| f64::from(losses[(i, t)])));
        let (first, last) = (mean_at(0), mean_at(steps));
        if 2 * state.epoch >= config.stage2_epochs(self.x.rows()) {
            tally(&mut state.selected, &mut state.credit, &actions, &losses);
        }
        let trajectories = match config.preset {
            Preset::Paper => printed(actions, -last, state.baseline),
            Preset::Observation => shaped(actions, &losses, config.gamma),
        };
        let weights = self.weights(rows.len());

        let mut dp = vec![0.0; state.p.len()];
        let mut policy = 0.0;
        // Memory decides how many rollouts are replayed at once; the gradients add up.
        for from in (0..rows.len()).step_by(self.piece()) {
            let part: Vec<usize> = (from..rows.len().min(from + self.piece())).collect();
            let piece = Trajectories {
                actions: part.iter().map(|&i| trajectories.actions[i].clone()).collect(),
                reward: trajectories.reward.select_rows(&part),
                ..trajectories.clone()
            };
            let (x, y) = (x.select_rows(&part), y.select_rows(&part));
            let loss = self.rollouts.loss(Some(&mut dp), &x, &y, &state.p, &piece, &weights);
            policy += f64::from(loss.policy);
        }
        let network = self.rollouts.network();
        network.layout.check_finite(&dp, "gradient")?;
        record.gradient_norm += clip(&mut dp, config.clip);
        let (main, psi) = (network.disc_range(), network.feature_policy_range());
        state.main.step(&mut state.p[main.clone()], &dp[main]);
        state.psi.step(&mut state.p[psi.clone()], &dp[psi]);
        state.baseline = (1.0 - config.beta) * state.baseline - config.beta * last;
        record.loss_start += first;
        record.loss_end += last;
        record.policy += policy;
        Ok(())
    }

    /// Rollouts that fit into the memory limit, at least one.
    fn piece(&self) -> usize {
        let network = self.rollouts.network();
        let limit = self.config.memory_limit << 20;
        let fits = |rows: usize| Rollouts::<f32>::memory(network, rows, self.steps) <= limit;
        (1..=self.config.batch).rev().find(|&rows| fits(rows)).unwrap_or(1)
    }

    fn weights(&self, rows: usize) -> Stage2Weights<f32> {
        let (steps, cell) = (self.steps, 1.0 / (rows * self.y.cols()) as f32);
        let mut supervised = match self.config.preset {
            Preset::Paper => vec![0.0; steps + 1],
            Preset::Observation => vec![0.5 * cell / (steps + 1) as f32; steps + 1],
        };
        supervised[steps] += match self.config.preset {
            Preset::Paper => cell,
            Preset::Observation => 0.5 * cell,
        };
        Stage2Weights {
            supervised,
            policy: self.config.lambda_fs as f32 / rows as f32,
            temperature: self.config.temperature as f32,
        }
    }

    /// One more rollout for every row with the final policy; nothing is learned.
    pub fn treatment(&mut self, state: &State2) -> Treatment {
        let temperature = self.config.temperature as f32;
        let (mut selected, mut credit) = (state.selected.clone(), state.credit.clone());
        let mut count = vec![0.0; self.x.cols()];
        let mut score = vec![0.0; self.x.cols()];
        let rows: Vec<usize> = (0..self.x.rows()).collect();
        for (k, part) in rows.chunks(self.config.batch).enumerate() {
            let key = self.streams.key(&format!("final/{k}"));
            let (x, y) = (self.x.select_rows(part), self.y.select_rows(part));
            let sampled = self.rollouts.sample(&x, &y, &state.p, self.steps, temperature, key);
            tally(&mut selected, &mut credit, &sampled.actions, &sampled.losses);
            for &a in sampled.actions.iter().flatten() {
                count[a] += 1.0;
            }
            add_assign(&mut score, &sampled.probabilities);
        }
        let n = self.x.rows().max(1) as f64;
        let usual = mean(selected.iter().copied());
        let mean_credit = |(c, s): (&f64, &f64)| if *s > 0.0 { c / (s + usual) } else { 0.0 };
        Treatment {
            frequency: count.iter().map(|c| c / n).collect(),
            credit: credit.iter().zip(&selected).map(mean_credit).collect(),
            score: score.iter().map(|s| s / n).collect(),
        }
    }
}

/// A = r − b for every action of the batch.
fn printed(actions: Vec<Vec<usize>>, reward: f64, baseline: f64) -> Trajectories<f32> {
    let (rows, steps) = (actions.len(), actions.first().map_or(0, Vec::len));
    Trajectories {
        actions,
        reward: Mat::from_fn(rows, steps, |_, _| reward as f32),
        baseline: vec![baseline as f32; steps],
        scale: vec![1.0; steps],
    }
}

/// Discounted drops of the loss, centred and scaled at each step.
fn shaped(actions: Vec<Vec<usize>>, losses: &Mat<f32>, gamma: f64) -> Trajectories<f32> {
    let (rows, steps) = (losses.rows(), losses.cols() - 1);
    let mut reward = Mat::zeros(rows, steps);
    for i in 0..rows {
        let mut to_go = 0.0;
        for t in (0..steps).rev() {
            to_go = losses[(i, t)] - losses[(i, t + 1)] + gamma as f32 * to_go;
            reward[(i, t)] = to_go;
        }
    }
    let (mut baseline, mut scale) = (Vec::new(), Vec::new());
    for t in 0..steps {
        let column = || (0..rows).map(|i| f64::from(reward[(i, t)]));
        let centre = mean(column());
        let variance = mean(column().map(|r| (r - centre) * (r - centre)));
        baseline.push(centre as f32);
        scale.push(1.0 / (variance.sqrt() as f32 + 1e-8));
    }
    if rows < 2 {
        // One rollout has no deviation; its advantage is zero.
        scale.fill(0.0);
    }
    Trajectories { actions, reward, baseline, scale }
}

fn tally(selected: &mut [f64], credit: &mut [f64], actions: &[Vec<usize>], losses: &Mat<f32>) {
    for (i, row) in actions.iter().enumerate() {
        for (t, &a) in row.iter().enumerate() {
            selected[a] += 1.0;
            credit[a] += f64::from(losses[(i, t)] - losses[(i, t + 1)]);
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0usize), |(s, c), v| (s + v, c + 1));
    sum / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shaped_rewards_telescope_and_are_centred() {
        let losses = Mat::from_vec(2, 3, vec![0.9, 0.5, 0.4, 0.8, 0.7, 0.1]);
        let t = shaped(vec![vec![0, 1], vec![2, 0]], &losses, 1.0);
        assert!((t.reward[(0, 0)] - 0.5).abs() < 1e-6 && (t.reward[(1, 0)] - 0.7).abs() < 1e-6);
        for k in 0..2 {
            let a = |i: usize| (t.reward[(i, k)] - t.baseline[k]) * t.scale[k];
            assert!((a(0) + a(1)).abs() < 1e-5 && (a(0).abs() - 1.0).abs() < 1e-5);
        }
        let own = shaped(vec![vec![0, 1], vec![2, 0]], &losses, 0.0);
        assert!((own.reward[(0, 0)] - 0.4).abs() < 1e-6);
        let single = shaped(vec![vec![0, 1]], &losses.select_rows(&[0]), 0.0);
        assert_eq!(single.scale, [0.0, 0.0]);
    }

    #[test]
    fn credit_belongs_to_the_selected_feature() {
        let losses = Mat::from_vec(1, 3, vec![0.9, 0.5, 0.6]);
        let (mut selected, mut credit) = (vec![0.0; 4], vec![0.0; 4]);
        tally(&mut selected, &mut credit, &[vec![3, 1]], &losses);
        assert_eq!(selected, [0.0, 1.0, 0.0, 1.0]);
        assert!((credit[3] - 0.4).abs() < 1e-6 && (credit[1] + 0.1).abs() < 1e-6);
    }
}
