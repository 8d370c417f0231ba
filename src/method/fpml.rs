//! fPML: candidate labels and features factorised together, and a linear map to the result.
//!
//! ```text
//! min  ‖Y − S G‖² + λ₁ ‖X − S Fᵀ‖² + λ₂ ‖S G − X W‖² + λ₃ (‖S‖² + ‖G‖² + ‖F‖² + ‖W‖²)
//! over S (n × k), G (k × L), F (d × k), W (d × L)
//! ```
//!
//! S G is the confidence of each label, X W its prediction; features are ranked by the row norms
//! of W. Each update is the minimiser of its block, so the objective never rises.
//!
//! Source: Yu, Chen, Domeniconi, Wang, Li, Zhang, Wu, "Feature-induced partial multi-label
//! learning", ICDM 2018. Neither its text nor its program could be read: the problem is built from
//! its abstract (a shared sample matrix, a low-rank confidence, a map from features to it) and from
//! the weights λ₁ = λ₂ = 1, λ₃ = 10 that later papers use. That λ₃ weighs the squared norms is an
//! assumption.
//!
//! The squared norms of two factors act as a nuclear norm on their product: components below about
//! λ₃ vanish, on few rows all of them. Then λ₃ is divided by 10 and the fit repeated, and a note
//! says so; `adapt = false` keeps the published value, whatever comes out.
//!
//! What does not vanish is still shrunk, and without an intercept S G cannot hold the labels' means.
//! As a confidence S G is therefore brought back to the scale of Y, one line per label by least
//! squares; the predictor uses the same lines. The ranking does not.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::confidence;
use super::factorise::{
    self, Stop, descend, distance, inner, plus, product, product_of_t, product_t, row_norms,
    scaled, solve_rows, square, uniform,
};
use super::learner::{Learner, decades};
use super::linear_predictor::{LinearPredictor, Rule};
use super::settings::{Settings, within};
use super::{Context, Fitted, Training, rank};
use crate::Result;
use crate::data::Scaling;
use crate::linalg::Mat;
use crate::linalg::cholesky::cholesky;

/// Settings of fPML.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fpml {
    /// λ₁: weight of the factorisation of the features.
    pub lambda1: f64,
    /// λ₂: weight of the map from features to confidences.
    pub lambda2: f64,
    /// λ₃: weight of the squared norms.
    pub lambda3: f64,
    /// k: rank of the factorisation; 0 for half of L, at least 2.
    pub rank: usize,
    /// Divide λ₃ by 10 as long as nothing is left of the labels.
    pub adapt: bool,
    /// Largest number of sweeps.
    pub sweeps: usize,
    /// Relative change of the objective that ends the sweeps.
    pub tolerance: f64,
}

/// λ₃ is divided at most so often.
const DIVISIONS: usize = 8;
/// Nothing is left of the labels when S G has less than this share of their squares.
const NOTHING: f64 = 1e-6;

impl Default for Fpml {
    fn default() -> Self {
        Fpml {
            lambda1: 1.0,
            lambda2: 1.0,
            lambda3: 10.0,
            rank: 0,
            adapt: true,
            sweeps: 200,
            tolerance: 1e-4,
        }
    }
}

impl Settings for Fpml {
    fn check(&self) -> Result<()> {
        within("lambda1", self.lambda1, 0.0, 1e6)?;
        within("lambda2", self.lambda2, 1e-6, 1e6)?;
        within("lambda3", self.lambda3, 1e-9, 1e9)?;
        within("rank", self.rank as f64, 0.0, 10_000.0)?;
        within("sweeps", self.sweeps as f64, 1.0, 1e6)?;
        within("tolerance", self.tolerance, 0.0, 1.0)
    }
}

impl Learner for Fpml {
    const NAME: &'static str = "fpml";

