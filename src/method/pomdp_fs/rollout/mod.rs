//! Stage 2 on one batch: rollouts of T selections, and the joint loss through all their steps.
//!
//! State t of a rollout is the set of features selected so far; the encoder sees x_t = m_t ∘ x (13).
//! A mask changes by one feature a step, so the token of the feature's group is updated instead of
//! computed anew: e_{t+1} = e_t + x_a · W[a, :]. The joint loss (18) with advantages A held fixed is
//!
//! ```text
//! ℓ = Σ_i Σ_t w_t Σ_j BCE(Û_ijt, y_ij)  −  λ Σ_i Σ_{t<T} A_it ln π(a_it | h_it).
//! ```
//!
//! The paper has w_t = 0 for t < T, w_T = 1/(B·L) and A_it = r − b for the whole batch. Sampling
//! (`sample`) keeps only actions and losses; `loss` replays the actions, one step of a shard at a
//! time, and goes backward at once, so memory is one shard's activations plus the token gradients,
//! T · rows · F · D numbers. Feature a is in all states after its step t_a, so its weights get
//! dW[a, :] += x_a Σ_{t > t_a} ∂ℓ/∂e_t: a suffix sum.

mod shard;

use rayon::prelude::*;

use self::shard::Shard;
use super::network::Network;
use crate::linalg::Mat;
use crate::nn::lanes::{Lanes, lane_count, shard_rows};
use crate::num::{Real, add_assign};

/// What the policy did in a batch, and how it is judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectories<T> {
    /// a_it, B rows of T.
    pub actions: Vec<Vec<usize>>,
    /// Reward (to go) of each action, B × T.
    pub reward: Mat<T>,
    /// Baseline of each step, subtracted from the reward.
    pub baseline: Vec<T>,
    /// Factor of each step: A_it = (reward_it − baseline_t) · scale_t.
    pub scale: Vec<T>,
}

/// What sampling returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled<T> {
    /// a_it, B rows of T.
    pub actions: Vec<Vec<usize>>,
    /// Supervised loss Σ_j BCE / L of each state, B × (T + 1).
    pub losses: Mat<T>,
    /// Probability of each feature, averaged over the T states of a rollout, summed over rollouts.
    pub probabilities: Vec<f64>,
}

/// Weights of the joint loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage2Weights<T> {
    /// w_t of the supervised loss at states 0 … T; steps of weight 0 are not evaluated.
    pub supervised: Vec<T>,
    /// λ of the policy loss.
    pub policy: T,
    /// Softmax temperature τ_act.
    pub temperature: T,
}

/// The two terms of the joint loss, weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stage2Loss<T> {
    /// Σ w_t BCE.
    pub supervised: T,
    /// −λ Σ A ln π.
    pub policy: T,
}

/// The network on rollouts, with the memory of one step.
pub struct Rollouts<T> {
    network: Network,
    shard_rows: usize,
    shards: Vec<Shard<T>>,
    lanes: Lanes<T>,
}

impl<T: Real> Rollouts<T> {
    /// Memory grows with the first batch.
    pub fn new(network: Network) -> Self {
        Rollouts {
            shard_rows: shard_rows(network.encoder.tokens.count()),
            shards: Vec::new(),
            lanes: Lanes::new(network.layout.len()),
            network,
        }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Bytes that a batch of `rows` rollouts of `steps` selections needs, all shards together.
    pub fn memory(network: &Network, rows: usize, steps: usize) -> usize {
        let e = &network.config().encoder;
        let s = network.encoder.tokens.count();
        let shards = rows.div_ceil(shard_rows(s));
        let token = 2 * e.layers * (6 * e.width + 2 * e.ffn) + 8 * e.width + e.ffn;
        let instance = s * token + 2 * e.features + (steps + 1) * s * e.width;
        let lanes = lane_count(shards) * network.layout.len();
        T::BYTES * (rows * instance + lanes) + rows * e.features
    }

    /// Makes room for `rows` rollouts; returns the number of shards.
    fn reserve(&mut self, rows: usize) -> usize {
        let count = rows.div_ceil(self.shard_rows);
        while self.shards.len() < count {
            self.shards.push(Shard::new(&self.network, self.shard_rows));
        }
        count
    }

    /// Lets the policy select `steps` features for each row of `x` (all of them, if there are fewer:
    /// T = min(steps, d)); the losses are against the targets `y` (B × L). Row i draws from
    /// (key, i, t), whatever the shards and threads.
    pub fn sample(
        &mut self,
        x: &Mat<T>,
        y: &Mat<T>,
        p: &[T],
        steps: usize,
        temperature: T,
        key: u64,
    ) -> Sampled<T> {
        let steps = steps.min(x.cols());
        let count = self.reserve(x.rows());
        let (network, per, rows) = (&self.network, self.shard_rows, x.rows());
        let parts: Vec<Sampled<T>> = self.shards[..count]
            .par_iter_mut()
            .enumerate()
            .map(|(k, shard)| {
                let range = k * per..rows.min((k + 1) * per);
                shard.sample(network, (x, y), p, range, steps, temperature, key)
            })
            .collect();
        let mut actions = Vec::with_capacity(rows);
        let mut losses = Vec::with_capacity(rows * (steps + 1));
        let mut probabilities = vec![0.0; x.cols()];
        for part in parts {
            actions.extend(part.actions);
            losses.extend_from_slice(part.losses.as_slice());
            add_assign(&mut probabilities, &part.probabilities);
        }
        Sampled { actions, losses: Mat::from_vec(rows, steps + 1, losses), probabilities }
    }

    /// The joint loss of fixed trajectories; gradients of encoder, h_disc and ψ accumulate in `dp`,
    /// if it is given.
    pub fn loss(
        &mut self,
        dp: Option<&mut [T]>,
        x: &Mat<T>,
        y: &Mat<T>,
        p: &[T],
        trajectories: &Trajectories<T>,
        weights: &Stage2Weights<T>,
    ) -> Stage2Loss<T> {
        let rows = x.rows();
        let count = self.reserve(rows);
        let (network, per) = (&self.network, self.shard_rows);
        let shards = &mut self.shards[..count];
        let range = |k: usize| k * per..rows.min((k + 1) * per);
        match dp {
            Some(dp) => self.lanes.accumulate(dp, shards, |k, shard, grads| {
                shard.replay(network, Some(grads), (x, y), p, range(k), trajectories, weights);
            }),
            None => shards.par_iter_mut().enumerate().for_each(|(k, shard)| {
                shard.replay(network, None, (x, y), p, range(k), trajectories, weights);
            }),
        }
        let mut total = Stage2Loss::default();
        for shard in &self.shards[..count] {
            total.supervised += shard.loss.supervised;
            total.policy += shard.loss.policy;
        }
        total
    }
}

#[cfg(test)]
mod tests;
