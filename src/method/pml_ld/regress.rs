//! Stage 2 of PML-LD: multi-output support vector regression by re-weighted least squares.
//!
//! With u_i = ‖δ_i − f_i‖ and a_i = 2 C₁ max(u_i − ε, 0) / u_i a round solves
//!
//! ```text
//! ([X 1]ᵀ diag(a) [X 1] + diag(1, …, 1, 1e-10)) Θ = [X 1]ᵀ (diag(a) δ + C₂ s)
//! ```
//!
//! and goes there as far as the loss does not rise. With more features than rows the columns of X
//! are replaced by those of C, where C Cᵀ = X Xᵀ: the same problem with n unknowns per label.

use super::PmlLd;
use super::enhance::with_ones;
use crate::linalg::Mat;
use crate::linalg::cholesky::cholesky;
use crate::method::factorise::{
    inner, plus, product, product_of_t, product_t, scale_rows, scaled, solve_rows, square,
};
use crate::num::{dot, squared_distance};

/// Below this errors count as this, so that none is divided by.
const SMALLEST: f64 = 1e-12;
/// Steps shorter than this are given up.
const SHORTEST: f64 = 1e-10;
/// On the diagonal of the system for b, which is not penalised.
const BIAS: f64 = 1e-10;
/// Relative to its mean diagonal, added to K, which may be singular.
const JITTER: f64 = 1e-10;

/// The problem and where it stands.
pub(super) struct Regression {
    /// [X 1], or [C 1].
    phi: Mat<f64>,
    /// X and C, if C takes its place.
    reduced: Option<(Mat<f64>, Mat<f64>)>,
    targets: Mat<f64>,
    /// C₂ s.
    push: Mat<f64>,
    c1: f64,
    epsilon: f64,
    /// W and, as the last row, b.
    theta: Mat<f64>,
    outputs: Mat<f64>,
    loss: f64,
}

impl Regression {
    /// Starts from W = 0 and b = 0.
    pub fn new(x: &Mat<f64>, targets: Mat<f64>, push: &Mat<f64>, settings: &PmlLd) -> Self {
        let reduced = (x.cols() > x.rows()).then(|| (x.clone(), square_root(product_of_t(x, x))));
        let phi = with_ones(reduced.as_ref().map_or(x, |(_, c)| c));
        let theta = Mat::zeros(phi.cols(), targets.cols());
        let outputs = Mat::zeros(targets.rows(), targets.cols());
        let push = scaled(push.clone(), settings.c2);
        let (c1, epsilon) = (settings.c1, settings.epsilon);
        let mut new =
            Regression { phi, reduced, targets, push, c1, epsilon, theta, outputs, loss: 0.0 };
        new.loss = new.loss_of(&new.theta, &new.outputs);
        new
    }

    fn loss_of(&self, theta: &Mat<f64>, outputs: &Mat<f64>) -> f64 {
        let bias = theta.row(theta.rows() - 1);
        let excess = (0..outputs.rows()).map(|i| (self.error(outputs, i) - self.epsilon).max(0.0));
        let errors: f64 = excess.map(|e| e * e).sum();
        0.5 * (square(theta) - dot(bias, bias)) + self.c1 * errors - inner(&self.push, outputs)
    }

    /// u_i.
    fn error(&self, outputs: &Mat<f64>, i: usize) -> f64 {
        squared_distance(outputs.row(i), self.targets.row(i)).sqrt()
    }

    /// One round. Returns the loss, which is the old one when no step lowers it.
    pub fn round(&mut self) -> f64 {
        let Some(goal) = self.goal() else { return self.loss };
        let way = plus(goal, -1.0, &self.theta);
        let change = product(self.phi.view(), way.view());
        let mut step = 1.0;
        while step >= SHORTEST {
            let theta = plus(self.theta.clone(), step, &way);
            let outputs = plus(self.outputs.clone(), step, &change);
            let loss = self.loss_of(&theta, &outputs);
            if loss <= self.loss {
                (self.theta, self.outputs, self.loss) = (theta, outputs, loss);
                break;
            }
            step /= 10.0;
        }
        self.loss
    }

