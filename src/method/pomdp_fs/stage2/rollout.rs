//! Rollouts: the policy selects T features, one after the other, for each instance.
//!
//! State t of a rollout is the set of features selected so far; the encoder sees x_t = m_t ∘ x (13).
//! A mask changes by one feature per step, so the token of the feature's group is updated instead of
//! computed anew: e_{t+1} = e_t + x_a · W[a, :]. The joint loss ([`super::loss`]) replays the actions,
//! or, where memory allows, goes back through the activations that sampling kept.

use std::ops::Range;

use rayon::prelude::*;

use super::loss::Stage2Loss;
use crate::linalg::Mat;
use crate::method::pomdp_fs::Network;
use crate::nn::encoder::Workspace;
use crate::nn::gradient_sums::{GradientSums, group_count, shard_rows};
use crate::nn::loss;
use crate::nn::policy::Categorical;
use crate::num::{Real, add_assign, axpy, vectorize};
use crate::rng::{mix, slice_of};

/// The features that each rollout selected: a_it, B × T.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    features: Vec<usize>,
    rows: usize,
    steps: usize,
}

impl Actions {
    /// Takes one list per rollout, all of one length.
    pub fn new(rollouts: &[Vec<usize>]) -> Self {
        let steps = rollouts.first().map_or(0, Vec::len);
        assert!(rollouts.iter().all(|r| r.len() == steps), "rollouts of one length");
        Actions { features: rollouts.concat(), rows: rollouts.len(), steps }
    }

    /// No rollout of `steps` selections yet; the memory is kept.
    fn clear(&mut self, steps: usize) {
        self.features.clear();
        (self.rows, self.steps) = (0, steps);
    }

    /// Number of rollouts B.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Selections per rollout T.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// What rollout i selected, in order.
    pub fn row(&self, i: usize) -> &[usize] {
        &self.features[i * self.steps..(i + 1) * self.steps]
    }

    /// All selections, rollout after rollout.
    pub fn as_slice(&self) -> &[usize] {
        &self.features
    }
}

/// What sampling finds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled<T> {
    /// What was selected.
    pub actions: Actions,
    /// Supervised loss Σ_j BCE / L of each state, B × (T + 1).
    pub losses: Mat<T>,
    /// Probability of each feature, averaged over the T states of a rollout, summed over rollouts.
    pub probabilities: Vec<f64>,
}

/// How the policy selects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling<T> {
    /// Features to select, at most all.
    pub steps: usize,
    /// Softmax temperature τ_act.
    pub temperature: T,
    /// Row i draws from (key, i, t), whatever the shards and threads.
    pub key: u64,
}

/// The network on rollouts, with the memory of one step.
pub struct Rollouts<T> {
    pub(super) network: Network,
    pub(super) shard_rows: usize,
    pub(super) shards: Vec<Shard<T>>,
    pub(super) sums: GradientSums<T>,
}

