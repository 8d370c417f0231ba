//! Results: what came out of a cell, and of many.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TrainLabels;
use crate::data::Labels;
use crate::measure::{METRICS, Summary};
use crate::method::Verdict;

/// Values of all metrics, in the order of [`METRICS`]. In JSON: by key, null where a convention
/// leaves nothing to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Option<f64>>", into = "BTreeMap<String, Option<f64>>")]
pub struct Values(pub [f64; METRICS.len()]);

impl From<Summary> for Values {
    fn from(summary: Summary) -> Self {
        Values(summary.values)
    }
}

impl From<BTreeMap<String, Option<f64>>> for Values {
    fn from(map: BTreeMap<String, Option<f64>>) -> Self {
        Values(METRICS.map(|m| map.get(m.key).copied().flatten().unwrap_or(f64::NAN)))
    }
}

impl From<Values> for BTreeMap<String, Option<f64>> {
    fn from(values: Values) -> Self {
        let finite = |v: f64| v.is_finite().then_some(v);
        METRICS.iter().zip(values.0).map(|(m, v)| (m.key.to_owned(), finite(v))).collect()
    }
}

/// One classifier, trained on one kind of labels with one number of features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// What the classifier was trained on.
    pub trained_on: TrainLabels,
    /// Its name.
    pub classifier: String,
    /// Number of features asked for.
    pub budget: usize,
    /// Number of features used.
    pub features: usize,
    /// One set of values per convention of the scoring.
    pub measures: Vec<Values>,
    /// The same of as many random features (a mean over several choices), if it was asked for.
    pub by_chance: Vec<Values>,
    /// C, if the classifier chose it.
    pub c: Option<f64>,
    /// The threshold of its scores, if the classifier chose it.
    pub threshold: Option<f64>,
    /// Number of scores that were NaN.
    pub nan_scores: usize,
}

/// Shares of wrong label cells in the training part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epsilon {
    /// Of the candidates.
    pub candidate: f64,
    /// Of no label at all.
    pub drop_all: f64,
    /// Of the method's pseudo labels, if it makes any.
    pub pseudo: Option<f64>,
}

impl Epsilon {
    /// Counts the wrong cells.
    pub fn of(truth: &Labels, candidates: &Labels, pseudo: Option<&Labels>) -> Self {
        Epsilon {
            candidate: candidates.hamming_distance(truth),
            drop_all: Labels::none(truth.rows(), truth.cols()).hamming_distance(truth),
            pseudo: pseudo.map(|p| p.hamming_distance(truth)),
        }
    }

    /// What the pseudo labels are worth, if there are any. Cleaner labels are fewer wrong cells than
    /// with all candidates *and* than with no label at all: each is to be had without learning.
    pub fn judgement(&self) -> Option<&'static str> {
        let pseudo = self.pseudo?;
        Some(match (pseudo < self.candidate, pseudo < self.drop_all) {
            (true, true) => "cleaner than both",
            (true, false) => "cleaner than the candidates, but not than no label at all",
            (false, true) => "not cleaner than the candidates",
            (false, false) => "not cleaner than either",
        })
    }
}

/// What came out of a cell. Everything but the seconds is a function of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Hash of the configuration.
    pub id: String,
    /// Data, split, noise, seed, method, settings, scoring and version.
    pub configuration: Value,
    /// Name in tables: the method's, and whether it was tuned.
    pub method: String,
    /// The settings it was fitted with: chosen ones, if it was tuned.
    pub settings: Value,
    /// Repeat, from 0.
    pub repeat: usize,
    /// Fold, from 0; None if all rows trained.
    pub fold: Option<usize>,
    /// Number of fits.
    pub fits: usize,
    /// How wrong the labels are, if the truth is known.
    pub epsilon: Option<Epsilon>,
    /// The learned noise rate, if the method has one.
    pub rho: Option<f64>,
    /// What the method thinks of its own labels.
    pub verdict: Option<Verdict>,
    /// What the reader of the result should know.
    pub notes: Vec<String>,
    /// All features, best first.
    pub ranking: Vec<usize>,
    /// In the order training labels, classifier, budget.
    pub scores: Vec<Score>,
    /// Wall-clock time; not written where it is 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seconds: f64,
}

fn is_zero(seconds: &f64) -> bool {
    *seconds == 0.0
}

/// A cell that could not be computed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// Name in tables.
    pub method: String,
    /// Repeat, from 0.
    pub repeat: usize,
    /// Fold, from 0.
    pub fold: Option<usize>,
    /// Why.
    pub reason: String,
}

/// What all cells of an evaluation have in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct About {
    /// Name of the data.
    pub dataset: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Instances.
    pub n: usize,
    /// Features.
    pub d: usize,
    /// Labels.
    pub labels: usize,
    /// Root of the random streams.
    pub seed: u64,
    /// Number of folds.
    pub folds: usize,
    /// Number of repeats.
    pub repeats: usize,
    /// How instances were split.
    pub split: String,
    /// Share of the irrelevant labels that were made candidates; None if the data brought their own.
    pub noise: Option<f64>,
    /// How the noise was drawn.
    pub noise_scheme: String,
    /// How features were scaled.
    pub scaling: String,
    /// Convention and coverage form of each set of values.
    pub measures: Vec<(String, String)>,
    /// Version of the program.
    pub version: String,
}

