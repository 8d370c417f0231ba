//! PML-LD: candidate sets become label distributions, and a regression learns these.
//!
//! Stage 1 ([`enhance`]), label enhancement, Φ = [X, 1], D = Φ Θ:
//!
//! ```text
//! min  ‖D − Y‖² + λ₁ tr(Dᵀ Lap D) + λ₂ Σ_g ‖D_g Z_g‖² + ρ ‖Θ‖²   s.t. rows of Z_g (L × L) have norm 1
//! ```
//!
//! Stage 2 ([`regress`]), multi-output support vector regression to δ_i = softmax(D_i), f_i = Wᵀx_i + b:
//!
//! ```text
//! min  ½ ‖W‖² + C₁ Σ_i max(‖δ_i − f_i‖ − ε, 0)² − C₂ Σ_ij s_ij f_ij
//! s_ij = 1 / |S_i| for candidates, −1 / (L − |S_i|) for others
//! ```
//!
//! Features are ranked by the row norms of W; the softmax of f predicts.
//!
//! Source: Xu, Liu, Geng, "Partial multi-label learning with label distribution", AAAI 2020, and its
//! authors' program, whose values are the defaults. Chosen here:
//!
//! * The linear form, since a ranking needs a weight per feature. The program's RBF kernel is at hand
//!   for the predictor ([`kernel`]): `kernel = rbf` learns both forms, the ranking stays linear.
//! * ρ ‖Θ‖² makes the linear form well-posed; Θ is solved for by conjugate gradients, the program
//!   takes a few steps of steepest descent.
//! * The program halves the C₁ term in the loss that it prints, not in its updates; here the loss
//!   is that of the updates. Its updates leave s out for rows within ε, the loss does not; nor here.
//! * A row without candidates counts in the graph and in stage 1, not in stage 2.
//! * `targets = candidates` restricts the softmax to the candidate labels: others are certainly wrong.
//! * A predicted label is on where its output lies above the mean of the row. The program takes the
//!   fewest labels that hold a tenth of the distribution, which is hardly ever more than one.

mod enhance;
mod kernel;
mod regress;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::enhance::Enhancement;
use self::kernel::{KernelPredictor, Rbf};
use self::regress::Regression;
use super::affinity::Affinity;
use super::confidence;
use super::factorise::{self, Stop, descend, row_norms};
use super::learner::{Learner, decades};
use super::linear_predictor::{LinearPredictor, Rule, softmax};
use super::settings::{Settings, within};
use super::{Context, Fitted, Predictor, Training, kmeans, rank};
use crate::Result;
use crate::data::{Labels, Scaling};
use crate::linalg::Mat;

/// Settings of PML-LD.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PmlLd {
    /// λ₁: weight of the neighbour graph.
    pub lambda1: f64,
    /// λ₂: weight of the label correlations; 0 leaves them out.
    pub lambda2: f64,
    /// ρ per row: weight of ‖Θ‖².
    pub rho: f64,
    /// Neighbours of a row, not counting itself.
    pub neighbours: usize,
    /// Width of the heat kernel of the graph.
    pub width: f64,
    /// Groups of rows (k-means), each with its own label correlations.
    pub groups: usize,
    /// How often label correlations and Θ are updated in turn.
    pub rounds: usize,
    /// Labels that share a row's distribution.
    pub targets: Targets,
    /// C₁: price of an error of the regression.
    pub c1: f64,
    /// C₂: how strongly outputs of candidates are pushed up and of others down.
    pub c2: f64,
    /// ε: errors that cost nothing.
    pub epsilon: f64,
    /// Form of the predictor.
    pub kernel: Kernel,
    /// Largest number of rounds of the regression.
    pub sweeps: usize,
    /// Relative change of the regression's loss that ends it.
    pub tolerance: f64,
}

/// Labels that share a row's distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Targets {
    /// All, as in the program.
    All,
    /// The row's candidates.
    Candidates,
}

/// Forms of the predictor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// Linear: the weights that rank the features.
    Linear,
    /// An RBF kernel, its width the mean distance of two rows, as in the program. Needs n² memory and
    /// n³ time, also for the confidences, which are then its own.
    Rbf,
}