impl<T: Real> Rollouts<T> {
    /// Memory grows with the first batch.
    pub fn new(network: Network) -> Self {
        Rollouts {
            shard_rows: rollouts_in_shard(&network),
            shards: Vec::new(),
            sums: GradientSums::new(network.layout.len()),
            network,
        }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Bytes that a batch of `rows` rollouts of `steps` selections needs, all shards together, with the
    /// activations of all states `kept` or not.
    pub fn memory(network: &Network, rows: usize, steps: usize, kept: bool) -> usize {
        let e = network.config();
        let s = network.encoder.tokens.count();
        let shards = rows.div_ceil(rollouts_in_shard(network));
        let token = 2 * e.layers * (6 * e.width + 2 * e.ffn) + 8 * e.width + e.ffn;
        let state = s * e.layers * (10 * e.width + 2 * e.ffn) + e.features + 1;
        // The backward pass of kept states has room for several.
        let (states, more) = if kept { (steps * state, TOGETHER - 1) } else { (0, 0) };
        let room = more * (2 * s * (9 * e.width + e.ffn) + e.width + e.features);
        let instance = s * token + 2 * e.features + (steps + 1) * s * e.width + states + room;
        let gradients = group_count(shards) * network.layout.len();
        T::BYTES * (rows * instance + gradients) + rows * e.features
    }

    /// Makes room for `rows` rollouts; returns the number of shards.
    pub(super) fn reserve(&mut self, rows: usize) -> usize {
        let count = rows.div_ceil(self.shard_rows);
        while self.shards.len() < count {
            self.shards.push(Shard::new(&self.network, self.shard_rows));
        }
        count
    }

    /// Lets the policy select features for each row of `x`, T = min(steps, d); the losses are
    /// against the targets `y` (B × L).
    pub fn sample(
        &mut self,
        sampled: &mut Sampled<T>,
        data: (&Mat<T>, &Mat<T>),
        p: &[T],
        how: Sampling<T>,
    ) {
        self.sample_states(sampled, data, p, how, false);
    }

    /// The same, and keeps the activations of all states for [`Rollouts::loss_of_kept`].
    pub fn sample_and_keep(
        &mut self,
        sampled: &mut Sampled<T>,
        data: (&Mat<T>, &Mat<T>),
        p: &[T],
        how: Sampling<T>,
    ) {
        self.sample_states(sampled, data, p, how, true);
    }

    fn sample_states(
        &mut self,
        sampled: &mut Sampled<T>,
        (x, y): (&Mat<T>, &Mat<T>),
        p: &[T],
        how: Sampling<T>,
        keep: bool,
    ) {
        let how = Sampling { steps: how.steps.min(x.cols()), ..how };
        let count = self.reserve(x.rows());
        let (network, per, rows) = (&self.network, self.shard_rows, x.rows());
        let shards = &mut self.shards[..count];
        shards.par_iter_mut().enumerate().for_each(|(k, shard)| {
            shard.sample(network, (x, y), p, k * per..rows.min((k + 1) * per), how, keep);
        });
        let Sampled { actions, losses, probabilities } = sampled;
        actions.clear(how.steps);
        losses.reshape(rows, how.steps + 1);
        probabilities.clear();
        probabilities.resize(x.cols(), 0.0);
        for (k, shard) in shards.iter().enumerate() {
            actions.features.extend_from_slice(&shard.actions);
            actions.rows += shard.losses.rows();
            for i in 0..shard.losses.rows() {
                losses.row_mut(k * per + i).copy_from_slice(shard.losses.row(i));
            }
            add_assign(probabilities, &shard.probabilities);
        }
    }
}

/// Shards of the smallest size, whatever the batch: each passes through the network T + 1 times.
fn rollouts_in_shard(network: &Network) -> usize {
    shard_rows(1, network.encoder.tokens.count())
}

/// States whose activations lie one below the other. The backward pass takes them together: its
/// products read the weights once for all of them.
pub(super) const TOGETHER: usize = 4;

/// A few rollouts that advance together, with their memory.
pub(super) struct Shard<T> {
    /// Activations: of the present state, or of every state if they are kept, [`TOGETHER`] in each.
    pub states: Vec<Workspace<T>>,
    /// Which of them holds the present states.
    pub at: usize,
    /// Tokens of the present state.
    pub tokens: Mat<T>,
    /// ∂ℓ/∂tokens of every state, T + 1 blocks.
    pub dtokens: Vec<Mat<T>>,
    /// Which features a rollout may still select.
    pub open: Vec<Vec<bool>>,
    /// Stage 2 shows features only: a candidate token, if there is one, sees the empty set.
    pub no_candidates: Mat<T>,
    pub logits: Mat<T>,
    pub dlogits: Mat<T>,
    pub scores: Mat<T>,
    pub dscores: Mat<T>,
    pub dh: Mat<T>,
    pub probs: Vec<T>,
    /// π in every state but the last and ln π of the action taken there, if they are kept.
    pub kept_probs: Vec<Mat<T>>,
    pub kept_logs: Mat<T>,
    /// The last replay's loss.
    pub loss: Stage2Loss<T>,
    /// What the last sampling found, rollout after rollout.
    actions: Vec<usize>,
    losses: Mat<T>,
    probabilities: Vec<f64>,
}

impl<T: Real> Shard<T> {
    pub fn new(network: &Network, rows: usize) -> Self {
        let e = network.config();
        let tokens = rows * network.encoder.tokens.count();
        Shard {
            states: Vec::new(),
            at: 0,
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
            kept_probs: Vec::new(),
            kept_logs: Mat::default(),
            loss: Stage2Loss::default(),
            actions: Vec::new(),
            losses: Mat::zeros(0, 1),
            probabilities: vec![0.0; e.features],
        }
    }

