//! The kernel form of PML-LD, for prediction.
//!
//! With a root C of the kernel matrix, C Cᵀ = K, the kernel form is the linear one with the columns
//! of C in place of the features: f = C W + b = K V + b with V = C⁻ᵀ W.

use crate::Result;
use crate::classify::{Prediction, check_width};
use crate::data::Scaler;
use crate::linalg::Mat;
use crate::method::Predictor;
use crate::method::factorise::{product, product_of_t};
use crate::method::linear_predictor::Rule;
use crate::num::{Real, dot};

/// k(x, z) = exp(−‖x − z‖² / (2 σ²)) with the training rows.
#[derive(Clone, Debug)]
pub(super) struct Rbf {
    /// The training rows.
    pub rows: Mat<f64>,
    /// σ: their mean distance; 1 where all coincide.
    width: f64,
}

impl Rbf {
    /// The kernel, and its matrix over the training rows.
    pub fn new(rows: Mat<f64>) -> (Self, Mat<f64>) {
        let squares = distances(&rows, &rows);
        let n = rows.rows();
        let total: f64 = squares.as_slice().iter().map(|d2| d2.sqrt()).sum();
        let mean = total / (n * (n - 1)).max(1) as f64;
        let rbf = Rbf { rows, width: if mean > 0.0 { mean } else { 1.0 } };
        let gram = rbf.of_distances(squares);
        (rbf, gram)
    }

    /// k of each row of `x` with each training row.
    fn with(&self, x: &Mat<f64>) -> Mat<f64> {
        self.of_distances(distances(x, &self.rows))
    }

    fn of_distances(&self, mut squares: Mat<f64>) -> Mat<f64> {
        let factor = -0.5 / (self.width * self.width);
        squares.as_mut_slice().iter_mut().for_each(|v| *v = Real::exp(*v * factor));
        squares
    }
}

/// ‖a_i − b_j‖² as ‖a_i‖² + ‖b_j‖² − 2 a_i·b_j, at least 0.
fn distances(a: &Mat<f64>, b: &Mat<f64>) -> Mat<f64> {
    let norms =
        |m: &Mat<f64>| -> Vec<f64> { (0..m.rows()).map(|i| dot(m.row(i), m.row(i))).collect() };
    let (na, nb) = (norms(a), norms(b));
    let mut out = product_of_t(a, b);
    for i in 0..out.rows() {
        for (v, square) in out.row_mut(i).iter_mut().zip(&nb) {
            *v = (na[i] + square - 2.0 * *v).max(0.0);
        }
    }
    out
}

/// The softmax of K V + b.
#[derive(Clone, Debug)]
pub(super) struct KernelPredictor {
    pub scaler: Scaler,
    pub rbf: Rbf,
    /// V, n × L.
    pub weights: Mat<f64>,
    pub bias: Vec<f64>,
}

impl Predictor for KernelPredictor {
    fn predict(&self, x: &Mat<f32>) -> Result<Prediction> {
        let x: Mat<f64> = x.cast();
        check_width(&x, self.rbf.rows.cols())?;
        let rows: Vec<usize> = (0..x.rows()).collect();
        let kernel = self.rbf.with(&self.scaler.apply(&x, &rows));
        let mut outputs = product(kernel.view(), self.weights.view());
        for i in rows {
            crate::num::add_assign(outputs.row_mut(i), &self.bias);
        }
        Rule::Distribution.decide(outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kernel, PmlLd, regress};
    use super::*;
    use crate::method::planted::{Planted, assert_close, start};
    use crate::num::squared_distance;

    #[test]
    fn kernel_matrix_and_its_root() {
        let x = start(6, 3, 3, 5);
        let (rbf, gram) = Rbf::new(x.clone());
        let pairs = (0..6).flat_map(|i| (0..i).map(move |j| (i, j)));
        let sum: f64 = pairs.map(|(i, j)| squared_distance(x.row(i), x.row(j)).sqrt()).sum();
        assert_close(&[rbf.width], &[sum / 15.0]);
        let d2 = squared_distance(x.row(1), x.row(4));
        assert_close(&[gram[(1, 4)]], &[libm::exp(-0.5 * d2 / (rbf.width * rbf.width))]);
        let root = regress::square_root(gram.clone());
        assert_close(product_of_t(&root, &root).as_slice(), gram.as_slice());
        // V = C⁻ᵀ W: the same outputs.
        let w = start(6, 2, 4, 7);
        let outputs = product(root.view(), w.view());
        let same = product(gram.view(), regress::duals(&root, &w).view());
        assert_close(same.as_slice(), outputs.as_slice());
    }

    /// The ranking is that of the linear form; the predictor is another one, and it learned.
    #[test]
    fn only_the_predictor_changes() {
        let set = Planted::positive(4).first(150);
        let linear = set.fit(&PmlLd::default(), 0);
        let kernel = set.fit(&PmlLd { kernel: Kernel::Rbf, ..PmlLd::default() }, 0);
        assert_eq!(linear.ranking, kernel.ranking);
        let predict =
            |f: &crate::method::Fitted| f.predictor.as_ref().unwrap().predict(&set.x).unwrap();
        let (a, b) = (predict(&linear), predict(&kernel));
        assert_ne!(a.scores, b.scores);
        for p in [a, b] {
            assert!(p.labels.hamming_distance(&set.candidates) < 0.3);
        }
    }
}
