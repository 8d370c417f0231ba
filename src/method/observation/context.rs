//! Label context by a linear model: what the candidates of the *other* labels say about a label.
//!
//! ```text
//! u′_ij = (1 + s_j) u_ij + Σ_{k ≠ j} M_jk h_ik + α_j N_ij + β_j O_ij + b_j
//! ```
//!
//! h_k is the posterior of label k, which has seen C_k; N and O are the chances that none and that
//! exactly one of the other labels is true, if they were independent given x and their candidates.
//! Most data have at least one label in every row and hardly ever many, which no sum of h can say.
//! h, N and O are centred and scaled while M, α and β are learned.
//!
//! Under noise that is independent between labels P(C_j | x, C_−j) has the form of the likelihood with
//! the prior P(Y_j | x, C_−j), so the same solver fits it. Nothing computed from C_j may reach u′_j:
//! k = j is left out, and u must be a function of x alone. (Context on top of context would see C_j
//! through the others: its held-out likelihood rises and its labels get worse.)

use rayon::prelude::*;

use super::cross_fit::{Parts, cross_fit};
use super::features::Features;
use super::likelihood::NoiseRate;
use crate::linalg::Mat;

/// How much the slope s is penalised beside the other weights.
const SLOPE_PENALTY: f64 = 0.01;
/// Rows of [`ContextWeights::own`]: s, α, β and b.
pub const OWN: usize = 4;

/// Cross-fitted context, and the mean of its models for new rows.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearContext {
    /// u′ of rows that their models never saw.
    pub logits: Mat<f64>,
    /// The mean of the models.
    pub weights: ContextWeights,
}

/// A context model.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextWeights {
    /// L × L: how much the posterior of label k (row) adds to label j (column); 0 on the diagonal.
    pub mixing: Mat<f64>,
    /// s, α, β and b, 4 × L.
    pub own: Mat<f64>,
}

impl LinearContext {
    /// From cross-fitted `logits` of x alone.
    pub fn fit(logits: &Mat<f64>, c: &Mat<f64>, noise: &[NoiseRate<f64>], parts: &Parts) -> Self {
        let (n, labels) = (logits.rows(), logits.cols());
        let h = posteriors(logits, c, noise);
        let [none, one] = others_true(&h);
        let mut penalised = vec![1.0; labels + 2];
        penalised[0] = SLOPE_PENALTY;
        let each: Vec<_> = (0..labels)
            .into_par_iter()
            .map(|j| {
                // The own logit, the others, then N and O.
                let value = |i: usize, f: usize| match other(f, j) {
                    _ if f == labels => none[(i, j)],
                    _ if f == labels + 1 => one[(i, j)],
                    None => logits[(i, j)],
                    Some(k) => h[(i, k)],
                };
                let scale: Vec<(f64, f64)> = (0..labels + 2)
                    .map(
                        |f| if f == 0 { (0.0, 1.0) } else { centre_and_factor(n, |i| value(i, f)) },
                    )
                    .collect();
                let x = Mat::from_fn(n, labels + 2, |i, f| (value(i, f) - scale[f].0) * scale[f].1);
                let offset = logits.select_cols(&[j]);
                let own = c.select_cols(&[j]);
                let features = Features::Dense(x);
                let noise = &noise[j..=j];
                (cross_fit(&features, &own, noise, Some(&offset), &penalised, parts), scale)
            })
            .collect();
        let logits = Mat::from_fn(n, labels, |i, j| each[j].0.logits[(i, 0)]);
        let mut weights = ContextWeights::zeros(labels);
        for (j, (fitted, scale)) in each.iter().enumerate() {
            let found = fitted.mean_weights();
            let raw: Vec<f64> = (0..labels + 2).map(|f| found[(f, 0)] * scale[f].1).collect();
            let centred: f64 = raw.iter().zip(scale).map(|(w, (centre, _))| w * centre).sum();
            for f in 1..labels {
                weights.mixing[(other(f, j).expect("f > 0"), j)] = raw[f];
            }
            let bias = found[(labels + 2, 0)] - centred;
            for (row, value) in [raw[0], raw[labels], raw[labels + 1], bias].into_iter().enumerate()
            {
                weights.own[(row, j)] = value;
            }
        }
        LinearContext { logits, weights }
    }
}

impl ContextWeights {
    /// No context at all.
    pub fn zeros(labels: usize) -> Self {
        ContextWeights { mixing: Mat::zeros(labels, labels), own: Mat::zeros(OWN, labels) }
    }

    /// self += share · other.
    pub fn add(&mut self, other: &Self, share: f64) {
        for (to, from) in [(&mut self.mixing, &other.mixing), (&mut self.own, &other.own)] {
            let cells = to.as_mut_slice().iter_mut().zip(from.as_slice());
            cells.for_each(|(t, f)| *t += share * f);
        }
    }

