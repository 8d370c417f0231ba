//! Both stages as one resumable computation.
//!
//! [`Fit`] advances epoch by epoch: the parts of cross-fitting (if any), Stage 1 on all rows, Stage 2.
//! Between two epochs its [`Progress`] is all there is to know: every random number is found by the
//! name of its epoch, so a fit continued from a stored progress ends with the same bytes.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::config::Config;
use super::model::Weights;
use super::network::Network;
use super::stage1::labels::pseudo_labels;
use super::stage1::train::{Epoch1, State1, Trainer1};
use super::stage2::ranking::FeatureStatistics;
use super::stage2::sequential::RolloutRecord;
use super::stage2::train::{Epoch2, State2, Trainer2};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::settings::Settings;
use crate::method::{Fitted, Training};
use crate::num::little_endian;
use crate::rng::Streams;
use crate::{Error, Result, checksum};

/// Where a fit stands, between two epochs.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Stage 1 of the current part; `None` once Stage 2 has begun.
    pub stage1: Option<State1>,
    /// Part of cross-fitting being trained; equal to their number for the model on all rows.
    pub part: usize,
    /// Confidences of the rows whose part is done (cross-fitting), then of all rows.
    pub confidence: Mat<f32>,
    /// Stage 2, once it has begun.
    pub stage2: Option<State2>,
    /// Epochs of Stage 1 of the model on all rows.
    pub history1: Vec<Epoch1>,
    /// Epochs of Stage 2.
    pub history2: Vec<Epoch2>,
}

/// What a fit learned besides ranking and labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// What the final policy does with each feature.
    pub features: FeatureStatistics,
    /// What was learned, for new rows.
    pub weights: Weights,
    /// The noise rate, if there is an observation model.
    pub rho: Option<f64>,
    /// Epochs of Stage 1, and Stage 2's.
    pub history: (Vec<Epoch1>, History2),
}

/// How Stage 2 went.
#[derive(Clone, Debug, PartialEq)]
pub enum History2 {
    /// Preset `paper`: epochs.
    Epochs(Vec<Epoch2>),
    /// Preset `observation`: rollouts.
    Rollouts(Vec<RolloutRecord>),
}

impl History2 {
    /// Supervised loss before and after the selection, in each epoch or rollout.
    pub fn losses(&self) -> Vec<(f64, f64)> {
        match self {
            History2::Epochs(all) => all.iter().map(|e| (e.loss_start, e.loss_end)).collect(),
            History2::Rollouts(all) => all.iter().map(|r| (r.loss_start, r.loss_end)).collect(),
        }
    }
}

/// A fit in the making.
pub struct Fit<'a> {
    config: &'a Config,
    training: Training<'a>,
    network: Network,
    budget: usize,
    streams: Streams,
    /// Rows that each part of cross-fitting holds out.
    parts: Vec<Vec<usize>>,
    progress: Progress,
    /// The trainer of the stage (and part) that is going on; made when its first epoch is due.
    trainer: Option<Trainer<'a>>,
    /// Weights after Stage 1, kept while Stage 2 moves on.
    disambiguator: Vec<f32>,
    /// Confidences of all rows after the Stage-1 epoch that was done last, until ε is known.
    latest: Option<Mat<f32>>,
}

