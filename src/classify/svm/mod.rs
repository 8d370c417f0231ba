//! Linear support vector machines, one per label, sharing the features.
//!
//! min over w of ½‖w‖² + Σ_i cost_i · loss(1 − s_i wᵀx̃_i),  s_i = ±1, x̃ = [x, B]; loss(z) = max(0, z)
//! or its square. The bias is the weight of the constant feature B and regularised like the others
//! (LIBLINEAR's -B, scikit-learn's intercept_scaling). A probability p instead of a label makes an
//! instance a positive with cost C·p and a negative with cost C·(1 − p).
//!
//! [`Solver::Auto`] takes dual coordinate descent for sparse rows and for dense ones wider than
//! long, Newton's method otherwise.

mod costs;
mod design;
mod dual;
mod newton;
mod penalty;
mod plane_search;
mod rows;
mod slots;

pub use costs::Costs;
pub use design::{Design, Sparse};

use self::rows::Rows;
use super::{Classifier, Model, Prediction, Targets, check_width};
use crate::data::choice::choice;
use crate::linalg::Mat;
use crate::rng::Streams;
use crate::{Error, Result};

/// What lies on the wrong side of the margin by z > 0 costs …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// z.
    Hinge,
    /// z².
    Squared,
}

choice!(Loss { Hinge => "l1", Squared => "l2" });

impl Loss {
    /// loss(z), 0 for z ≤ 0.
    #[inline(always)]
    pub fn value(self, z: f64) -> f64 {
        let z = if z > 0.0 { z } else { 0.0 };
        match self {
            Loss::Hinge => z,
            Loss::Squared => z * z,
        }
    }
}

/// Which algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// The faster one for the shape of the data.
    Auto,
    /// Dual coordinate descent.
    Dual,
    /// Newton's method in the primal.
    Newton,
}

/// When a solver stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Duality gap ≤ `gap` · objective.
    pub gap: f64,
    /// Passes over the data (dual) or Newton steps, whatever the gap.
    pub max_passes: usize,
}

impl Default for Stop {
    fn default() -> Self {
        Stop { gap: 1e-6, max_passes: 1000 }
    }
}

/// Score of a label that has one class only in the training data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstantLabel {
    /// −1 or +1: as sure as a support vector.
    Margin,
    /// 0 or 1, as scikit-learn: a label that never occurred outranks every negative margin.
    SklearnCompat,
}

choice!(ConstantLabel { Margin => "margin", SklearnCompat => "sklearn" });

impl ConstantLabel {
    /// The score of a label that is always or never there.
    pub(crate) fn score(self, positive: bool) -> f64 {
        match (self, positive) {
            (_, true) => 1.0,
            (ConstantLabel::Margin, false) => -1.0,
            (ConstantLabel::SklearnCompat, false) => 0.0,
        }
    }
}

/// A linear SVM per label.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearSvm {
    /// Cost of an error.
    pub c: f64,
    /// Hinge or squared hinge.
    pub loss: Loss,
    /// The constant feature B; None for no bias.
    pub bias: Option<f64>,
    /// Which algorithm.
    pub solver: Solver,
    /// When it stops.
    pub stop: Stop,
    /// Score of a label with one class only.
    pub constant: ConstantLabel,
}

impl Default for LinearSvm {
    fn default() -> Self {
        LinearSvm {
            c: 1.0,
            loss: Loss::Squared,
            bias: Some(1.0),
            solver: Solver::Auto,
            stop: Stop::default(),
            constant: ConstantLabel::Margin,
        }
    }
}

/// What a solver found, label after label.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Weights, L × d′, the bias last.
    pub weights: Mat<f64>,
    /// Primal minus dual objective.
    pub gap: Vec<f64>,
    /// Primal objective.
    pub objective: Vec<f64>,
    /// Passes or Newton steps.
    pub passes: Vec<usize>,
}

impl Solution {
    fn zeros(labels: usize, width: usize) -> Self {
        Solution {
            weights: Mat::zeros(labels, width),
            gap: vec![0.0; labels],
            objective: vec![0.0; labels],
            passes: vec![0; labels],
        }
    }
}