    /// u′ of new rows.
    pub fn apply(&self, logits: &Mat<f64>, c: &Mat<f64>, noise: &[NoiseRate<f64>]) -> Mat<f64> {
        let h = posteriors(logits, c, noise);
        let [none, one] = others_true(&h);
        Mat::from_fn(logits.rows(), logits.cols(), |i, j| {
            let others: f64 = (0..h.cols()).map(|k| h[(i, k)] * self.mixing[(k, j)]).sum();
            let own = |row: usize| self.own[(row, j)];
            let count = own(1) * none[(i, j)] + own(2) * one[(i, j)];
            (1.0 + own(0)) * logits[(i, j)] + others + count + own(3)
        })
    }
}

/// The label behind feature `f` of label j's model: none for the own logit.
fn other(f: usize, j: usize) -> Option<usize> {
    match f {
        0 => None,
        f if f <= j => Some(f - 1),
        f => Some(f),
    }
}

/// N and O: the chances that none and that exactly one of the labels k ≠ j is true.
fn others_true(h: &Mat<f64>) -> [Mat<f64>; 2] {
    let (n, labels) = (h.rows(), h.cols());
    let [mut none, mut one] = [Mat::zeros(n, labels), Mat::zeros(n, labels)];
    // (none, exactly one) of some labels, joined with one more.
    let with = |(zero, one): (f64, f64), p: f64| (zero * (1.0 - p), one * (1.0 - p) + zero * p);
    let mut after = vec![(1.0, 0.0); labels + 1];
    for i in 0..n {
        for j in (0..labels).rev() {
            after[j] = with(after[j + 1], h[(i, j)]);
        }
        let mut before = (1.0, 0.0);
        for j in 0..labels {
            none[(i, j)] = before.0 * after[j + 1].0;
            one[(i, j)] = before.0 * after[j + 1].1 + before.1 * after[j + 1].0;
            before = with(before, h[(i, j)]);
        }
    }
    [none, one]
}

/// P(Y | u, C) of each cell.
pub fn posteriors(logits: &Mat<f64>, c: &Mat<f64>, noise: &[NoiseRate<f64>]) -> Mat<f64> {
    Mat::from_fn(logits.rows(), logits.cols(), |i, j| {
        c[(i, j)] * noise[j].posterior(logits[(i, j)])
    })
}

/// Mean and reciprocal of the deviation of n values; factor 0 for constant ones.
fn centre_and_factor(n: usize, value: impl Fn(usize) -> f64) -> (f64, f64) {
    let count = n.max(1) as f64;
    let mean = (0..n).map(&value).sum::<f64>() / count;
    let squares = (0..n).map(|i| (value(i) - mean) * (value(i) - mean)).sum::<f64>();
    (mean, if squares > 0.0 { 1.0 / (squares / count).sqrt() } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::observation::cross_fit::mean_loss;
    use crate::rng::Streams;

    /// The slow twin: all subsets of the other labels.
    #[test]
    fn chances_of_none_and_one_are_those_of_all_subsets() {
        let mut r = Streams::new(1).stream("others");
        let h = Mat::from_fn(6, 5, |i, j| if i == 0 && j < 2 { 1.0 } else { r.uniform() });
        let [none, one] = others_true(&h);
        for i in 0..6 {
            for j in 0..5 {
                let mut found = [0.0; 5];
                for subset in (0..32usize).filter(|s| s >> j & 1 == 0) {
                    let chance: f64 = (0..5)
                        .filter(|&k| k != j)
                        .map(|k| if subset >> k & 1 == 1 { h[(i, k)] } else { 1.0 - h[(i, k)] })
                        .product();
                    found[subset.count_ones() as usize] += chance;
                }
                assert!((none[(i, j)] - found[0]).abs() < 1e-14, "{i} {j}");
                assert!((one[(i, j)] - found[1]).abs() < 1e-14, "{i} {j}");
            }
        }
    }

    /// Every row has exactly one true label: a sum of posteriors cannot say "then it is this one".
    #[test]
    fn a_label_is_kept_where_no_other_can_be_true() {
        let mut r = Streams::new(2).stream("exactly one");
        let (n, labels, rho) = (600, 5, 0.3);
        let truth: Vec<usize> = (0..n).map(|_| r.below(labels)).collect();
        let c =
            Mat::from_fn(n, labels, |i, j| f64::from(u8::from(truth[i] == j || r.bernoulli(rho))));
        let noise = vec![NoiseRate::new(rho); labels];
        let flat = Mat::from_fn(n, labels, |_, _| -1.386);
        let parts = Parts::new(n, 5, &Streams::new(3));
        let found = LinearContext::fit(&flat, &c, &noise, &parts);
        let [none, _] = others_true(&posteriors(&flat, &c, &noise));
        let single =
            (0..n).find(|&i| none[(i, truth[i])] > 0.99).expect("a row with one candidate");
        assert!(
            found.logits[(single, truth[single])] > 2.0,
            "{}",
            found.logits[(single, truth[single])]
        );
        assert!(mean_loss(&found.logits, &c, &noise) < mean_loss(&flat, &c, &noise) - 0.01);
        let again = found.weights.apply(&flat, &c, &noise);
        let gap = |i: usize, j: usize| (again[(i, j)] - found.logits[(i, j)]).abs();
        assert!((0..n).all(|i| (0..labels).all(|j| gap(i, j) < 1.0)));
    }
}
