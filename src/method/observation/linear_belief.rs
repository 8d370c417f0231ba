//! The linear belief: a noise rate, logistic regression under it, and linear label context, all
//! cross-fitted.
//!
//! 1. P(C | x) is fitted as it is ([`super::signs`] of trouble), and once more with the candidates of the
//!    other labels: the lowest scores give ρ ([`super::envelope`]), which is then pinned.
//! 2. Logistic regression with the exact marginal likelihood, on the features and on the features
//!    with rows of unit length: the better one by held-out likelihood, or their mean if that is better
//!    still. This is u, a function of x alone.
//! 3. Label context on u: linear, or a joint belief where labels are few and the held-out likelihood
//!    prefers it ([`super::label_context`]).
//!
//! All steps are repeated with other partitions and averaged where rows are few: a row's mean
//! logit still comes from models that never saw the row.

use super::context::LinearContext;
use super::cross_fit::{CrossFitted, Parts, cross_fit, mean_loss};
use super::envelope;
use super::features::{Features, is_sparse};
use super::label_context::{Form, LabelContext};
use super::likelihood::NoiseRate;
use super::signs::{Signs, median};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::num::Real;
use crate::rng::Streams;

/// Parts of cross-fitting, unless another number is asked for.
pub const PARTS: usize = 5;
/// Partitions are repeated until so many rows were judged, at most [`MOST_REPEATS`] times.
const ROWS_JUDGED: usize = 4000;
const MOST_REPEATS: usize = 6;
/// ρ of the model that takes every candidate for true.
const NO_NOISE: f64 = 1e-9;
/// Partitions whose scores are averaged before they give ρ, at most.
const RATE_REPEATS: usize = 3;

/// What may be asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearOptions {
    /// ρ, if it is known.
    pub rho: Option<f64>,
    /// A rate for each label.
    pub rho_per_label: bool,
    /// No label context.
    pub without_context: bool,
    /// K of cross-fitting.
    pub parts: usize,
}

impl Default for LinearOptions {
    fn default() -> Self {
        LinearOptions { rho: None, rho_per_label: false, without_context: false, parts: PARTS }
    }
}

/// What was found, for the training rows and for new ones.
#[derive(Clone, Debug)]
pub struct LinearBelief {
    /// ρ_j of each label.
    pub rho: Vec<f64>,
    /// The first partition.
    pub parts: Parts,
    /// u of the training rows, from x alone.
    pub base: Mat<f64>,
    /// u′ of the training rows; u where there is no context.
    pub logits: Mat<f64>,
    /// Mean −ln P(C) of a held-out cell under u and u′.
    pub loss: (f64, f64),
    /// What the data look like.
    pub signs: Signs,
    /// The models' mean, for new rows.
    pub model: LinearModel,
}

/// Weights for new rows.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearModel {
    /// For the features as they are, d + 1 × L, with the share of this model in u.
    pub plain: Mat<f64>,
    /// For rows of unit length.
    pub unit: Mat<f64>,
    /// Context, if it is used.
    pub context: Option<LabelContext>,
}

