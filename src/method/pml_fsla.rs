//! PML-FSLA: features and labels factorised into one latent space.
//!
//! ```text
//! min  ‖X − P_x Qᵀ‖² + α ‖T − P_y R‖² + β ‖P_x − P_y‖² + γ ‖Q R‖₂,₁
//! s.t. P_x, P_y (n × k), Q (d × k), R (k × L), T (n × L) ≥ 0;  T = 0 outside of the candidates,
//!      each row of T sums to 1.
//! ```
//!
//! T starts as the candidate matrix Y. Features are ranked by the row norms of Q R.
//!
//! Source: Pan, Liu, Gao, "Reconsidering feature structure information and latent space alignment in
//! partial multi-label feature selection", AAAI 2025, and its authors' program. They disagree with
//! each other and with themselves:
//!
//! * The printed updates have slips (a lost D, products that do not conform); here each update is
//!   the multiplicative one of the printed objective, so with T fixed no update raises it.
//! * The program normalises the rows of T, the paper does not say so. Without it T = P_y R shrinks
//!   to 0 and so do all scores: `form = printed` shows it.
//! * The program leaves α out of half of its updates and keeps D and Q R for a whole sweep: `form = code`.
//! * It ranks by Q alone; the paper by Q R, as here.
//!
//! The normalisation of T is not a descent step: the default's objective may rise between sweeps,
//! that of `form = printed` never does.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::factorise::{
    self, SCALED, Stop, descend, distance, inner, norm_21, plus, product, product_of_t, product_t,
    reweighted, row_norms, scaled, square, uniform, update,
};
use super::learner::{Learner, decades};
use super::optics;
use super::settings::{Settings, within};
use super::{Context, Fitted, Training, rank};
use crate::Result;
use crate::data::Scaling;
use crate::linalg::Mat;

/// Settings of PML-FSLA.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PmlFsla {
    /// α: weight of the fit to the labels.
    pub alpha: f64,
    /// β: how strongly the two latent codes are pulled together.
    pub beta: f64,
    /// γ: weight of the sparsity of Q R.
    pub gamma: f64,
    /// k: number of latent dimensions; 0 for the smaller of L and 5.
    pub rank: usize,
    /// k as in the paper: the number of OPTICS clusters of the rows, between 2 and L. Needs n² time.
    pub optics: bool,
    /// Which reading of the source.
    pub form: Form,
    /// Largest number of sweeps.
    pub sweeps: usize,
    /// Relative change of the objective that ends the sweeps.
    pub tolerance: f64,
}

/// Readings of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Updates of the printed objective, rows of T normalised.
    Corrected,
    /// The same without the normalisation, as printed: it collapses.
    Printed,
    /// The order and the weights of the authors' program.
    Code,
}

impl Default for PmlFsla {
    fn default() -> Self {
        PmlFsla {
            alpha: 10.0,
            beta: 1.0,
            gamma: 1.0,
            rank: 0,
            optics: false,
            form: Form::Corrected,
            sweeps: 1000,
            tolerance: 1e-3,
        }
    }
}

impl Settings for PmlFsla {
    fn check(&self) -> Result<()> {
        within("alpha", self.alpha, 0.0, 1e6)?;
        within("beta", self.beta, 0.0, 1e6)?;
        within("gamma", self.gamma, 0.0, 1e6)?;
        within("rank", self.rank as f64, 0.0, 1000.0)?;
        within("sweeps", self.sweeps as f64, 1.0, 1e6)?;
        within("tolerance", self.tolerance, 0.0, 1.0)
    }
}

impl Learner for PmlFsla {
    const NAME: &'static str = "pml-fsla";

    fn learn(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let (x, _) = factorise::features(training, Scaling::MinMax);
        let y = factorise::indicator(training.candidates);
        let mut notes = vec![SCALED.to_owned()];
        let k = match (self.rank, self.optics) {
            (_, true) => {
                let clusters = optics::clusters(&x);
                notes.push(format!("OPTICS found {clusters} clusters of rows"));
                clusters.clamp(2, y.cols().max(2))
            }
            (0, false) => y.cols().min(5),
            (k, false) => k,
        };
        let mut rng = context.streams.stream("pml-fsla");
        let mut draw = |rows| uniform(rows, k, &mut rng);
        let (px, py, q) = (draw(x.rows()), draw(x.rows()), draw(x.cols()));
        let r = draw(y.cols()).transposed();
        let mut factors = Factors { px, py, q, r, t: y.clone() };
        let stop = Stop { sweeps: self.sweeps, tolerance: self.tolerance };
        let objective = descend(context, Self::NAME, stop, || self.sweep(&x, &y, &mut factors))?;
        Ok(Fitted { ranking: rank(&factors.scores()), objective, notes, ..Fitted::default() })
    }