    fn learn(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let (x, scaler) = factorise::features(training, Scaling::ZScore);
        let y = factorise::indicator(training.candidates);
        let (n, d, labels) = (x.rows(), x.cols(), y.cols());
        let k = if self.rank == 0 { labels.div_ceil(2).max(2) } else { self.rank };
        let k = k.min(n).min(d).min(labels);
        let mut rng = context.streams.stream("fpml");
        let mut draw = |rows, cols| uniform(rows, cols, &mut rng);
        let start = Factors::new(&x, draw(n, k), draw(k, labels), draw(d, k));
        let mut used = *self;
        let mut notes = Vec::new();
        let (objective, f) = loop {
            let problem = Problem::new(&used, &x, &y);
            let mut f = start.clone();
            let stop = Stop { sweeps: self.sweeps, tolerance: self.tolerance };
            let objective = descend(context, Self::NAME, stop, || problem.sweep(&mut f))?;
            let vanished = square(&f.confidence()) < NOTHING * square(&y);
            if !(vanished && self.adapt && notes.len() < DIVISIONS) {
                break (objective, f);
            }
            let smaller = used.lambda3 / 10.0;
            notes.push(format!(
                "nothing was left of the labels at lambda3 = {}: repeated with {smaller}",
                used.lambda3
            ));
            used.lambda3 = smaller;
        };
        let scores = row_norms(&f.w);
        let (slopes, bias) = calibration(&f.confidence(), &y);
        let calibrated = |m: &Mat<f64>, offset: &[f64]| {
            Mat::from_fn(m.rows(), labels, |i, j| slopes[j] * m[(i, j)] + offset[j])
        };
        let estimates = calibrated(&f.confidence(), &bias);
        let confidence = confidence::plausible(&estimates, training.candidates);
        let weights = calibrated(&f.w, &vec![0.0; labels]);
        let predictor = LinearPredictor { scaler, weights, bias, rule: Rule::Confidence };
        Ok(Fitted {
            ranking: rank(&scores),
            pseudo: Some(confidence::hard(&confidence)),
            confidence: Some(confidence.cast()),
            predictor: Some(Arc::new(predictor)),
            objective,
            notes,
            ..Fitted::default()
        })
    }

    fn alternatives(&self) -> Vec<Value> {
        decades(self, &["lambda1", "lambda2", "lambda3"])
    }
}

/// Slope and intercept per label that bring the estimates nearest to the candidates, by least
/// squares; no slope below 0, none for constant estimates.
fn calibration(estimates: &Mat<f64>, y: &Mat<f64>) -> (Vec<f64>, Vec<f64>) {
    let n = y.rows() as f64;
    let line = |j: usize| {
        let pairs = || (0..y.rows()).map(|i| (estimates[(i, j)], y[(i, j)]));
        let mean = pairs().map(|p| p.0).sum::<f64>() / n;
        let target = pairs().map(|p| p.1).sum::<f64>() / n;
        let spread: f64 = pairs().map(|p| (p.0 - mean) * (p.0 - mean)).sum();
        let common: f64 = pairs().map(|p| (p.0 - mean) * (p.1 - target)).sum();
        let slope = if spread > 0.0 { (common / spread).max(0.0) } else { 0.0 };
        // Differences that are nothing but rounding have no slope either.
        let slope = if slope < 1e12 { slope } else { 0.0 };
        (slope, target - slope * mean)
    };
    (0..y.cols()).map(line).unzip()
}

/// The unknowns, and X W.
#[derive(Clone)]
struct Factors {
    s: Mat<f64>,
    g: Mat<f64>,
    f: Mat<f64>,
    w: Mat<f64>,
    xw: Mat<f64>,
}

impl Factors {
    /// W = 0.
    fn new(x: &Mat<f64>, s: Mat<f64>, g: Mat<f64>, f: Mat<f64>) -> Self {
        let (w, xw) = (Mat::zeros(x.cols(), g.cols()), Mat::zeros(x.rows(), g.cols()));
        Factors { s, g, f, w, xw }
    }

    fn confidence(&self) -> Mat<f64> {
        product(self.s.view(), self.g.view())
    }
}

