//! The features of a linear model, dense or sparse: the two products that its solver needs.

use std::ops::Range;

use crate::linalg::{Acc, Mat, gemm};
use crate::num::{axpy, vectorize};

/// Share of non-zero entries up to which rows are kept sparse.
pub const SPARSE_BELOW: f64 = 0.2;

/// Rows that are made f64 at a time: a multiple of the block in which products are summed, so that
/// chunks change no bit.
const CHUNK: usize = 1024;

/// n × d features. Products are in f64, whatever the values are kept in.
#[derive(Clone, Debug)]
pub enum Features<'a> {
    /// All values.
    Dense(Mat<f64>),
    /// The values of another matrix where they lie, each row times a factor and rounded to f32 again.
    Single {
        /// The values.
        x: &'a Mat<f32>,
        /// The factor of each row.
        factors: Option<Vec<f64>>,
    },
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

impl<'a> Features<'a> {
    /// As they are. Sparse when at most a fifth of the entries is not zero.
    pub fn new(x: &'a Mat<f32>) -> Self {
        match is_sparse(x) {
            true => Self::sparse(x),
            false => Features::Single { x, factors: None },
        }
    }

    /// Rows scaled to length √d, so that the mean square of an entry is 1; rows of zeros stay.
    pub fn unit(x: &'a Mat<f32>) -> Self {
        match is_sparse(x) {
            true => Self::sparse(&rows_to_unit_scale(x)),
            false => Features::Single { x, factors: Some(unit_factors(x)) },
        }
    }

