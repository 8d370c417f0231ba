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
//! the activations of all states were kept, the forward passes are not repeated.
//! Feature a is in all states after its step t_a, so its weights get
//! dW[a, :] += x_a Σ_{t > t_a} ∂ℓ/∂e_t: a suffix sum.

use std::ops::Range;

use rayon::prelude::*;

use super::rollout::{Actions, Rollouts, Shard};
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
            Some(dp) => self.sums.accumulate(dp, shards, |k, shard, grads| {
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
        for t in 0..=steps {
            match kept {
                true => self.turn_to(t),
                false => self.encode(network, p, 0),
            }
            let supervised = replay.weights.supervised[t] != T::ZERO;
            if supervised {
                self.supervise(network, replay, p, range.start, t);
            }
            if t < steps {
                self.reinforce(network, replay, p, &range, t, kept);
            }
            if let Some(dp) = dp.as_deref_mut() {
                self.backward(network, dp, p, t, supervised, t < steps);
            }
            // Kept states know their tokens.
            if t < steps && !kept {
                for (i, row) in range.clone().enumerate() {
                    self.select(network, i, replay.actions.row(row)[t], replay.x.row(row), p);
                }
            }
        }
        if let Some(dp) = dp {
            self.credit_features(network, dp, replay, &range);
        }
    }

    /// Supervised loss of state t, and its gradient in `dlogits`.
    fn supervise(
        &mut self,
        network: &Network,
        replay: &Replay<'_, T>,
        p: &[T],
        first: usize,
        t: usize,
    ) {
        let phi = self.states[self.at].phi.view();
        network.disc.forward(self.logits.view_mut(), phi, p);
        self.dlogits.fill(T::ZERO);
        let weight = replay.weights.supervised[t];
        for i in 0..self.logits.rows() {
            let (du, u) = (self.dlogits.row_mut(i), self.logits.row(i));
            self.loss.supervised += loss::bce(du, u, replay.y.row(first + i), weight);
        }
    }

    /// Policy loss of the action taken in state t, and its gradient in `dscores`.
    fn reinforce(
        &mut self,
        network: &Network,
        replay: &Replay<'_, T>,
        p: &[T],
        range: &Range<usize>,
        t: usize,
        kept: bool,
    ) {
        if !kept {
            let phi = self.states[self.at].phi.view();
            network.feature_policy.forward(self.scores.view_mut(), phi, p);
        }
        self.dscores.fill(T::ZERO);
        let Replay { actions, advantages, weights, .. } = *replay;
        let scale = -weights.policy * advantages.scale[t];
        for (i, row) in range.clone().enumerate() {
            let weight = scale * (advantages.reward[(row, t)] - advantages.baseline[t]);
            let (ds, a) = (self.dscores.row_mut(i), actions.row(row)[t]);
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

    /// From the losses of state t down to its tokens, whose gradient is kept.
    fn backward(
        &mut self,
        network: &Network,
        dp: &mut [T],
        p: &[T],
        t: usize,
        supervised: bool,
        reinforced: bool,
    ) {
        let ws = &mut self.states[self.at];
        let h = ws.phi.view();
        self.dh.fill(T::ZERO);
        for (used, head, dout) in [
            (supervised, network.disc, &self.dlogits),
            (reinforced, network.feature_policy, &self.dscores),
        ] {
            if used {
                let dh = Some((Acc::Add, self.dh.view_mut()));
                head.backward(dh, dp, dout.view(), h, p);
            }
        }
        network.encoder.backward_tokens(ws, dp, self.dh.view(), p);
        let dtokens = ws.dtokens();
        let none = Some(self.no_candidates.view());
        network.encoder.tokens.start_backward(dp, dtokens.view(), none, p);
        while self.dtokens.len() <= t {
            self.dtokens.push(Mat::zeros(dtokens.rows(), dtokens.cols()));
        }
        self.dtokens[t].set_rows(dtokens.rows());
        self.dtokens[t].as_mut_slice().copy_from_slice(dtokens.as_slice());
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
