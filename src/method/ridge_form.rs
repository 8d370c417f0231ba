//! A ridge problem in its cheaper form: with d weights per label, or, where the rows are fewer, with
//! one coefficient per row.
//!
//! (a XᵀX + γI)⁻¹ Xᵀ = Xᵀ (a XXᵀ + γI)⁻¹, so every iterate W of a method that solves such systems
//! with right-hand sides XᵀR is W = XᵀA for some A. Either way there are coefficients A with p rows,
//! p = min(n, d), and a Gram matrix of size p.

use nalgebra::linalg::SymmetricTridiagonal;
use nalgebra::{DMatrix, SymmetricEigen};

use super::factorise::product;
use crate::linalg::Mat;
use crate::linalg::cholesky::{cholesky, solve_many};
use crate::{Error, Result};

/// Features, and their Gram matrix.
pub(super) struct RidgeForm {
    /// n × d, the bias being a feature.
    x: Mat<f64>,
    /// W = XᵀA instead of W = A.
    dual: bool,
    /// XᵀX, or XXᵀ in the dual form.
    gram: Mat<f64>,
}

impl RidgeForm {
    /// Picks the form.
    pub fn new(x: Mat<f64>) -> Self {
        let dual = x.cols() > x.rows();
        let gram = match dual {
            true => product(x.view(), x.view().t()),
            false => product(x.view().t(), x.view()),
        };
        RidgeForm { x, dual, gram }
    }

    /// p, the number of rows of the coefficients.
    pub fn size(&self) -> usize {
        self.gram.rows()
    }

    /// The right-hand side XᵀR of weights, or R of coefficients of rows.
    pub fn project(&self, r: &Mat<f64>) -> Mat<f64> {
        if self.dual { r.clone() } else { product(self.x.view().t(), r.view()) }
    }

    /// X W.
    pub fn outputs(&self, a: &Mat<f64>) -> Mat<f64> {
        product(if self.dual { self.gram.view() } else { self.x.view() }, a.view())
    }

    /// W, d × L.
    pub fn weights(&self, a: &Mat<f64>) -> Mat<f64> {
        if self.dual { product(self.x.view().t(), a.view()) } else { a.clone() }
    }

    /// ‖W‖², given the outputs X W.
    pub fn squared_norm(&self, a: &Mat<f64>, outputs: &Mat<f64>) -> f64 {
        // Dual: tr(Aᵀ XXᵀ A).
        let other = if self.dual { outputs } else { a };
        a.as_slice().iter().zip(other.as_slice()).map(|(v, w)| v * w).sum()
    }

    /// Cholesky factor of `factor` · Gram + `ridge` · I.
    pub fn factorise(&self, factor: f64, ridge: f64) -> Result<Factor> {
        let mut m = self.gram.clone();
        m.as_mut_slice().iter_mut().for_each(|v| *v *= factor);
        (0..m.rows()).for_each(|i| m[(i, i)] += ridge);
        match cholesky(&mut m) {
            true => Ok(Factor(m)),
            false => Err(Error::numeric(format!(
                "XᵀX with a ridge of {ridge} is not positive definite in f64"
            ))
            .hint("scale the features, or raise the ridge")),
        }
    }

    /// Gram = Q T Qᵀ: systems with any ridge then cost no more than products with Q.
    pub fn tridiagonal(&self) -> Tridiagonal {
        let (q, diagonal, off_diagonal) =
            SymmetricTridiagonal::new(to_nalgebra(&self.gram)).unpack();
        // nalgebra stores columns: what it calls Q is Qᵀ row by row.
        let size = self.size();
        Tridiagonal {
            qt: Mat::from_vec(size, size, q.as_slice().to_vec()),
            diagonal: diagonal.as_slice().to_vec(),
            off_diagonal: off_diagonal.as_slice().to_vec(),
        }
    }
}

/// [X, 1].
pub(super) fn with_bias(x: &Mat<f64>) -> Mat<f64> {
    let d = x.cols();
    Mat::from_fn(x.rows(), d + 1, |i, j| if j < d { x[(i, j)] } else { 1.0 })
}

/// Eigenvalues and eigenvectors (in the rows) of a small symmetric matrix.
pub(super) fn eigen(symmetric: &Mat<f64>) -> (Vec<f64>, Mat<f64>) {
    let found = SymmetricEigen::new(to_nalgebra(symmetric));
    let size = symmetric.rows();
    let vectors = Mat::from_vec(size, size, found.eigenvectors.as_slice().to_vec());
    (found.eigenvalues.as_slice().to_vec(), vectors)
}

