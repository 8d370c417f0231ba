//! Stage 1 of PML-LD: label enhancement.
//!
//! With the correlations Z fixed, Θ solves the positive definite system
//!
//! ```text
//! Φᵀ(D + λ₁ Lap D) + λ₂ Σ_g Φ_gᵀ D_g Z_g Z_gᵀ + ρ Θ = Φᵀ Y,   D = Φ Θ
//! ```
//!
//! by conjugate gradients: only products with Φ and with the sparse Laplacian are needed. With Θ
//! fixed, Z_g takes projected gradient steps of length 1 / (2 tr C), C = D_gᵀ D_g: none raises ‖D_g Z_g‖².

use super::PmlLd;
use crate::linalg::{Acc, Mat, gemm};
use crate::method::Context;
use crate::method::affinity::Affinity;
use crate::method::factorise::{
    distance, inner, plus, product, product_of_t, product_t, scaled, square,
};
use crate::num::dot;
use crate::{Error, Result};

/// Conjugate gradients end at this relative residual,
const RESIDUAL: f64 = 1e-8;
/// or after so many steps.
const STEPS: usize = 200;
/// Gradient steps of Z per round.
const CORRELATION_STEPS: usize = 5;

/// The problem and its unknowns.
pub(super) struct Enhancement<'a> {
    /// Φ = [X, 1].
    phi: Mat<f64>,
    y: &'a Mat<f64>,
    graph: Affinity,
    groups: Vec<Vec<usize>>,
    lambda1: f64,
    lambda2: f64,
    rho: f64,
    theta: Mat<f64>,
    /// Z of each group; none while there are no correlations.
    z: Vec<Mat<f64>>,
    /// The objective after each step.
    pub history: Vec<f64>,
}

impl<'a> Enhancement<'a> {
    pub fn new(
        x: &Mat<f64>,
        y: &'a Mat<f64>,
        graph: Affinity,
        groups: Vec<Vec<usize>>,
        settings: &PmlLd,
    ) -> Self {
        Enhancement {
            phi: with_ones(x),
            y,
            graph,
            groups,
            lambda1: settings.lambda1,
            lambda2: settings.lambda2,
            rho: settings.rho * x.rows() as f64,
            theta: Mat::zeros(x.cols() + 1, y.cols()),
            z: Vec::new(),
            history: Vec::new(),
        }
    }

    /// Θ without correlations first, then `rounds` times the correlations and Θ with them.
    /// Returns D.
    pub fn run(&mut self, rounds: usize, context: &mut Context<'_>) -> Result<Mat<f64>> {
        let rounds = if self.lambda2 > 0.0 { rounds } else { 0 };
        let mut done = 0;
        let mut report = |context: &mut Context<'_>| {
            done += 1;
            match context.observer.progress("pml-ld, enhancement", done, 1 + rounds) {
                true => Ok(()),
                false => Err(Error::cancelled()),
            }
        };
        self.solve();
        report(context)?;
        if rounds > 0 {
            let mut rng = context.streams.stream("pml-ld/correlations");
            let labels = self.y.cols();
            let mut unit_rows = || {
                let mut z = Mat::from_fn(labels, labels, |_, _| rng.normal());
                normalise_rows(&mut z);
                z
            };
            self.z = self.groups.iter().map(|_| unit_rows()).collect();
        }
        self.history.push(self.objective());
        for _ in 0..rounds {
            self.correlate();
            self.history.push(self.objective());
            self.solve();
            self.history.push(self.objective());
            report(context)?;
        }
        Ok(self.enhanced())
    }

    /// D.
    fn enhanced(&self) -> Mat<f64> {
        product(self.phi.view(), self.theta.view())
    }

    fn objective(&self) -> f64 {
        let d = self.enhanced();
        let group = |(rows, z): (&Vec<usize>, &Mat<f64>)| {
            square(&product(d.select_rows(rows).view(), z.view()))
        };
        let correlation: f64 = self.groups.iter().zip(&self.z).map(group).sum();
        let bias = self.theta.row(self.theta.rows() - 1);
        distance(&d, self.y)
            + self.lambda1 * self.graph.penalty(&d)
            + self.lambda2 * correlation
            + self.rho * (square(&self.theta) - dot(bias, bias))
    }

    /// The left side of the system, for any Θ; `squares` are Z_g Z_gᵀ.
    fn apply(&self, theta: &Mat<f64>, squares: &[Mat<f64>]) -> Mat<f64> {
        let d = product(self.phi.view(), theta.view());
        let mut pull = plus(d.clone(), self.lambda1, &self.graph.laplacian(&d));
        for (rows, square) in self.groups.iter().zip(squares) {
            let part = product(d.select_rows(rows).view(), square.view());
            for (k, &i) in rows.iter().enumerate() {
                crate::num::axpy(pull.row_mut(i), self.lambda2, part.row(k));
            }
        }
        let mut out = product_t(&self.phi, &pull);
        let weights = self.phi.cols() - 1;
        for j in 0..weights {
            crate::num::axpy(out.row_mut(j), self.rho, theta.row(j));
        }
        out
    }

    /// Θ by conjugate gradients from the present Θ.
    fn solve(&mut self) {
        let squares: Vec<Mat<f64>> = self.z.iter().map(|z| product_of_t(z, z)).collect();
        let right = product_t(&self.phi, self.y);
        let enough = RESIDUAL * RESIDUAL * square(&right);
        let mut residual = plus(right, -1.0, &self.apply(&self.theta, &squares));
        let mut direction = residual.clone();
        let mut size = square(&residual);
        for _ in 0..STEPS {
            if size <= enough {
                break;
            }
            let image = self.apply(&direction, &squares);
            let step = size / inner(&direction, &image);
            self.theta = plus(std::mem::take(&mut self.theta), step, &direction);
            residual = plus(residual, -step, &image);
            let next = square(&residual);
            direction = plus(scaled(direction, next / size), 1.0, &residual);
            size = next;
        }
    }

    /// Z of each group by steps of projected gradient descent.
    fn correlate(&mut self) {
        let d = self.enhanced();
        for (rows, z) in self.groups.iter().zip(&mut self.z) {
            let part = d.select_rows(rows);
            let c = product_t(&part, &part);
            let trace: f64 = (0..c.rows()).map(|j| c[(j, j)]).sum();
            if trace <= 0.0 {
                continue;
            }
            let c = scaled(c, -1.0 / trace);
            for _ in 0..CORRELATION_STEPS {
                let before = z.clone();
                gemm(Acc::Add, z.view_mut(), c.view(), before.view());
                normalise_rows(z);
            }
        }
    }
}

