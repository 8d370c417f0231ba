//! PML-FSMIR: labels re-weighted by their mutual information, then a low-rank regression.
//!
//! ```text
//! Z_ij = I(y_i; y_j),  T = (Y Z) ∘ Y / max,  S_ij = I(t_i; t_j),  A = diag(S 1)
//! min  ‖X − U V‖² + α ‖U V W − T‖² + β tr(W (A − S) Wᵀ) + γ ‖W‖₂,₁
//! s.t. U (n × k), V (k × d), W (d × L) ≥ 0
//! ```
//!
//! Features are ranked by the row norms of W S: what is shared by well-connected labels wins.
//!
//! Source: Gao, Pan, Han, Liu, "Noise-resistant label reconstruction feature selection for partial
//! multi-label learning", IJCAI 2025, and its authors' program. The program holds five variants
//! without saying which one is meant; chosen is the one with both a factorisation and a label
//! reconstruction. Its printed value weights other terms than its updates do; the objective here is
//! that of the updates. W S is present there but commented out; `ranking = weights` leaves it away,
//! `ranking = feature-information` is the other alternative of the program.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::factorise::{
    self, Stop, descend, distance, inner, norm_21, plus, product, product_of_t, product_t,
    reweighted, scaled, square, uniform, update,
};
use super::learner::{Learner, decades};
use super::mutual_information::{Symbols, between};
use super::settings::{Settings, within};
use super::{Context, Fitted, Training};
use crate::Result;
use crate::data::Scaling;
use crate::linalg::Mat;

/// Settings of PML-FSMIR.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PmlFsmir {
    /// α: weight of the fit to the labels.
    pub alpha: f64,
    /// β: weight of the label graph.
    pub beta: f64,
    /// γ: weight of the sparsity of W.
    pub gamma: f64,
    /// k: rank of the factorisation; 0 for ⌊√d⌋.
    pub rank: usize,
    /// What the label graph S is made from.
    pub label_graph: LabelGraph,
    /// What features are ranked by.
    pub ranking: Ranking,
    /// Largest number of sweeps.
    pub sweeps: usize,
    /// Relative change of the objective that ends the sweeps. The program's 1e-3 ends them before
    /// W has told the features apart.
    pub tolerance: f64,
}

/// Columns whose mutual information is the label graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelGraph {
    /// Those of the reconstructed labels T, equal values being one symbol: as the program does.
    Reconstructed,
    /// Those of the candidates Y.
    Candidates,
}

/// Matrices whose row norms rank the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// W S.
    Connected,
    /// W.
    Weights,
    /// W ∘ I(x; y).
    FeatureInformation,
}

impl Default for PmlFsmir {
    fn default() -> Self {
        PmlFsmir {
            alpha: 1.0,
            beta: 1.0,
            gamma: 10.0,
            rank: 0,
            label_graph: LabelGraph::Reconstructed,
            ranking: Ranking::Connected,
            sweeps: 1000,
            tolerance: 1e-4,
        }
    }
}

impl Settings for PmlFsmir {
    fn check(&self) -> Result<()> {
        within("alpha", self.alpha, 0.0, 1e6)?;
        within("beta", self.beta, 0.0, 1e6)?;
        within("gamma", self.gamma, 0.0, 1e6)?;
        within("rank", self.rank as f64, 0.0, 10_000.0)?;
        within("sweeps", self.sweeps as f64, 1.0, 1e6)?;
        within("tolerance", self.tolerance, 0.0, 1.0)
    }
}

impl Learner for PmlFsmir {
    const NAME: &'static str = "pml-fsmir";

    fn learn(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let (x, _) = factorise::features(training, Scaling::MinMax);
        let y = factorise::indicator(training.candidates);
        let labels = Labelling::new(&y, self.label_graph);
        let (n, d) = (x.rows(), x.cols());
        let k = if self.rank == 0 { d.isqrt() } else { self.rank };
        let mut rng = context.streams.stream("pml-fsmir");
        let mut draw = |rows, cols| uniform(rows, cols, &mut rng);
        let (u, v, w) = (draw(n, k), draw(k, d), draw(d, y.cols()));
        let mut f = Factors { u, v, w };
        let stop = Stop { sweeps: self.sweeps, tolerance: self.tolerance };
        let objective = descend(context, Self::NAME, stop, || self.sweep(&x, &labels, &mut f))?;
        let ranked = match self.ranking {
            Ranking::Connected => product(f.w.view(), labels.s.view()),
            Ranking::Weights => f.w,
            Ranking::FeatureInformation => {
                let mut w = between(&Symbols::columns(&x), &Symbols::columns(&y));
                crate::num::mul_assign(w.as_mut_slice(), f.w.as_slice());
                w
            }
        };
        Ok(factorise::selection(&ranked, objective))
    }