impl LinearBelief {
    /// Learns from scaled features and candidates.
    pub fn fit(
        x: &Mat<f32>,
        candidates: &Labels,
        options: &LinearOptions,
        streams: &Streams,
    ) -> Self {
        let (n, labels) = (x.rows(), candidates.cols());
        let c: Mat<f64> = candidates.to_mat();
        let features = [Features::new(x), Features::unit(x)];
        let repeats = (ROWS_JUDGED / n.max(1)).clamp(1, MOST_REPEATS);
        let partitions: Vec<Parts> =
            (0..repeats).map(|r| Self::partition(n, options.parts, r, streams)).collect();
        let all = vec![1.0; x.cols()];
        let fit = |features: &Features, noise: &[NoiseRate<f64>], parts: &Parts| {
            cross_fit(features, &c, noise, None, &all, parts)
        };

        let no_noise = vec![NoiseRate::new(NO_NOISE); labels];
        let first = &partitions[..repeats.min(RATE_REPEATS)];
        let of_sparse = &features[usize::from(is_sparse(x))];
        let taken: Vec<Mat<f64>> =
            first.iter().map(|parts| fit(of_sparse, &no_noise, parts).logits).collect();
        let mut signs = Signs::new(&mean(&taken), candidates, &no_noise);
        let with_context = !options.without_context && labels > 1 && !signs.even_counts;
        let scores = match with_context {
            false => mean(&taken),
            true => {
                let context = |(u, parts): (&Mat<f64>, &Parts)| {
                    LinearContext::fit(u, &c, &no_noise, parts).logits
                };
                mean(&taken.iter().zip(first).map(context).collect::<Vec<_>>())
            }
        };
        let shared = options.rho.unwrap_or_else(|| envelope::estimate(&scores, candidates));
        let bounds = envelope::estimate_by_label(&scores, candidates, shared);
        let rho = if options.rho_per_label { bounds.clone() } else { vec![shared; labels] };
        let noise: Vec<NoiseRate<f64>> = rho.iter().map(|&r| NoiseRate::new(r)).collect();
        signs.median_bound = median(bounds);
        drop((taken, scores));

        let share = 1.0 / repeats as f64;
        let (mut base, mut logits) = (Mat::zeros(n, labels), Mat::zeros(n, labels));
        let zeros = || Mat::zeros(x.cols() + 1, labels);
        let mut model = LinearModel { plain: zeros(), unit: zeros(), context: None };
        for parts in &partitions {
            let found = features.each_ref().map(|features| fit(features, &noise, parts));
            let (u, shares) = best_or_mean(&found, &c, &noise);
            add(&mut base, &u, share);
            add(&mut model.plain, &found[0].mean_weights(), share * shares[0]);
            add(&mut model.unit, &found[1].mean_weights(), share * shares[1]);
            if !with_context {
                add(&mut logits, &u, share);
                continue;
            }
            // The first partition chooses the form.
            let (found, own) = match &model.context {
                None => Form::fit_better(&u, &c, &noise, parts),
                Some(weights) => weights.form().fit(&u, &c, &noise, parts),
            };
            add(&mut logits, &found, share);
            let weights = model.context.get_or_insert_with(|| own.form().zeros(labels));
            weights.add(&own, share);
        }
        let loss = (mean_loss(&base, &c, &noise), mean_loss(&logits, &c, &noise));
        let parts = partitions.into_iter().next().expect("at least one repeat");
        LinearBelief { rho, parts, base, logits, loss, signs, model }
    }

    /// The partition of a repeat into so many parts.
    pub fn partition(n: usize, parts: usize, repeat: usize, streams: &Streams) -> Parts {
        Parts::new(n, parts, &streams.child(&format!("repeat/{repeat}")))
    }

    /// σ(u) of the training rows: what is believed before any candidate of the row is heard.
    pub fn prior(&self) -> Mat<f32> {
        let (n, labels) = (self.base.rows(), self.base.cols());
        Mat::from_fn(n, labels, |i, j| self.base[(i, j)].sigmoid() as f32)
    }

    /// The rates as the likelihood needs them.
    pub fn noise<T: Real>(&self) -> Vec<NoiseRate<T>> {
        self.rho.iter().map(|&r| NoiseRate::new(T::from_f64(r))).collect()
    }
}

impl LinearModel {
    /// u of new rows.
    pub fn base(&self, x: &Mat<f32>) -> Mat<f64> {
        let labels = self.plain.cols();
        let mut total = Mat::zeros(x.rows(), labels);
        let mut part = Mat::zeros(x.rows(), labels);
        for (features, weights) in
            [(Features::new(x), &self.plain), (Features::unit(x), &self.unit)]
        {
            features.times(&mut part, weights);
            add(&mut total, &part, 1.0);
            let bias = weights.row(x.cols());
            for i in 0..total.rows() {
                total.row_mut(i).iter_mut().zip(bias).for_each(|(u, b)| *u += b);
            }
        }
        total
    }

    /// u′ of new rows with their candidates.
    pub fn logits(&self, base: &Mat<f64>, c: &Mat<f64>, noise: &[NoiseRate<f64>]) -> Mat<f64> {
        match &self.context {
            None => base.clone(),
            Some(context) => context.apply(base, c, noise),
        }
    }
}

/// The better of two models by held-out likelihood, or their mean; with the share of each.
fn best_or_mean(
    found: &[CrossFitted; 2],
    c: &Mat<f64>,
    noise: &[NoiseRate<f64>],
) -> (Mat<f64>, [f64; 2]) {
    let [a, b] = found;
    let mut mean = Mat::zeros(c.rows(), c.cols());
    add(&mut mean, &a.logits, 0.5);
    add(&mut mean, &b.logits, 0.5);
    let loss = mean_loss(&mean, c, noise);
    if loss < a.loss.min(b.loss) {
        (mean, [0.5, 0.5])
    } else if a.loss <= b.loss {
        (a.logits.clone(), [1.0, 0.0])
    } else {
        (b.logits.clone(), [0.0, 1.0])
    }
}

