//! Stage 1 as a training loop: sample Z, fit U to Z, move the policy by REINFORCE.
//!
//! Preset `paper`, to the letter: one reward for the whole batch, r = −ℓ_disc (10), weights every
//! candidate's log-probability (11).

use serde::{Deserialize, Serialize};

use super::labels::{Batch, confidence_of, summary};
use super::loss::{DiscWeights, Stage1Saved, disc_loss, policy_loss};
use crate::data::Labels;
use crate::graph::Graph;
use crate::linalg::Mat;
use crate::linalg::nearest::Neighbour;
use crate::method::Training;
use crate::method::pomdp_fs::{Config, Network};
use crate::nn::adam::clip;
use crate::nn::{Adam, Dropout};
use crate::num::Real;
use crate::rng::{Rng, Streams};
use crate::{Error, Result};

/// One epoch of Stage 1, for the history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Epoch1 {
    /// Mean ℓ_BCE term.
    pub bce: f64,
    /// Mean graph term.
    pub graph: f64,
    /// Mean reward of a batch (`paper`) or of a candidate (`observation`).
    pub reward: f64,
    /// ρ after the epoch, if there is an observation model.
    pub rho: Option<f64>,
    /// Mean −ln P(C) of a held-out cell, if there is an observation model.
    pub held_out: Option<f64>,
    /// Mean p over the candidates.
    pub mean_p: f64,
    /// Mean entropy of the policy over the candidates, in nats.
    pub entropy: f64,
    /// Mean norm of the encoder's gradient before clipping.
    pub gradient_norm: f64,
    /// Mean norm of the policy's gradient.
    pub policy_gradient_norm: f64,
    /// ε, the share of wrong cells of the pseudo labels after the epoch. Training never sees the
    /// truth; an observer that knows it tells
    /// ([`Observer::epsilon`](crate::method::Observer::epsilon)).
    pub epsilon: Option<f64>,
}

/// The state of Stage 1 between epochs: everything a resumed run needs.
#[derive(Clone, Debug, PartialEq)]
pub struct State1 {
    /// All weights.
    pub p: Vec<f32>,
    /// Optimiser of encoder and h_disc.
    pub disc: Adam<f32>,
    /// Optimiser of θ.
    pub policy: Adam<f32>,
    /// Epochs done.
    pub epoch: usize,
}

/// The random numbers of one step.
pub struct StepRandom {
    /// Key of the dropout masks.
    pub dropout: u64,
    /// Where Z is drawn from.
    pub actions: Rng,
}

/// Some rows of the training data, and the memory of one step on them.
pub struct Trainer1<'a> {
    config: &'a Config,
    network: Network,
    training: Training<'a>,
    /// The rows that are learned from.
    rows: Vec<usize>,
    /// C of these rows.
    candidates: Labels,
    streams: Streams,
    memory: Memory,
}

/// What a step writes to; sized by the first batch, used again by the next.
struct Memory {
    batch: Batch,
    saved: Stage1Saved<f32>,
    graph: Graph<f32>,
    neighbours: Vec<Neighbour<f32>>,
    z: Mat<f32>,
    advantage: Mat<f32>,
    dlogits: Mat<f32>,
    dscores: Mat<f32>,
    dp: Vec<f32>,
}

impl<'a> Trainer1<'a> {
    /// Learns from the given rows; `streams` names this fit.
    pub fn new(
        config: &'a Config,
        network: Network,
        training: Training<'a>,
        rows: Vec<usize>,
        streams: Streams,
    ) -> Self {
        let (features, labels) = (training.x.cols(), training.candidates.cols());
        let memory = Memory {
            batch: Batch::new(features, labels),
            saved: network.stage1_saved(),
            graph: Graph::default(),
            neighbours: Vec::new(),
            z: Mat::zeros(0, labels),
            advantage: Mat::zeros(0, labels),
            dlogits: Mat::zeros(0, labels),
            dscores: Mat::zeros(0, labels),
            dp: vec![0.0; network.layout.len()],
        };
        Trainer1 {
            config,
            candidates: training.candidates.select_rows(&rows),
            network,
            training,
            rows,
            streams,
            memory,
        }
    }

    /// The state before the first epoch.
    pub fn start(&self) -> State1 {
        let network = &self.network;
        let [disc, policy, ..] = self.config.optimisers();
        State1 {
            disc: Adam::new(network.disc_range().len(), disc),
            policy: Adam::new(network.label_policy_range().len(), policy),
            p: network.init(&self.streams.child("init")),
            epoch: 0,
        }
    }

