//! The features of a linear model, dense or sparse: the two products that its solver needs.

use crate::linalg::{Acc, Mat, gemm};
use crate::num::{axpy, vectorize};

/// Share of non-zero entries up to which rows are kept sparse.
pub const SPARSE_BELOW: f64 = 0.2;

/// n × d features.
#[derive(Clone, Debug)]
pub enum Features {
    /// All values.
    Dense(Mat<f64>),
    /// Entries `starts[i]..starts[i + 1]` belong to row i.
    Sparse {
        /// Where each row begins, and the end of the last.
        starts: Vec<usize>,
        /// Column of each entry.
        columns: Vec<u32>,
        /// Value of each entry.
        values: Vec<f64>,
        /// Number of columns d.
        cols: usize,
    },
}

impl Features {
    /// Sparse when at most a fifth of the entries is not zero.
    pub fn new(x: &Mat<f32>) -> Self {
        if !is_sparse(x) {
            return Features::Dense(x.cast());
        }
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in x.rows_iter() {
            for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                columns.push(j as u32);
                values.push(f64::from(v));
            }
            starts.push(columns.len());
        }
        Features::Sparse { starts, columns, values, cols: x.cols() }
    }

    /// Number of rows n.
    pub fn rows(&self) -> usize {
        match self {
            Features::Dense(x) => x.rows(),
            Features::Sparse { starts, .. } => starts.len() - 1,
        }
    }

    /// Number of columns d.
    pub fn cols(&self) -> usize {
        match self {
            Features::Dense(x) => x.cols(),
            Features::Sparse { cols, .. } => *cols,
        }
    }

    /// out = X·W, n × L, from the first d rows of `w`.
    pub fn times(&self, out: &mut Mat<f64>, w: &Mat<f64>) {
        match self {
            Features::Dense(x) => {
                gemm(Acc::Set, out.view_mut(), x.view(), w.view().slice_rows(0, x.cols()));
            }
            Features::Sparse { starts, columns, values, .. } => {
                vectorize(
                    #[inline(always)]
                    || {
                        for i in 0..out.rows() {
                            let row = out.row_mut(i);
                            row.fill(0.0);
                            for k in starts[i]..starts[i + 1] {
                                axpy(row, values[k], w.row(columns[k] as usize));
                            }
                        }
                    },
                );
            }
        }
    }

    /// The first d rows of `out` = Xᵀ·G.
    pub fn transposed_times(&self, out: &mut Mat<f64>, g: &Mat<f64>) {
        match self {
            Features::Dense(x) => {
                let d = x.cols();
                gemm(Acc::Set, out.view_mut().slice_rows(0, d), x.view().t(), g.view());
            }
            Features::Sparse { starts, columns, values, cols } => {
                out.as_mut_slice()[..cols * g.cols()].fill(0.0);
                vectorize(
                    #[inline(always)]
                    || {
                        for i in 0..g.rows() {
                            for k in starts[i]..starts[i + 1] {
                                axpy(out.row_mut(columns[k] as usize), values[k], g.row(i));
                            }
                        }
                    },
                );
            }
        }
    }
}

/// At most a fifth of the entries is not zero.
pub fn is_sparse(x: &Mat<f32>) -> bool {
    let filled = x.as_slice().iter().filter(|v| **v != 0.0).count();
    filled as f64 <= SPARSE_BELOW * x.as_slice().len() as f64
}

/// Rows scaled to length √d, so that the mean square of an entry is 1; rows of zeros stay.
pub fn rows_to_unit_scale(x: &Mat<f32>) -> Mat<f32> {
    let mut scaled = x.clone();
    for i in 0..x.rows() {
        let row = scaled.row_mut(i);
        let squares: f64 = row.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
        if squares > 0.0 {
            let factor = (x.cols() as f64 / squares).sqrt();
            row.iter_mut().for_each(|v| *v = (f64::from(*v) * factor) as f32);
        }
    }
    scaled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    #[test]
    fn sparse_and_dense_products_agree() {
        let mut r = Streams::new(4).stream("features");
        let x = Mat::from_fn(13, 9, |_, _| if r.bernoulli(0.1) { r.normal() as f32 } else { 0.0 });
        let (w, g) =
            (Mat::from_fn(9, 3, |_, _| r.normal()), Mat::from_fn(13, 3, |_, _| r.normal()));
        let (sparse, dense) = (Features::new(&x), Features::Dense(x.cast()));
        assert!(matches!(sparse, Features::Sparse { .. }));
        let products = |d: &Features| {
            let (mut u, mut t) = (Mat::zeros(13, 3), Mat::zeros(9, 3));
            d.times(&mut u, &w);
            d.transposed_times(&mut t, &g);
            (u, t)
        };
        let ((a, b), (c, d)) = (products(&sparse), products(&dense));
        let close = |x: &Mat<f64>, y: &Mat<f64>| {
            x.as_slice().iter().zip(y.as_slice()).all(|(a, b)| (a - b).abs() < 1e-12)
        };
        assert!(close(&a, &c) && close(&b, &d));
        let unit = rows_to_unit_scale(&x);
        for row in unit.rows_iter() {
            let squares: f32 = row.iter().map(|v| v * v).sum();
            assert!(squares == 0.0 || (squares - 9.0).abs() < 1e-4);
        }
    }
}