/// What does not change.
struct Problem<'a> {
    method: &'a Fpml,
    x: &'a Mat<f64>,
    y: &'a Mat<f64>,
    square: f64,
    /// Cholesky factor of XᵀX + (λ₃/λ₂) I, or of X Xᵀ + (λ₃/λ₂) I when that is the smaller one.
    ridge: Mat<f64>,
}

impl<'a> Problem<'a> {
    fn new(method: &'a Fpml, x: &'a Mat<f64>, y: &'a Mat<f64>) -> Self {
        let gram = if x.cols() <= x.rows() { product_t(x, x) } else { product_of_t(x, x) };
        let ridge = factor(gram, method.lambda3 / method.lambda2);
        Problem { method, x, y, square: square(x), ridge }
    }

    /// All updates once. Returns the objective.
    fn sweep(&self, f: &mut Factors) -> f64 {
        let Fpml { lambda1, lambda2, lambda3, .. } = *self.method;
        let gram = product_t(&f.s, &f.s);
        // F ← λ₁ Xᵀ S (λ₁ SᵀS + λ₃ I)⁻¹
        f.f = scaled(product_t(self.x, &f.s), lambda1);
        solve_rows(&factor(scaled(gram.clone(), lambda1), lambda3), &mut f.f);
        // G ← ((1 + λ₂) SᵀS + λ₃ I)⁻¹ Sᵀ (Y + λ₂ X W)
        let target = plus(self.y.clone(), lambda2, &f.xw);
        let mut transposed = product_t(&target, &f.s);
        solve_rows(&factor(scaled(gram, 1.0 + lambda2), lambda3), &mut transposed);
        f.g = transposed.transposed();
        f.w = self.regress(&f.confidence());
        f.xw = product(self.x.view(), f.w.view());
        // S ← ((Y + λ₂ X W) Gᵀ + λ₁ X F) ((1 + λ₂) G Gᵀ + λ₁ FᵀF + λ₃ I)⁻¹
        let target = plus(self.y.clone(), lambda2, &f.xw);
        let xf = product(self.x.view(), f.f.view());
        f.s = plus(product_of_t(&target, &f.g), lambda1, &xf);
        let codes = product_t(&f.f, &f.f);
        let gram = plus(scaled(product_of_t(&f.g, &f.g), 1.0 + lambda2), lambda1, &codes);
        solve_rows(&factor(gram, lambda3), &mut f.s);
        // ‖X − S Fᵀ‖² without its n × d residual.
        let model = inner(&product_t(&f.s, &f.s), &codes);
        lambda1 * (self.square - 2.0 * inner(&xf, &f.s) + model) + self.other_terms(f)
    }

    /// W ← (XᵀX + r I)⁻¹ Xᵀ T = Xᵀ (X Xᵀ + r I)⁻¹ T, r = λ₃ / λ₂.
    fn regress(&self, t: &Mat<f64>) -> Mat<f64> {
        let primal = self.x.cols() <= self.x.rows();
        let mut rows = if primal { product_t(t, self.x) } else { t.transposed() };
        solve_rows(&self.ridge, &mut rows);
        if primal { rows.transposed() } else { product(self.x.view().t(), rows.view().t()) }
    }

    /// The objective without ‖X − S Fᵀ‖².
    fn other_terms(&self, f: &Factors) -> f64 {
        let confidence = f.confidence();
        let norms = square(&f.s) + square(&f.g) + square(&f.f) + square(&f.w);
        distance(self.y, &confidence)
            + self.method.lambda2 * distance(&confidence, &f.xw)
            + self.method.lambda3 * norms
    }
}

/// Cholesky factor of A + r I, for A ⪰ 0 and r > 0.
fn factor(mut a: Mat<f64>, r: f64) -> Mat<f64> {
    (0..a.rows()).for_each(|i| a[(i, i)] += r);
    assert!(cholesky(&mut a), "positive definite");
    a
}

