//! Stage 1 of the default preset: the linear belief, then networks on top of it, one per part of
//! cross-fitting, for as long as the held-out likelihood rises.

use rayon::prelude::*;

use super::checkpoint::Stored;
use super::model::BeliefModel;
use super::train::{PartState, PartTrainer, Shared};
use crate::Result;
use crate::linalg::Mat;
use crate::method::Training;
use crate::method::observation::cross_fit::mean_loss;
use crate::method::observation::linear_belief::PARTS;
use crate::method::observation::{LinearBelief, LinearOptions};
use crate::method::pomdp_fs::Config;
use crate::method::pomdp_fs::stage1::labels::summary;
use crate::method::pomdp_fs::stage1::train::Epoch1;
use crate::num::Real;
use crate::rng::Streams;

/// The networks must win by so much per cell, or the linear belief is kept: it is the smaller model.
const MARGIN: f64 = 1e-4;

/// The networks between two epochs: all that a resumed fit needs besides the data.
#[derive(Clone, Debug, PartialEq)]
pub struct BeliefState {
    /// Epochs done.
    pub epoch: usize,
    /// Each part.
    pub parts: Vec<PartState>,
    /// The best epoch so far, if one is better than the linear belief.
    pub best: Option<Best>,
    /// One record per epoch; the first is the linear belief.
    pub history: Vec<Epoch1>,
}

/// An epoch that may be the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Its number.
    pub epoch: usize,
    /// Held-out −ln P(C) of a cell.
    pub loss: f64,
    /// Weights of each part.
    pub weights: Vec<Vec<f32>>,
    /// s of every row, from the part that held it out.
    pub scores: Mat<f32>,
}

/// Stage 1 in the making.
pub struct BeliefFit<'a> {
    linear: LinearBelief,
    shared: Shared<'a>,
    parts: Vec<PartTrainer>,
    streams: Streams,
    c: Mat<f64>,
    /// Where it stands.
    pub state: BeliefState,
}

/// What Stage 1 found.
pub struct Beliefs {
    /// p, n × L: the policy on rows that it was not trained on.
    pub confidence: Mat<f32>,
    /// The linear belief, with what it saw of the data.
    pub linear: LinearBelief,
    /// Held-out −ln P(C) of a cell under the belief that was chosen.
    pub loss: f64,
    /// For new rows.
    pub model: BeliefModel,
    /// One record per epoch; the first is the linear belief.
    pub history: Vec<Epoch1>,
}

impl<'a> BeliefFit<'a> {
    /// Fits the linear belief, or goes on from the stored one; no network is trained yet.
    pub fn new(
        config: &'a Config,
        training: Training<'a>,
        streams: Streams,
        stored: Option<&Stored<'_>>,
    ) -> Result<Self> {
        let Training { x, candidates } = training;
        let options = LinearOptions {
            rho: config.rho,
            rho_per_label: config.rho_per_label,
            without_context: !config.label_context,
            parts: config.cross_fit.unwrap_or(PARTS),
        };
        let own = streams.child("linear");
        let linear = match stored {
            None => LinearBelief::fit(x, candidates, &options, &own),
            Some(stored) => {
                let sizes = (x.rows(), x.cols(), candidates.cols());
                let parts = LinearBelief::partition(x.rows(), options.parts, 0, &own);
                stored.linear(parts, sizes)?
            }
        };
        let with_context = linear.model.context.is_some();
        let network = config.belief_network(x.cols(), candidates.cols())?;
        let shared = Shared {
            config,
            x,
            candidates,
            base: linear.base.cast(),
            linear: linear.logits.cast(),
            noise: linear.noise(),
            with_context,
        };
        let split = &linear.parts;
        let parts: Vec<PartTrainer> = (0..split.count())
            .map(|k| {
                let used = split.training(k);
                let training = (0..used.len()).filter(|&i| used[i]).collect();
                PartTrainer::new(network.clone(), training, split.rows(k), &shared)
            })
            .collect();
        let init = |(k, part): (usize, &PartTrainer)| {
            part.start(&shared, &streams.child(&format!("part/{k}/init")))
        };
        let state = BeliefState {
            epoch: 0,
            parts: parts.iter().enumerate().map(init).collect(),
            best: None,
            history: Vec::new(),
        };
        let c = candidates.to_mat();
        let mut fit = BeliefFit { linear, shared, parts, streams, c, state };
        let confidence = fit.confidence();
        let first = Epoch1 { held_out: Some(fit.linear.loss.1), ..Epoch1::default() };
        fit.record(first, &confidence);
        Ok(fit)
    }

