//! ML-kNN (Zhang & Zhou, Pattern Recognition 40, 2007): Bayes' rule on how many of the k nearest
//! neighbours carry a label.
//!
//! With δ_ij the number of neighbours of training row i that have label j:
//! prior_j = (s + #{y_ij = 1})/(2s + n), P(δ | y_j = b) = (s + #{i: y_ij = b, δ_ij = δ}) /
//! (s(k+1) + #{i: y_ij = b}); a new instance with δ_j neighbours scores
//! prior·P(δ_j|1) / (prior·P(δ_j|1) + (1 − prior)·P(δ_j|0)) and has the label from ½ on.
//!
//! Distances are Euclidean, ties go to the lower index; k ≥ n uses all other rows.

use super::{Classifier, Model, Prediction, Targets, check_width};
use crate::data::Labels;
use crate::data::choice::choice;
use crate::linalg::Mat;
use crate::linalg::nearest::{Neighbour, nearest, nearest_among};
use crate::measure::Scores;
use crate::rng::Streams;
use crate::{Error, Result};

/// Whose ML-kNN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As published (and as the authors' MATLAB files): a row is not its own neighbour.
    Published,
    /// scikit-multilearn 0.2: a training row is its own first neighbour, and the score is the
    /// numerator prior·P(δ|1) alone. Labels are on under the same condition.
    ScikitMultilearn,
    /// MULAN: as published, on attributes scaled to [0, 1]; a tie prob = ½ there is a coin, here on.
    Mulan,
}

choice!(Variant {
    Published => "published", ScikitMultilearn => "skmultilearn", Mulan => "mulan",
});

/// The classifier.
#[derive(Clone, Debug, PartialEq)]
pub struct MlKnn {
    /// Number of neighbours k.
    pub k: usize,
    /// Smoothing s.
    pub smoothing: f64,
    /// Whose.
    pub variant: Variant,
}

impl Default for MlKnn {
    fn default() -> Self {
        MlKnn { k: 10, smoothing: 1.0, variant: Variant::Published }
    }
}

/// What was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct MlKnnModel {
    x: Mat<f64>,
    y: Labels,
    k: usize,
    variant: Variant,
    scale: Option<Vec<(f64, f64)>>,
    /// prior_j.
    prior: Vec<f64>,
    /// P(δ | label on), L × (k + 1).
    given_on: Mat<f64>,
    /// P(δ | label off), L × (k + 1).
    given_off: Mat<f64>,
}

impl MlKnn {
    /// Counts neighbours; the targets must be hard labels (a confidence counts from ½ on).
    pub fn learn(&self, x: &Mat<f64>, targets: Targets<'_>) -> Result<MlKnnModel> {
        targets.check(x)?;
        if self.k == 0 || self.smoothing.is_nan() || self.smoothing <= 0.0 {
            return Err(Error::config(format!(
                "found k = {} and smoothing {}, expected positive numbers",
                self.k, self.smoothing
            )));
        }
        let y = Labels::from_fn(x.rows(), targets.cols(), |i, j| targets.probability(i, j) >= 0.5);
        let scale = (self.variant == Variant::Mulan).then(|| ranges(x));
        let x = rescale(x, scale.as_deref());
        let itself = self.variant == Variant::ScikitMultilearn;
        let k = self.k.min(x.rows() - usize::from(!itself));
        let near = nearest_among(&x, k, itself);
        let (n, labels) = (y.rows(), y.cols());
        let (mut on, mut off) = (Mat::zeros(labels, k + 1), Mat::zeros(labels, k + 1));
        for i in 0..n {
            let counts = count(&near[i], &y);
            for j in 0..labels {
                let histogram = if y.get(i, j) { &mut on } else { &mut off };
                histogram[(j, counts[j])] += 1.0;
            }
        }
        let s = self.smoothing;
        let prior = y.count_by_label().into_iter();
        Ok(MlKnnModel {
            prior: prior.map(|c| (s + c as f64) / (2.0 * s + n as f64)).collect(),
            given_on: smoothed(&on, s),
            given_off: smoothed(&off, s),
            x,
            y,
            k,
            variant: self.variant,
            scale,
        })
    }
}