/// [X, 1].
pub(super) fn with_ones(x: &Mat<f64>) -> Mat<f64> {
    let d = x.cols();
    Mat::from_fn(x.rows(), d + 1, |i, j| if j < d { x[(i, j)] } else { 1.0 })
}

/// Rows of norm 1; a row of zeros stays.
fn normalise_rows(z: &mut Mat<f64>) {
    for i in 0..z.rows() {
        let norm = dot(z.row(i), z.row(i)).sqrt();
        if norm > 0.0 {
            crate::num::scale(z.row_mut(i), 1.0 / norm);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Targets, distributions};
    use super::*;
    use crate::data::Scaling;
    use crate::method::Silent;
    use crate::method::factorise::{self, tests::assert_falls};
    use crate::method::kmeans;
    use crate::method::planted::{Planted, assert_close, golden};
    use crate::rng::Streams;

    fn run(stage1: &mut Enhancement<'_>, rounds: usize) -> Mat<f64> {
        let streams = Streams::new(0);
        stage1.run(rounds, &mut Context { streams, budget: 1, observer: &mut Silent }).unwrap()
    }

    #[test]
    fn golden_numbers() {
        let (x, labels) = golden();
        let y = factorise::indicator(&labels);
        let pairs = (0..5).flat_map(|i| (0..i).map(move |j| (i, j)));
        let distances = pairs.map(|(i, j)| crate::num::squared_distance(x.row(i), x.row(j)).sqrt());
        let width = distances.sum::<f64>() / 10.0;
        assert_close(&[width], &[0.983633]);
        let settings = PmlLd { lambda2: 0.0, rho: 1e-3 / 5.0, ..PmlLd::default() };
        let graph = Affinity::new(&x, 2, width, false).unwrap();
        let mut stage1 = Enhancement::new(&x, &y, graph, Vec::new(), &settings);
        let d = run(&mut stage1, 1);
        assert_close(&stage1.history, &[0.142626]);
        assert_close(d.row(0), &[1.009181, -0.013066, 0.903946]);
        assert_close(d.row(4), &[0.990093, 0.982136, 0.003626]);
        let degrees = distributions(&d, &labels, Targets::Candidates);
        assert_close(degrees.row(0), &[0.526284, 0.0, 0.473716]);
        assert_close(degrees.row(2), &[0.0, 0.504564, 0.495436]);
        assert_close(degrees.row(4), &[0.501989, 0.498011, 0.0]);
    }

    #[test]
    fn neither_step_raises_the_objective() {
        for name in ["yeast", "emotions", "bibtex"] {
            let set = Planted::real(name).first(400);
            let (x, _) = factorise::features(&set.training(), Scaling::ZScore);
            let y = factorise::indicator(&set.candidates);
            let settings = PmlLd { lambda2: 0.5, ..PmlLd::default() };
            let graph = Affinity::new(&x, 9, 10.0, false).unwrap();
            let groups = kmeans::groups(&x, 20, &mut Streams::new(0).stream("groups"));
            let mut stage1 = Enhancement::new(&x, &y, graph, groups, &settings);
            run(&mut stage1, 5);
            assert_eq!(stage1.history.len(), 11);
            assert_falls(name, &stage1.history);
        }
    }
}