    fn alternatives(&self) -> Vec<Value> {
        decades(self, &["alpha", "beta", "gamma"])
    }
}

/// The reconstructed labels and their graph.
struct Labelling {
    /// T.
    t: Mat<f64>,
    /// S.
    s: Mat<f64>,
    /// The diagonal of A.
    a: Vec<f64>,
}

impl Labelling {
    fn new(y: &Mat<f64>, graph: LabelGraph) -> Self {
        let z = information(y);
        let t = reconstruct(y, &z);
        let s = match graph {
            LabelGraph::Reconstructed => information(&t),
            LabelGraph::Candidates => z,
        };
        let a = (0..s.rows()).map(|j| s.row(j).iter().sum()).collect();
        Labelling { t, s, a }
    }
}

/// Mutual information of all pairs of columns.
fn information(m: &Mat<f64>) -> Mat<f64> {
    let columns = Symbols::columns(m);
    between(&columns, &columns)
}

/// T = (Y Z) ∘ Y, divided by its largest entry; Y where all labels are constant. The program
/// subtracts the smallest entry first, which is 0 unless every label is a candidate everywhere.
fn reconstruct(y: &Mat<f64>, z: &Mat<f64>) -> Mat<f64> {
    let mut t = product(y.view(), z.view());
    crate::num::mul_assign(t.as_mut_slice(), y.as_slice());
    let largest = t.as_slice().iter().copied().fold(0.0, f64::max);
    if largest > 0.0 { scaled(t, 1.0 / largest) } else { y.clone() }
}

/// The unknowns.
struct Factors {
    u: Mat<f64>,
    v: Mat<f64>,
    w: Mat<f64>,
}

impl PmlFsmir {
    /// All updates once. Returns the objective. Products are ordered so that none is n × n or d × d.
    fn sweep(&self, x: &Mat<f64>, labels: &Labelling, f: &mut Factors) -> f64 {
        let t = &labels.t;
        // U ← U ∘ (X Vᵀ + α T (VW)ᵀ) / (U (V Vᵀ + α VW (VW)ᵀ))
        let vw = product(f.v.view(), f.w.view());
        let numerator = plus(product_of_t(x, &f.v), self.alpha, &product_of_t(t, &vw));
        let gram = plus(product_of_t(&f.v, &f.v), self.alpha, &product_of_t(&vw, &vw));
        let denominator = product(f.u.view(), gram.view());
        update(&mut f.u, &numerator, &denominator);
        // V ← V ∘ (UᵀX + α UᵀT Wᵀ) / (G V + α G VW Wᵀ), G = UᵀU
        let gram = product_t(&f.u, &f.u);
        let (ux, ut) = (product_t(&f.u, x), product_t(&f.u, t));
        let numerator = plus(ux.clone(), self.alpha, &product_of_t(&ut, &f.w));
        let gram_vw = product(gram.view(), vw.view());
        let denominator =
            plus(product(gram.view(), f.v.view()), self.alpha, &product_of_t(&gram_vw, &f.w));
        update(&mut f.v, &numerator, &denominator);
        // W ← W ∘ (α VᵀUᵀT + β W S) / (α Vᵀ G V W + β W A + γ D W)
        let numerator = plus(
            scaled(product_t(&f.v, &ut), self.alpha),
            self.beta,
            &product(f.w.view(), labels.s.view()),
        );
        let gram_vw = product(gram.view(), product(f.v.view(), f.w.view()).view());
        let fit = scaled(product_t(&f.v, &gram_vw), self.alpha);
        let degrees = Mat::from_fn(f.w.rows(), f.w.cols(), |i, j| f.w[(i, j)] * labels.a[j]);
        let denominator = plus(plus(fit, self.beta, &degrees), self.gamma, &reweighted(&f.w));
        update(&mut f.w, &numerator, &denominator);
        // ‖X − UV‖² without its n × d residual: ‖X‖² − 2⟨UᵀX, V⟩ + ⟨G V, V⟩.
        let model = inner(&product(gram.view(), f.v.view()), &f.v);
        square(x) - 2.0 * inner(&ux, &f.v) + model + self.label_terms(labels, f)
    }

