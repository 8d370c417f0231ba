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

use rayon::prelude::*;

use super::network::Network;
use crate::linalg::{Acc, Mat};
use crate::nn::encoder::Workspace;
use crate::nn::lanes::{Lanes, lane_count, shard_rows};
use crate::nn::policy::Categorical;
use crate::nn::{Fault, loss};
use crate::num::{Real, add_assign};
use crate::rng::mix;

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

/// Memory of a few rollouts that advance together.
struct Shard<T> {
    ws: Workspace<T>,
    /// Tokens of the present state.
    tokens: Mat<T>,
    /// ∂ℓ/∂tokens of every state, T + 1 blocks.
    dtokens: Vec<Mat<T>>,
    open: Vec<Vec<bool>>,
    logits: Mat<T>,
    dlogits: Mat<T>,
    scores: Mat<T>,
    dscores: Mat<T>,
    dh: Mat<T>,
    probs: Vec<T>,
    loss: Stage2Loss<T>,
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

    /// Lets the policy select `steps` features for each row of `x`. Returns the actions and the
    /// supervised loss Σ_j BCE / L of each state, B × (T + 1), against the targets `y` (B × L).
    /// Row i draws from (key, i, t), whatever the shards and threads.
    pub fn sample(
        &mut self,
        x: &Mat<T>,
        y: &Mat<T>,
        p: &[T],
        steps: usize,
        temperature: T,
        key: u64,
    ) -> (Vec<Vec<usize>>, Mat<T>) {
        let count = self.reserve(x.rows());
        let (network, per, rows) = (&self.network, self.shard_rows, x.rows());
        let parts: Vec<_> = self.shards[..count]
            .par_iter_mut()
            .enumerate()
            .map(|(k, shard)| {
                let range = k * per..rows.min((k + 1) * per);
                shard.sample(network, x, y, p, range, steps, temperature, key)
            })
            .collect();
        let mut actions = Vec::with_capacity(rows);
        let mut losses = Vec::with_capacity(rows * (steps + 1));
        for (a, l) in parts {
            actions.extend(a);
            losses.extend_from_slice(l.as_slice());
        }
        (actions, Mat::from_vec(rows, steps + 1, losses))
    }

    /// The joint loss of fixed trajectories; gradients of encoder, h_disc and ψ accumulate.
    pub fn loss(
        &mut self,
        dp: &mut [T],
        x: &Mat<T>,
        y: &Mat<T>,
        p: &[T],
        trajectories: &Trajectories<T>,
        weights: &Stage2Weights<T>,
    ) -> Stage2Loss<T> {
        let rows = x.rows();
        let count = self.reserve(rows);
        let (network, per) = (&self.network, self.shard_rows);
        self.lanes
            .accumulate(dp, &mut self.shards[..count], |k, shard, grads| {
                let range = k * per..rows.min((k + 1) * per);
                shard.replay(network, grads, x, y, p, range, trajectories, weights);
            });
        let mut total = Stage2Loss::default();
        for shard in &self.shards[..count] {
            total.supervised += shard.loss.supervised;
            total.policy += shard.loss.policy;
        }
        total
    }
}

impl<T: Real> Shard<T> {
    fn new(network: &Network, rows: usize) -> Self {
        let e = network.config().encoder;
        let tokens = rows * network.encoder.tokens.count();
        Shard {
            ws: network.encoder.workspace(rows),
            tokens: Mat::zeros(tokens, e.width),
            dtokens: Vec::new(),
            open: vec![vec![true; e.features]; rows],
            logits: Mat::zeros(rows, e.labels),
            dlogits: Mat::zeros(rows, e.labels),
            scores: Mat::zeros(rows, e.features),
            dscores: Mat::zeros(rows, e.features),
            dh: Mat::zeros(rows, e.width),
            probs: vec![T::ZERO; e.features],
            loss: Stage2Loss::default(),
        }
    }

    /// State 0 of `rows` rollouts: nothing selected.
    fn start(&mut self, network: &Network, rows: usize, p: &[T]) {
        assert!(
            !network.config().encoder.candidate_token,
            "Stage 2 selects features: its encoder has no candidate token"
        );
        for m in [
            &mut self.logits,
            &mut self.dlogits,
            &mut self.scores,
            &mut self.dscores,
        ] {
            m.set_rows(rows);
        }
        self.dh.set_rows(rows);
        self.tokens.set_rows(rows * network.encoder.tokens.count());
        network
            .encoder
            .tokens
            .start(self.tokens.view_mut(), None, p);
        for open in &mut self.open[..rows] {
            open.fill(true);
        }
    }

