//! From one fit to all its scores: training labels × classifiers × budgets × conventions.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Budget, ClassifierConfig, ClassifierKind, Prepared, Score, Values};
use crate::Result;
use crate::classify::prior::Prior;
use crate::classify::{Classifier, Model, Prediction, Targets};
use crate::data::Labels;
use crate::data::choice::choice;
use crate::linalg::Mat;
use crate::measure::{Comparison, Convention, CoverageForm, Summary};
use crate::method::{Fitted, Method};
use crate::rng::Streams;

/// Labels that train the classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainLabels {
    /// The noisy candidates.
    Candidate,
    /// The method's hard pseudo labels; candidates if it makes none.
    Pseudo,
    /// The method's probabilities; pseudo labels or candidates if it makes none.
    Confidence,
    /// The truth: only the ranking comes from noisy data.
    Truth,
}

choice!(TrainLabels {
    Candidate => "candidate", Pseudo => "pseudo", Confidence => "confidence", Truth => "truth",
});

/// How a fit is scored.
#[derive(Clone, Debug, PartialEq)]
pub struct Scoring {
    /// Labels that train the classifiers, in order; none for the best that the method makes.
    pub train_labels: Vec<TrainLabels>,
    /// Classifiers on the selected features.
    pub classifiers: Vec<ClassifierConfig>,
    /// Numbers of features. The method is fitted for the largest.
    pub budgets: Vec<Budget>,
    /// Conventions to measure under; the first is the main one.
    pub measures: Vec<(Convention, CoverageForm)>,
    /// Whether as many random features are scored with the same training labels.
    pub by_chance: bool,
}

/// How many random choices of features a score by chance is the mean of.
const RANDOM_CHOICES: usize = 10;

impl Default for Scoring {
    /// A linear SVM on the paper's budget; coverage over L, as the paper's values imply.
    fn default() -> Self {
        Scoring {
            train_labels: Vec::new(),
            classifiers: vec![ClassifierConfig::new(ClassifierKind::Svm)],
            budgets: vec![Budget::Paper],
            measures: vec![(Convention::ScikitLearn, CoverageForm::OverLabels)],
            by_chance: false,
        }
    }
}

impl Scoring {
    /// The numbers of features, out of d, without repetitions.
    pub fn features(&self, d: usize) -> Vec<usize> {
        let mut counts = Vec::new();
        for count in self.budgets.iter().map(|b| b.of(d)) {
            if !counts.contains(&count) {
                counts.push(count);
            }
        }
        counts
    }

    /// The number of features that a method is fitted for, the paper's k_fs: the largest budget that
    /// leaves features out. A score with all features needs no ranking, and rollouts of T = d steps for
    /// its sake would be long and would change the order that the smaller budgets see.
    pub fn largest(&self, d: usize) -> usize {
        let counts = self.features(d);
        let selective = counts.iter().filter(|&&k| k < d).max();
        selective.or(counts.iter().max()).copied().unwrap_or(0)
    }

    /// Everything that scores depend on besides the fit.
    pub(super) fn settings(&self, d: usize) -> Value {
        json!({
            "train_labels": self.train_labels,
            "classifiers": self.classifiers.iter().map(ClassifierConfig::settings).collect::<Vec<_>>(),
            "budgets": self.features(d),
            "by_chance": self.by_chance,
            "measures": self.measures.iter().map(|(c, f)| [c.name(), f.name()]).collect::<Vec<_>>(),
        })
    }
}

/// A fit with everything that its scores need.
pub(super) struct Scorer<'a> {
    pub method: &'a dyn Method,
    pub prepared: &'a Prepared,
    /// The features that were prepared.
    pub data: &'a Mat<f64>,
    pub fitted: &'a Fitted,
    pub scoring: &'a Scoring,
    pub streams: Streams,
}