    /// The solution of the re-weighted problem; None when no row has an error above ε.
    fn goal(&self) -> Option<Mat<f64>> {
        let weight = |i| {
            let u = self.error(&self.outputs, i);
            2.0 * self.c1 * (u - self.epsilon).max(0.0) / u.max(SMALLEST)
        };
        let a: Vec<f64> = (0..self.targets.rows()).map(weight).collect();
        if a.iter().all(|a| *a == 0.0) {
            return None;
        }
        let roots: Vec<f64> = a.iter().map(|a| a.sqrt()).collect();
        let weighted = scale_rows(&self.phi, &roots);
        let mut system = product_t(&weighted, &weighted);
        let last = system.rows() - 1;
        (0..last).for_each(|j| system[(j, j)] += 1.0);
        system[(last, last)] += BIAS;
        let right = plus(scale_rows(&self.targets, &a), 1.0, &self.push);
        let mut solution = product_t(&right, &self.phi);
        if !cholesky(&mut system) {
            return None;
        }
        solve_rows(&system, &mut solution);
        Some(solution.transposed())
    }

    /// W and b, for the features themselves.
    pub fn map(&self) -> (Mat<f64>, Vec<f64>) {
        let last = self.theta.rows() - 1;
        let bias = self.theta.row(last).to_vec();
        let mut w = self.theta.clone();
        w.set_rows(last);
        let w = match &self.reduced {
            None => w,
            Some((x, c)) => product_t(x, &duals(c, &w)),
        };
        (w, bias)
    }
}

/// C⁻ᵀ W = (C Cᵀ)⁻¹ C W: from weights of the columns of C to weights of the rows.
pub(super) fn duals(c: &Mat<f64>, w: &Mat<f64>) -> Mat<f64> {
    let mut rows = product_of_t(&w.transposed(), c);
    solve_rows(c, &mut rows);
    rows.transposed()
}

/// Lower triangular C with C Cᵀ = K (and a little on the diagonal), for K ⪰ 0.
pub(super) fn square_root(mut gram: Mat<f64>) -> Mat<f64> {
    let n = gram.rows();
    let trace: f64 = (0..n).map(|i| gram[(i, i)]).sum();
    let jitter = if trace > 0.0 { JITTER * trace / n as f64 } else { JITTER };
    (0..n).for_each(|i| gram[(i, i)] += jitter);
    assert!(cholesky(&mut gram), "positive definite");
    (0..n).for_each(|i| gram.row_mut(i)[i + 1..].fill(0.0));
    gram
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::factorise::{indicator, row_norms, tests::assert_falls};
    use crate::method::planted::{assert_close, golden, start};

    #[test]
    fn golden_numbers() {
        let (x, y) = golden();
        let y = indicator(&y);
        let shares: Vec<f64> = y.rows_iter().map(|row| 1.0 / row.iter().sum::<f64>()).collect();
        let none = Mat::zeros(5, 3);
        let mut r = Regression::new(&x, scale_rows(&y, &shares), &none, &PmlLd::default());
        let mut losses = vec![r.loss, r.round()];
        while losses[losses.len() - 2] - r.loss > 1e-6 * r.loss {
            losses.push(r.round());
        }
        assert_falls("stage 2", &losses);
        let shown = [losses[0], losses[1], losses[2], r.loss];
        assert_close(&shown, &[2.725736, 0.521462, 0.517912, 0.517216]);
        let (w, bias) = r.map();
        assert_close(&row_norms(&w), &[0.412758, 0.310686, 0.175074, 0.228197]);
        assert_close(&bias, &[0.496773, 0.407910, 0.095318]);
    }

    /// More features than rows: the same weights as from the full system.
    #[test]
    fn the_reduced_form_is_the_same_problem() {
        let (x, targets, push) = (start(6, 9, 3, 5), start(6, 2, 4, 7), start(6, 2, 5, 3));
        let settings = PmlLd { c2: 0.3, ..PmlLd::default() };
        let mut small = Regression::new(&x, targets.clone(), &push, &settings);
        assert!(small.reduced.is_some());
        // The same rows twice, each with half of the price: more rows than features.
        let twice = |m: &Mat<f64>| m.select_rows(&[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
        let halved = PmlLd { c1: 0.5, c2: 0.15, ..settings };
        let mut large = Regression::new(&twice(&x), twice(&targets), &twice(&push), &halved);
        assert!(large.reduced.is_none());
        for _ in 0..40 {
            let (a, b) = (small.round(), large.round());
            assert!((a - b).abs() <= 1e-6 * b.abs(), "{a} {b}");
        }
        assert_close(small.map().0.as_slice(), large.map().0.as_slice());
        assert_close(&small.map().1, &large.map().1);
    }
}
