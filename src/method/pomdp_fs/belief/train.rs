//! Training of one part: sample Z from the policy, fit the network's belief to Z, move the policy by
//! REINFORCE; the rows of the part are held out and judge.
//!
//! The reward of a label is that of the observation model with its entropy: with the policy's p and
//! the belief U
//!
//! ```text
//! r_ij(1) = −BCE(U_ij, 1)          − ln p_ij
//! r_ij(0) = −BCE(U_ij, 0) + ln ρ   − ln (1 − p_ij)
//! ```
//!
//! whose best policy is p = σ(U + ln 1/ρ), the posterior. The baseline is the exact expectation
//! p r(1) + (1 − p) r(0), so the advantage is (1 − p)Δ for Z = 1 and −pΔ for Z = 0 with Δ = r(1) − r(0).
//! Fitting U to samples of that posterior is stochastic EM of the marginal likelihood.

use super::network::{BeliefNetwork, BeliefSaved, Observed};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::observation::likelihood::NoiseRate;
use crate::method::pomdp_fs::Config;
use crate::method::pomdp_fs::stage1::train::{Epoch1, sample};
use crate::nn::adam::clip;
use crate::nn::{Adam, AdamConfig, Dropout, loss};
use crate::num::Real;
use crate::rng::{Rng, Streams};
use crate::{Error, Result};

/// Rows that pass the network together when nothing is learned.
const ROWS: usize = 1024;

/// What all parts share.
pub struct Shared<'a> {
    /// Settings.
    pub config: &'a Config,
    /// X, n × d.
    pub x: &'a Mat<f32>,
    /// C, n × L.
    pub candidates: &'a Labels,
    /// u, n × L.
    pub base: Mat<f32>,
    /// u′, n × L.
    pub linear: Mat<f32>,
    /// ρ of each label.
    pub noise: Vec<NoiseRate<f32>>,
    /// Whether the label context is used.
    pub with_context: bool,
}

/// The state of one part between epochs.
#[derive(Clone, Debug, PartialEq)]
pub struct PartState {
    /// All weights.
    pub p: Vec<f32>,
    /// Optimiser of encoder and h_disc.
    pub deep: Adam<f32>,
    /// Optimiser of the label context.
    pub context: Adam<f32>,
    /// Optimiser of the policy.
    pub policy: Adam<f32>,
}

/// One part: the rows that train it, and the memory of a step.
pub struct PartTrainer {
    /// Rows that are learned from.
    training: Vec<usize>,
    /// Rows that are judged.
    pub held_out: Vec<usize>,
    network: BeliefNetwork,
    batch: Batch,
    saved: BeliefSaved<f32>,
    z: Mat<f32>,
    advantage: Mat<f32>,
    down: Mat<f32>,
    row: Vec<f32>,
    dp: Vec<f32>,
}

/// Rows of the data, gathered; the memory is used again.
struct Batch {
    x: Mat<f32>,
    base: Mat<f32>,
    linear: Mat<f32>,
    c: Mat<f32>,
    candidates: Labels,
}

impl Batch {
    fn gather(&mut self, shared: &Shared<'_>, rows: &[usize]) {
        self.x.gather_rows(shared.x, rows);
        self.base.gather_rows(&shared.base, rows);
        self.linear.gather_rows(&shared.linear, rows);
        self.candidates.gather_rows(shared.candidates, rows);
        self.c.set_rows(rows.len());
        for (c, &on) in self.c.as_mut_slice().iter_mut().zip(self.candidates.as_slice()) {
            *c = f32::from(u8::from(on));
        }
    }

    fn observed(&self) -> Observed<'_, f32> {
        Observed { x: self.x.view(), base: &self.base, linear: &self.linear, c: &self.c }
    }
}

impl PartTrainer {
    /// Learns from `training`, judges `held_out`.
    pub fn new(
        network: BeliefNetwork,
        training: Vec<usize>,
        held_out: Vec<usize>,
        shared: &Shared<'_>,
    ) -> Self {
        let (features, labels) = (shared.x.cols(), shared.noise.len());
        let empty = |cols| Mat::zeros(0, cols);
        PartTrainer {
            training,
            held_out,
            batch: Batch {
                x: empty(features),
                base: empty(labels),
                linear: empty(labels),
                c: empty(labels),
                candidates: Labels::none(0, labels),
            },
            saved: network.saved(),
            z: empty(labels),
            advantage: empty(labels),
            down: empty(labels),
            row: vec![0.0; labels],
            dp: vec![0.0; network.layout.len()],
            network,
        }
    }

    /// The state before the first epoch.
    pub fn start(&self, shared: &Shared<'_>, streams: &Streams) -> PartState {
        let (config, network) = (shared.config, &self.network);
        let decayed = |rate| AdamConfig { decay: config.decay, ..AdamConfig::new(rate) };
        PartState {
            p: network.init(&shared.noise, streams),
            deep: Adam::new(network.deep_range().len(), decayed(config.rate_disc)),
            context: Adam::new(network.context_range().len(), decayed(config.rate_context)),
            policy: Adam::new(network.policy_range().len(), AdamConfig::new(config.rate_policy)),
        }
    }