/// The mean of matrices of one shape.
fn mean(of: &[Mat<f64>]) -> Mat<f64> {
    let mut sum = Mat::zeros(of[0].rows(), of[0].cols());
    of.iter().for_each(|m| add(&mut sum, m, 1.0 / of.len() as f64));
    sum
}

/// sum += share · m.
fn add(sum: &mut Mat<f64>, m: &Mat<f64>, share: f64) {
    for (s, v) in sum.as_mut_slice().iter_mut().zip(m.as_slice()) {
        *s += share * v;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Label 1 follows label 0; labels follow the first features; noise at rate 0.25.
    fn data(n: usize) -> (Mat<f32>, Labels, Labels) {
        let mut r = Streams::new(3).stream("belief");
        let x = Mat::from_fn(n, 5, |_, _| r.normal() as f32);
        let truth = Labels::from_fn(n, 3, |i, j| x[(i, if j == 2 { 2 } else { 0 })] > 0.4);
        let candidates = Labels::from_fn(n, 3, |i, j| truth.get(i, j) || r.bernoulli(0.25));
        (x, truth, candidates)
    }

    fn fit(x: &Mat<f32>, candidates: &Labels) -> LinearBelief {
        LinearBelief::fit(x, candidates, &LinearOptions::default(), &Streams::new(1))
    }

    #[test]
    fn the_rate_is_found_and_context_improves_the_held_out_likelihood() {
        let (x, truth, candidates) = data(700);
        let belief = fit(&x, &candidates);
        assert!((belief.rho[0] - 0.25).abs() < 0.04, "{:?}", belief.rho);
        assert!(belief.loss.1 < belief.loss.0, "{:?}", belief.loss);
        let noise = belief.noise::<f64>();
        let labels = Labels::from_fn(700, 3, |i, j| {
            candidates.get(i, j) && noise[j].posterior(belief.logits[(i, j)]) >= 0.5
        });
        let (before, after) =
            (candidates.hamming_distance(&truth), labels.hamming_distance(&truth));
        assert!(after < 0.3 * before, "{before} {after}");
    }

    /// Neither u nor u′ of a cell may depend on whether it is a candidate.
    #[test]
    fn a_cell_does_not_see_its_own_candidate() {
        let (x, _, candidates) = data(300);
        let options = LinearOptions { rho: Some(0.25), ..LinearOptions::default() };
        let run = |c: &Labels| LinearBelief::fit(&x, c, &options, &Streams::new(1));
        let before = run(&candidates);
        let mut flipped = candidates.clone();
        flipped.set(7, 1, !candidates.get(7, 1));
        let after = run(&flipped);
        assert!((before.base[(7, 1)] - after.base[(7, 1)]).abs() < 1e-9, "u is cross-fitted");
        // Context with the same weights: not a bit may change, and the other labels must see it.
        let context = before.model.context.as_ref().expect("three labels");
        let noise = before.noise::<f64>();
        let [old, new] =
            [&candidates, &flipped].map(|c| context.apply(&before.base, &c.to_mat(), &noise));
        assert_eq!(old[(7, 1)], new[(7, 1)]);
        assert!((old[(7, 0)] - new[(7, 0)]).abs() > 0.1, "the others see it");
    }

    #[test]
    fn new_rows_get_what_the_training_rows_got() {
        let (x, _, candidates) = data(400);
        let belief = fit(&x, &candidates);
        let base = belief.model.base(&x);
        let c: Mat<f64> = candidates.to_mat();
        let logits = belief.model.logits(&base, &c, &belief.noise());
        for (found, own) in [(&base, &belief.base), (&logits, &belief.logits)] {
            let cells = found.as_slice().iter().zip(own.as_slice());
            let close = cells.filter(|(a, b)| (*a - *b).abs() < 0.5 + 0.2 * b.abs()).count();
            assert!(close > 1100, "{close} of 1200 cells");
        }
    }

    #[test]
    fn a_fixed_number_of_wrong_labels_per_row_switches_context_off() {
        let mut r = Streams::new(3).stream("fixed");
        let x = Mat::from_fn(500, 4, |_, _| r.normal() as f32);
        // One label is true in all rows; two of the others are added to every row.
        let candidates = Labels::from_fn(500, 8, |_, j| j == 0);
        let mut candidates = candidates;
        for i in 0..500 {
            for &j in r.permutation(7)[..2].iter() {
                candidates.set(i, j + 1, true);
            }
        }
        let belief = fit(&x, &candidates);
        assert!(belief.signs.even_counts, "{:?}", belief.signs);
        assert!(belief.model.context.is_none());
    }
}
