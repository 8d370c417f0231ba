//! Cholesky factorisation A = L·Lᵀ of a symmetric positive definite matrix, and solving with it.
//!
//! Right-looking in blocks: the diagonal block by dot products of its rows, the panel below it
//! likewise, the rest of the matrix by one GEMM a block column.

use super::{Acc, Mat, View, ViewMut, gemm};
use crate::num::{Real, dot, vectorize};

const BLOCK: usize = 48;

/// Overwrites the lower triangle of `a` with L; the upper triangle is neither read nor written.
/// Returns false, with `a` half done, when a pivot is not positive.
pub fn cholesky<T: Real>(a: &mut Mat<T>) -> bool {
    assert_eq!(a.rows(), a.cols(), "cholesky: a square matrix");
    let n = a.rows();
    let mut negated = Vec::new();
    for from in (0..n).step_by(BLOCK) {
        let to = n.min(from + BLOCK);
        let positive = vectorize(
            #[inline(always)]
            || factor_columns(a, from, to),
        );
        if !positive {
            return false;
        }
        update_rest(a, from, to, &mut negated);
    }
    true
}

/// L in columns from..to, for all rows below; columns before `from` are already subtracted.
#[inline(always)]
fn factor_columns<T: Real>(a: &mut Mat<T>, from: usize, to: usize) -> bool {
    let n = a.rows();
    for j in from..to {
        let (above, row) = split_row(a, j);
        for k in from..j {
            let done = dot(&row[from..k], &above[k * n + from..k * n + k]);
            row[k] = (row[k] - done) / above[k * n + k];
        }
        let pivot = row[j] - dot(&row[from..j], &row[from..j]);
        if pivot <= T::ZERO || !pivot.is_finite() {
            return false;
        }
        row[j] = pivot.sqrt();
    }
    for i in to..n {
        let (above, row) = split_row(a, i);
        for k in from..to {
            let done = dot(&row[from..k], &above[k * n + from..k * n + k]);
            row[k] = (row[k] - done) / above[k * n + k];
        }
    }
    true
}

/// All rows before i, and row i.
#[inline(always)]
fn split_row<T: Real>(a: &mut Mat<T>, i: usize) -> (&[T], &mut [T]) {
    let n = a.cols();
    let (above, rest) = a.as_mut_slice().split_at_mut(i * n);
    (above, &mut rest[..n])
}

/// Subtracts the panel's outer product from the lower triangle that is left, block by block.
fn update_rest<T: Real>(a: &mut Mat<T>, from: usize, to: usize, negated: &mut Vec<T>) {
    let n = a.rows();
    let width = to - from;
    // A copy of the panel, negated: the product is only ever added.
    negated.clear();
    for i in to..n {
        negated.extend(a.row(i)[from..to].iter().map(|&x| -x));
    }
    let panel: Vec<T> = negated.iter().map(|&x| -x).collect();
    for left in (to..n).step_by(BLOCK) {
        let right = n.min(left + BLOCK);
        let minus = View::new(&negated[(left - to) * width..], n - left, width);
        let plus =
            View::new(&panel[(left - to) * width..(right - to) * width], right - left, width);
        let target = ViewMut::new(&mut a.as_mut_slice()[left * n..], n - left, n);
        gemm(Acc::Add, target.columns(left, right), minus, plus.t());
    }
}

/// Solves L·Lᵀ x = b in place, L from [`cholesky`].
pub fn solve<T: Real>(factor: &Mat<T>, b: &mut [T]) {
    let n = factor.rows();
    assert_eq!(b.len(), n, "solve: length of the right-hand side");
    vectorize(
        #[inline(always)]
        || {
            for i in 0..n {
                let row = factor.row(i);
                b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
            }
            for i in (0..n).rev() {
                let row = factor.row(i);
                b[i] /= row[i];
                let x = b[i];
                for (value, &l) in b[..i].iter_mut().zip(row) {
                    *value = (-l).mul_add(x, *value);
                }
            }
        },
    );
}