impl Default for PmlLd {
    fn default() -> Self {
        PmlLd {
            lambda1: 0.01,
            lambda2: 0.01,
            rho: 1e-3,
            neighbours: 9,
            width: 10.0,
            groups: 100,
            rounds: 1,
            targets: Targets::All,
            c1: 1.0,
            c2: 50.0,
            epsilon: 0.1,
            kernel: Kernel::Linear,
            sweeps: 100,
            tolerance: 1e-6,
        }
    }
}

impl Settings for PmlLd {
    fn check(&self) -> Result<()> {
        within("lambda1", self.lambda1, 0.0, 1e6)?;
        within("lambda2", self.lambda2, 0.0, 1e6)?;
        within("rho", self.rho, 1e-9, 1e6)?;
        within("neighbours", self.neighbours as f64, 1.0, 1000.0)?;
        within("width", self.width, 1e-6, 1e6)?;
        within("groups", self.groups as f64, 1.0, 10_000.0)?;
        within("rounds", self.rounds as f64, 1.0, 1000.0)?;
        within("c1", self.c1, 1e-6, 1e6)?;
        within("c2", self.c2, 0.0, 1e6)?;
        within("epsilon", self.epsilon, 0.0, 10.0)?;
        within("sweeps", self.sweeps as f64, 1.0, 1e6)?;
        within("tolerance", self.tolerance, 0.0, 1.0)
    }
}

impl Learner for PmlLd {
    const NAME: &'static str = "pml-ld";

    /// `Fitted::objective` is the loss of the regression.
    fn learn(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let (x, scaler) = factorise::features(training, Scaling::ZScore);
        let candidates = training.candidates;
        let linear = self.stages(&x, &x, candidates, context)?;
        let (scores, objective) = (row_norms(&linear.weights), linear.losses.clone());
        let (estimates, predictor): (Mat<f64>, Arc<dyn Predictor>) = match self.kernel {
            Kernel::Linear => {
                let Learned { enhanced, weights, bias, .. } = linear;
                let rule = Rule::Distribution;
                (enhanced, Arc::new(LinearPredictor { scaler, weights, bias, rule }))
            }
            Kernel::Rbf => {
                let (rbf, gram) = Rbf::new(x);
                let root = regress::square_root(gram);
                let learned = self.stages(&rbf.rows, &root, candidates, context)?;
                let weights = regress::duals(&root, &learned.weights);
                let bias = learned.bias;
                (learned.enhanced, Arc::new(KernelPredictor { scaler, rbf, weights, bias }))
            }
        };
        let confidence = confidence::plausible(&estimates, candidates);
        Ok(Fitted {
            ranking: rank(&scores),
            pseudo: Some(confidence::hard(&confidence)),
            confidence: Some(confidence.cast()),
            predictor: Some(predictor),
            objective,
            ..Fitted::default()
        })
    }

    fn alternatives(&self) -> Vec<Value> {
        let mut changes = decades(self, &["lambda1", "c1", "c2"]);
        changes.push(json!({"c2": 0.0}));
        changes
    }
}

/// What both stages learned.
struct Learned {
    /// D.
    enhanced: Mat<f64>,
    /// W.
    weights: Mat<f64>,
    /// b.
    bias: Vec<f64>,
    /// Loss of stage 2 after each round.
    losses: Vec<f64>,
}

impl PmlLd {
    /// Both stages with the given `basis` for Φ: the features, or the columns of a kernel's root.
    /// Neighbours and groups are those of the features.
    fn stages(
        &self,
        x: &Mat<f64>,
        basis: &Mat<f64>,
        candidates: &Labels,
        context: &mut Context<'_>,
    ) -> Result<Learned> {
        let y = factorise::indicator(candidates);
        let graph = Affinity::new(x, self.neighbours, self.width, false)?;
        let groups = kmeans::groups(x, self.groups, &mut context.streams.stream("pml-ld/groups"));
        let mut stage1 = Enhancement::new(basis, &y, graph, groups, self);
        let enhanced = stage1.run(self.rounds, context)?;
        let used: Vec<usize> =
            (0..x.rows()).filter(|&i| candidates.row(i).contains(&true)).collect();
        let there = candidates.select_rows(&used);
        let degrees = distributions(&enhanced.select_rows(&used), &there, self.targets);
        let mut stage2 = Regression::new(&basis.select_rows(&used), degrees, &push(&there), self);
        let stop = Stop { sweeps: self.sweeps, tolerance: self.tolerance };
        let losses = descend(context, "pml-ld, regression", stop, || stage2.round())?;
        let (weights, bias) = stage2.map();
        Ok(Learned { enhanced, weights, bias, losses })
    }
}