/// The result of an evaluation: what every exporter shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// What the cells have in common.
    pub about: About,
    /// Finished cells: method after method, repeat after repeat, fold after fold.
    pub cells: Vec<CellResult>,
    /// Cells that failed.
    pub failures: Vec<Failure>,
}

/// One line of a table: a method under one kind of training labels, one classifier, one budget.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Name of the method.
    pub method: &'a str,
    /// What the classifier was trained on.
    pub trained_on: TrainLabels,
    /// The classifier.
    pub classifier: &'a str,
    /// Number of features asked for.
    pub budget: usize,
    /// The cells with their score, repeat after repeat, fold after fold.
    pub folds: Vec<(&'a CellResult, &'a Score)>,
}

impl Entry<'_> {
    /// The values of metric `metric` (index into [`METRICS`]) in all folds.
    pub fn values(&self, measure: usize, metric: usize) -> Vec<f64> {
        self.folds.iter().map(|(_, s)| s.measures[measure].0[metric]).collect()
    }

    /// The same for random features in the place of the selected ones, if they were scored.
    pub fn by_chance(&self, measure: usize, metric: usize) -> Option<Vec<f64>> {
        self.folds.iter().map(|(_, s)| Some(s.by_chance.get(measure)?.0[metric])).collect()
    }

    /// A value of ε in all folds; None if a fold has none.
    pub fn epsilon(&self, which: impl Fn(&Epsilon) -> Option<f64>) -> Option<Vec<f64>> {
        self.folds.iter().map(|(c, _)| c.epsilon.as_ref().and_then(&which)).collect()
    }

    /// Time of all folds: of the whole cells, shared by all entries of the method.
    pub fn seconds(&self) -> f64 {
        self.folds.iter().map(|(c, _)| c.seconds).sum()
    }
}

impl Results {
    /// One entry per method × training labels × classifier × budget, in this order. A method with a
    /// failed cell has none: a mean over fewer folds would look like the others and not be one.
    pub fn entries(&self) -> Vec<Entry<'_>> {
        let mut entries: Vec<Entry<'_>> = Vec::new();
        for cell in &self.cells {
            if self.failures.iter().any(|f| f.method == cell.method) {
                continue;
            }
            for score in &cell.scores {
                let same = entries.iter_mut().find(|e| {
                    (e.method, e.trained_on, e.classifier, e.budget)
                        == (&cell.method, score.trained_on, &score.classifier, score.budget)
                });
                match same {
                    Some(entry) => entry.folds.push((cell, score)),
                    None => entries.push(Entry {
                        method: &cell.method,
                        trained_on: score.trained_on,
                        classifier: &score.classifier,
                        budget: score.budget,
                        folds: vec![(cell, score)],
                    }),
                }
            }
        }
        entries
    }

    /// What the cells noticed, each remark once, with the method's name.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for cell in &self.cells {
            let warnings = cell.verdict.iter().flat_map(|v| &v.warnings);
            for note in cell.notes.iter().chain(warnings) {
                let note = format!("{}: {note}", cell.method);
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        notes
    }
}

/// Mean and sample standard deviation (0 for a single value).
pub fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_json_even_without_a_number() {
        let mut values = Values([0.25; METRICS.len()]);
        values.0[3] = f64::NAN;
        let text = serde_json::to_string(&values).unwrap();
        assert!(text.contains("\"coverage_error\":null"), "{text}");
        let back: Values = serde_json::from_str(&text).unwrap();
        assert!(back.0[3].is_nan() && back.0[0] == 0.25);
    }

    /// "Cleaner" is said only where both trivial answers are beaten.
    #[test]
    fn cleaner_means_cleaner_than_both_controls() {
        let words = |candidate, drop_all, pseudo| {
            Epsilon { candidate, drop_all, pseudo: Some(pseudo) }.judgement().unwrap()
        };
        assert_eq!(words(0.2, 0.3, 0.1), "cleaner than both");
        assert!(words(0.3, 0.1, 0.2).ends_with("but not than no label at all"));
        assert!(
            words(0.3, 0.1, 0.1).ends_with("but not than no label at all"),
            "equal is not less"
        );
        assert_eq!(words(0.1, 0.3, 0.2), "not cleaner than the candidates");
        assert_eq!(words(0.1, 0.1, 0.1), "not cleaner than either");
        let truth = Labels::from_fn(2, 5, |i, j| i == 0 && j < 2);
        let candidates = Labels::from_fn(2, 5, |i, _| i == 0);
        let epsilon = Epsilon::of(&truth, &candidates, None);
        assert_eq!((epsilon.candidate, epsilon.drop_all), (0.3, 0.2));
        assert_eq!((epsilon.pseudo, epsilon.judgement()), (None, None));
    }

    #[test]
    fn moments_of_one_and_of_several() {
        assert_eq!(moments(&[2.0]), (2.0, 0.0));
        assert_eq!(moments(&[1.0, 3.0]), (2.0, 2.0f64.sqrt()));
    }
}