    /// State 0 of `rows` rollouts: nothing selected.
    pub fn start(&mut self, network: &Network, rows: usize, p: &[T]) {
        for m in [&mut self.logits, &mut self.dlogits, &mut self.scores] {
            m.set_rows(rows);
        }
        self.tokens.set_rows(rows * network.encoder.tokens.count());
        self.no_candidates.set_rows(rows);
        let none = Some(self.no_candidates.view());
        network.encoder.tokens.start(self.tokens.view_mut(), none, p);
        for open in &mut self.open[..rows] {
            open.fill(true);
        }
    }

    /// h_t in `phi` of the activations, which are put at place `place`, from the present tokens.
    pub fn encode(&mut self, network: &Network, p: &[T], place: usize) {
        self.at = place / TOGETHER;
        while self.states.len() <= self.at {
            self.states.push(network.encoder.workspace());
        }
        let ws = &mut self.states[self.at];
        network.encoder.show(ws, place % TOGETHER, 1, self.no_candidates.rows());
        ws.tokens_mut().as_mut_slice().copy_from_slice(self.tokens.as_slice());
        // All instances see the same empty set of candidates.
        let only = network.encoder.tokens.only_group();
        network.encoder.forward_tokens(ws, p, None, 0, only);
    }

    /// Turns to the kept activations of `count` states from state t on, with the memory of the backward
    /// pass, which the states that were turned to before have.
    pub fn turn_to(&mut self, network: &Network, t: usize, count: usize) {
        let at = t / TOGETHER;
        if at != self.at {
            let [to, from] = self.states.get_disjoint_mut([at, self.at]).expect("kept states");
            to.take_room(from);
        }
        self.at = at;
        let rows = self.no_candidates.rows();
        network.encoder.show(&mut self.states[at], t % TOGETHER, count, rows);
    }

    /// Row i selects feature a of the instance x.
    pub fn select(&mut self, network: &Network, i: usize, a: usize, x: &[T], p: &[T]) {
        let tokens = &network.encoder.tokens;
        let row = i * tokens.count() + 1 + tokens.group_of(a);
        let (token, w) = (self.tokens.row_mut(row), tokens.w.view(p).row(a));
        vectorize(
            #[inline(always)]
            || axpy(token, x[a], w),
        );
        self.open[i][a] = false;
    }

    fn sample(
        &mut self,
        network: &Network,
        (x, y): (&Mat<T>, &Mat<T>),
        p: &[T],
        range: Range<usize>,
        how: Sampling<T>,
        keep: bool,
    ) {
        let (rows, steps) = (range.len(), how.steps);
        self.start(network, rows, p);
        self.actions.clear();
        self.actions.resize(rows * steps, 0);
        self.losses.reshape(rows, steps + 1);
        self.probabilities.fill(0.0);
        if keep {
            let width = x.cols();
            self.kept_probs.resize_with(steps.max(self.kept_probs.len()), || Mat::zeros(0, width));
            self.kept_logs.reshape(rows, steps);
        }
        let mean = T::ONE / T::from_f64(y.cols() as f64);
        for t in 0..=steps {
            self.encode(network, p, if keep { t } else { 0 });
            let phi = self.states[self.at].phi.view();
            network.disc.forward(self.logits.view_mut(), phi, p);
            for i in 0..rows {
                let sum = loss::bce_sum(self.logits.row(i), y.row(range.start + i));
                self.losses[(i, t)] = mean * sum;
            }
            if t == steps {
                break;
            }
            network.feature_policy.forward(self.scores.view_mut(), phi, p);
            if keep {
                self.kept_probs[t].set_rows(rows);
            }
            for i in 0..rows {
                let row = range.start + i;
                let (scores, open) = (self.scores.row(i), &self.open[i][..]);
                let policy = Categorical { scores, open, temperature: how.temperature };
                let probs = match keep {
                    true => self.kept_probs[t].row_mut(i),
                    false => &mut self.probs[..],
                };
                let norm = policy.probabilities(probs);
                let sums = self.probabilities.iter_mut().zip(&*probs);
                vectorize(
                    #[inline(always)]
                    || sums.for_each(|(sum, p)| *sum += p.to_f64() / steps as f64),
                );
                let a = draw(probs, open, uniform(how.key, row, t));
                if keep {
                    self.kept_logs[(i, t)] = policy.log_of(a, norm);
                }
                self.actions[i * steps + t] = a;
                self.select(network, i, a, x.row(row), p);
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
