//! Both stages as one resumable computation.
//!
//! [`Fit`] advances epoch by epoch: the parts of cross-fitting (if any), Stage 1 on all rows, Stage 2.
//! Between two epochs its [`Progress`] is all there is to know: every random number is found by the
//! name of its epoch, so a fit continued from a stored progress ends with the same bytes.

use std::sync::Arc;

use serde_json::Value;

use super::config::{Config, Preset, Ranking};
use super::network::Network;
use super::stage1::{Epoch1, State1, Trainer1, harden, numbers};
use super::stage2::{Epoch2, State2, Trainer2, Treatment};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::settings::{self, Settings};
use crate::method::{Context, Fitted, Method, Ranked, Training};
use crate::rng::Streams;
use crate::{Error, Result};

/// Where a fit stands, between two epochs.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Stage 1 of the current part; `None` once Stage 2 has begun.
    pub stage1: Option<State1>,
    /// Part of cross-fitting being trained; equal to their number for the model on all rows.
    pub part: usize,
    /// Confidences of the rows whose part is done (cross-fitting), then of all rows.
    pub confidence: Mat<f32>,
    /// ρ of the model on all rows, once Stage 1 is done.
    pub rho: f64,
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
    /// How the final policy treats each feature.
    pub treatment: Treatment,
    /// Weights after Stage 1: they disambiguate new rows.
    pub disambiguator: Vec<f32>,
    /// Weights after Stage 2.
    pub selector: Vec<f32>,
    /// The learned noise rate.
    pub rho: f64,
    /// Epochs of both stages.
    pub history: (Vec<Epoch1>, Vec<Epoch2>),
}