/// (s + count) / (s(k + 1) + Σ counts), row by row.
fn smoothed(counts: &Mat<f64>, s: f64) -> Mat<f64> {
    Mat::from_fn(counts.rows(), counts.cols(), |j, r| {
        let total: f64 = counts.row(j).iter().sum();
        (s + counts[(j, r)]) / (s * counts.cols() as f64 + total)
    })
}

/// How many of the neighbours have each label.
fn count(near: &[Neighbour<f64>], y: &Labels) -> Vec<usize> {
    let mut counts = vec![0; y.cols()];
    for (neighbour, _) in near {
        for (count, &on) in counts.iter_mut().zip(y.row(*neighbour)) {
            *count += usize::from(on);
        }
    }
    counts
}

/// Smallest value and width of each column; a constant column gets width 0.
fn ranges(x: &Mat<f64>) -> Vec<(f64, f64)> {
    (0..x.cols())
        .map(|j| {
            let column = (0..x.rows()).map(|i| x[(i, j)]);
            let low = column.clone().fold(f64::INFINITY, f64::min);
            (low, column.fold(f64::NEG_INFINITY, f64::max) - low)
        })
        .collect()
}

fn rescale(x: &Mat<f64>, scale: Option<&[(f64, f64)]>) -> Mat<f64> {
    let Some(scale) = scale else { return x.clone() };
    Mat::from_fn(x.rows(), x.cols(), |i, j| {
        let (low, width) = scale[j];
        if width > 0.0 { (x[(i, j)] - low) / width } else { 0.0 }
    })
}

impl Classifier for MlKnn {
    fn name(&self) -> &'static str {
        "mlknn"
    }

    fn fit(&self, x: &Mat<f64>, targets: Targets<'_>, _: &Streams) -> Result<Box<dyn Model>> {
        Ok(Box::new(self.learn(x, targets)?))
    }
}

