//! PML-FSSO: features and labels factorised with one code of the rows.
//!
//! ```text
//! min  ‖X W − Y‖² + α ‖Y − U V‖² + β ‖X − U M‖² + γ tr(Uᵀ Lap U) + 2θ ‖W‖₂,₁,   W = Mᵀ V
//! s.t. U (n × k), V (k × L), M (k × d) ≥ 0
//! ```
//!
//! Lap is the Laplacian of the 5-nearest-neighbour graph with weights exp(−‖x_i − x_j‖² / 2) in
//! which each row is also its own neighbour. Features are ranked by the row norms of W.
//!
//! Source: the authors' program of Hao, Hu, Gao, "Partial multi-label feature selection via
//! subspace optimization", Information Sciences 648, 2023. Its updates minimise 2θ ‖W‖₂,₁ while the
//! value it prints has θ ‖W‖₂,₁; the objective here is that of the updates. Its M update mixes
//! XᵀX W and D of the sweep's begin with the new V; here both are refreshed, the proper descent step. `refresh =
//! false` is the program's. Its description speaks of a second, "local" weight matrix that is
//! averaged in; the program has none, so there is none here.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::affinity::Affinity;
use super::factorise::{
    self, Stop, descend, distance, inner, norm_21, plus, product, product_of_t, product_t,
    reweighting, scale_rows, scaled, square, uniform, update,
};
use super::learner::{Learner, decades};
use super::settings::{Settings, within};
use super::{Context, Fitted, Training};
use crate::Result;
use crate::data::Scaling;
use crate::linalg::Mat;

/// Width of the heat kernel.
const WIDTH: f64 = 1.0;

/// Settings of PML-FSSO.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PmlFsso {
    /// α: weight of the factorisation of the labels.
    pub alpha: f64,
    /// β: weight of the factorisation of the features.
    pub beta: f64,
    /// γ: weight of the neighbour graph.
    pub gamma: f64,
    /// θ: weight of the sparsity of W.
    pub theta: f64,
    /// k as a share of d, rounded up. Time grows with its square.
    pub rank_share: f64,
    /// Number of neighbours of a row.
    pub neighbours: usize,
    /// W is computed anew before the update of M.
    pub refresh: bool,
    /// Largest number of sweeps.
    pub sweeps: usize,
    /// Relative change of the objective that ends the sweeps.
    pub tolerance: f64,
}

impl Default for PmlFsso {
    fn default() -> Self {
        PmlFsso {
            alpha: 1.0,
            beta: 1.0,
            gamma: 1.0,
            theta: 1.0,
            rank_share: 0.8,
            neighbours: 5,
            refresh: true,
            sweeps: 1000,
            tolerance: 1e-3,
        }
    }
}

impl Settings for PmlFsso {
    fn check(&self) -> Result<()> {
        within("alpha", self.alpha, 0.0, 1e6)?;
        within("beta", self.beta, 0.0, 1e6)?;
        within("gamma", self.gamma, 0.0, 1e6)?;
        within("theta", self.theta, 0.0, 1e6)?;
        within("rank_share", self.rank_share, 1e-3, 1.0)?;
        within("neighbours", self.neighbours as f64, 1.0, 1000.0)?;
        within("sweeps", self.sweeps as f64, 1.0, 1e6)?;
        within("tolerance", self.tolerance, 0.0, 1.0)
    }
}

impl Learner for PmlFsso {
    const NAME: &'static str = "pml-fsso";

    fn learn(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let (x, _) = factorise::features(training, Scaling::MinMax);
        let y = factorise::indicator(training.candidates);
        let graph = Affinity::new(&x, self.neighbours, WIDTH, true)?;
        // A hair less, so that 80 % of 5 is 4 whatever the rounding of 0.8.
        let k = ((self.rank_share * x.cols() as f64 - 1e-9).ceil() as usize).max(1);
        let mut rng = context.streams.stream("pml-fsso");
        let mut draw = |rows, cols| uniform(rows, cols, &mut rng);
        let (u, v, m) = (draw(x.rows(), k), draw(k, y.cols()), draw(k, x.cols()));
        let mut f = Factors { u, v, m };
        let data = Data { xy: product_t(&x, &y), square: square(&x), x, y, graph };
        let stop = Stop { sweeps: self.sweeps, tolerance: self.tolerance };
        let objective = descend(context, Self::NAME, stop, || self.sweep(&data, &mut f))?;
        Ok(factorise::selection(&f.weights(), objective))
    }

    fn alternatives(&self) -> Vec<Value> {
        decades(self, &["alpha", "beta", "theta"])
    }
}

/// What does not change.
struct Data {
    x: Mat<f64>,
    y: Mat<f64>,
    /// XᵀY.
    xy: Mat<f64>,
    /// ‖X‖².
    square: f64,
    graph: Affinity,
}

/// The unknowns.
struct Factors {
    u: Mat<f64>,
    v: Mat<f64>,
    m: Mat<f64>,
}

impl Factors {
    /// W = Mᵀ V.
    fn weights(&self) -> Mat<f64> {
        product_t(&self.m, &self.v)
    }
}