impl Scorer<'_> {
    /// All scores, in the order training labels, classifier, budget; none without a test part with
    /// known truth.
    pub fn scores(&self) -> Result<Vec<Score>> {
        let Some(truth) = self.prepared.test_truth.as_ref().filter(|y| y.rows() > 0) else {
            return Ok(Vec::new());
        };
        let mut scores = Vec::new();
        for (trained_on, targets) in self.targets() {
            let judged_by = self.judged_by(trained_on);
            for config in &self.scoring.classifiers {
                let blend = match (trained_on, &self.fitted.confidence, &self.fitted.prior) {
                    (TrainLabels::Confidence, Some(p), Some(prior)) => config.blend(p, prior)?,
                    _ => None,
                };
                let learned = blend.as_ref().map_or(targets, |b| Targets::Confidence(&b.learned));
                if let Some(classifier) = config.build(trained_on, judged_by, blend.as_ref()) {
                    let name = config.kind.name();
                    self.sweep(truth, trained_on, learned, name, classifier.as_ref(), &mut scores)?;
                }
            }
        }
        let own = self.scoring.classifiers.iter().find(|c| c.kind == ClassifierKind::Own);
        if let (Some(own), Some(predictor)) = (own, &self.fitted.predictor) {
            let found = predictor.predict(&self.prepared.test_features)?;
            let features = self.prepared.features.cols();
            scores.push(Score {
                trained_on: TrainLabels::Candidate,
                classifier: own.kind.name().to_owned(),
                budget: self.scoring.largest(features),
                features,
                measures: self.measure(truth, &found)?,
                by_chance: Vec::new(),
                c: None,
                threshold: None,
                nan_scores: found.scores.nan(),
            });
        }
        Ok(scores)
    }

    /// One classifier at every budget.
    fn sweep(
        &self,
        truth: &Labels,
        trained_on: TrainLabels,
        targets: Targets<'_>,
        name: &str,
        classifier: &dyn Classifier,
        scores: &mut Vec<Score>,
    ) -> Result<()> {
        let d = self.prepared.features.cols();
        let begin = scores.len();
        for budget in self.scoring.features(d) {
            let features = self.method.selected(budget, d);
            // A method that ignores the budget is not scored again and again.
            if let Some(same) = scores[begin..].iter().find(|s| s.features == features) {
                scores.push(Score { budget, ..same.clone() });
                continue;
            }
            let best = self.fitted.ranking[..features].iter().map(|r| r.feature).collect();
            let (found, model) = self.classify(best, targets, classifier)?;
            scores.push(Score {
                trained_on,
                classifier: name.to_owned(),
                budget,
                features,
                measures: self.measure(truth, &found)?,
                by_chance: self.chance(truth, features, targets, classifier)?,
                c: model.chosen_c(),
                threshold: model.chosen_threshold(),
                nan_scores: found.scores.nan(),
            });
        }
        Ok(())
    }

    /// Mean scores of random choices of as many features, if they were asked for and there is a
    /// choice.
    fn chance(
        &self,
        truth: &Labels,
        features: usize,
        targets: Targets<'_>,
        classifier: &dyn Classifier,
    ) -> Result<Vec<Values>> {
        let d = self.prepared.features.cols();
        if !self.scoring.by_chance || features == 0 || features == d {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        for k in 0..RANDOM_CHOICES {
            let mut columns = self.streams.stream(&format!("chance/{k}")).permutation(d);
            columns.truncate(features);
            let (found, _) = self.classify(columns, targets, classifier)?;
            all.push(self.measure(truth, &found)?);
        }
        Ok(mean_values(&all))
    }

    /// Trains on the given columns and predicts the test part.
    fn classify(
        &self,
        columns: Vec<usize>,
        targets: Targets<'_>,
        classifier: &dyn Classifier,
    ) -> Result<(Prediction, Box<dyn Model>)> {
        // Without features there is only the prior.
        let classifier = if columns.is_empty() { &Prior } else { classifier };
        // The training rows are gone before the test rows are made.
        let model =
            classifier.fit(&self.prepared.train(self.data, &columns), targets, &self.streams)?;
        let found = model.predict(&self.prepared.test(self.data, &columns))?;
        Ok((found, model))
    }

    /// Labels that a classifier's C is judged by: the candidates, the only labels that a user has and
    /// nobody has estimated. A classifier that is given the truth is judged by the truth.
    fn judged_by(&self, trained_on: TrainLabels) -> &Labels {
        match (trained_on, &self.prepared.truth) {
            (TrainLabels::Truth, Some(truth)) => truth,
            _ => &self.prepared.candidates,
        }
    }

    fn measure(&self, truth: &Labels, found: &Prediction) -> Result<Vec<Values>> {
        let case = Comparison::new(truth, &found.scores, &found.labels)?;
        let measures = self.scoring.measures.iter();
        Ok(measures.map(|&(c, form)| Summary::of(&case, c, form).into()).collect())
    }

    /// What was asked for, or the nearest thing to it that the method makes; each kind once.
    fn targets(&self) -> Vec<(TrainLabels, Targets<'_>)> {
        let wanted: Vec<Option<TrainLabels>> = match &self.scoring.train_labels[..] {
            [] => vec![None],
            list => list.iter().copied().map(Some).collect(),
        };
        let mut all: Vec<(TrainLabels, Targets<'_>)> = Vec::new();
        for kind in wanted {
            let found = self.target(kind);
            if all.iter().all(|(known, _)| *known != found.0) {
                all.push(found);
            }
        }
        all
    }

    fn target(&self, wanted: Option<TrainLabels>) -> (TrainLabels, Targets<'_>) {
        use TrainLabels::{Candidate, Confidence, Pseudo, Truth};
        let Fitted { confidence, pseudo, .. } = self.fitted;
        match (wanted, &self.prepared.truth, confidence, pseudo) {
            (Some(Truth), Some(y), ..) => (Truth, Targets::Labels(y)),
            (None | Some(Confidence), _, Some(p), _) => (Confidence, Targets::Confidence(p)),
            (None | Some(Confidence | Pseudo), _, _, Some(y)) => (Pseudo, Targets::Labels(y)),
            _ => (Candidate, Targets::Labels(&self.prepared.candidates)),
        }
    }
}

/// The mean over repetitions, number by number.
pub(super) fn mean_values(repetitions: &[Vec<Values>]) -> Vec<Values> {
    let mut mean = repetitions[0].clone();
    for (m, values) in mean.iter_mut().enumerate() {
        for (k, value) in values.0.iter_mut().enumerate() {
            let sum: f64 = repetitions.iter().map(|r| r[m].0[k]).sum();
            *value = sum / repetitions.len() as f64;
        }
    }
    mean
}