/// Solves L·Lᵀ X = B in place for all columns of B at once, L from [`cholesky`]: like [`solve`], but
/// the factor is read once, by products of blocks.
pub fn solve_many<T: Real>(factor: &Mat<T>, b: &mut Mat<T>) {
    let (n, columns) = (factor.rows(), b.cols());
    assert_eq!(b.rows(), n, "solve_many: rows of the right-hand side");
    for from in (0..n).step_by(BLOCK) {
        let to = n.min(from + BLOCK);
        let (done, rest) = b.as_mut_slice().split_at_mut(from * columns);
        let (block, _) = rest.split_at_mut((to - from) * columns);
        let left = factor.view().slice_rows(from, to).columns(0, from);
        subtract(block, left, done, columns);
        for i in from..to {
            for k in from..i {
                eliminate(b, i, k, factor[(i, k)]);
            }
            b.row_mut(i).iter_mut().for_each(|v| *v /= factor[(i, i)]);
        }
    }
    for from in (0..n).step_by(BLOCK).rev() {
        let to = n.min(from + BLOCK);
        let (rest, done) = b.as_mut_slice().split_at_mut(to * columns);
        let below = factor.view().slice_rows(to, n).columns(from, to);
        subtract(&mut rest[from * columns..], below.t(), done, columns);
        for i in (from..to).rev() {
            for k in i + 1..to {
                eliminate(b, i, k, factor[(k, i)]);
            }
            b.row_mut(i).iter_mut().for_each(|v| *v /= factor[(i, i)]);
        }
    }
}

/// block −= panel · solved.
fn subtract<T: Real>(block: &mut [T], panel: View<'_, T>, solved: &[T], columns: usize) {
    let minus: Vec<T> = solved.iter().map(|&v| -v).collect();
    let minus = View::new(&minus, panel.cols(), columns);
    gemm(Acc::Add, ViewMut::new(block, panel.rows(), columns), panel, minus);
}

/// Row i −= l · row k.
fn eliminate<T: Real>(b: &mut Mat<T>, i: usize, k: usize, l: T) {
    for c in 0..b.cols() {
        b[(i, c)] = (-l).mul_add(b[(k, c)], b[(i, c)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    #[test]
    fn solves_systems_of_all_sizes() {
        let mut r = Streams::new(4).stream("cholesky");
        for n in [1, 2, 7, 47, 48, 49, 96, 131] {
            let x = Mat::<f64>::from_fn(n + 3, n, |_, _| r.normal());
            let mut a = Mat::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
            gemm(Acc::Add, a.view_mut(), x.view().t(), x.view());
            let want: Vec<f64> = (0..n).map(|_| r.normal()).collect();
            let mut b: Vec<f64> = (0..n).map(|i| dot(a.row(i), &want)).collect();
            let mut factor = a.clone();
            assert!(cholesky(&mut factor));
            solve(&factor, &mut b);
            for (got, want) in b.iter().zip(&want) {
                assert!((got - want).abs() < 1e-9, "n = {n}: {got}, expected {want}");
            }
            let want = Mat::<f64>::from_fn(n, 3, |_, _| r.normal());
            let mut many = Mat::zeros(n, 3);
            gemm(Acc::Set, many.view_mut(), a.view(), want.view());
            solve_many(&factor, &mut many);
            for (got, want) in many.as_slice().iter().zip(want.as_slice()) {
                assert!((got - want).abs() < 1e-9, "n = {n}: {got}, expected {want}");
            }
        }
    }

    #[test]
    fn refuses_what_is_not_positive_definite() {
        let mut a = Mat::<f64>::from_vec(2, 2, vec![1.0, 2.0, 2.0, 1.0]);
        assert!(!cholesky(&mut a));
        let mut nan = Mat::<f64>::from_vec(1, 1, vec![f64::NAN]);
        assert!(!cholesky(&mut nan));
        assert!(cholesky(&mut Mat::<f64>::zeros(0, 0)));
    }
}