    /// h_t in `ws.phi` from the present tokens.
    fn encode(&mut self, network: &Network, p: &[T]) {
        let tokens = self.ws.tokens_mut();
        tokens.set_rows(self.tokens.rows());
        tokens
            .as_mut_slice()
            .copy_from_slice(self.tokens.as_slice());
        network.encoder.forward_tokens(&mut self.ws, p, None, 0);
    }

    /// Row i selects feature a of the instance x.
    fn select(&mut self, network: &Network, i: usize, a: usize, x: &[T], p: &[T]) {
        let tokens = &network.encoder.tokens;
        let row = i * tokens.count() + 1 + tokens.group_of(a);
        axpy(self.tokens.row_mut(row), x[a], tokens.w.view(p).row(a));
        self.open[i][a] = false;
    }

    fn sample(
        &mut self,
        network: &Network,
        x: &Mat<T>,
        y: &Mat<T>,
        p: &[T],
        range: std::ops::Range<usize>,
        steps: usize,
        temperature: T,
        key: u64,
    ) -> (Vec<Vec<usize>>, Mat<T>) {
        let rows = range.len();
        self.start(network, rows, p);
        let mut actions = vec![Vec::with_capacity(steps); rows];
        let mut losses = Mat::zeros(rows, steps + 1);
        let mean = T::ONE / T::from_f64(y.cols() as f64);
        for t in 0..=steps {
            self.encode(network, p);
            network
                .disc
                .forward(self.logits.view_mut(), self.ws.phi.view(), p);
            for i in 0..rows {
                let (u, y) = (self.logits.row(i), y.row(range.start + i));
                let sum: T = u.iter().zip(y).map(|(&u, &y)| loss::bce_value(u, y)).sum();
                losses[(i, t)] = mean * sum;
            }
            if t == steps {
                break;
            }
            let scores = self.scores.view_mut();
            network
                .feature_policy
                .forward(scores, self.ws.phi.view(), p);
            for i in 0..rows {
                let row = range.start + i;
                let (scores, open) = (self.scores.row(i), &self.open[i][..]);
                let policy = Categorical {
                    scores,
                    open,
                    temperature,
                };
                policy.probabilities(&mut self.probs, Fault::None);
                let a = draw(&self.probs, uniform(key, row, t));
                actions[i].push(a);
                self.select(network, i, a, x.row(row), p);
            }
        }
        (actions, losses)
    }

    fn replay(
        &mut self,
        network: &Network,
        dp: &mut [T],
        x: &Mat<T>,
        y: &Mat<T>,
        p: &[T],
        range: std::ops::Range<usize>,
        trajectories: &Trajectories<T>,
        weights: &Stage2Weights<T>,
    ) {
        let fault = network.encoder.fault;
        let steps = trajectories.reward.cols();
        let rows = range.len();
        self.start(network, rows, p);
        self.loss = Stage2Loss::default();
        while self.dtokens.len() <= steps {
            self.dtokens.push(Mat::zeros(0, self.tokens.cols()));
        }
        for t in 0..=steps {
            self.encode(network, p);
            self.dh.fill(T::ZERO);
            let weight = weights.supervised[t];
            if weight != T::ZERO {
                self.supervise(network, dp, y, p, range.start, weight);
            }
            if t < steps {
                self.reinforce(network, dp, p, &range, t, trajectories, weights);
            }
            network
                .encoder
                .backward_tokens(&mut self.ws, dp, self.dh.view(), p);
            let dtokens = self.ws.dtokens();
            network
                .encoder
                .tokens
                .start_backward(dp, dtokens.view(), None, p, fault);
            self.dtokens[t].set_rows(dtokens.rows());
            self.dtokens[t]
                .as_mut_slice()
                .copy_from_slice(dtokens.as_slice());
            if t < steps {
                for i in 0..rows {
                    let row = range.start + i;
                    self.select(network, i, trajectories.actions[row][t], x.row(row), p);
                }
            }
        }
        self.credit_features(network, dp, x, &range, trajectories);
    }

