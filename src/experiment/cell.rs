//! One cell: a method with its settings on one fold.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::observe::CellObserver;
use super::scoring::{Scorer, mean_values};
use super::{
    Budget, CellResult, ClassifierKind, Epsilon, MethodRun, Plan, Prepared, Repeat, Score, Scoring,
    TrainLabels, tune,
};
use crate::method::{Context, Fitted, Method, Observer, Training};
use crate::num::give_back;
use crate::rng::Streams;
use crate::{Result, checksum};

/// Characters of a hash that name a cell. The stored configuration is compared as well.
const ID_LENGTH: usize = 16;

/// Training features from this many values on (16 MB) leave so much behind that it is given back.
const LARGE: usize = 1 << 22;

/// A method on a fold: a pure function of [`Cell::configuration`].
#[derive(Clone, Copy)]
pub struct Cell<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) run: &'a MethodRun,
    pub(super) repeat: &'a Repeat,
    pub(super) fold: Option<usize>,
}

/// What came out of a cell, with all that it was made from.
pub struct Outcome {
    /// The result.
    pub result: CellResult,
    /// The data that were learned from.
    pub prepared: Prepared,
    /// What the method found out (the first time, if it is fitted several times).
    pub fitted: Fitted,
    /// Seconds of each phase of the fit, in order.
    pub phases: Vec<(String, f64)>,
}

impl Cell<'_> {
    /// Everything that the result depends on.
    pub fn configuration(&self) -> Value {
        let Plan { data, protocol, scoring, content, .. } = self.plan;
        let noise = match data.candidates {
            Some(_) => Value::Null,
            None => json!({"rate": protocol.noise, "scheme": protocol.scheme.name()}),
        };
        let mut all = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "data": {"sha256": data.source.sha256, "content_sha256": content},
            "seed": protocol.seed,
            "repeat": self.repeat.number,
            "fold": self.fold,
            "folds": self.repeat.folds.as_ref().map(|f| f.k()),
            "split": protocol.split_name(),
            "noise": noise,
            "scaling": protocol.scaling.name(),
            "method": self.run.method.name(),
            "settings": self.run.method.settings(),
            "tuning_fits": self.run.tuning_fits,
            "budget": scoring.largest(data.d()),
            "scoring": scoring.settings(data.d()),
        });
        // The first revision says nothing, so that cells from before revisions were counted stay known.
        if self.run.method.revision() > 0 {
            all["revision"] = json!(self.run.method.revision());
        }
        all
    }

    /// Hash of the configuration.
    pub fn id(&self) -> String {
        id(&self.configuration())
    }

    /// Splits and scales.
    pub fn prepare(&self) -> Prepared {
        Prepared::new(self.plan.data, self.repeat, self.fold, self.plan.protocol.scaling)
    }

    /// Tunes (if asked for), fits and scores what [`Cell::prepare`] made.
    pub fn run(&self, prepared: Prepared, observer: &mut dyn Observer) -> Result<Outcome> {
        let start = Instant::now();
        let streams = self.streams();
        let tuning = tune::settings(self.run).len();
        let fits = self.run.method.repetitions();
        let tuning_fits = if tuning > 0 { tune::fits(tuning, self.run) } else { 0 };
        let mut observer = CellObserver::new(observer, prepared.truth.as_ref(), tuning_fits + fits);
        let method = match tuning {
            0 => Arc::clone(&self.run.method),
            _ => tune::choose(self, &prepared, &streams.child("tune"), &mut observer)?,
        };
        let mut repetitions = Vec::new();
        for r in 0..fits {
            repetitions.push(self.fit(&method, &prepared, &streams, r, &mut observer)?);
        }
        let scores = average(repetitions.iter().map(|(_, scores)| &scores[..]).collect());
        let fitted = repetitions.swap_remove(0).0;
        let configuration = self.configuration();
        let result = CellResult {
            id: id(&configuration),
            configuration,
            method: self.run.label(),
            settings: method.settings(),
            repeat: self.repeat.number,
            fold: self.fold,
            fits: tuning_fits + fits,
            epsilon: prepared
                .truth
                .as_ref()
                .map(|y| Epsilon::of(y, &prepared.candidates, fitted.pseudo.as_ref())),
            rho: fitted.trained.as_ref().and_then(|t| t.rho),
            verdict: fitted.verdict.clone(),
            notes: self.notes(&fitted),
            ranking: fitted.ranking.iter().map(|r| r.feature).collect(),
            scores,
            seconds: start.elapsed().as_secs_f64(),
        };
        let phases = observer.finish();
        Ok(Outcome { result, prepared, fitted, phases })
    }

    /// The score of the first classifier on all features, trained on the pseudo labels of `outcome`.
    pub fn score_all_features(&self, outcome: &Outcome) -> Result<Option<Score>> {
        let scoring = Scoring {
            train_labels: vec![TrainLabels::Pseudo],
            classifiers: self.plan.scoring.classifiers.iter().take(1).cloned().collect(),
            budgets: vec![Budget::Count(self.plan.data.d())],
            by_chance: false,
            ..self.plan.scoring.clone()
        };
        let scorer = Scorer {
            method: self.run.method.as_ref(),
            data: &self.plan.data.x,
            prepared: &outcome.prepared,
            fitted: &outcome.fitted,
            scoring: &scoring,
            streams: self.streams().child("classify"),
        };
        Ok(scorer.scores()?.pop())
    }

    /// The streams of this fold; classification draws the same numbers for every method.
    fn streams(&self) -> Streams {
        let fold = self.fold.map_or_else(|| "all".to_owned(), |f| f.to_string());
        self.plan.protocol.streams(self.repeat.number).child(&format!("fold/{fold}"))
    }

    fn fit(
        &self,
        method: &Arc<dyn Method>,
        prepared: &Prepared,
        streams: &Streams,
        repetition: usize,
        observer: &mut CellObserver<'_>,
    ) -> Result<(Fitted, Vec<Score>)> {
        let training = Training { x: &prepared.features, candidates: &prepared.candidates };
        let scoring = &self.plan.scoring;
        observer.next_fit();
        let mut context = Context {
            streams: streams.child(&format!("fit/{}/{repetition}", method.name())),
            budget: scoring.largest(self.plan.data.d()),
            observer,
        };
        let fitted = method.fit(&training, &mut context)?;
        if prepared.features.as_slice().len() >= LARGE {
            give_back();
        }
        let scorer = Scorer {
            method: method.as_ref(),
            prepared,
            data: &self.plan.data.x,
            fitted: &fitted,
            scoring,
            streams: streams.child("classify"),
        };
        let scores = scorer.scores()?;
        Ok((fitted, scores))
    }

    fn notes(&self, fitted: &Fitted) -> Vec<String> {
        let mut notes = fitted.notes.clone();
        let own = self.plan.scoring.classifiers.iter().any(|c| c.kind == ClassifierKind::Own);
        if own && fitted.predictor.is_none() {
            notes.push(
                "the method has no predictor of its own, so there is no score of 'own'".to_owned(),
            );
        }
        notes
    }
}

fn id(configuration: &Value) -> String {
    let mut id = checksum::sha256(configuration.to_string().as_bytes());
    id.truncate(ID_LENGTH);
    id
}

/// The mean over all repetitions, score by score.
fn average(repetitions: Vec<&[Score]>) -> Vec<Score> {
    let mut mean = repetitions[0].to_vec();
    for (s, score) in mean.iter_mut().enumerate() {
        let all: Vec<_> = repetitions.iter().map(|scores| scores[s].measures.clone()).collect();
        score.measures = mean_values(&all);
    }
    mean
}
