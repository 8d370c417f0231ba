//! From one fit to all its scores: training labels × classifiers × budgets × conventions.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Budget, ClassifierConfig, ClassifierKind, Prepared, Score};
use crate::Result;
use crate::classify::prior::Prior;
use crate::classify::{Classifier, Prediction, Targets};
use crate::data::Labels;
use crate::data::choice::choice;
use crate::measure::{Case, Convention, CoverageForm, Summary};
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
}

impl Default for Scoring {
    /// A linear SVM on the paper's budget; coverage over L, as the paper's values imply.
    fn default() -> Self {
        Scoring {
            train_labels: Vec::new(),
            classifiers: vec![ClassifierConfig::new(ClassifierKind::Svm)],
            budgets: vec![Budget::Paper],
            measures: vec![(Convention::ScikitLearn, CoverageForm::OverLabels)],
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

    /// The number of features that a method is fitted for.
    pub fn largest(&self, d: usize) -> usize {
        self.features(d).into_iter().max().unwrap_or(0)
    }

    /// Everything that scores depend on besides the fit.
    pub(super) fn settings(&self, d: usize) -> Value {
        json!({
            "train_labels": self.train_labels,
            "classifiers": self.classifiers.iter().map(ClassifierConfig::settings).collect::<Vec<_>>(),
            "budgets": self.features(d),
            "measures": self.measures.iter().map(|(c, f)| [c.name(), f.name()]).collect::<Vec<_>>(),
        })
    }
}

/// A fit with everything that its scores need.
pub(super) struct Scorer<'a> {
    pub method: &'a dyn Method,
    pub prepared: &'a Prepared,
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
            for config in &self.scoring.classifiers {
                if let Some(classifier) = config.build() {
                    let name = config.kind.name();
                    self.sweep(truth, trained_on, targets, name, classifier.as_ref(), &mut scores)?;
                }
            }
        }
        let own = self.scoring.classifiers.iter().find(|c| c.kind == ClassifierKind::Own);
        if let (Some(own), Some(predictor)) = (own, &self.fitted.predictor) {
            let found = predictor.predict(&self.prepared.test_features)?;
            let d = self.prepared.features.cols();
            let (name, budget) = (own.kind.name(), self.scoring.largest(d));
            scores.push(self.score(
                truth,
                TrainLabels::Candidate,
                name,
                budget,
                d,
                &found,
                None,
            )?);
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
            let used = self.method.selected(budget, d);
            // A method that ignores the budget is not scored again and again.
            if let Some(same) = scores[begin..].iter().find(|s| s.features == used) {
                scores.push(Score { budget, ..same.clone() });
                continue;
            }
            let columns: Vec<usize> =
                self.fitted.ranking[..used].iter().map(|r| r.feature).collect();
            // Without features there is only the prior.
            let classifier = if columns.is_empty() { &Prior } else { classifier };
            let train = self.prepared.train.select_cols(&columns);
            let model = classifier.fit(&train, targets, &self.streams)?;
            let found = model.predict(&self.prepared.test.select_cols(&columns))?;
            let c = model.chosen_c();
            scores.push(self.score(truth, trained_on, name, budget, used, &found, c)?);
        }
        Ok(())
    }

    fn score(
        &self,
        truth: &Labels,
        trained_on: TrainLabels,
        classifier: &str,
        budget: usize,
        features: usize,
        found: &Prediction,
        c: Option<f64>,
    ) -> Result<Score> {
        let case = Case::new(truth, &found.scores, &found.labels)?;
        let measures = self.scoring.measures.iter();
        Ok(Score {
            trained_on,
            classifier: classifier.to_owned(),
            budget,
            features,
            measures: measures.map(|&(c, form)| Summary::of(&case, c, form).into()).collect(),
            c,
            nan_scores: found.scores.nan(),
        })
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
