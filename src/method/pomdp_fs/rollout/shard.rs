//! A few rollouts that advance together: their states, one step of sampling, one step of the loss.

use std::ops::Range;

use super::{Sampled, Stage2Loss, Stage2Weights, Trajectories};
use crate::linalg::{Acc, Mat};
use crate::method::pomdp_fs::Network;
use crate::nn::encoder::Workspace;
use crate::nn::policy::Categorical;
use crate::nn::{Fault, loss};
use crate::num::{Real, add_assign, axpy};
use crate::rng::{mix, slice_of};

/// Memory of a few rollouts that advance together.
pub(super) struct Shard<T> {
    ws: Workspace<T>,
    /// Tokens of the present state.
    tokens: Mat<T>,
    /// ∂ℓ/∂tokens of every state, T + 1 blocks.
    dtokens: Vec<Mat<T>>,
    open: Vec<Vec<bool>>,
    /// Stage 2 shows features only: a candidate token, if there is one, sees the empty set.
    no_candidates: Mat<T>,
    logits: Mat<T>,
    dlogits: Mat<T>,
    scores: Mat<T>,
    dscores: Mat<T>,
    dh: Mat<T>,
    probs: Vec<T>,
    /// The last replay's loss.
    pub(super) loss: Stage2Loss<T>,
}