#[cfg(test)]
mod tests {
    use super::super::factorise::tests::assert_falls;
    use super::super::planted::{
        Planted, assert_close, assert_survives_bad_input, assert_thread_independent, golden,
        mean_hits, start,
    };
    use super::*;

    fn run(lambda3: f64) -> (Vec<f64>, Factors) {
        let (x, y) = golden();
        let y = factorise::indicator(&y);
        let method = Fpml { lambda3, ..Fpml::default() };
        let problem = Problem::new(&method, &x, &y);
        let (s, g, f) = (start(5, 2, 3, 5), start(2, 3, 4, 7), start(4, 2, 6, 1));
        let mut f = Factors::new(&x, s, g, f);
        let fit = distance(&x, &product_of_t(&f.s, &f.f));
        let mut all = vec![fit + problem.other_terms(&f)];
        all.extend((0..300).map(|_| problem.sweep(&mut f)));
        (all, f)
    }

    #[test]
    fn golden_numbers() {
        let (all, f) = run(0.1);
        assert_close(
            &[all[0], all[1], all[2], all[10], all[300]],
            &[11.983580, 4.497479, 3.439596, 3.066672, 3.048041],
        );
        assert_close(&row_norms(&f.w), &[1.035100, 0.802907, 0.227164, 0.328854]);
        let (all, _) = run(10.0);
        assert_close(&[all[0], all[1], all[2]], &[79.388671, 15.718987, 14.587795]);
        assert_close(&[all[300]], &[14.58]);
    }

    /// More features than rows: the same map by the smaller matrix.
    #[test]
    fn both_forms_of_the_regression_agree() {
        let (x, t) = (start(4, 7, 3, 5), start(4, 3, 4, 7));
        let method = Fpml::default();
        let dual = Problem::new(&method, &x, &t).regress(&t);
        let mut primal = product_t(&t, &x);
        solve_rows(&factor(product_t(&x, &x), 10.0), &mut primal);
        assert_close(dual.as_slice(), primal.transposed().as_slice());
    }

    #[test]
    fn estimates_return_to_the_scale_of_the_labels() {
        let y = Mat::from_vec(4, 3, vec![1., 0., 1., 0., 1., 1., 1., 0., 0., 0., 1., 0.]);
        let shrunk = Mat::from_fn(4, 3, |i, j| match j {
            0 => 0.1 * y[(i, 0)] - 0.3,
            1 => 0.2 - y[(i, 1)],
            _ => 0.7,
        });
        let (slopes, bias) = calibration(&shrunk, &y);
        assert_close(&slopes, &[10.0, 0.0, 0.0]);
        assert_close(&bias, &[3.0, 0.5, 0.5]);
    }

    #[test]
    fn lambda3_is_lowered_when_everything_vanishes() {
        let small = Planted::positive(2).first(8);
        let published = Fpml { adapt: false, lambda3: 1000.0, ..Fpml::default() };
        let fitted = small.fit(&published, 0);
        assert!(fitted.notes.is_empty() && fitted.ranking[0].score < 1e-3);
        let adapted = small.fit(&Fpml { adapt: true, ..published }, 0);
        assert!(adapted.notes[0].contains("at lambda3 = 1000"), "{:?}", adapted.notes);
        assert!(adapted.ranking[0].score > 1e-3);
    }

    #[test]
    fn finds_planted_features() {
        assert!(mean_hits(&Fpml::default(), Planted::positive) >= 8.0);
        mean_hits(&Fpml::default(), Planted::signed);
    }

    #[test]
    fn the_objective_falls_on_real_sets() {
        for name in ["yeast", "emotions", "bibtex"] {
            let method = Fpml { tolerance: 0.0, sweeps: 40, ..Fpml::default() };
            assert_falls(name, &Planted::real(name).fit(&method, 0).objective);
        }
    }

    #[test]
    fn survives_bad_input_and_any_number_of_threads() {
        assert_survives_bad_input(&Fpml::default());
        assert_thread_independent(&Fpml::default(), &Planted::positive(1));
    }
}
