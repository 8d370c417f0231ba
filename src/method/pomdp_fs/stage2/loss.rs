//! The joint loss of a batch of rollouts (18), and its gradients through all their steps.
//!
//! With advantages A held fixed it is
//!
//! ```text
//! ℓ = Σ_i Σ_t w_t Σ_j BCE(Û_ijt, y_ij)  −  λ Σ_i Σ_{t<T} A_it ln π(a_it | h_it).
//! ```
//!
//! The paper has w_t = 0 for t < T, w_T = 1/(B·L) and A_it = r − b for the whole batch. The actions
//! are replayed one step of a shard at a time, and each step is followed at once by its backward
//! pass, so memory is one shard's activations plus the token gradients, T · rows · F · D numbers. Where
//! the activations of all states were kept, the forward passes are not repeated, and a few states at a
//! time go through the backward pass together.
//! Feature a is in all states after its step t_a, so its weights get
//! dW[a, :] += x_a Σ_{t > t_a} ∂ℓ/∂e_t: a suffix sum.

use std::ops::Range;

use rayon::prelude::*;

use super::rollout::{Actions, Rollouts, Shard, TOGETHER};
use crate::linalg::{Acc, Mat};
use crate::method::pomdp_fs::Network;
use crate::nn::loss;
use crate::nn::policy::{Categorical, known_log_prob};
use crate::num::{Real, add_assign, axpy, vectorize};

/// The advantages of a batch of rollouts: A_it = (reward_it − baseline_t) · scale_t.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advantages<T> {
    /// Reward (to go) of each action, B × T.
    pub reward: Mat<T>,
    /// Baseline of each step, subtracted from the reward.
    pub baseline: Vec<T>,
    /// Factor of each step.
    pub scale: Vec<T>,
}

impl<T: Real> Advantages<T> {
    /// Room for `rows` rollouts of `steps` selections; the memory is kept.
    pub fn resize(&mut self, rows: usize, steps: usize) {
        self.reward.reshape(rows, steps);
        self.baseline.resize(steps, T::ZERO);
        self.scale.resize(steps, T::ZERO);
    }
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

/// Rollouts that were done, and how they are judged.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a, T> {
    /// Features, B × d.
    pub x: &'a Mat<T>,
    /// Targets, B × L.
    pub y: &'a Mat<T>,
    /// What was selected.
    pub actions: &'a Actions,
    /// How good that was.
    pub advantages: &'a Advantages<T>,
    /// Weights of the terms.
    pub weights: &'a Stage2Weights<T>,
}

impl<T: Real> Rollouts<T> {
    /// The joint loss of the given rows; gradients of encoder, h_disc and ψ accumulate in `dp`, if it
    /// is given. Fewer rows at a time need less memory, and the gradients add up.
    pub fn loss(
        &mut self,
        dp: Option<&mut [T]>,
        replay: &Replay<'_, T>,
        rows: Range<usize>,
        p: &[T],
    ) -> Stage2Loss<T> {
        self.joint_loss(dp, replay, rows, p, false)
    }

    /// The joint loss of all rows, from the activations and probabilities that
    /// [`Rollouts::sample_and_keep`] kept: data, weights, actions and temperature must be those of that
    /// call.
    pub fn loss_of_kept(&mut self, dp: &mut [T], replay: &Replay<'_, T>, p: &[T]) -> Stage2Loss<T> {
        self.joint_loss(Some(dp), replay, 0..replay.actions.rows(), p, true)
    }