    fn sparse(x: &Mat<f32>) -> Self {
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
            Features::Single { x, .. } => x.rows(),
            Features::Sparse { starts, .. } => starts.len() - 1,
        }
    }

    /// Number of columns d.
    pub fn cols(&self) -> usize {
        match self {
            Features::Dense(x) => x.cols(),
            Features::Single { x, .. } => x.cols(),
            Features::Sparse { cols, .. } => *cols,
        }
    }

    /// out = X·W, n × L, from the first d rows of `w`.
    pub fn times(&self, out: &mut Mat<f64>, w: &Mat<f64>) {
        match self {
            Features::Dense(x) => {
                gemm(Acc::Set, out.view_mut(), x.view(), w.view().slice_rows(0, x.cols()));
            }
            Features::Single { x, factors } => {
                let w = w.view().slice_rows(0, x.cols());
                let mut part = Mat::zeros(0, x.cols());
                for from in (0..x.rows()).step_by(CHUNK) {
                    let to = x.rows().min(from + CHUNK);
                    wider_rows(&mut part, x, factors.as_deref(), from..to);
                    gemm(Acc::Set, out.view_mut().slice_rows(from, to), part.view(), w);
                }
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

    /// The first d rows of `out` = Xᵀ·G, with G in chunks of rows: `fill(rows, chunk)` sets those rows.
    pub fn transposed_times(
        &self,
        out: &mut Mat<f64>,
        mut fill: impl FnMut(Range<usize>, &mut Mat<f64>),
    ) {
        let (n, d, labels) = (self.rows(), self.cols(), out.cols());
        let (mut g, mut part) = (Mat::zeros(0, labels), Mat::zeros(0, d));
        out.as_mut_slice()[..d * labels].fill(0.0);
        for from in (0..n).step_by(CHUNK) {
            let rows = from..n.min(from + CHUNK);
            g.set_rows(rows.len());
            fill(rows.clone(), &mut g);
            let acc = if from == 0 { Acc::Set } else { Acc::Add };
            let sums = out.view_mut().slice_rows(0, d);
            match self {
                Features::Dense(x) => {
                    let x = x.view().slice_rows(rows.start, rows.end);
                    gemm(acc, sums, x.t(), g.view());
                }
                Features::Single { x, factors } => {
                    wider_rows(&mut part, x, factors.as_deref(), rows);
                    gemm(acc, sums, part.view().t(), g.view());
                }
                Features::Sparse { starts, columns, values, .. } => vectorize(
                    #[inline(always)]
                    || {
                        for i in rows.clone() {
                            for k in starts[i]..starts[i + 1] {
                                axpy(out.row_mut(columns[k] as usize), values[k], g.row(i - from));
                            }
                        }
                    },
                ),
            }
        }
    }
}

/// The given rows of x in f64, times their factors.
fn wider_rows(out: &mut Mat<f64>, x: &Mat<f32>, factors: Option<&[f64]>, rows: Range<usize>) {
    out.set_rows(rows.len());
    for (r, i) in rows.enumerate() {
        let (out, row) = (out.row_mut(r), x.row(i));
        match factors {
            None => out.iter_mut().zip(row).for_each(|(o, &v)| *o = f64::from(v)),
            Some(factors) => {
                out.iter_mut().zip(row).for_each(|(o, &v)| *o = f64::from(scaled(v, factors[i])));
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
    let factors = unit_factors(x);
    Mat::from_fn(x.rows(), x.cols(), |i, j| scaled(x[(i, j)], factors[i]))
}

/// Factors that bring rows to length √d; 1 for rows of zeros.
fn unit_factors(x: &Mat<f32>) -> Vec<f64> {
    let factor = |row: &[f32]| {
        let squares: f64 = row.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
        if squares > 0.0 { (x.cols() as f64 / squares).sqrt() } else { 1.0 }
    };
    x.rows_iter().map(factor).collect()
}

#[inline]
fn scaled(v: f32, factor: f64) -> f32 {
    (f64::from(v) * factor) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    fn copy_rows(chunk: &mut Mat<f64>, g: &Mat<f64>, rows: Range<usize>) {
        rows.enumerate().for_each(|(r, i)| chunk.row_mut(r).copy_from_slice(g.row(i)));
    }

    /// Values in f32 and chunks of rows give the bits of one product in f64.
    #[test]
    fn chunks_change_no_bit() {
        let mut r = Streams::new(4).stream("chunks");
        for n in [0, 5, CHUNK, CHUNK + 1, 2 * CHUNK + 300] {
            let x = Mat::from_fn(n, 7, |_, _| r.normal() as f32);
            let whole: Mat<f64> = x.cast();
            let w = Mat::from_fn(7, 3, |_, _| r.normal());
            let g = Mat::from_fn(n, 3, |_, _| r.normal());
            let (mut u, mut t) = (Mat::zeros(n, 3), Mat::zeros(7, 3));
            gemm(Acc::Set, u.view_mut(), whole.view(), w.view());
            gemm(Acc::Set, t.view_mut(), whole.view().t(), g.view());
            for features in
                [Features::Single { x: &x, factors: None }, Features::Dense(whole.clone())]
            {
                let (mut a, mut b) = (Mat::zeros(n, 3), Mat::zeros(7, 3));
                features.times(&mut a, &w);
                features.transposed_times(&mut b, |rows, chunk| copy_rows(chunk, &g, rows));
                assert!(a == u && b == t, "{n} rows");
            }
        }
    }

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
            d.transposed_times(&mut t, |rows, chunk| copy_rows(chunk, &g, rows));
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

    /// Rows of unit length are made when they are needed, with the bits of a matrix of them.
    #[test]
    fn factors_change_no_bit() {
        let mut r = Streams::new(4).stream("unit");
        let x = Mat::from_fn(6, 5, |i, _| if i == 2 { 0.0 } else { r.normal() as f32 });
        let unit = rows_to_unit_scale(&x);
        let w = Mat::from_fn(5, 2, |_, _| r.normal());
        let products = [Features::unit(&x), Features::new(&unit), Features::new(&x)].map(|f| {
            let mut u = Mat::zeros(6, 2);
            f.times(&mut u, &w);
            u
        });
        assert!(products[0] == products[1] && products[0] != products[2]);
    }
}