impl Model for MlKnnModel {
    fn predict(&self, x: &Mat<f64>) -> Result<Prediction> {
        check_width(x, self.x.cols())?;
        let x = rescale(x, self.scale.as_deref());
        let near = nearest(&x, &self.x, self.k);
        let mut scores = Mat::zeros(x.rows(), self.y.cols());
        let mut labels = Labels::none(x.rows(), self.y.cols());
        for (i, near) in near.iter().enumerate() {
            for (j, &r) in count(near, &self.y).iter().enumerate() {
                let on = self.prior[j] * self.given_on[(j, r)];
                let off = (1.0 - self.prior[j]) * self.given_off[(j, r)];
                labels.set(i, j, on >= off);
                scores[(i, j)] = match self.variant {
                    Variant::ScikitMultilearn => on,
                    Variant::Published | Variant::Mulan => on / (on + off),
                };
            }
        }
        Ok(Prediction { scores: Scores::new(scores), labels })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn golden() -> (Mat<f64>, Labels) {
        let x = vec![0.0, 1.0, 2.1, 3.3, 10.0, 11.0, 12.1, 13.3];
        let y = [2, 2, 3, 1, 1, 1, 3, 0]; // two bits per row, first label first
        (Mat::from_vec(8, 1, x), Labels::from_fn(8, 2, |i, j| y[i] >> (1 - j) & 1 == 1))
    }

    fn two() -> MlKnn {
        MlKnn { k: 2, ..MlKnn::default() }
    }

    #[test]
    fn golden_counts_and_scores() {
        let (x, y) = golden();
        let model = two().learn(&x, Targets::Labels(&y)).unwrap();
        assert_eq!(model.prior, [0.5, 0.6]);
        let on = [2.0 / 7.0, 2.0 / 7.0, 3.0 / 7.0, 1.0 / 8.0, 4.0 / 8.0, 3.0 / 8.0];
        let off = [1.0 / 7.0, 4.0 / 7.0, 2.0 / 7.0, 1.0 / 6.0, 3.0 / 6.0, 2.0 / 6.0];
        assert_eq!(model.given_on.as_slice(), on);
        assert_eq!(model.given_off.as_slice(), off);
        let new = Mat::from_vec(2, 1, vec![0.4, 11.4]);
        let found = model.predict(&new).unwrap();
        let want = [0.6, 0.529412, 0.333333, 0.627907];
        for (got, want) in found.scores.values().as_slice().iter().zip(want) {
            assert!((got - want).abs() < 1e-6, "{got}, expected {want}");
        }
        assert_eq!(found.labels.as_slice(), [true, true, false, true]);
    }

    #[test]
    fn few_rows_duplicates_and_bad_input() {
        let (x, y) = golden();
        // k ≥ n: all other rows are the neighbours.
        let model = MlKnn::default().learn(&x, Targets::Labels(&y)).unwrap();
        assert_eq!(model.k, 7);
        let single = MlKnn::default()
            .learn(&x.select_rows(&[0]), Targets::Labels(&y.select_rows(&[0])))
            .unwrap();
        let found = single.predict(&x).unwrap();
        assert_eq!((single.k, found.labels.row(3)), (0, &[true, false][..]));
        let same = x.select_rows(&[0, 0, 0, 0]);
        let labels = y.select_rows(&[0, 3, 0, 3]);
        let model = two().learn(&same, Targets::Labels(&labels)).unwrap();
        assert!(model.predict(&same).unwrap().scores.nan() == 0);
        // A label that never occurs scores low, but is defined.
        let none = Labels::none(8, 1);
        let model = two().learn(&x, Targets::Labels(&none)).unwrap();
        let score = model.predict(&x).unwrap().scores.values()[(0, 0)];
        assert!(score > 0.0 && score < 0.5);
        assert!(two().learn(&x, Targets::Labels(&labels)).is_err());
        assert!(MlKnn { k: 0, ..two() }.learn(&x, Targets::Labels(&y)).is_err());
        assert!(model.predict(&Mat::zeros(1, 3)).is_err());
    }

    /// Scores and labels of scikit-multilearn 0.2.0 and of the textbook algorithm in NumPy.
    #[test]
    fn equal_to_scikit_multilearn_and_to_the_textbook() {
        let text = include_str!("../../tests/golden/evaluation/mlknn.csv");
        let block = |kind: &str| fixture::block(text, kind);
        let y = fixture::labels(text, "y");
        let cases =
            [(Variant::Published, "published"), (Variant::ScikitMultilearn, "scikit-multilearn")];
        for (variant, name) in cases {
            let settings = MlKnn { k: 7, variant, ..MlKnn::default() };
            let model = settings.learn(&block("x"), Targets::Labels(&y)).unwrap();
            let found = model.predict(&block("new")).unwrap();
            let want = block(name);
            for (got, want) in found.scores.values().as_slice().iter().zip(want.as_slice()) {
                assert!((got - want).abs() < 1e-9, "{name}: {got}, expected {want}");
            }
            if variant == Variant::ScikitMultilearn {
                let want = fixture::labels(text, "scikit-multilearn-labels");
                assert_eq!(found.labels, want);
            }
        }
    }

    #[test]
    fn variants_differ_as_documented() {
        let (x, y) = golden();
        let with = |variant| MlKnn { variant, ..two() }.learn(&x, Targets::Labels(&y)).unwrap();
        let published = with(Variant::Published);
        let own = with(Variant::ScikitMultilearn);
        assert_ne!(published.given_on, own.given_on);
        // One feature: scaling to [0, 1] changes no order.
        assert_eq!(published.given_on, with(Variant::Mulan).given_on);
    }
}
