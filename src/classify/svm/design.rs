//! The instances of a linear model: dense or sparse rows with the bias as a last, constant column.

use crate::linalg::{Acc, Mat, gemm_parallel};
use crate::num::vectorize;

/// Share of non-zero entries up to which rows are kept sparse.
pub(super) const SPARSE_BELOW: f64 = 0.2;

/// n × d′ values, d′ = d + 1 with a bias and d without.
#[derive(Clone, Debug, PartialEq)]
pub enum Design {
    /// All values.
    Dense(Mat<f64>),
    /// Non-zero values only.
    Sparse(Sparse),
}

/// Compressed rows: entries `starts[i]..starts[i + 1]` belong to row i.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    pub(super) starts: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f64>,
    cols: usize,
}

impl Design {
    /// Appends the bias and picks the storage: sparse when at most a fifth of `x` is non-zero.
    pub fn new(x: &Mat<f64>, bias: Option<f64>) -> Self {
        match Design::is_sparse(x) {
            true => Design::Sparse(Sparse::new(x, bias, filled(x))),
            false => Design::dense(x, bias),
        }
    }

    /// Whether at most a fifth of `x` is non-zero.
    pub(super) fn is_sparse(x: &Mat<f64>) -> bool {
        filled(x) as f64 <= SPARSE_BELOW * x.as_slice().len() as f64
    }

    /// Appends the bias and stores every value.
    pub fn dense(x: &Mat<f64>, bias: Option<f64>) -> Self {
        let d = x.cols();
        let width = d + usize::from(bias.is_some());
        let mut all = Mat::zeros(x.rows(), width);
        for i in 0..x.rows() {
            let row = all.row_mut(i);
            row[..d].copy_from_slice(x.row(i));
            row[d..].fill(bias.unwrap_or_default());
        }
        Design::Dense(all)
    }

    /// Number of rows n.
    pub fn n(&self) -> usize {
        match self {
            Design::Dense(x) => x.rows(),
            Design::Sparse(s) => s.starts.len() - 1,
        }
    }

    /// Number of columns d′.
    pub fn width(&self) -> usize {
        match self {
            Design::Dense(x) => x.cols(),
            Design::Sparse(s) => s.cols,
        }
    }

    /// Margins X·Wᵀ, n × L, for weights W of shape L × d′.
    pub fn margins(&self, weights: &Mat<f64>) -> Mat<f64> {
        let mut out = Mat::zeros(self.n(), weights.rows());
        match self {
            Design::Dense(x) => {
                gemm_parallel(Acc::Set, out.view_mut(), x.view(), weights.view().t());
            }
            Design::Sparse(s) => {
                let by_column = weights.transposed();
                vectorize(
                    #[inline(always)]
                    || {
                        for i in 0..self.n() {
                            let row = out.row_mut(i);
                            for (c, v) in s.entries(i) {
                                for (sum, &w) in row.iter_mut().zip(by_column.row(c)) {
                                    *sum = v.mul_add(w, *sum);
                                }
                            }
                        }
                    },
                );
            }
        }
        out
    }

    /// Squared norm of each row.
    pub fn squared_norms(&self) -> Vec<f64> {
        let square = |v: f64| v * v;
        match self {
            Design::Dense(x) => {
                (0..x.rows()).map(|i| x.row(i).iter().map(|&v| square(v)).sum()).collect()
            }
            Design::Sparse(s) => {
                (0..self.n()).map(|i| s.entries(i).map(|(_, v)| square(v)).sum()).collect()
            }
        }
    }
}

/// How many values are non-zero.
fn filled(x: &Mat<f64>) -> usize {
    x.as_slice().iter().filter(|&&v| v != 0.0).count()
}

impl Sparse {
    fn new(x: &Mat<f64>, bias: Option<f64>, filled: usize) -> Self {
        let d = x.cols();
        let entries = filled + x.rows() * usize::from(bias.is_some());
        // Every value is written and most are written over: that is faster than a branch for each.
        let (mut columns, mut values) = (vec![0; entries + 1], vec![0.0; entries + 1]);
        let (mut starts, mut at) = (vec![0], 0);
        for i in 0..x.rows() {
            for (c, &v) in x.row(i).iter().enumerate() {
                (columns[at], values[at]) = (c as u32, v);
                at += usize::from(v != 0.0);
            }
            if let Some(bias) = bias {
                (columns[at], values[at]) = (d as u32, bias);
                at += 1;
            }
            starts.push(at);
        }
        columns.truncate(entries);
        values.truncate(entries);
        Sparse { starts, columns, values, cols: d + usize::from(bias.is_some()) }
    }

    /// Column and value of the entries of row i.
    #[inline(always)]
    pub(super) fn entries(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[i]..self.starts[i + 1];
        let values = self.values[range.clone()].iter();
        let columns = self.columns[range].iter();
        columns.zip(values).map(|(&c, &v)| (c as usize, v))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_and_dense_rows_are_the_same_rows() {
        let x = Mat::from_fn(7, 11, |i, j| f64::from(u8::from((3 * i + j) % 6 == 0)));
        let sparse = Design::new(&x, Some(2.0));
        let dense = Design::dense(&x, Some(2.0));
        assert!(matches!(sparse, Design::Sparse(_)));
        assert_eq!((sparse.n(), sparse.width()), (7, 12));
        assert_eq!((dense.n(), dense.width()), (7, 12));
        let w = Mat::from_fn(3, 12, |i, j| (i as f64 - 1.0) * j as f64);
        assert_eq!(sparse.margins(&w), dense.margins(&w));
        assert_eq!(sparse.squared_norms(), dense.squared_norms());
        assert_eq!(Design::dense(&x, None).width(), 11);
    }
}
