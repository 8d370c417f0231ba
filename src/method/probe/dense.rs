//! Dense columns, read where the features lie.
//!
//! A probe's sums run over all rows in f64. A copy of the features in f64, and another one cut into
//! folds, would be the largest things in memory by far: so rows are turned into f64 in chunks that stay
//! in the cache, and a part of the rows is a list of them. A product adds blocks of 256 rows in order
//! (`linalg::gemm`); a chunk holds whole blocks, so sums by chunks have the bits of the whole product.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use crate::linalg::{Acc, Mat, ViewMut, gemm};
use crate::num::dot;

/// Rows of a chunk, whole blocks of a product's sums.
const CHUNK: usize = 4 * 256;
/// Columns of one parallel piece.
const PIECE: usize = 128;
/// Columns that are gathered together: fewer would read the same cache lines again and again.
const GATHERED: usize = 8;

/// Some rows of x, each column less the value that most of its rows share.
pub(super) struct Dense<'a> {
    x: Cow<'a, Mat<f32>>,
    shared: Cow<'a, [f32]>,
    /// The rows, if not all.
    rows: Option<Vec<usize>>,
}

impl<'a> Dense<'a> {
    pub(super) fn new(x: Cow<'a, Mat<f32>>, shared: Vec<f32>) -> Self {
        Dense { x, shared: Cow::Owned(shared), rows: None }
    }

    /// The given ones of these rows.
    pub(super) fn select_rows(&self, rows: &[usize]) -> Dense<'_> {
        let rows = rows.iter().map(|&i| self.row(i)).collect();
        Dense { x: Cow::Borrowed(&self.x), shared: Cow::Borrowed(&self.shared), rows: Some(rows) }
    }

    fn row(&self, i: usize) -> usize {
        self.rows.as_ref().map_or(i, |rows| rows[i])
    }

    fn n(&self) -> usize {
        self.rows.as_ref().map_or(self.x.rows(), Vec::len)
    }

    fn count(&self) -> usize {
        self.x.cols()
    }

    /// Calls `work` with each chunk of the given columns: its rows, their values, and whether they are
    /// the first.
    fn chunks(&self, columns: Range<usize>, mut work: impl FnMut(Range<usize>, &Mat<f64>, Acc)) {
        let mut values = Mat::default();
        for from in (0..self.n()).step_by(CHUNK) {
            let rows = from..self.n().min(from + CHUNK);
            values.reshape(rows.len(), columns.len());
            for (k, i) in rows.clone().enumerate() {
                let seen = &self.x.row(self.row(i))[columns.clone()];
                let values = values.row_mut(k).iter_mut().zip(seen);
                for ((value, &v), &s) in values.zip(&self.shared[columns.clone()]) {
                    *value = f64::from(v) - f64::from(s);
                }
            }
            work(rows, &values, if from == 0 { Acc::Set } else { Acc::Add });
        }
    }

    /// `out` in pieces of [`PIECE`] rows, one row per column, each piece with its columns.
    fn pieces(&self, out: &mut Mat<f64>, work: impl Fn(Range<usize>, &mut [f64]) + Sync) {
        let width = out.cols();
        let pieces = out.as_mut_slice().par_chunks_mut((PIECE * width).max(1));
        pieces.enumerate().for_each(|(k, out)| {
            work(k * PIECE..self.count().min((k + 1) * PIECE), out);
        });
    }

    /// Σ of squares of each column, in the order of [`dot`].
    pub(super) fn squares(&self) -> Vec<f64> {
        let mut squares = Vec::with_capacity(self.count());
        for from in (0..self.count()).step_by(GATHERED) {
            let columns = from..self.count().min(from + GATHERED);
            let mut gathered = vec![Vec::with_capacity(self.n()); columns.len()];
            self.chunks(columns, |_, values, _| {
                for row in values.rows_iter() {
                    gathered.iter_mut().zip(row).for_each(|(column, v)| column.push(*v));
                }
            });
            squares.extend(gathered.iter().map(|column| dot(column, column)));
        }
        squares
    }

    /// ZᵀB, d × L, into zeros.
    pub(super) fn times(&self, targets: &Mat<f64>, out: &mut Mat<f64>) {
        let labels = targets.cols();
        self.pieces(out, |columns, out| {
            let count = columns.len();
            self.chunks(columns, |rows, values, acc| {
                let targets = targets.view().slice_rows(rows.start, rows.end);
                gemm(acc, ViewMut::new(out, count, labels), values.view().t(), targets);
            });
        });
    }

    /// A row Zᵀz_a per feature, into zeros.
    pub(super) fn products(&self, features: &[usize], out: &mut Mat<f64>) {
        self.chunks(0..self.count(), |_, values, acc| {
            let of = Mat::from_fn(features.len(), values.rows(), |k, i| values[(i, features[k])]);
            gemm(acc, out.view_mut(), of.view(), values.view());
        });
    }

    /// ZᵀZ, into zeros.
    pub(super) fn gram(&self, out: &mut Mat<f64>) {
        let d = self.count();
        self.pieces(out, |columns, out| {
            self.chunks(0..d, |_, values, acc| {
                let of = values.view().columns(columns.start, columns.end).t();
                gemm(acc, ViewMut::new(out, columns.len(), d), of, values.view());
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    /// Against the products of all rows at once in f64, which is what the chunks spare.
    #[test]
    fn chunks_have_the_bits_of_whole_products() {
        let mut r = Streams::new(5).stream("dense");
        let x = Mat::from_fn(3000, 150, |_, _| r.normal() as f32);
        let shared: Vec<f32> = (0..150).map(|a| if a % 3 == 0 { 0.3 } else { 0.0 }).collect();
        let all = Dense::new(Cow::Borrowed(&x), shared.clone());
        let odd: Vec<usize> = (0..3000).rev().filter(|i| i % 7 > 0).collect();
        let some = all.select_rows(&odd);
        for (dense, rows) in [(&all, (0..3000).collect()), (&some, odd.clone())] {
            let z = Mat::from_fn(150, rows.len(), |a, i| {
                f64::from(x[(rows[i], a)]) - f64::from(shared[a])
            });
            let targets = Mat::from_fn(rows.len(), 3, |_, _| r.normal());
            let whole = |a: &Mat<f64>, b: crate::linalg::View<'_, f64>| {
                let mut out = Mat::zeros(a.rows(), b.cols());
                gemm(Acc::Set, out.view_mut(), a.view(), b);
                out
            };
            let mut times = Mat::zeros(150, 3);
            dense.times(&targets, &mut times);
            assert!(times == whole(&z, targets.view()));
            let mut gram = Mat::zeros(150, 150);
            dense.gram(&mut gram);
            assert!(gram == whole(&z, z.view().t()));
            let mut products = Mat::zeros(2, 150);
            dense.products(&[140, 3], &mut products);
            assert!(products == whole(&z.select_rows(&[140, 3]), z.view().t()));
            let squares: Vec<f64> = z.rows_iter().map(|column| dot(column, column)).collect();
            assert_eq!(dense.squares(), squares);
        }
        let none = all.select_rows(&[]);
        let mut gram = Mat::zeros(150, 150);
        none.gram(&mut gram);
        assert!(gram == Mat::zeros(150, 150) && none.squares() == [0.0; 150]);
    }
}
