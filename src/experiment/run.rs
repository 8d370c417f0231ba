//! One method over all folds and repeats.

use std::time::Instant;

use rayon::prelude::*;

use super::{Protocol, TrainLabels, Trial};
use crate::Result;
use crate::classify::prior::Prior;
use crate::classify::{Classifier, Targets};
use crate::data::Dataset;
use crate::measure::{Comparison, METRICS, Summary};
use crate::method::{Context, Fitted, Method, Silent, Training};
use crate::rng::Streams;

/// What came out at one budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Number of features used.
    pub features: usize,
    /// One summary for each measure of the protocol.
    pub summaries: Vec<Summary>,
    /// C, if the classifier chose it.
    pub c: Option<f64>,
    /// Number of scores that were NaN.
    pub nan_scores: usize,
}

/// What came out of one fold.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldResult {
    /// In the order of the protocol's budgets.
    pub outcomes: Vec<Outcome>,
    /// Hamming distance of the candidates from the truth, in the training part.
    pub epsilon_candidate: f64,
    /// Hamming distance of the method's pseudo labels from the truth, if it makes any.
    pub epsilon_pseudo: Option<f64>,
    /// What the classifier was trained on.
    pub trained_on: TrainLabels,
    /// Time of fit, classification and scoring.
    pub seconds: f64,
}

/// All folds of one method, repeat after repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodResult {
    /// Its name.
    pub method: String,
    /// One entry a fold and repeat.
    pub folds: Vec<FoldResult>,
}

impl MethodResult {
    /// The values of metric `metric` (index into [`METRICS`]) in all folds.
    pub fn values(&self, budget: usize, measure: usize, metric: usize) -> Vec<f64> {
        let value = |f: &FoldResult| f.outcomes[budget].summaries[measure].values[metric];
        self.folds.iter().map(value).collect()
    }
}

/// Evaluates a method; folds run in parallel, the result does not depend on how.
pub fn evaluate_method(
    data: &Dataset,
    method: &dyn Method,
    classifier: &dyn Classifier,
    protocol: &Protocol,
    streams: &Streams,
) -> Result<MethodResult> {
    let folds = (0..protocol.folds * protocol.repeats)
        .into_par_iter()
        .map(|cell| {
            let trial = Trial::new(data, protocol, cell, streams)?;
            let streams = streams.child(&format!("cell/{cell}/{}", method.name()));
            fold(&trial, method, classifier, protocol, &streams)
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(MethodResult { method: method.name().to_owned(), folds })
}

/// All repetitions of one fold, averaged.
fn fold(
    trial: &Trial,
    method: &dyn Method,
    classifier: &dyn Classifier,
    protocol: &Protocol,
    streams: &Streams,
) -> Result<FoldResult> {
    let start = Instant::now();
    let repetitions = method.repetitions();
    let mut results = (0..repetitions)
        .map(|r| once(trial, method, classifier, protocol, &streams.child(&format!("{r}"))))
        .collect::<Result<Vec<_>>>()?;
    let mut first = results.swap_remove(0);
    for (b, outcome) in first.outcomes.iter_mut().enumerate() {
        for (m, summary) in outcome.summaries.iter_mut().enumerate() {
            for k in 0..METRICS.len() {
                let others = results.iter().map(|r| r.outcomes[b].summaries[m].values[k]);
                summary.values[k] = (summary.values[k] + others.sum::<f64>()) / repetitions as f64;
            }
        }
    }
    first.seconds = start.elapsed().as_secs_f64();
    Ok(first)
}

fn once(
    trial: &Trial,
    method: &dyn Method,
    classifier: &dyn Classifier,
    protocol: &Protocol,
    streams: &Streams,
) -> Result<FoldResult> {
    let d = trial.features.cols();
    let budgets: Vec<usize> = protocol.budgets.iter().map(|b| b.of(d)).collect();
    let training = Training { x: &trial.features, candidates: &trial.candidates };
    let mut context = Context {
        streams: streams.child("fit"),
        budget: budgets.iter().copied().max().unwrap_or(0),
        observer: &mut Silent,
    };
    let fitted = method.fit(&training, &mut context)?;
    let (trained_on, targets) = targets(trial, &fitted, protocol.train_labels);
    let outcomes = budgets
        .iter()
        .map(|&budget| {
            let used = method.selected(budget, d);
            let columns: Vec<usize> = fitted.ranking[..used].iter().map(|r| r.feature).collect();
            score(trial, &columns, targets, classifier, protocol, &streams.child("classify"))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(FoldResult {
        outcomes,
        epsilon_candidate: trial.candidates.hamming_distance(&trial.truth),
        epsilon_pseudo: fitted.pseudo.as_ref().map(|p| p.hamming_distance(&trial.truth)),
        trained_on,
        seconds: 0.0,
    })
}

/// What was asked for, or the nearest thing to it that the method makes.
fn targets<'a>(
    trial: &'a Trial,
    fitted: &'a Fitted,
    wanted: Option<TrainLabels>,
) -> (TrainLabels, Targets<'a>) {
    match (wanted, &fitted.confidence, &fitted.pseudo) {
        (Some(TrainLabels::Truth), ..) => (TrainLabels::Truth, Targets::Labels(&trial.truth)),
        (None | Some(TrainLabels::Confidence), Some(p), _) => {
            (TrainLabels::Confidence, Targets::Confidence(p))
        }
        (None | Some(TrainLabels::Confidence | TrainLabels::Pseudo), _, Some(y)) => {
            (TrainLabels::Pseudo, Targets::Labels(y))
        }
        _ => (TrainLabels::Candidate, Targets::Labels(&trial.candidates)),
    }
}

/// Trains on the given columns and measures on the test part.
fn score(
    trial: &Trial,
    columns: &[usize],
    targets: Targets<'_>,
    classifier: &dyn Classifier,
    protocol: &Protocol,
    streams: &Streams,
) -> Result<Outcome> {
    // Without features there is only the prior.
    let classifier = if columns.is_empty() { &Prior } else { classifier };
    let model = classifier.fit(&trial.train.select_cols(columns), targets, streams)?;
    let found = model.predict(&trial.test.select_cols(columns))?;
    let case = Comparison::new(&trial.test_truth, &found.scores, &found.labels)?;
    let measures = protocol.measures.iter();
    Ok(Outcome {
        features: columns.len(),
        summaries: measures.map(|&(c, form)| Summary::of(&case, c, form)).collect(),
        c: model.chosen_c(),
        nan_scores: found.scores.nan(),
    })
}