    /// One epoch: every row once, in random order. Also returns the confidences after it.
    pub fn epoch(&mut self, state: &mut State1) -> Result<(Epoch1, Mat<f32>)> {
        self.network.check_inputs(self.training.x, &state.p)?;
        let streams = self.streams.child(&format!("epoch/{}", state.epoch));
        let order = streams.stream("order").permutation(self.rows.len());
        let order: Vec<usize> = order.into_iter().map(|k| self.rows[k]).collect();
        let mut record = Epoch1::default();
        let batches = order.chunks(self.config.batch);
        let count = batches.len().max(1) as f64;
        for (k, rows) in batches.enumerate() {
            let random = StepRandom {
                dropout: streams.key(&format!("batch/{k}/dropout")),
                actions: streams.stream(&format!("batch/{k}/actions")),
            };
            self.step(state, rows, random, &mut record).map_err(|e| {
                Error::numeric(format!(
                    "Stage 1, epoch {}, batch {}: {}",
                    state.epoch + 1,
                    k + 1,
                    e.message()
                ))
                .hint("lower rate_disc or rate_policy, or look for extreme values in the features")
            })?;
        }
        for mean in [
            &mut record.bce,
            &mut record.graph,
            &mut record.reward,
            &mut record.gradient_norm,
            &mut record.policy_gradient_norm,
        ] {
            *mean /= count;
        }
        let rows = std::mem::take(&mut self.rows);
        let confidence = self.confidence(&state.p, &rows);
        self.rows = rows;
        (record.mean_p, record.entropy) = summary(&confidence, &self.candidates);
        state.epoch += 1;
        Ok((record, confidence))
    }

    /// One batch: forward, both losses and their gradients, one step of both optimisers. After the
    /// first batch it allocates nothing but what matrix products need (see `num/raw`).
    pub fn step(
        &mut self,
        state: &mut State1,
        rows: &[usize],
        mut random: StepRandom,
        record: &mut Epoch1,
    ) -> Result<()> {
        let (config, network, m) = (self.config, &self.network, &mut self.memory);
        m.batch.gather(self.training.x, self.training.candidates, rows);
        let batch = (m.batch.x.view(), m.batch.c.view());
        let dropout =
            (config.dropout > 0.0).then_some(Dropout { rate: config.dropout, key: random.dropout });
        network.forward(&mut m.saved, batch, &state.p, dropout);
        sample(&mut m.z, &m.saved.scores, &m.batch.candidates, &mut random.actions);
        m.graph.rebuild(&mut m.neighbours, &m.batch.x, config.neighbours)?;

        m.dp.fill(0.0);
        let bce = 1.0 / (rows.len() * m.z.cols()) as f32;
        let weights = DiscWeights { bce, graph: config.lambda_struct as f32 * bce };
        let loss = disc_loss(&mut m.dlogits, &m.saved.logits, &m.z, &m.graph, weights);
        network.disc_backward(&mut m.dp, &m.dlogits, batch, &state.p, &mut m.saved);
        let reward = -f64::from(loss.bce + loss.graph);
        // Every label of the batch is weighted alike: A_ij = r / B.
        m.advantage.set_rows(rows.len());
        m.advantage.fill((reward / rows.len() as f64) as f32);
        let open = &m.batch.candidates;
        policy_loss(&mut m.dscores, &m.saved.scores, &m.z, open, &m.advantage);
        network.policy_backward(&mut m.dp, &m.dscores, &state.p, &m.saved);
        network.layout.check_finite(&m.dp, "gradient")?;

        let (disc, policy) = (network.disc_range(), network.label_policy_range());
        record.gradient_norm += clip(&mut m.dp[disc.clone()], config.clip);
        record.policy_gradient_norm += clip(&mut m.dp[policy.clone()], config.clip);
        state.disc.step(&mut state.p[disc.clone()], &m.dp[disc]);
        state.policy.step(&mut state.p[policy.clone()], &m.dp[policy]);
        record.bce += f64::from(loss.bce);
        record.graph += f64::from(loss.graph);
        record.reward += reward;
        Ok(())
    }

    /// p_ij of the given rows of the training data, under the weights `p`.
    pub fn confidence(&mut self, p: &[f32], rows: &[usize]) -> Mat<f32> {
        let data = (self.training.x, self.training.candidates);
        let m = &mut self.memory;
        confidence_of(&self.network, &mut m.saved, &mut m.batch, p, data, rows)
    }
}

/// Z_ij ~ Bernoulli(σ(s_ij)) on candidates.
pub fn sample<T: Real>(z: &mut Mat<T>, scores: &Mat<T>, candidates: &Labels, rng: &mut Rng) {
    z.set_rows(scores.rows());
    let cells = scores.as_slice().iter().zip(candidates.as_slice());
    for (z, (s, &open)) in z.as_mut_slice().iter_mut().zip(cells) {
        let keep = open && rng.bernoulli(s.sigmoid().to_f64());
        *z = if keep { T::ONE } else { T::ZERO };
    }
}