/// A fit in the making.
pub struct Fit<'a> {
    config: &'a Config,
    training: Training<'a>,
    network: Network,
    budget: usize,
    streams: Streams,
    parts: Vec<Vec<usize>>,
    progress: Progress,
    /// Weights after Stage 1, kept while Stage 2 moves on.
    disambiguator: Vec<f32>,
    /// Confidences of all rows after the Stage-1 epoch that was done last, until they are judged.
    latest: Option<Mat<f32>>,
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
        check_data(&training)?;
        if budget == 0 {
            return Err(Error::config("the budget is 0, expected at least one feature"));
        }
        if config.cross_fit > n {
            return Err(Error::config(format!(
                "cross_fit is {} but there are {n} rows, expected at most as many parts as rows",
                config.cross_fit
            )));
        }
        let network = Network::new(config.network(d, labels))?;
        let order = streams.stream("cross-fit").permutation(n);
        let parts = (0..config.cross_fit)
            .map(|k| order.iter().copied().skip(k).step_by(config.cross_fit).collect())
            .collect();
        let progress = Progress {
            stage1: None,
            part: 0,
            confidence: Mat::zeros(n, labels),
            rho: config.rho,
            stage2: None,
            history1: Vec::new(),
            history2: Vec::new(),
        };
        let (disambiguator, latest) = (Vec::new(), None);
        Ok(Fit {
            config,
            training,
            network,
            budget,
            streams,
            parts,
            progress,
            disambiguator,
            latest,
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
    }

    /// Writes ε of the present pseudo labels into the record of the Stage-1 epoch that was done last.
    /// For the history alone: nothing that is learned depends on it.
    pub fn judge(&mut self, truth: &Labels) {
        if let (Some(p), Some(record)) = (self.latest.take(), self.progress.history1.last_mut()) {
            let hard = harden(&p, self.training.candidates, self.config.at_least_one);
            record.epsilon = Some(hard.hamming_distance(truth));
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
        (p.part * epochs1 + current, (self.parts.len() + 1) * epochs1 + self.stage2_epochs())
    }

    fn stage2_epochs(&self) -> usize {
        self.config.stage2_epochs(self.training.x.rows())
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
        let part = self.progress.part;
        match self.parts.get(part).cloned() {
            Some(held_out) => self.advance_part(&held_out),
            None => self.advance_stage1(),
        }?;
        Ok(true)
    }

    /// Stage 1 on all rows but `held_out`; at its end these are disambiguated.
    fn advance_part(&mut self, held_out: &[usize]) -> Result<()> {
        let all = 0..self.training.x.rows();
        let rows: Vec<usize> = all.filter(|i| !held_out.contains(i)).collect();
        let (x, c) =
            (self.training.x.select_rows(&rows), self.training.candidates.select_rows(&rows));
        let streams = self.streams.child(&format!("part/{}", self.progress.part));
        let mut trainer = Trainer1::new(self.config, self.network.clone(), &x, &c, streams);
        let mut state = self.progress.stage1.take().unwrap_or_else(|| trainer.start());
        trainer.epoch(&mut state)?;
        if state.epoch < self.config.epochs1 {
            self.progress.stage1 = Some(state);
            return Ok(());
        }
        let x = self.training.x.select_rows(held_out);
        let c = self.training.candidates.select_rows(held_out);
        let confidence = trainer.confidence(&state.p, &x, &c);
        for (k, &i) in held_out.iter().enumerate() {
            self.progress.confidence.row_mut(i).copy_from_slice(confidence.row(k));
        }
        self.progress.part += 1;
        Ok(())
    }

    /// Stage 1 on all rows; at its end Stage 2 begins.
    fn advance_stage1(&mut self) -> Result<()> {
        let Training { x, candidates } = self.training;
        let streams = self.streams.child("stage1");
        let network = self.network.clone();
        let mut trainer = Trainer1::new(self.config, network, x, candidates, streams);
        let mut state = self.progress.stage1.take().unwrap_or_else(|| trainer.start());
        let (record, confidence) = trainer.epoch(&mut state)?;
        self.progress.history1.push(record);
        self.latest = Some(confidence.clone());
        self.progress.rho = state.rho;
        if state.epoch < self.config.epochs1 {
            self.progress.stage1 = Some(state);
            return Ok(());
        }
        if self.parts.is_empty() {
            self.progress.confidence = confidence;
        }
        let y = self.targets();
        let trainer = self.trainer2(&y);
        let stage2 = trainer.start(state.p.clone());
        self.disambiguator = state.p;
        self.progress.stage2 = Some(stage2);
        Ok(())
    }

    fn advance_stage2(&mut self) -> Result<bool> {
        let mut state = self.progress.stage2.take().expect("Stage 2 has begun");
        let more = state.epoch < self.stage2_epochs();
        if more {
            let y = self.targets();
            let record = self.trainer2(&y).epoch(&mut state)?;
            self.progress.history2.push(record);
        }
        self.progress.stage2 = Some(state);
        Ok(more)
    }

    fn trainer2<'b>(&'b self, y: &'b Mat<f32>) -> Trainer2<'b> {
        let (network, streams) = (self.network.clone(), self.streams.child("stage2"));
        Trainer2::new(self.config, network, self.training.x, y, self.budget, streams)
    }

    /// What Stage 2 learns from: hard pseudo labels as printed, or the posteriors.
    fn targets(&self) -> Mat<f32> {
        match self.config.preset {
            Preset::Paper => numbers(&self.pseudo()),
            Preset::Observation => self.progress.confidence.clone(),
        }
    }

    fn pseudo(&self) -> Labels {
        let candidates = self.training.candidates;
        harden(&self.progress.confidence, candidates, self.config.at_least_one)
    }

    /// Ranking and labels after the last epoch.
    pub fn finish(self) -> Fitted {
        let state = self.progress.stage2.as_ref().expect("advance until it returns false");
        let y = self.targets();
        let treatment = self.trainer2(&y).treatment(state);
        Fitted {
            ranking: rank_features(&treatment, self.config.ranking),
            pseudo: Some(self.pseudo()),
            confidence: Some(self.progress.confidence.clone()),
            trained: Some(Arc::new(Trained {
                treatment,
                selector: state.p.clone(),
                disambiguator: self.disambiguator,
                rho: self.progress.rho,
                history: (self.progress.history1, self.progress.history2),
            })),
            ..Fitted::default()
        }
    }
}

/// Best first. Features that were never selected come last; ties are broken by the average policy
/// score, then by the index.
fn rank_features(treatment: &Treatment, ranking: Ranking) -> Vec<Ranked> {
    let score = match ranking {
        Ranking::Frequency => &treatment.frequency,
        Ranking::Score => &treatment.score,
        Ranking::Credit => &treatment.credit,
    };
    let seen = |a: usize| treatment.frequency[a] > 0.0 || treatment.credit[a] != 0.0;
    let mut order: Vec<usize> = (0..score.len()).collect();
    order.sort_by(|&a, &b| {
        seen(b)
            .cmp(&seen(a))
            .then(score[b].total_cmp(&score[a]))
            .then(treatment.score[b].total_cmp(&treatment.score[a]))
            .then(a.cmp(&b))
    });
    order.into_iter().map(|feature| Ranked { feature, score: score[feature] }).collect()
}

pub(in crate::method) fn check_data(training: &Training<'_>) -> Result<()> {
    let (x, c) = (training.x, training.candidates);
    if x.rows() == 0 || x.cols() == 0 || c.cols() == 0 {
        return Err(Error::found(
            format!("{} rows, {} features, {} labels", x.rows(), x.cols(), c.cols()),
            "at least one of each",
        ));
    }
    if x.rows() != c.rows() {
        return Err(Error::found(
            format!("{} rows of features and {} of labels", x.rows(), c.rows()),
            "the same number",
        ));
    }
    x.check_finite("features")
}

/// The method, for tables and comparisons.
#[derive(Clone, Debug)]
pub struct PomdpFs {
    name: String,
    /// Its settings.
    pub config: Config,
}

impl PomdpFs {
    /// `pomdp-fs` or, with preset `paper`, `pomdp-fs-paper`.
    pub fn new(config: Config) -> Self {
        let name = match config.preset {
            Preset::Observation => "pomdp-fs",
            Preset::Paper => "pomdp-fs-paper",
        };
        PomdpFs { name: name.into(), config }
    }
}

impl Method for PomdpFs {
    fn name(&self) -> &str {
        &self.name
    }

    fn settings(&self) -> Value {
        settings::object(&self.config)
    }

    fn with(&self, changes: &Value) -> Result<Box<dyn Method>> {
        Ok(Box::new(PomdpFs::new(settings::changed(&self.config, changes)?)))
    }

    fn fit(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let streams = context.streams.child("pomdp-fs");
        let mut fit = Fit::new(&self.config, *training, context.budget, streams)?;
        loop {
            let (done, total) = fit.done();
            let phase = if fit.stage() == 1 { "Stage 1" } else { "Stage 2" };
            if !context.observer.progress(phase, done, total) {
                return Err(Error::cancelled());
            }
            if !fit.advance()? {
                return Ok(fit.finish());
            }
        }
    }
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
