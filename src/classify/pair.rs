//! The mean of two machines: one that learned what a method believes, one that learned the candidates.
//!
//! Under the observation model P(C_j | x) = q + (1 − q)ρ rises with q, so given rows enough both machines
//! order the labels alike; given few, each has errors of its own. The machine of the candidates has never
//! heard of a noise rate or a prior that may be wrong, so a small share of it is an insurance.
//!
//! Scores of both are divided by the deviation of their held-out scores, because a margin's size depends
//! on C. Each machine chooses its own C; the threshold is chosen for the mean.

use super::threshold::{Threshold, best_f1};
use super::tune::{Choice, HasCost, Tuned};
use super::{Classifier, Model, Prediction, Targets};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::rng::Streams;
use crate::{Error, Result};

/// Two machines that are asked together.
pub struct Pair<'a, C> {
    /// Learns the targets; its rule holds for both.
    pub tuned: Tuned<'a, C>,
    /// What the other one learns.
    pub candidates: &'a Labels,
    /// Share of the other one, from 0 to 1.
    pub share: f64,
}

impl<C: HasCost> Classifier for Pair<'_, C> {
    fn name(&self) -> &'static str {
        self.tuned.name()
    }

    fn fit(&self, x: &Mat<f64>, targets: Targets<'_>, streams: &Streams) -> Result<Box<dyn Model>> {
        let Pair { tuned, share, .. } = self;
        let candidates = Targets::Labels(self.candidates);
        if !(0.0..=1.0).contains(share) {
            return Err(Error::found(format!("a share of {share}"), "a number between 0 and 1"));
        }
        tuned.check(x, targets)?;
        tuned.check(x, candidates)?;
        let (own, other) =
            (tuned.choose(x, targets, streams)?, tuned.choose(x, candidates, streams)?);
        let weights = [
            (1.0 - share) / spread(&own.scores, targets),
            share / spread(&other.scores, candidates),
        ];
        let held_out = mean(weights, [&own.scores, &other.scores]);
        let believed = tuned.rule.believed.map_or(targets, Targets::Confidence);
        let threshold =
            (tuned.rule.threshold == Threshold::F1).then(|| best_f1(&held_out, believed));
        let fit = |choice: &Choice, targets| tuned.fit_all(x, targets, choice.c, streams);
        let c = tuned.rule.c.is_none().then_some(own.c);
        Ok(Box::new(PairModel {
            models: [fit(&own, targets)?, fit(&other, candidates)?],
            weights,
            c,
            threshold,
        }))
    }
}

struct PairModel {
    models: [Box<dyn Model>; 2],
    weights: [f64; 2],
    c: Option<f64>,
    threshold: Option<f64>,
}

impl Model for PairModel {
    fn predict(&self, x: &Mat<f64>) -> Result<Prediction> {
        let [own, other] = [self.models[0].predict(x)?, self.models[1].predict(x)?];
        let scores = mean(self.weights, [own.scores.values(), other.scores.values()]);
        Ok(Prediction::at_threshold(scores, self.threshold.unwrap_or(0.0), false))
    }

    fn chosen_c(&self) -> Option<f64> {
        self.c
    }

    fn chosen_threshold(&self) -> Option<f64> {
        self.threshold
    }
}

/// w_0 · a + w_1 · b.
fn mean(weights: [f64; 2], of: [&Mat<f64>; 2]) -> Mat<f64> {
    let [a, b] = of;
    Mat::from_fn(a.rows(), a.cols(), |i, j| weights[0] * a[(i, j)] + weights[1] * b[(i, j)])
}