    /// One epoch: every training row once, in random order.
    pub fn epoch(
        &mut self,
        state: &mut PartState,
        shared: &Shared<'_>,
        streams: &Streams,
    ) -> Result<Epoch1> {
        let order = streams.stream("order").permutation(self.training.len());
        let order: Vec<usize> = order.into_iter().map(|k| self.training[k]).collect();
        let mut record = Epoch1::default();
        let batches = order.chunks(shared.config.batch);
        let count = batches.len().max(1) as f64;
        for (k, rows) in batches.enumerate() {
            let key = streams.key(&format!("batch/{k}/dropout"));
            let mut actions = streams.stream(&format!("batch/{k}/actions"));
            self.step(state, shared, rows, key, &mut actions, &mut record).map_err(|e| {
                Error::numeric(format!("Stage 1, batch {}: {}", k + 1, e.message())).hint(
                    "lower rate_disc or rate_context, or look for extreme values in the features",
                )
            })?;
        }
        for mean in [
            &mut record.bce,
            &mut record.reward,
            &mut record.gradient_norm,
            &mut record.policy_gradient_norm,
        ] {
            *mean /= count;
        }
        Ok(record)
    }

    /// One batch: forward, both losses and their gradients, one step of the optimisers. After the
    /// first batch it allocates nothing but what matrix products need (see `num/raw`).
    pub fn step(
        &mut self,
        state: &mut PartState,
        shared: &Shared<'_>,
        rows: &[usize],
        dropout_key: u64,
        actions: &mut Rng,
        record: &mut Epoch1,
    ) -> Result<()> {
        let (config, network) = (shared.config, &self.network);
        self.batch.gather(shared, rows);
        let seen = self.batch.observed();
        let dropout =
            (config.dropout > 0.0).then_some(Dropout { rate: config.dropout, key: dropout_key });
        let with_context = shared.with_context;
        network.forward(&mut self.saved, seen, &shared.noise, with_context, &state.p, dropout);
        sample(&mut self.z, &self.saved.scores, &self.batch.candidates, actions);

        self.dp.fill(0.0);
        let mean = 1.0 / rows.len() as f32;
        self.down.set_rows(rows.len());
        self.down.fill(0.0);
        let (dw, w) = (self.down.as_mut_slice(), self.saved.own.as_slice());
        let bce = loss::bce(dw, w, self.z.as_slice(), mean);
        network.backward(&mut self.dp, &self.down, seen.x, with_context, &state.p, &mut self.saved);
        let (saved, open) = (&self.saved, &self.batch.candidates);
        let reward = advantages(&mut self.advantage, &self.z, open, saved, &shared.noise, mean);
        network.policy_loss(&mut self.dp, &mut self.row, &self.z, open, &self.advantage, saved);
        network.layout.check_finite(&self.dp, "gradient")?;

        let (deep, context) = (network.deep_range(), network.context_range());
        let policy = network.policy_range();
        record.gradient_norm += clip(&mut self.dp[..context.end], config.clip);
        record.policy_gradient_norm += clip(&mut self.dp[policy.clone()], config.clip);
        state.deep.step(&mut state.p[deep.clone()], &self.dp[deep]);
        state.context.step(&mut state.p[context.clone()], &self.dp[context]);
        state.policy.step(&mut state.p[policy.clone()], &self.dp[policy]);
        record.bce += f64::from(bce);
        record.reward += reward;
        Ok(())
    }

    /// U and s of the held-out rows.
    pub fn judge(&mut self, p: &[f32], shared: &Shared<'_>) -> (Mat<f32>, Mat<f32>) {
        let labels = shared.noise.len();
        let (mut logits, mut scores) = (Vec::new(), Vec::new());
        for rows in self.held_out.chunks(ROWS) {
            self.batch.gather(shared, rows);
            let (seen, with_context) = (self.batch.observed(), shared.with_context);
            self.network.forward(&mut self.saved, seen, &shared.noise, with_context, p, None);
            logits.extend_from_slice(self.saved.logits.as_slice());
            scores.extend_from_slice(self.saved.scores.as_slice());
        }
        let rows = self.held_out.len();
        (Mat::from_vec(rows, labels, logits), Mat::from_vec(rows, labels, scores))
    }
}

/// Fills A_ij · `mean`; returns the mean reward of a candidate.
fn advantages(
    advantage: &mut Mat<f32>,
    z: &Mat<f32>,
    candidates: &Labels,
    saved: &BeliefSaved<f32>,
    noise: &[NoiseRate<f32>],
    mean: f32,
) -> f64 {
    advantage.set_rows(z.rows());
    advantage.fill(0.0);
    let (mut total, mut count) = (0.0, 0usize);
    for i in 0..z.rows() {
        for j in (0..z.cols()).filter(|&j| candidates.get(i, j)) {
            let (u, s) = (f64::from(saved.logits[(i, j)]), f64::from(saved.scores[(i, j)]));
            let p = s.sigmoid();
            let keep = u.log_sigmoid() - s.log_sigmoid();
            let drop = (-u).log_sigmoid() + f64::from(noise[j].ln_rho) - (-s).log_sigmoid();
            let kept = z[(i, j)] > 0.5;
            let credit = if kept { 1.0 - p } else { -p };
            advantage[(i, j)] = mean * (credit * (keep - drop)) as f32;
            total += if kept { keep } else { drop };
            count += 1;
        }
    }
    total / count.max(1) as f64
}