    fn joint_loss(
        &mut self,
        dp: Option<&mut [T]>,
        replay: &Replay<'_, T>,
        rows: Range<usize>,
        p: &[T],
        kept: bool,
    ) -> Stage2Loss<T> {
        let count = self.reserve(rows.len());
        let (network, per) = (&self.network, self.shard_rows);
        let shards = &mut self.shards[..count];
        let of_shard = |k: usize| {
            let from = rows.start + k * per;
            from..rows.end.min(from + per)
        };
        match dp {
            Some(dp) => self.sums.accumulate(dp, shards, false, |k, shard, grads| {
                shard.replay(network, Some(grads), replay, of_shard(k), p, kept);
            }),
            None => shards.par_iter_mut().enumerate().for_each(|(k, shard)| {
                shard.replay(network, None, replay, of_shard(k), p, kept);
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

impl<T: Real> Shard<T> {
    /// The joint loss of given actions, state by state; the backward pass follows each step at once.
    fn replay(
        &mut self,
        network: &Network,
        mut dp: Option<&mut [T]>,
        replay: &Replay<'_, T>,
        range: Range<usize>,
        p: &[T],
        kept: bool,
    ) {
        let steps = replay.actions.steps();
        self.start(network, range.len(), p);
        self.loss = Stage2Loss::default();
        // Kept states know their tokens; the others are made anew, one by one.
        let together = if kept { TOGETHER } else { 1 };
        for first in (0..=steps).step_by(together) {
            let states = first..(first + together).min(steps + 1);
            match kept {
                true => self.turn_to(network, first, states.len()),
                false => self.encode(network, p, 0),
            }
            self.start_gradients(&states, steps, range.len());
            for t in states.clone() {
                if replay.weights.supervised[t] != T::ZERO {
                    self.supervise(network, replay, p, range.start, &states, t, dp.as_deref_mut());
                }
                if t < steps {
                    self.reinforce(network, replay, p, &range, &states, t, kept);
                }
            }
            if let Some(dp) = dp.as_deref_mut() {
                self.backward(network, dp, p, &states);
            }
            if first < steps && !kept {
                for (i, row) in range.clone().enumerate() {
                    self.select(network, i, replay.actions.row(row)[first], replay.x.row(row), p);
                }
            }
        }
        if let Some(dp) = dp {
            self.credit_features(network, dp, replay, &range);
        }
    }

    /// Gradients of φ and of the scores in `states`, one state below the other: zero.
    fn start_gradients(&mut self, states: &Range<usize>, steps: usize, rows: usize) {
        self.dh.set_rows(states.len() * rows);
        self.dh.fill(T::ZERO);
        self.dscores.set_rows((states.end.min(steps) - states.start) * rows);
        self.dscores.fill(T::ZERO);
    }

    /// Supervised loss of state t, one of `states`, and its gradient.
    fn supervise(
        &mut self,
        network: &Network,
        replay: &Replay<'_, T>,
        p: &[T],
        first: usize,
        states: &Range<usize>,
        t: usize,
        dp: Option<&mut [T]>,
    ) {
        let rows = self.logits.rows();
        let (from, to) = ((t - states.start) * rows, (t - states.start + 1) * rows);
        let phi = self.states[self.at].phi.view().slice_rows(from, to);
        network.disc.forward(self.logits.view_mut(), phi, p);
        self.dlogits.fill(T::ZERO);
        let weight = replay.weights.supervised[t];
        for i in 0..rows {
            let (du, u) = (self.dlogits.row_mut(i), self.logits.row(i));
            self.loss.supervised += loss::bce(du, u, replay.y.row(first + i), weight);
        }
        if let Some(dp) = dp {
            let dh = Some((Acc::Add, self.dh.view_mut().slice_rows(from, to)));
            network.disc.backward(dh, dp, self.dlogits.view(), phi, p);
        }
    }

    /// Policy loss of the action taken in state t, one of `states`, and its gradient in `dscores`.
    fn reinforce(
        &mut self,
        network: &Network,
        replay: &Replay<'_, T>,
        p: &[T],
        range: &Range<usize>,
        states: &Range<usize>,
        t: usize,
        kept: bool,
    ) {
        if !kept {
            let phi = self.states[self.at].phi.view();
            network.feature_policy.forward(self.scores.view_mut(), phi, p);
        }
        let Replay { actions, advantages, weights, .. } = *replay;
        let scale = -weights.policy * advantages.scale[t];
        let from = (t - states.start) * range.len();
        for (i, row) in range.clone().enumerate() {
            let weight = scale * (advantages.reward[(row, t)] - advantages.baseline[t]);
            let (ds, a) = (self.dscores.row_mut(from + i), actions.row(row)[t]);
            let (scores, open) = (self.scores.row(i), &self.open[i][..]);
            let policy = Categorical { scores, open, temperature: weights.temperature };
            self.loss.policy += match kept {
                true => {
                    let (probs, log) = (self.kept_probs[t].row(i), self.kept_logs[(i, t)]);
                    known_log_prob(ds, probs, a, weight, weights.temperature, log)
                }
                false => policy.log_prob(ds, &mut self.probs, a, weight),
            };
        }
    }

    /// From the losses of `states` down to their tokens, whose gradient is kept.
    fn backward(&mut self, network: &Network, dp: &mut [T], p: &[T], states: &Range<usize>) {
        let (ws, rows) = (&mut self.states[self.at], self.no_candidates.rows());
        let reinforced = self.dscores.rows();
        if reinforced > 0 {
            let dh = Some((Acc::Add, self.dh.view_mut().slice_rows(0, reinforced)));
            let (h, dscores) = (ws.phi.view().slice_rows(0, reinforced), self.dscores.view());
            let parts = reinforced / rows;
            network.feature_policy.backward_in_parts(parts, dh, dp, dscores, h, p);
        }
        network.encoder.backward_tokens(ws, dp, self.dh.view(), p);
        let tokens = rows * network.encoder.tokens.count();
        let none = Some(self.no_candidates.view());
        for (k, t) in states.clone().enumerate() {
            let dtokens = ws.dtokens().view().slice_rows(k * tokens, (k + 1) * tokens);
            network.encoder.tokens.start_backward(dp, dtokens, none, p);
            while self.dtokens.len() <= t {
                self.dtokens.push(Mat::zeros(tokens, dtokens.cols()));
            }
            self.dtokens[t].set_rows(tokens);
            let from = dtokens.as_slice().expect("whole rows");
            self.dtokens[t].as_mut_slice().copy_from_slice(from);
        }
    }

    /// dW[a, :] += x_a Σ_{t > t_a} ∂ℓ/∂e_t, from the last state backwards.
    fn credit_features(
        &mut self,
        network: &Network,
        dp: &mut [T],
        replay: &Replay<'_, T>,
        range: &Range<usize>,
    ) {
        let tokens = &network.encoder.tokens;
        let steps = replay.actions.steps();
        for t in (1..=steps).rev() {
            let (before, after) = self.dtokens.split_at_mut(t + 1);
            let suffix = &mut before[t];
            if t < steps {
                add_assign(suffix.as_mut_slice(), after[0].as_slice());
            }
            let mut dw = tokens.w.view_mut(dp);
            vectorize(
                #[inline(always)]
                || {
                    for (i, row) in range.clone().enumerate() {
                        let a = replay.actions.row(row)[t - 1];
                        let token = suffix.row(i * tokens.count() + 1 + tokens.group_of(a));
                        axpy(dw.row_mut(a), replay.x[(row, a)], token);
                    }
                },
            );
        }
    }
}