    fn alternatives(&self) -> Vec<Value> {
        decades(self, &["alpha", "beta", "gamma"])
    }
}

/// The unknowns.
#[derive(Clone)]
struct Factors {
    px: Mat<f64>,
    py: Mat<f64>,
    q: Mat<f64>,
    r: Mat<f64>,
    t: Mat<f64>,
}

impl Factors {
    /// W = Q R.
    fn weights(&self) -> Mat<f64> {
        product(self.q.view(), self.r.view())
    }

    /// Row norms of Q R relative to the largest: strong sparsity makes all of them tiny. Where they
    /// vanish altogether, those of Q.
    fn scores(&self) -> Vec<f64> {
        let scores = row_norms(&self.weights());
        let largest = scores.iter().copied().fold(0.0, f64::max);
        if largest < 1e-300 {
            return row_norms(&self.q);
        }
        scores.iter().map(|s| s / largest).collect()
    }
}

impl PmlFsla {
    /// All updates once. Returns the objective.
    fn sweep(&self, x: &Mat<f64>, y: &Mat<f64>, f: &mut Factors) -> f64 {
        if self.form == Form::Code {
            return self.sweep_of_the_code(x, y, f);
        }
        self.update_factors(x, f);
        update_labels(f, y, self.form == Form::Corrected);
        self.fit_error(x, f) + self.gamma * norm_21(&f.weights())
    }

    /// Everything but T.
    fn update_factors(&self, x: &Mat<f64>, f: &mut Factors) {
        self.update_px(x, f);
        let dw = reweighted(&f.weights());
        self.update_q(x, f, &dw);
        self.update_py(f, self.alpha);
        let dw = reweighted(&f.weights());
        self.update_r(f, &dw, self.alpha);
    }

    /// D and W of the sweep's begin, T in the middle, and α in one place only.
    fn sweep_of_the_code(&self, x: &Mat<f64>, y: &Mat<f64>, f: &mut Factors) -> f64 {
        let w = f.weights();
        let dw = reweighted(&w);
        self.update_q(x, f, &dw);
        self.update_px(x, f);
        update_labels(f, y, true);
        self.update_py(f, 1.0);
        self.update_r(f, &dw, 1.0);
        self.fit_error(x, f) + self.gamma * inner(&w, &dw)
    }

    /// P_x ← P_x ∘ (X Q + β P_y) / (P_x QᵀQ + β P_x).
    fn update_px(&self, x: &Mat<f64>, f: &mut Factors) {
        let numerator = plus(product(x.view(), f.q.view()), self.beta, &f.py);
        let gram = product_t(&f.q, &f.q);
        let denominator = plus(product(f.px.view(), gram.view()), self.beta, &f.px);
        update(&mut f.px, &numerator, &denominator);
    }

    /// Q ← Q ∘ (Xᵀ P_x) / (Q P_xᵀP_x + γ D W Rᵀ), W = Q R.
    fn update_q(&self, x: &Mat<f64>, f: &mut Factors, dw: &Mat<f64>) {
        let numerator = product_t(x, &f.px);
        let gram = product_t(&f.px, &f.px);
        let sparsity = product_of_t(dw, &f.r);
        let denominator = plus(product(f.q.view(), gram.view()), self.gamma, &sparsity);
        update(&mut f.q, &numerator, &denominator);
    }

    /// P_y ← P_y ∘ (α T Rᵀ + β P_x) / (α P_y R Rᵀ + β P_y); the code has 1 for the second α.
    fn update_py(&self, f: &mut Factors, alpha_below: f64) {
        let numerator = plus(scaled(product_of_t(&f.t, &f.r), self.alpha), self.beta, &f.px);
        let fit = product(f.py.view(), product_of_t(&f.r, &f.r).view());
        let denominator = plus(scaled(fit, alpha_below), self.beta, &f.py);
        update(&mut f.py, &numerator, &denominator);
    }

    /// R ← R ∘ (α P_yᵀ T) / (α P_yᵀP_y R + γ Qᵀ D W); the code has 1 for both α.
    fn update_r(&self, f: &mut Factors, dw: &Mat<f64>, alpha: f64) {
        let numerator = scaled(product_t(&f.py, &f.t), alpha);
        let gram = scaled(product_t(&f.py, &f.py), alpha);
        let denominator = plus(product(gram.view(), f.r.view()), self.gamma, &product_t(&f.q, dw));
        update(&mut f.r, &numerator, &denominator);
    }

    /// ‖X − P_x Qᵀ‖² + α ‖T − P_y R‖² + β ‖P_x − P_y‖², the first term without its n × d residual.
    fn fit_error(&self, x: &Mat<f64>, f: &Factors) -> f64 {
        let cross = inner(&product(x.view(), f.q.view()), &f.px);
        let model = inner(&product_t(&f.px, &f.px), &product_t(&f.q, &f.q));
        let labels = distance(&f.t, &product(f.py.view(), f.r.view()));
        square(x) - 2.0 * cross + model + self.alpha * labels + self.beta * distance(&f.px, &f.py)
    }
}