/// δ: the softmax of each row of D over all labels or over the candidates, 0 elsewhere.
fn distributions(enhanced: &Mat<f64>, candidates: &Labels, targets: Targets) -> Mat<f64> {
    let mut out = Mat::zeros(enhanced.rows(), enhanced.cols());
    for i in 0..enhanced.rows() {
        let shares = |j: &usize| targets == Targets::All || candidates.get(i, *j);
        let members: Vec<usize> = (0..enhanced.cols()).filter(shares).collect();
        let mut degrees: Vec<f64> = members.iter().map(|&j| enhanced[(i, j)]).collect();
        softmax(&mut degrees);
        members.iter().zip(degrees).for_each(|(&j, degree)| out[(i, j)] = degree);
    }
    out
}

/// s: 1 / |S_i| for candidates, −1 / (L − |S_i|) for others.
fn push(candidates: &Labels) -> Mat<f64> {
    Mat::from_fn(candidates.rows(), candidates.cols(), |i, j| {
        let row = candidates.row(i);
        let alike = row.iter().filter(|on| **on == row[j]).count() as f64;
        if row[j] { 1.0 / alike } else { -1.0 / alike }
    })
}

#[cfg(test)]
mod tests {
    use super::super::factorise::tests::assert_falls;
    use super::super::planted::{
        Planted, assert_close, assert_survives_bad_input, assert_thread_independent, mean_hits,
    };
    use super::*;

    #[test]
    fn distributions_and_pushes() {
        let candidates = Labels::from_vec(2, 3, vec![true, false, true, true, true, true]);
        let d = Mat::from_vec(2, 3, vec![0.0, 9.0, 0.0, 1.0, 1.0, 1.0]);
        let among = distributions(&d, &candidates, Targets::Candidates);
        assert_close(among.as_slice(), &[0.5, 0.0, 0.5, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]);
        let all = distributions(&d, &candidates, Targets::All);
        assert!(all[(0, 1)] > 0.99 && (all.row(0).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let third = 1.0 / 3.0;
        assert_close(push(&candidates).as_slice(), &[0.5, -1.0, 0.5, third, third, third]);
    }

    #[test]
    fn finds_planted_features() {
        for targets in [Targets::All, Targets::Candidates] {
            let method = PmlLd { targets, ..PmlLd::default() };
            assert!(mean_hits(&method, Planted::positive) >= 8.0);
            assert!(mean_hits(&method, Planted::signed) >= 4.5);
        }
        mean_hits(&PmlLd { c2: 0.0, ..PmlLd::default() }, Planted::positive);
        mean_hits(&PmlLd { c2: 0.0, ..PmlLd::default() }, Planted::signed);
    }

    #[test]
    fn the_loss_falls_on_real_sets() {
        for (name, sweeps) in [("yeast", 30), ("emotions", 30), ("bibtex", 3)] {
            let method = PmlLd { sweeps, tolerance: 0.0, ..PmlLd::default() };
            assert_falls(name, &Planted::real(name).fit(&method, 0).objective);
        }
    }

    #[test]
    fn survives_bad_input_and_any_number_of_threads() {
        assert_survives_bad_input(&PmlLd::default());
        assert_survives_bad_input(&PmlLd { lambda2: 0.0, c2: 0.0, ..PmlLd::default() });
        assert_survives_bad_input(&PmlLd { kernel: Kernel::Rbf, ..PmlLd::default() });
        assert_thread_independent(&PmlLd::default(), &Planted::positive(1));
    }
}