fn to_nalgebra(symmetric: &Mat<f64>) -> DMatrix<f64> {
    // Row by row or column by column is the same.
    DMatrix::from_column_slice(symmetric.rows(), symmetric.cols(), symmetric.as_slice())
}

/// A factorised system.
pub(super) struct Factor(Mat<f64>);

impl Factor {
    /// Solves for all columns.
    pub fn solve(&self, mut b: Mat<f64>) -> Mat<f64> {
        solve_many(&self.0, &mut b);
        b
    }
}

/// Q T Qᵀ with T tridiagonal.
pub(super) struct Tridiagonal {
    qt: Mat<f64>,
    diagonal: Vec<f64>,
    off_diagonal: Vec<f64>,
}

impl Tridiagonal {
    /// Solves (Gram + ridge · I) A = B, ridge > 0.
    pub fn solve(&self, ridge: f64, b: &Mat<f64>) -> Mat<f64> {
        let mut y = product(self.qt.view(), b.view());
        let size = self.diagonal.len();
        // T + ridge · I = L D Lᵀ, L with ones on and `lower` below the diagonal.
        let (mut pivot, mut lower) = (vec![0.0; size], vec![0.0; size]);
        for i in 0..size {
            pivot[i] = self.diagonal[i] + ridge;
            if i > 0 {
                lower[i] = self.off_diagonal[i - 1] / pivot[i - 1];
                pivot[i] -= lower[i] * self.off_diagonal[i - 1];
                subtract_row(&mut y, i, i - 1, lower[i]);
            }
        }
        for i in (0..size).rev() {
            y.row_mut(i).iter_mut().for_each(|v| *v /= pivot[i]);
            if i + 1 < size {
                subtract_row(&mut y, i, i + 1, lower[i + 1]);
            }
        }
        product(self.qt.view().t(), y.view())
    }
}

/// Row i −= l · row k.
fn subtract_row(y: &mut Mat<f64>, i: usize, k: usize, l: f64) {
    for c in 0..y.cols() {
        y[(i, c)] -= l * y[(k, c)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::planted::start;

    fn close(a: &Mat<f64>, b: &Mat<f64>) {
        for (a, b) in a.as_slice().iter().zip(b.as_slice()) {
            assert!((a - b).abs() < 1e-9, "{a}, expected {b}");
        }
    }

    /// Long and wide, both solvers, against the normal equations.
    #[test]
    fn both_forms_solve_the_ridge_problem() {
        for (n, d) in [(30, 5), (5, 30), (8, 8), (1, 3), (2, 1)] {
            let (x, r) = (start(n, d, 3, 5), start(n, 3, 7, 2));
            let x = with_bias(&x);
            let design = RidgeForm::new(x.clone());
            assert_eq!(design.size(), n.min(d + 1));
            let a = design.factorise(2.0, 0.5).unwrap().solve(design.project(&r));
            let w = design.weights(&a);
            close(&design.outputs(&a), &product(x.view(), w.view()));
            let squares: f64 = w.as_slice().iter().map(|v| v * v).sum();
            assert!((design.squared_norm(&a, &design.outputs(&a)) - squares).abs() < 1e-9);
            // 2 XᵀX W + ½ W = XᵀR.
            let mut left = product(x.view().t(), product(x.view(), w.view()).view());
            for (v, w) in left.as_mut_slice().iter_mut().zip(w.as_slice()) {
                *v = 2.0 * *v + 0.5 * w;
            }
            close(&left, &product(x.view().t(), r.view()));
            // The same system divided by 2.
            let mut again = design.tridiagonal().solve(0.25, &design.project(&r));
            again.as_mut_slice().iter_mut().for_each(|v| *v /= 2.0);
            close(&design.weights(&again), &w);
        }
    }

    #[test]
    fn eigenvectors_are_in_the_rows() {
        let x = start(9, 4, 3, 5);
        let gram = product(x.view().t(), x.view());
        let (values, vectors) = eigen(&gram);
        for (k, value) in values.iter().enumerate() {
            let v = Mat::from_vec(4, 1, vectors.row(k).to_vec());
            let mut scaled = v.clone();
            scaled.as_mut_slice().iter_mut().for_each(|x| *x *= value);
            close(&product(gram.view(), v.view()), &scaled);
        }
    }

    #[test]
    fn a_singular_system_is_refused() {
        let design = RidgeForm::new(Mat::zeros(4, 2));
        let e = design.factorise(1.0, 0.0).err().unwrap();
        assert_eq!(e.kind(), crate::ErrorKind::Numeric);
    }
}
