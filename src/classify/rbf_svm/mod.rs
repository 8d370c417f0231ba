//! Support vector machines with the Gaussian kernel, one per label, by SMO; the labels share the
//! kernel.
//!
//! min over f of ½‖f‖² + Σ_i cost_i · max(0, 1 − s_i (f(x_i) + b)); the bias is not regularised, as
//! in LIBSVM. Confidences enter as in the linear machine: a positive of cost C·p and a negative of
//! cost C·(1 − p).

mod kernel;
mod smo;

use rayon::prelude::*;

use super::svm::{ConstantLabel, Costs};
use super::{Classifier, Model, Prediction, Targets, check_width};
use crate::linalg::{Acc, Mat, gemm_parallel};
use crate::rng::Streams;
use crate::{Error, Result};
use kernel::{Kernel, between};
use smo::{Machine, Variable};

/// A kernel machine per label.
#[derive(Clone, Debug, PartialEq)]
pub struct RbfSvm {
    /// Cost of an error.
    pub c: f64,
    /// Width of the kernel; None for 1 / (d · variance of X), scikit-learn's "scale".
    pub gamma: Option<f64>,
    /// Largest violation of the optimality conditions at the end.
    pub tolerance: f64,
    /// Most steps of two variables each.
    pub max_steps: usize,
    /// Score of a label with one class only.
    pub constant: ConstantLabel,
}

impl Default for RbfSvm {
    fn default() -> Self {
        RbfSvm {
            c: 1.0,
            gamma: None,
            tolerance: 1e-3,
            max_steps: 10_000_000,
            constant: ConstantLabel::Margin,
        }
    }
}

impl Classifier for RbfSvm {
    fn name(&self) -> &'static str {
        "rbf-svm"
    }

    fn fit(&self, x: &Mat<f64>, targets: Targets<'_>, _: &Streams) -> Result<Box<dyn Model>> {
        targets.check(x)?;
        let gamma = self.gamma.unwrap_or_else(|| scale(x));
        let positive = |v: f64| v > 0.0 && v.is_finite();
        if !positive(self.c) || !positive(gamma) {
            return Err(Error::config(format!(
                "found C = {} and gamma = {gamma}, expected positive numbers",
                self.c
            )));
        }
        let costs = Costs::new(targets, self.c);
        let kernel = Kernel::new(x, gamma);
        let machines: Vec<Machine> =
            (0..costs.labels()).into_par_iter().map(|j| self.solve(&kernel, &costs, j)).collect();
        // Only rows that are a support vector of some label are kept.
        let used = |i: &usize| machines.iter().any(|m| m.coefficients[*i] != 0.0);
        let support: Vec<usize> = (0..x.rows()).filter(used).collect();
        Ok(Box::new(RbfModel {
            coefficients: Mat::from_fn(support.len(), machines.len(), |k, j| {
                machines[j].coefficients[support[k]]
            }),
            bias: machines.iter().map(|m| m.bias).collect(),
            support: x.select_rows(&support),
            gamma,
        }))
    }
}

impl RbfSvm {
    fn solve(&self, kernel: &Kernel, costs: &Costs, j: usize) -> Machine {
        if let Some(class) = costs.constant(j) {
            return Machine {
                coefficients: vec![0.0; kernel.n()],
                bias: self.constant.score(class),
            };
        }
        let (sign, cost) = costs.terms(j);
        let terms = sign.into_iter().zip(cost).enumerate();
        let variables: Vec<Variable> = terms
            .filter(|(_, (_, upper))| *upper > 0.0)
            .map(|(t, (sign, upper))| Variable { row: t % kernel.n(), sign, upper })
            .collect();
        smo::solve(kernel, &variables, self.tolerance, self.max_steps)
    }
}

/// 1 / (d · variance of all entries); 1 for constant features.
fn scale(x: &Mat<f64>) -> f64 {
    let count = x.as_slice().len().max(1) as f64;
    let mean = x.as_slice().iter().sum::<f64>() / count;
    let square: f64 = x.as_slice().iter().map(|v| (v - mean) * (v - mean)).sum();
    let spread = x.cols() as f64 * square / count;
    if spread > 0.0 { 1.0 / spread } else { 1.0 }
}

/// Support vectors with a coefficient for each label.
struct RbfModel {
    support: Mat<f64>,
    coefficients: Mat<f64>,
    bias: Vec<f64>,
    gamma: f64,
}

impl Model for RbfModel {
    fn predict(&self, x: &Mat<f64>) -> Result<Prediction> {
        check_width(x, self.support.cols())?;
        let kernel = between(x, &self.support, self.gamma);
        let mut scores = Mat::from_fn(x.rows(), self.bias.len(), |_, j| self.bias[j]);
        gemm_parallel(Acc::Add, scores.view_mut(), kernel.view(), self.coefficients.view());
        Ok(Prediction::at_threshold(scores, 0.0, false))
    }
}

#[cfg(test)]
mod tests;