impl<T: Real> Shard<T> {
    pub(super) fn new(network: &Network, rows: usize) -> Self {
        let e = network.config().encoder;
        let tokens = rows * network.encoder.tokens.count();
        Shard {
            ws: network.encoder.workspace(),
            tokens: Mat::zeros(tokens, e.width),
            dtokens: Vec::new(),
            open: vec![vec![true; e.features]; rows],
            no_candidates: Mat::zeros(rows, e.labels),
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
        for m in [&mut self.logits, &mut self.dlogits, &mut self.scores, &mut self.dscores] {
            m.set_rows(rows);
        }
        self.dh.set_rows(rows);
        self.tokens.set_rows(rows * network.encoder.tokens.count());
        self.no_candidates.set_rows(rows);
        let none = Some(self.no_candidates.view());
        network.encoder.tokens.start(self.tokens.view_mut(), none, p);
        for open in &mut self.open[..rows] {
            open.fill(true);
        }
    }

    /// h_t in `ws.phi` from the present tokens.
    fn encode(&mut self, network: &Network, p: &[T]) {
        let tokens = self.ws.tokens_mut();
        tokens.set_rows(self.tokens.rows());
        tokens.as_mut_slice().copy_from_slice(self.tokens.as_slice());
        network.encoder.forward_tokens(&mut self.ws, p, None, 0);
    }

    /// Row i selects feature a of the instance x.
    fn select(&mut self, network: &Network, i: usize, a: usize, x: &[T], p: &[T]) {
        let tokens = &network.encoder.tokens;
        let row = i * tokens.count() + 1 + tokens.group_of(a);
        axpy(self.tokens.row_mut(row), x[a], tokens.w.view(p).row(a));
        self.open[i][a] = false;
    }

    pub(super) fn sample(
        &mut self,
        network: &Network,
        (x, y): (&Mat<T>, &Mat<T>),
        p: &[T],
        range: Range<usize>,
        steps: usize,
        temperature: T,
        key: u64,
    ) -> Sampled<T> {
        let rows = range.len();
        self.start(network, rows, p);
        let mut actions = vec![Vec::with_capacity(steps); rows];
        let mut losses = Mat::zeros(rows, steps + 1);
        let mut probabilities = vec![0.0; x.cols()];
        let mean = T::ONE / T::from_f64(y.cols() as f64);
        for t in 0..=steps {
            self.encode(network, p);
            network.disc.forward(self.logits.view_mut(), self.ws.phi.view(), p);
            for i in 0..rows {
                losses[(i, t)] = mean * loss::bce_sum(self.logits.row(i), y.row(range.start + i));
            }
            if t == steps {
                break;
            }
            let scores = self.scores.view_mut();
            network.feature_policy.forward(scores, self.ws.phi.view(), p);
            for i in 0..rows {
                let row = range.start + i;
                let (scores, open) = (self.scores.row(i), &self.open[i][..]);
                let policy = Categorical { scores, open, temperature };
                policy.probabilities(&mut self.probs, Fault::None);
                for (sum, p) in probabilities.iter_mut().zip(&self.probs) {
                    *sum += p.to_f64() / steps as f64;
                }
                let a = draw(&self.probs, open, uniform(key, row, t));
                actions[i].push(a);
                self.select(network, i, a, x.row(row), p);
            }
        }
        Sampled { actions, losses, probabilities }
    }

    /// The joint loss of given actions, state by state; the backward pass follows each step at once.
    pub(super) fn replay(
        &mut self,
        network: &Network,
        mut dp: Option<&mut [T]>,
        (x, y): (&Mat<T>, &Mat<T>),
        p: &[T],
        range: Range<usize>,
        trajectories: &Trajectories<T>,
        weights: &Stage2Weights<T>,
    ) {
        let steps = trajectories.reward.cols();
        self.start(network, range.len(), p);
        self.loss = Stage2Loss::default();
        for t in 0..=steps {
            self.encode(network, p);
            let supervised = weights.supervised[t] != T::ZERO;
            if supervised {
                self.supervise(network, y, p, range.start, weights.supervised[t]);
            }
            if t < steps {
                self.reinforce(network, p, &range, t, trajectories, weights);
            }
            if let Some(dp) = dp.as_deref_mut() {
                self.backward(network, dp, p, t, supervised, t < steps);
            }
            if t < steps {
                for (i, row) in range.clone().enumerate() {
                    self.select(network, i, trajectories.actions[row][t], x.row(row), p);
                }
            }
        }
        if let Some(dp) = dp {
            self.credit_features(network, dp, x, &range, trajectories);
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
        let fault = network.encoder.fault;
        let h = self.ws.phi.view();
        self.dh.fill(T::ZERO);
        for (used, head, dout) in [
            (supervised, network.disc, &self.dlogits),
            (reinforced, network.feature_policy, &self.dscores),
        ] {
            if used {
                let dh = Some((Acc::Add, self.dh.view_mut()));
                head.backward(dh, dp, dout.view(), h, p, fault);
            }
        }
        network.encoder.backward_tokens(&mut self.ws, dp, self.dh.view(), p);
        let dtokens = self.ws.dtokens();
        let none = Some(self.no_candidates.view());
        network.encoder.tokens.start_backward(dp, dtokens.view(), none, p, fault);
        while self.dtokens.len() <= t {
            self.dtokens.push(Mat::zeros(dtokens.rows(), dtokens.cols()));
        }
        self.dtokens[t].set_rows(dtokens.rows());
        self.dtokens[t].as_mut_slice().copy_from_slice(dtokens.as_slice());
    }

    /// Supervised loss of the present state, and its gradient in `dlogits`.
    fn supervise(&mut self, network: &Network, y: &Mat<T>, p: &[T], first: usize, weight: T) {
        let fault = network.encoder.fault;
        network.disc.forward(self.logits.view_mut(), self.ws.phi.view(), p);
        self.dlogits.fill(T::ZERO);
        for i in 0..self.logits.rows() {
            let (du, u) = (self.dlogits.row_mut(i), self.logits.row(i));
            self.loss.supervised += loss::bce(du, u, y.row(first + i), weight, fault);
        }
    }

    /// Policy loss of the action taken in the present state, and its gradient in `dscores`.
    fn reinforce(
        &mut self,
        network: &Network,
        p: &[T],
        range: &Range<usize>,
        t: usize,
        trajectories: &Trajectories<T>,
        weights: &Stage2Weights<T>,
    ) {
        let fault = network.encoder.fault;
        network.feature_policy.forward(self.scores.view_mut(), self.ws.phi.view(), p);
        self.dscores.fill(T::ZERO);
        let baseline = trajectories.baseline[t];
        let scale = -weights.policy * trajectories.scale[t];
        for (i, row) in range.clone().enumerate() {
            let a = trajectories.actions[row][t];
            let weight = scale * (trajectories.reward[(row, t)] - baseline);
            let (scores, open) = (self.scores.row(i), &self.open[i][..]);
            let policy = Categorical { scores, open, temperature: weights.temperature };
            let ds = self.dscores.row_mut(i);
            self.loss.policy += policy.log_prob(ds, &mut self.probs, a, weight, fault);
            if fault == Fault::BaselineForgotten {
                policy.log_prob(ds, &mut self.probs, a, scale * baseline, Fault::None);
            }
        }
    }

    /// dW[a, :] += x_a Σ_{t > t_a} ∂ℓ/∂e_t, from the last state backwards.
    fn credit_features(
        &mut self,
        network: &Network,
        dp: &mut [T],
        x: &Mat<T>,
        range: &Range<usize>,
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

/// Uniform on [0, 1) from (key, row, step).
pub(super) fn uniform(key: u64, row: usize, step: usize) -> f64 {
    let bits = mix(mix(key ^ mix(row as u64)).wrapping_add(step as u64));
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// The index whose slice of [0, 1) holds `u`; never one of probability zero. When the network left
/// the finite numbers and the probabilities are NaN, it is the first open one: the losses beside it
/// are NaN too and stop the run, and no feature is selected twice until then.
pub(super) fn draw<T: Real>(probs: &[T], open: &[bool], u: f64) -> usize {
    slice_of(probs, u).or_else(|| open.iter().position(|&o| o)).unwrap_or_default()
}