    /// The objective without ‖X − UV‖².
    fn label_terms(&self, labels: &Labelling, f: &Factors) -> f64 {
        let predicted = product(f.u.view(), product(f.v.view(), f.w.view()).view());
        let squares = (0..f.w.rows()).flat_map(|i| f.w.row(i).iter().zip(&labels.a));
        let degrees: f64 = squares.map(|(w, a)| w * w * a).sum();
        let graph = degrees - inner(&product(f.w.view(), labels.s.view()), &f.w);
        self.alpha * distance(&predicted, &labels.t)
            + self.beta * graph
            + self.gamma * norm_21(&f.w)
    }
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
        let labels = Labelling::new(&y, LabelGraph::Reconstructed);
        #[rustfmt::skip]
        assert_close(information(&y).as_slice(), &[
            0.970951, 0.419973, 0.019973,
            0.419973, 0.970951, 0.019973,
            0.019973, 0.019973, 0.970951,
        ]);
        #[rustfmt::skip]
        assert_close(labels.t.as_slice(), &[
            0.712421, 0.0, 0.712421,
            0.698062, 0.0, 0.0,
            0.0, 0.712421, 0.712421,
            0.0, 0.698062, 0.0,
            1.0, 1.0, 0.0,
        ]);
        #[rustfmt::skip]
        assert_close(labels.s.as_slice(), &[
            1.921928, 1.521928, 0.570951,
            1.521928, 1.921928, 0.570951,
            0.570951, 0.570951, 0.970951,
        ]);
        let method = PmlFsmir { beta: 0.1, gamma: 0.1, ..PmlFsmir::default() };
        let (u, v, w) = (start(5, 2, 3, 5), start(2, 4, 4, 7), start(4, 3, 6, 1));
        let mut f = Factors { u, v, w };
        let fit = distance(&x, &product(f.u.view(), f.v.view()));
        let mut all = vec![fit + method.label_terms(&labels, &f)];
        all.extend((0..300).map(|_| method.sweep(&x, &labels, &mut f)));
        assert_close(
            &[all[0], all[1], all[2], all[10], all[300]],
            &[14.346917, 4.948115, 3.773286, 1.964358, 1.911456],
        );
        assert_close(&row_norms(&f.w), &[0.864433, 0.521943, 0.018706, 0.347740]);
        let connected = product(f.w.view(), labels.s.view());
        assert_close(&row_norms(&connected), &[2.753510, 1.538920, 0.066456, 1.027893]);
        // With the graph of the candidates S is Z.
        assert_eq!(Labelling::new(&y, LabelGraph::Candidates).s, information(&y));
    }

    #[test]
    fn finds_planted_features() {
        for ranking in [Ranking::Connected, Ranking::Weights, Ranking::FeatureInformation] {
            let method = PmlFsmir { ranking, ..PmlFsmir::default() };
            assert!(mean_hits(&method, Planted::positive) >= 8.0);
            mean_hits(&method, Planted::signed);
        }
    }

    /// Why the default tolerance is not the program's: W tells features apart late.
    #[test]
    fn the_program_stops_too_early() {
        let program = PmlFsmir { gamma: 1.0, tolerance: 1e-3, ..PmlFsmir::default() };
        let early = mean_hits(&program, Planted::positive);
        let late = mean_hits(&PmlFsmir { tolerance: 0.0, ..program }, Planted::positive);
        assert!(late > early + 2.0, "{early} {late}");
    }

    #[test]
    fn the_objective_falls_on_real_sets() {
        for name in ["yeast", "emotions", "bibtex"] {
            let method = PmlFsmir { sweeps: 30, ..PmlFsmir::default() };
            assert_falls(name, &Planted::real(name).fit(&method, 0).objective);
        }
    }

    #[test]
    fn survives_bad_input_and_any_number_of_threads() {
        assert_survives_bad_input(&PmlFsmir::default());
        assert_thread_independent(&PmlFsmir::default(), &Planted::positive(1));
    }
}