/// Standard deviation of all scores but those of labels that are always or never there, which are ±1 whatever
/// the margins of the others are; 1 where nothing varies.
fn spread(scores: &Mat<f64>, targets: Targets<'_>) -> f64 {
    let varies: Vec<bool> = targets.prevalence().iter().map(|p| *p > 0.0 && *p < 1.0).collect();
    let all = || {
        let row = |row| <[f64]>::iter(row).zip(&varies).filter(|(_, v)| **v).map(|(s, _)| *s);
        scores.rows_iter().flat_map(row)
    };
    let n = all().count().max(1) as f64;
    let mean = all().sum::<f64>() / n;
    let deviation = (all().map(|s| (s - mean) * (s - mean)).sum::<f64>() / n).sqrt();
    if deviation > 0.0 { deviation } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::super::judge::Judge;
    use super::super::svm::LinearSvm;
    use super::super::tune::Rule;
    use super::*;

    struct Case {
        x: Mat<f64>,
        y: Labels,
        candidates: Labels,
    }

    fn case() -> Case {
        let mut r = Streams::new(4).stream("pair");
        let x = Mat::from_fn(150, 6, |_, _| r.normal());
        let y = Labels::from_fn(150, 3, |i, j| x[(i, j)] > 0.7);
        let candidates = Labels::from_fn(150, 3, |i, j| y.get(i, j) || r.bernoulli(0.2));
        Case { x, y, candidates }
    }

    fn tuned(case: &Case, threshold: Threshold) -> Tuned<'_, LinearSvm> {
        let judge = Judge::Ranking(&case.candidates);
        let rule = Rule { c: None, judge, threshold, temper: 1.0, believed: None };
        Tuned { machine: LinearSvm::default(), rule }
    }

    fn fit(case: &Case, share: f64, threshold: Threshold) -> Box<dyn Model> {
        let (tuned, candidates) = (tuned(case, threshold), &case.candidates);
        let pair = Pair { tuned, candidates, share };
        pair.fit(&case.x, Targets::Labels(&case.y), &Streams::new(0)).unwrap()
    }

    /// Scores up to their scale.
    fn directions(model: &dyn Model, x: &Mat<f64>) -> Vec<f64> {
        let scores = model.predict(x).unwrap().scores.values().clone();
        let size = scores.as_slice().iter().map(|s| s * s).sum::<f64>().sqrt();
        scores.as_slice().iter().map(|s| s / size).collect()
    }

    fn gap(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn a_share_of_nothing_or_all_is_one_machine() {
        let case = case();
        let single = |targets: &Labels| {
            let machine = tuned(&case, Threshold::F1);
            machine.fit(&case.x, Targets::Labels(targets), &Streams::new(0)).unwrap()
        };
        for (share, targets) in [(0.0, &case.y), (1.0, &case.candidates)] {
            let (pair, single) = (fit(&case, share, Threshold::F1), single(targets));
            let (a, b) = (directions(&*pair, &case.x), directions(&*single, &case.x));
            assert!(gap(&a, &b) < 1e-12, "share {share}");
        }
        let (own, half) = (fit(&case, 0.0, Threshold::F1), fit(&case, 0.5, Threshold::F1));
        assert!(gap(&directions(&*own, &case.x), &directions(&*half, &case.x)) > 1e-3);
        // Without noise in between, the labels of the single machine.
        let labels = |m: &dyn Model| m.predict(&case.x).unwrap().labels;
        assert_eq!(labels(&*own), labels(&*single(&case.y)));
        assert_eq!(own.chosen_c(), single(&case.y).chosen_c());
    }

    #[test]
    fn a_fixed_threshold_is_zero_and_labels_must_fit() {
        let case = case();
        let fixed = fit(&case, 0.2, Threshold::Fixed);
        assert_eq!(fixed.chosen_threshold(), None);
        let found = fixed.predict(&case.x).unwrap();
        let on = |i, j| found.scores.values()[(i, j)] > 0.0;
        assert!((0..150).all(|i| (0..3).all(|j| found.labels.get(i, j) == on(i, j))));
        let short = case.candidates.select_rows(&[0, 1]);
        let pair = Pair { tuned: tuned(&case, Threshold::F1), candidates: &short, share: 0.2 };
        assert!(pair.fit(&case.x, Targets::Labels(&case.y), &Streams::new(0)).is_err());
    }

    #[test]
    fn scores_that_are_all_alike_are_not_divided_by_nothing() {
        let half = Mat::from_fn(2, 2, |_, _| 0.5f32);
        let spread =
            |scores: Vec<f64>| spread(&Mat::from_vec(2, 2, scores), Targets::Confidence(&half));
        assert_eq!(spread(vec![0.5; 4]), 1.0);
        assert_eq!(spread(vec![1.0, -1.0, -1.0, 1.0]), 1.0);
        assert_eq!(spread(vec![3.0, -3.0, 3.0, -3.0]), 3.0);
    }

    /// A label without any candidate scores −1 with the other machine and must not decide what its scores weigh.
    #[test]
    fn labels_of_one_class_do_not_weigh() {
        let scores = Mat::from_vec(2, 2, vec![0.01, -1.0, -0.01, -1.0]);
        let y = Labels::from_fn(2, 2, |i, j| i == 0 && j == 0);
        assert!((spread(&scores, Targets::Labels(&y)) - 0.01).abs() < 1e-12);
    }
}