enum Trainer<'a> {
    Stage1(Box<Trainer1<'a>>),
    Stage2(Box<Trainer2<'a>>),
}

impl<'a> Fit<'a> {
    /// Checks settings and data; nothing is trained yet.
    pub fn new(
        config: &'a Config,
        training: Training<'a>,
        budget: usize,
        streams: Streams,
    ) -> Result<Self> {
        config.check()?;
        let (n, d, labels) = (training.x.rows(), training.x.cols(), training.candidates.cols());
        training.check()?;
        if budget == 0 {
            return Err(Error::config("the budget is 0, expected at least one feature"));
        }
        config.check_parts(n)?;
        let parts = config.cross_fit.unwrap_or(0);
        let network = Network::new(config.network(d, labels))?;
        let order = streams.stream("cross-fit").permutation(n);
        let held_out = |k| order.iter().copied().skip(k).step_by(parts).collect();
        let progress = Progress {
            stage1: None,
            part: 0,
            confidence: Mat::zeros(n, labels),
            stage2: None,
            history1: Vec::new(),
            history2: Vec::new(),
        };
        Ok(Fit {
            parts: (0..parts).map(held_out).collect(),
            config,
            training,
            network,
            budget,
            streams,
            progress,
            trainer: None,
            disambiguator: Vec::new(),
            latest: None,
        })
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Where it stands: enough to go on from with [`Fit::resume`].
    pub fn progress(&self) -> (&Progress, &[f32]) {
        (&self.progress, &self.disambiguator)
    }

    /// Continues from a stored progress of the same fit.
    pub fn resume(&mut self, progress: Progress, disambiguator: Vec<f32>) {
        self.progress = progress;
        self.disambiguator = disambiguator;
        self.trainer = None;
    }

    /// Names everything that the result depends on.
    pub fn fingerprint(&self) -> String {
        fingerprint(self.config, &self.training, self.budget, &self.streams)
    }

    /// Writes ε of the present pseudo labels, from whoever knows the truth, into the record of the
    /// Stage-1 epoch that was done last. Nothing that is learned depends on it.
    pub fn record_epsilon(&mut self, epsilon: impl FnOnce(&Labels) -> Option<f64>) {
        if let (Some(p), Some(record)) = (self.latest.take(), self.progress.history1.last_mut()) {
            let (c, at_least_one) = (self.training.candidates, self.config.at_least_one);
            record.epsilon = epsilon(&pseudo_labels(&p, c, at_least_one));
        }
    }

    /// Epochs done and epochs in all.
    pub fn done(&self) -> (usize, usize) {
        let Config { epochs1, .. } = *self.config;
        let p = &self.progress;
        let current = match (&p.stage1, &p.stage2) {
            (_, Some(s)) => epochs1 + s.epoch,
            (Some(s), None) => s.epoch,
            (None, None) => 0,
        };
        (p.part * epochs1 + current, (self.parts.len() + 1) * epochs1 + self.config.epochs2)
    }

    /// The stage that the next epoch belongs to.
    pub fn stage(&self) -> usize {
        1 + usize::from(self.progress.stage2.is_some())
    }

    /// One epoch; false when there was none left.
    pub fn advance(&mut self) -> Result<bool> {
        if self.progress.stage2.is_some() {
            return self.advance_stage2();
        }
        let mut trainer = match self.trainer.take() {
            Some(Trainer::Stage1(trainer)) => trainer,
            _ => Box::new(self.trainer1()),
        };
        let mut state = self.progress.stage1.take().unwrap_or_else(|| trainer.start());
        let (record, confidence) = trainer.epoch(&mut state)?;
        let last = state.epoch == self.config.epochs1;
        if self.progress.part < self.parts.len() {
            if last {
                self.finish_part(&mut trainer, &state);
            }
        } else {
            self.progress.history1.push(record);
            if last {
                self.begin_stage2(confidence.clone(), &state);
            }
            self.latest = Some(confidence);
        }
        if !last {
            self.progress.stage1 = Some(state);
            self.trainer = Some(Trainer::Stage1(trainer));
        }
        Ok(true)
    }

    /// For Stage 1 on all rows, or on all but those that the current part holds out.
    fn trainer1(&self) -> Trainer1<'a> {
        let part = self.progress.part;
        let mut held_out = vec![false; self.training.x.rows()];
        self.parts.get(part).into_iter().flatten().for_each(|&i| held_out[i] = true);
        let rows = (0..held_out.len()).filter(|&i| !held_out[i]).collect();
        let streams = if part < self.parts.len() {
            self.streams.child(&format!("part/{part}"))
        } else {
            self.streams.child("stage1")
        };
        Trainer1::new(self.config, self.network.clone(), self.training, rows, streams)
    }

    /// The rows that this part held out are disambiguated by what it learned from the others.
    fn finish_part(&mut self, trainer: &mut Trainer1<'a>, state: &State1) {
        let held_out = &self.parts[self.progress.part];
        let confidence = trainer.confidence(&state.p, held_out);
        for (k, &i) in held_out.iter().enumerate() {
            self.progress.confidence.row_mut(i).copy_from_slice(confidence.row(k));
        }
        self.progress.part += 1;
    }

    fn begin_stage2(&mut self, confidence: Mat<f32>, state: &State1) {
        if self.parts.is_empty() {
            self.progress.confidence = confidence;
        }
        let trainer = self.trainer2();
        self.progress.stage2 = Some(trainer.start(state.p.clone()));
        self.disambiguator.clone_from(&state.p);
        self.trainer = Some(Trainer::Stage2(Box::new(trainer)));
    }

    fn advance_stage2(&mut self) -> Result<bool> {
        let mut state = self.progress.stage2.take().expect("Stage 2 has begun");
        let more = state.epoch < self.config.epochs2;
        if more {
            let mut trainer = self.take_trainer2();
            let record = trainer.epoch(&mut state)?;
            self.progress.history2.push(record);
            self.trainer = Some(Trainer::Stage2(trainer));
        }
        self.progress.stage2 = Some(state);
        Ok(more)
    }

    fn take_trainer2(&mut self) -> Box<Trainer2<'a>> {
        match self.trainer.take() {
            Some(Trainer::Stage2(trainer)) => trainer,
            _ => Box::new(self.trainer2()),
        }
    }

    fn trainer2(&self) -> Trainer2<'a> {
        let (network, streams) = (self.network.clone(), self.streams.child("stage2"));
        let y = match self.config.soft {
            true => self.progress.confidence.clone(),
            false => self.pseudo().to_mat(),
        };
        Trainer2::new(self.config, network, self.training.x, y, self.budget, streams)
    }

    fn pseudo(&self) -> Labels {
        let candidates = self.training.candidates;
        pseudo_labels(&self.progress.confidence, candidates, self.config.at_least_one)
    }

    /// Ranking and labels after the last epoch.
    pub fn finish(mut self) -> Fitted {
        let mut trainer = self.take_trainer2();
        let pseudo = self.pseudo();
        let state = self.progress.stage2.expect("advance until it returns false");
        let features = trainer.statistics(&state);
        Fitted {
            ranking: features.rank(self.config.ranking),
            pseudo: Some(pseudo),
            confidence: Some(self.progress.confidence),
            trained: Some(Arc::new(Trained {
                features,
                weights: Weights::Printed { selector: state.p, disambiguator: self.disambiguator },
                rho: None,
                history: (self.progress.history1, History2::Epochs(self.progress.history2)),
            })),
            ..Fitted::default()
        }
    }
}

/// Names everything that a result depends on: version, settings, budget, random streams, data. A
/// stored progress is continued by a fit with the same fingerprint alone.
pub(super) fn fingerprint(
    config: &Config,
    training: &Training<'_>,
    budget: usize,
    streams: &Streams,
) -> String {
    let Training { x, candidates } = training;
    let text = format!(
        "{} {} {} {} {}x{}x{} ",
        env!("CARGO_PKG_VERSION"),
        serde_json::to_string(config).expect("plain values"),
        budget,
        // The key depends on the root seed and on the path of names below it.
        streams.key("fingerprint"),
        x.rows(),
        x.cols(),
        candidates.cols(),
    );
    let mut hash = Sha256::new();
    hash.update(text);
    for i in 0..x.rows() {
        hash.update(little_endian(x.row(i)));
        candidates.row(i).iter().for_each(|&on| hash.update([u8::from(on)]));
    }
    checksum::hex(&hash.finalize())
}