    /// Supervised loss of the present state.
    fn supervise(
        &mut self,
        network: &Network,
        dp: &mut [T],
        y: &Mat<T>,
        p: &[T],
        first: usize,
        weight: T,
    ) {
        let fault = network.encoder.fault;
        network
            .disc
            .forward(self.logits.view_mut(), self.ws.phi.view(), p);
        self.dlogits.fill(T::ZERO);
        for i in 0..self.logits.rows() {
            let (du, u) = (self.dlogits.row_mut(i), self.logits.row(i));
            self.loss.supervised += loss::bce(du, u, y.row(first + i), weight, fault);
        }
        let dh = Some((Acc::Add, self.dh.view_mut()));
        network
            .disc
            .backward(dh, dp, self.dlogits.view(), self.ws.phi.view(), p, fault);
    }

    /// Policy loss of the action taken in the present state.
    fn reinforce(
        &mut self,
        network: &Network,
        dp: &mut [T],
        p: &[T],
        range: &std::ops::Range<usize>,
        t: usize,
        trajectories: &Trajectories<T>,
        weights: &Stage2Weights<T>,
    ) {
        let fault = network.encoder.fault;
        network
            .feature_policy
            .forward(self.scores.view_mut(), self.ws.phi.view(), p);
        self.dscores.fill(T::ZERO);
        let baseline = trajectories.baseline[t];
        let scale = -weights.policy * trajectories.scale[t];
        for (i, row) in range.clone().enumerate() {
            let a = trajectories.actions[row][t];
            let reward = trajectories.reward[(row, t)];
            let weight = scale * (reward - baseline);
            let (scores, open) = (self.scores.row(i), &self.open[i][..]);
            let policy = Categorical {
                scores,
                open,
                temperature: weights.temperature,
            };
            let ds = self.dscores.row_mut(i);
            self.loss.policy += policy.log_prob(ds, &mut self.probs, a, weight, fault);
            if fault == Fault::BaselineForgotten {
                policy.log_prob(ds, &mut self.probs, a, scale * baseline, Fault::None);
            }
        }
        let dh = Some((Acc::Add, self.dh.view_mut()));
        let (ds, h) = (self.dscores.view(), self.ws.phi.view());
        network.feature_policy.backward(dh, dp, ds, h, p, fault);
    }

    /// dW[a, :] += x_a Σ_{t > t_a} ∂ℓ/∂e_t, from the last state backwards.
    fn credit_features(
        &mut self,
        network: &Network,
        dp: &mut [T],
        x: &Mat<T>,
        range: &std::ops::Range<usize>,
        trajectories: &Trajectories<T>,
    ) {
        let tokens = &network.encoder.tokens;
        let steps = trajectories.reward.cols();
        let whole = network.encoder.fault != Fault::SuffixSumMissing;
        for t in (1..=steps).rev() {
            let (before, after) = self.dtokens.split_at_mut(t + 1);
            let suffix = &mut before[t];
            if t < steps && whole {
                add_assign(suffix.as_mut_slice(), after[0].as_slice());
            }
            for (i, row) in range.clone().enumerate() {
                let a = trajectories.actions[row][t - 1];
                let token = suffix.row(i * tokens.count() + 1 + tokens.group_of(a));
                axpy(tokens.w.view_mut(dp).row_mut(a), x[(row, a)], token);
            }
        }
    }
}

/// y += c · x.
fn axpy<T: Real>(y: &mut [T], c: T, x: &[T]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = c.mul_add(x, *y);
    }
}

/// Uniform on [0, 1) from (key, row, step).
fn uniform(key: u64, row: usize, step: usize) -> f64 {
    let bits = mix(mix(key ^ mix(row as u64)).wrapping_add(step as u64));
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// The index whose slice of [0, 1) holds `u`; never one of probability zero.
fn draw<T: Real>(probs: &[T], u: f64) -> usize {
    let mut left = u;
    let mut last = 0;
    for (j, p) in probs.iter().enumerate() {
        let p = p.to_f64();
        if p > 0.0 {
            last = j;
            if left < p {
                return j;
            }
            left -= p;
        }
    }
    last
}

#[cfg(test)]
#[path = "rollout_tests.rs"]
mod tests;
