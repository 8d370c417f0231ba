//! Stage 2: pairwise and virtual-label classifiers, and the two ways to read their votes.

use crate::Result;
use crate::classify::Prediction;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::measure::Scores;
use crate::method::Predictor;
use crate::method::binary::{Machines, Problem};
use crate::method::standard::Standard;

/// Counts that MAP adds to each cell of its histograms.
const SMOOTHING: f64 = 1.0;

/// The pairs (j, l), j < l, in the order of the classifiers.
fn pairs(labels: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..labels).flat_map(move |j| (j + 1..labels).map(move |l| (j, l)))
}

/// What the classifiers learn from.
pub(super) struct Evidence<'a> {
    pub x: &'a Mat<f64>,
    pub credible: &'a Labels,
    pub candidates: &'a Labels,
}

impl Evidence<'_> {
    /// One problem for each pair of labels, then, if asked for, one for each label against its
    /// virtual opponent.
    pub fn problems(&self, virtual_labels: bool) -> Vec<Problem> {
        let (credible, candidates) = (self.credible, self.candidates);
        let rows = |f: &dyn Fn(usize) -> bool| (0..candidates.rows()).filter(|&i| f(i)).collect();
        let mut all: Vec<Problem> = pairs(candidates.cols())
            .map(|(j, l)| Problem {
                positive: rows(&|i| credible.get(i, j) && !candidates.get(i, l)),
                negative: rows(&|i| credible.get(i, l) && !candidates.get(i, j)),
            })
            .collect();
        if virtual_labels {
            all.extend((0..candidates.cols()).map(|j| Problem {
                positive: rows(&|i| credible.get(i, j)),
                negative: rows(&|i| !candidates.get(i, j)),
            }));
        }
        all
    }
}

/// The classifiers of [`Evidence::problems`].
#[derive(Debug)]
pub(super) struct Votes {
    pub standard: Standard,
    pub machines: Machines,
    pub labels: usize,
}

impl Votes {
    /// The linearised votes W, d × L. With virtual labels each classifier counts by its accuracy.
    pub fn weights(&self, virtual_labels: bool) -> Mat<f64> {
        let d = self.machines.weights.cols() - 1;
        // Label by label in a row: contiguous sums.
        let mut by_label = Mat::zeros(self.labels, d);
        let mut add = |label: usize, k: usize, factor: f64| {
            let from = self.machines.weights.row(k);
            for (w, v) in by_label.row_mut(label).iter_mut().zip(from) {
                *w += factor * v;
            }
        };
        for (k, (j, l)) in pairs(self.labels).enumerate() {
            let factor = if virtual_labels { self.machines.accuracy[k] } else { 1.0 };
            add(j, k, factor);
            add(l, k, -factor);
        }
        if virtual_labels {
            let first = self.machines.accuracy.len() - self.labels;
            (0..self.labels).for_each(|j| add(j, first + j, self.machines.accuracy[first + j]));
        }
        by_label.transposed()
    }

    /// Adds `worth(k)` to the winner of each pair k. A margin of 0, as from a pair that could not be
    /// trained, is nobody's win.
    fn count(&self, margins: &[f64], worth: impl Fn(usize) -> f64, wins: &mut [f64]) {
        for (k, (j, l)) in pairs(self.labels).enumerate() {
            if margins[k] > 0.0 {
                wins[j] += worth(k);
            } else if margins[k] < 0.0 {
                wins[l] += worth(k);
            }
        }
    }

    /// r_j: the number of pairs that each label wins.
    fn wins(&self, margins: &[f64]) -> Vec<usize> {
        let mut wins = vec![0.0; self.labels];
        self.count(margins, |_| 1.0, &mut wins);
        wins.into_iter().map(|w| w as usize).collect()
    }
}

/// Virtual label splitting: votes weighted by accuracy, against the votes for the virtual label.
#[derive(Debug)]
pub(super) struct VlsRule(pub Votes);

impl Predictor for VlsRule {
    /// The public code compares votes that are rounded up, and ranks by them. Here they are rounded
    /// for the comparison alone: as scores they would mostly be ties.
    fn predict(&self, x: &Mat<f32>) -> Result<Prediction> {
        let VlsRule(votes) = self;
        let x = votes.standard.apply(x)?;
        let accuracy = &votes.machines.accuracy;
        let first = accuracy.len() - votes.labels;
        let mut scores = Mat::zeros(x.rows(), votes.labels);
        let mut labels = Labels::none(x.rows(), votes.labels);
        votes.machines.for_each_margin(&x, |i, margins| {
            let row = scores.row_mut(i);
            votes.count(margins, |k| accuracy[k], row);
            let mut against = 0.0;
            for (j, score) in row.iter_mut().enumerate() {
                let margin = margins[first + j];
                *score += if margin > 0.0 { accuracy[first + j] } else { 0.0 };
                against += if margin < 0.0 { accuracy[first + j] } else { 0.0 };
            }
            for (j, score) in row.iter().enumerate() {
                labels.set(i, j, score.ceil() > against.ceil());
            }
        });
        Ok(Prediction { scores: Scores::new(scores), labels })
    }
}

/// Maximum a posteriori: how probable is a label that wins r of its pairs?
#[derive(Debug)]
pub(super) struct MapRule {
    votes: Votes,
    /// P(label j | r wins), L × L.
    pub(super) posterior: Mat<f64>,
}

impl MapRule {
    /// Counts wins on the training rows.
    pub fn new(votes: Votes, evidence: &Evidence<'_>) -> Self {
        let (n, labels) = (evidence.x.rows(), votes.labels);
        // Counts by label and number of wins, of credible rows and of rows that are no candidates.
        let (mut with, mut without) = (Mat::zeros(labels, labels), Mat::zeros(labels, labels));
        votes.machines.for_each_margin(evidence.x, |i, margins| {
            for (j, r) in votes.wins(margins).into_iter().enumerate() {
                if evidence.credible.get(i, j) {
                    with[(j, r)] += 1.0;
                }
                if !evidence.candidates.get(i, j) {
                    without[(j, r)] += 1.0;
                }
            }
        });
        let conditional = |counts: &Mat<f64>, j: usize, r: usize| {
            let total: f64 = counts.row(j).iter().sum();
            (SMOOTHING + counts[(j, r)]) / (SMOOTHING * labels as f64 + total)
        };
        let posterior = Mat::from_fn(labels, labels, |j, r| {
            let on: f64 = with.row(j).iter().sum();
            let prior = (SMOOTHING + on) / (2.0 * SMOOTHING + n as f64);
            let yes = prior * conditional(&with, j, r);
            yes / (yes + (1.0 - prior) * conditional(&without, j, r))
        });
        MapRule { votes, posterior }
    }
}

impl Predictor for MapRule {
    fn predict(&self, x: &Mat<f32>) -> Result<Prediction> {
        let x = self.votes.standard.apply(x)?;
        let mut scores = Mat::zeros(x.rows(), self.votes.labels);
        self.votes.machines.for_each_margin(&x, |i, margins| {
            for (j, r) in self.votes.wins(margins).into_iter().enumerate() {
                scores[(i, j)] = self.posterior[(j, r)];
            }
        });
        Ok(Prediction::at_threshold(scores, 0.5, false))
    }
}