    /// The linear belief.
    pub fn linear(&self) -> &LinearBelief {
        &self.linear
    }

    /// Whether another epoch may help.
    pub fn more(&self) -> bool {
        let (config, epoch) = (self.shared.config, self.state.epoch);
        // The networks start below the linear belief and need some epochs to reach it, so they are
        // measured by their own lowest loss.
        let losses = self.state.history.iter().map(|e| e.held_out.unwrap_or(f64::INFINITY));
        let lowest = losses.enumerate().skip(1).min_by(|a, b| a.1.total_cmp(&b.1));
        epoch < config.epochs1 && epoch < lowest.map_or(0, |(k, _)| k) + config.patience
    }

    /// One epoch of every part.
    pub fn advance(&mut self) -> Result<()> {
        let BeliefFit { shared, parts, state, streams, .. } = self;
        let streams = streams.child(&format!("epoch/{}", state.epoch));
        let found = parts
            .par_iter_mut()
            .zip(&mut state.parts)
            .enumerate()
            .map(|(k, (part, state))| {
                let record = part.epoch(state, shared, &streams.child(&format!("part/{k}")))?;
                Ok((record, part.judge(&state.p, shared)))
            })
            .collect::<Result<Vec<_>>>()?;
        let (n, labels) = (shared.x.rows(), shared.noise.len());
        let (mut logits, mut scores) = (Mat::zeros(n, labels), Mat::zeros(n, labels));
        for (part, (_, (u, s))) in self.parts.iter().zip(&found) {
            for (r, &i) in part.held_out.iter().enumerate() {
                logits.row_mut(i).copy_from_slice(u.row(r));
                scores.row_mut(i).copy_from_slice(s.row(r));
            }
        }
        let loss = mean_loss(&logits.cast(), &self.c, &self.linear.noise());
        self.state.epoch += 1;
        let bar = self.state.best.as_ref().map_or(self.linear.loss.1 - MARGIN, |b| b.loss);
        if loss < bar {
            let weights = self.state.parts.iter().map(|s| s.p.clone()).collect();
            self.state.best = Some(Best { epoch: self.state.epoch, loss, weights, scores });
        }
        let mut record = mean_record(found.iter().map(|(record, _)| record));
        record.held_out = Some(loss);
        let confidence = self.confidence();
        self.record(record, &confidence);
        Ok(())
    }

    /// p under the best belief so far.
    pub fn confidence(&self) -> Mat<f32> {
        let Shared { candidates, noise, linear, .. } = &self.shared;
        let best = self.state.best.as_ref();
        Mat::from_fn(candidates.rows(), candidates.cols(), |i, j| match best {
            _ if !candidates.get(i, j) => 0.0,
            Some(best) => best.scores[(i, j)].sigmoid(),
            None => noise[j].posterior(linear[(i, j)]),
        })
    }

    fn record(&mut self, mut record: Epoch1, confidence: &Mat<f32>) {
        let rho = &self.linear.rho;
        record.rho = Some(rho.iter().sum::<f64>() / rho.len().max(1) as f64);
        (record.mean_p, record.entropy) = summary(confidence, self.shared.candidates);
        self.state.history.push(record);
    }

    /// What was found.
    pub fn finish(self) -> Beliefs {
        let confidence = self.confidence();
        let loss = self.state.best.as_ref().map_or(self.linear.loss.1, |b| b.loss);
        let model = BeliefModel {
            rho: self.linear.rho.clone(),
            linear: self.linear.model.clone(),
            parts: self.state.best.map_or(Vec::new(), |b| b.weights),
        };
        Beliefs { confidence, linear: self.linear, loss, model, history: self.state.history }
    }
}

/// The mean over the parts.
fn mean_record<'a>(records: impl ExactSizeIterator<Item = &'a Epoch1>) -> Epoch1 {
    let share = 1.0 / records.len().max(1) as f64;
    let mut mean = Epoch1::default();
    for r in records {
        mean.bce += share * r.bce;
        mean.reward += share * r.reward;
        mean.gradient_norm += share * r.gradient_norm;
        mean.policy_gradient_norm += share * r.policy_gradient_norm;
    }
    mean
}