impl PmlFsso {
    /// All updates once. Returns the objective. Products are ordered so that none is n × n or d × d.
    fn sweep(&self, data: &Data, f: &mut Factors) -> f64 {
        let Data { x, y, .. } = data;
        let old = f.weights();
        let weights = reweighting(&old);
        let old_fit = fit(x, &old);
        // V ← V ∘ (M XᵀY + α UᵀY) / (M (XᵀX W + 2θ D W) + α UᵀU V)
        let numerator = plus(product(f.m.view(), data.xy.view()), self.alpha, &product_t(&f.u, y));
        let code = product_t(&f.u, &product(f.u.view(), f.v.view()));
        let pull = plus(old_fit.clone(), 2.0 * self.theta, &scale_rows(&old, &weights));
        let denominator = plus(product(f.m.view(), pull.view()), self.alpha, &code);
        update(&mut f.v, &numerator, &denominator);
        self.update_u(data, f);
        // M ← M ∘ (V YᵀX + β UᵀX) / (V (XᵀX W + 2θ D W)ᵀ + β UᵀU M)
        let w = f.weights();
        let (fit, weights) = match self.refresh {
            true => (fit(x, &w), reweighting(&w)),
            false => (old_fit, weights),
        };
        let pull = plus(fit, 2.0 * self.theta, &scale_rows(&w, &weights));
        let (ux, gram) = (product_t(&f.u, x), product_t(&f.u, &f.u));
        let numerator = plus(product_of_t(&f.v, &data.xy), self.beta, &ux);
        let denominator =
            plus(product_of_t(&f.v, &pull), self.beta, &product(gram.view(), f.m.view()));
        update(&mut f.m, &numerator, &denominator);
        // ‖X − UM‖² without its n × d residual: ‖X‖² − 2⟨UᵀX, M⟩ + ⟨UᵀU M, M⟩.
        let model = inner(&product(gram.view(), f.m.view()), &f.m);
        let fit = data.square - 2.0 * inner(&ux, &f.m) + model;
        self.beta * fit + self.other_terms(data, f)
    }

    /// U ← U ∘ (α Y Vᵀ + β X Mᵀ + γ S U) / (U (α V Vᵀ + β M Mᵀ) + γ A U).
    fn update_u(&self, data: &Data, f: &mut Factors) {
        let labels = scaled(product_of_t(&data.y, &f.v), self.alpha);
        let both = plus(labels, self.beta, &product_of_t(&data.x, &f.m));
        let numerator = plus(both, self.gamma, &data.graph.weigh(&f.u));
        let gram = plus(
            scaled(product_of_t(&f.v, &f.v), self.alpha),
            self.beta,
            &product_of_t(&f.m, &f.m),
        );
        let denominator =
            plus(product(f.u.view(), gram.view()), self.gamma, &data.graph.degree(&f.u));
        update(&mut f.u, &numerator, &denominator);
    }

    /// The objective without ‖X − UM‖².
    fn other_terms(&self, data: &Data, f: &Factors) -> f64 {
        let w = f.weights();
        distance(&product(data.x.view(), w.view()), &data.y)
            + self.alpha * distance(&data.y, &product(f.u.view(), f.v.view()))
            + self.gamma * data.graph.penalty(&f.u)
            + 2.0 * self.theta * norm_21(&w)
    }
}

/// Xᵀ X W.
fn fit(x: &Mat<f64>, w: &Mat<f64>) -> Mat<f64> {
    product_t(x, &product(x.view(), w.view()))
}

#[cfg(test)]
mod tests {
    use super::super::factorise::{row_norms, tests::assert_falls};
    use super::super::planted::{
        Planted, assert_close, assert_survives_bad_input, assert_thread_independent, golden,
        mean_hits, start,
    };
    use super::*;

    #[test]
    fn golden_numbers() {
        let (x, y) = golden();
        let y = factorise::indicator(&y);
        let graph = Affinity::new(&x, 2, WIDTH, true).unwrap();
        let data = Data { xy: product_t(&x, &y), square: square(&x), x, y, graph };
        let run = |refresh| {
            let method = PmlFsso { gamma: 0.1, theta: 0.1, refresh, ..PmlFsso::default() };
            let (u, v, m) = (start(5, 4, 3, 5), start(4, 3, 4, 7), start(4, 4, 6, 1));
            let mut f = Factors { u, v, m };
            let fit = distance(&data.x, &product(f.u.view(), f.m.view()));
            let mut all = vec![fit + method.other_terms(&data, &f)];
            all.extend((0..300).map(|_| method.sweep(&data, &mut f)));
            ([all[0], all[1], all[2], all[10], all[300]], row_norms(&f.weights()))
        };
        let (f, scores) = run(true);
        assert_close(&f, &[60.948132, 11.614353, 9.391532, 4.300035, 2.716612]);
        assert_close(&scores, &[1.103425, 0.875075, 0.895208, 0.253238]);
        let (f, scores) = run(false);
        assert_close(&f, &[60.948132, 14.025984, 9.050286, 4.227269, 2.721273]);
        assert_close(&scores, &[1.100260, 0.829445, 0.893274, 0.290471]);
    }

    #[test]
    fn finds_planted_features() {
        assert!(mean_hits(&PmlFsso::default(), Planted::positive) >= 8.0);
        mean_hits(&PmlFsso::default(), Planted::signed);
    }

    #[test]
    fn the_objective_falls_on_real_sets() {
        for (name, sweeps) in [("yeast", 30), ("emotions", 30), ("bibtex", 4)] {
            let method = PmlFsso { sweeps, ..PmlFsso::default() };
            assert_falls(name, &Planted::real(name).fit(&method, 0).objective);
        }
    }

    #[test]
    fn survives_bad_input_and_any_number_of_threads() {
        assert_survives_bad_input(&PmlFsso::default());
        assert_thread_independent(&PmlFsso::default(), &Planted::positive(1));
    }
}