/// T ← (P_y R) ∘ Y, then each row divided by its sum; a row without candidates stays 0.
fn update_labels(f: &mut Factors, y: &Mat<f64>, normalise: bool) {
    f.t = product(f.py.view(), f.r.view());
    crate::num::mul_assign(f.t.as_mut_slice(), y.as_slice());
    for i in 0..f.t.rows() {
        let row = f.t.row_mut(i);
        let sum: f64 = row.iter().sum();
        if normalise && sum > 0.0 {
            row.iter_mut().for_each(|v| *v /= sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::factorise::tests::assert_falls;
    use super::super::planted::{
        Planted, assert_close, assert_survives_bad_input, assert_thread_independent, golden,
        mean_hits, start,
    };
    use super::*;

    /// Objectives after the given sweeps, and the factors after the last.
    fn run(form: Form, at: &[usize]) -> (Vec<f64>, Factors) {
        let (x, y) = golden();
        let y = factorise::indicator(&y);
        let method = PmlFsla { alpha: 1.0, gamma: 0.1, form, ..PmlFsla::default() };
        let (px, q) = (start(5, 2, 3, 5), start(4, 2, 4, 7));
        let mut f = Factors { px, q, py: start(5, 2, 2, 9), r: start(2, 3, 6, 1), t: y.clone() };
        let mut all = vec![method.fit_error(&x, &f) + method.gamma * norm_21(&f.weights())];
        all.extend((0..200).map(|_| method.sweep(&x, &y, &mut f)));
        (at.iter().map(|&t| all[t]).collect(), f)
    }

    #[test]
    fn golden_numbers() {
        let (f, end) = run(Form::Printed, &[0, 1, 2, 10, 200]);
        assert_close(&f, &[8.590709, 3.317694, 1.718405, 0.253075, 0.225798]);
        assert_close(&row_norms(&end.weights()), &[0.0; 4]);
        let (f, end) = run(Form::Corrected, &[0, 1, 2, 10, 200]);
        assert_close(&f, &[8.590709, 4.238355, 2.440464, 0.568196, 0.350791]);
        assert_close(&row_norms(&end.weights()), &[0.215049, 0.137656, 0.110616, 0.128713]);
        assert_close(end.t.row(4), &[0.758149, 0.241851, 0.0]);
        let (f, end) = run(Form::Code, &[1, 2, 10, 200]);
        assert_close(&f, &[3.343386, 2.002991, 0.419254, 0.321125]);
        assert_close(&row_norms(&end.weights()), &[0.214095, 0.137185, 0.110180, 0.128263]);
    }

    #[test]
    fn finds_planted_features() {
        assert!(mean_hits(&PmlFsla::default(), Planted::positive) >= 8.0);
        mean_hits(&PmlFsla::default(), Planted::signed);
    }

    /// With T fixed no sweep raises the objective; without its normalisation never.
    #[test]
    fn the_objective_falls_on_real_sets() {
        for name in ["yeast", "emotions", "bibtex"] {
            let set = Planted::real(name);
            let printed = PmlFsla { form: Form::Printed, sweeps: 30, ..PmlFsla::default() };
            assert_falls(name, &set.fit(&printed, 0).objective);
            let (x, _) = factorise::features(&set.training(), Scaling::MinMax);
            let y = factorise::indicator(&set.candidates);
            let mut r = crate::rng::Streams::new(0).stream("start");
            let mut draw = |rows, cols| uniform(rows, cols, &mut r);
            let (px, py) = (draw(x.rows(), 5), draw(x.rows(), 5));
            let (q, r) = (draw(x.cols(), 5), draw(5, y.cols()));
            let mut f = Factors { px, py, q, r, t: y.clone() };
            let method = PmlFsla::default();
            let value = |f: &Factors| method.fit_error(&x, f) + norm_21(&f.weights());
            for _ in 0..5 {
                let mut values = vec![value(&f)];
                for _ in 0..3 {
                    method.update_factors(&x, &mut f);
                    values.push(value(&f));
                }
                assert_falls(name, &values);
                update_labels(&mut f, &y, true);
            }
        }
    }

    #[test]
    fn survives_bad_input_and_any_number_of_threads() {
        for form in [Form::Corrected, Form::Printed, Form::Code] {
            assert_survives_bad_input(&PmlFsla { form, ..PmlFsla::default() });
        }
        assert_survives_bad_input(&PmlFsla { optics: true, ..PmlFsla::default() });
        assert_thread_independent(&PmlFsla::default(), &Planted::positive(1));
    }
}