impl LinearSvm {
    /// Refuses settings without a meaning.
    fn check(&self) -> Result<()> {
        let wrong = |what: &str, value: f64| {
            Err(Error::config(format!("found {what} {value}, expected a positive number")))
        };
        let positive = |v: f64| v > 0.0 && v.is_finite();
        match self {
            s if !positive(s.c) => wrong("C", s.c),
            s if !positive(s.stop.gap) => wrong("a duality gap of", s.stop.gap),
            _ => Ok(()),
        }
    }

    /// Solves for the weights of every label; constant labels keep weights 0.
    pub fn solve(&self, rows: &Design, costs: &Costs, streams: &Streams) -> Solution {
        let labels = costs.varying();
        match (self.pick(rows), rows) {
            (Solver::Newton, Design::Dense(x)) => {
                newton::solve(Rows::Whole(x), costs, &labels, self.loss, self.stop)
            }
            _ => dual::solve(rows, costs, &labels, self.loss, self.stop, streams),
        }
    }

    /// Large features that Newton's method is to solve, without a copy of them.
    fn large<'a>(&self, x: &'a Mat<f64>, list: Option<&'a [usize]>) -> Option<Rows<'a>> {
        let newton = |rows: &Rows<'_>| match self.solver {
            Solver::Auto => is_long(rows.n(), rows.width()) && !rows.is_sparse(),
            Solver::Newton => true,
            Solver::Dual => false,
        };
        Rows::large(x, list, self.bias).filter(newton)
    }

    fn model(&self, costs: &Costs, solution: Solution) -> Box<dyn Model> {
        Box::new(LinearModel {
            constant: (0..costs.labels())
                .map(|j| costs.constant(j).map(|c| self.constant.score(c)))
                .collect(),
            bias: self.bias,
            solution,
        })
    }

    /// What `Auto` means for these rows.
    pub fn pick(&self, rows: &Design) -> Solver {
        match (self.solver, rows) {
            (Solver::Auto, Design::Dense(x)) if is_long(x.rows(), x.cols()) => Solver::Newton,
            (Solver::Auto, _) => Solver::Dual,
            (solver, _) => solver,
        }
    }
}

/// Dense rows up to this wide are solved by Newton's method even when they are few.
const WIDE: usize = 512;

fn is_long(rows: usize, cols: usize) -> bool {
    cols <= rows.max(WIDE)
}

impl Classifier for LinearSvm {
    fn name(&self) -> &'static str {
        "svm"
    }

    fn fit(&self, x: &Mat<f64>, targets: Targets<'_>, streams: &Streams) -> Result<Box<dyn Model>> {
        self.check()?;
        targets.check(x)?;
        let costs = Costs::new(targets, self.c);
        let solution = match self.large(x, None) {
            Some(rows) => newton::solve(rows, &costs, &costs.varying(), self.loss, self.stop),
            None => {
                let rows = match self.solver {
                    Solver::Newton => Design::dense(x, self.bias),
                    _ => Design::new(x, self.bias),
                };
                self.solve(&rows, &costs, streams)
            }
        };
        Ok(self.model(&costs, solution))
    }

    fn fit_rows(
        &self,
        x: &Mat<f64>,
        rows: &[usize],
        targets: Targets<'_>,
        streams: &Streams,
    ) -> Result<Box<dyn Model>> {
        let Some(large) = self.large(x, Some(rows)) else {
            return self.fit(&x.select_rows(rows), targets, streams);
        };
        self.check()?;
        targets.check_rows(x, rows.len())?;
        let costs = Costs::new(targets, self.c);
        let solution = newton::solve(large, &costs, &costs.varying(), self.loss, self.stop);
        Ok(self.model(&costs, solution))
    }
}

/// Weights, and the score of constant labels.
struct LinearModel {
    solution: Solution,
    constant: Vec<Option<f64>>,
    bias: Option<f64>,
}

impl Model for LinearModel {
    /// Label on when its margin is positive (as scikit-learn: strictly).
    fn predict(&self, x: &Mat<f64>) -> Result<Prediction> {
        let weights = &self.solution.weights;
        check_width(x, weights.cols() - usize::from(self.bias.is_some()))?;
        let mut scores = rows::margins(x, self.bias, weights);
        for (j, score) in self.constant.iter().enumerate() {
            if let Some(score) = score {
                (0..scores.rows()).for_each(|i| scores[(i, j)] = *score);
            }
        }
        Ok(Prediction::at_threshold(scores, 0.0, false))
    }
}

#[cfg(test)]
mod tests;
