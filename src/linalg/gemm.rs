//! C ← A·B and C ← C + A·B in all four transpose forms.
//!
//! In f32 on x86 with AVX2 or AVX-512 the products are the crate's own (`num/raw`), elsewhere
//! matrixmultiply's with α = 1, with the same order of sums. So an entry of C depends only on its row
//! of A and its column of B: not on the size of the batch around it, not on the number of threads.
//! [`super::reference`] computes the very same bits slowly; it is also the product of the number types
//! that audit and do not train (dual numbers, double-double).

use rayon::prelude::*;

use super::mat::{View, ViewMut};
use super::reference;
pub use crate::num::raw::Pieces;
use crate::num::raw::{Start, Strided};
use crate::num::{Real, dot, vectorize};

/// What happens to the old contents of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acc {
    /// C ← A·B (the old values are not read, NaN included).
    Set,
    /// C ← C + A·B.
    Add,
}

/// Rows of C in one parallel piece: fixed, so that the split never depends on the thread count.
const ROWS_PER_TASK: usize = 128;

/// C ← A·B or C ← C + A·B. Transposed operands are given as `a.t()`.
///
/// Panics when the shapes do not match.
pub fn gemm<T: Real>(acc: Acc, c: ViewMut<'_, T>, a: View<'_, T>, b: View<'_, T>) {
    let start = match acc {
        Acc::Set => Start::Nothing,
        Acc::Add => Start::Old,
    };
    match T::PRODUCT {
        Some(product) => product(start, contiguous(c), strided(a), strided(b)),
        None => reference::gemm(acc, c, a, b),
    }
}

/// C ← 1·rowᵀ + A·B: a linear layer with its bias. The same bits as adding to rows that hold `row`.
pub fn affine<T: Real>(mut c: ViewMut<'_, T>, row: &[T], a: View<'_, T>, b: View<'_, T>) {
    match T::PRODUCT {
        Some(product) => product(Start::Row(row), contiguous(c), strided(a), strided(b)),
        None => {
            (0..c.rows).for_each(|i| c.row_mut(i).copy_from_slice(row));
            reference::gemm(Acc::Add, c, a, b);
        }
    }
}

/// C ← C + A₁·B₁, then + A₂·B₂, and so on: the inner dimension cut into `parts` of equal length. The same
/// bits as that many calls of [`gemm`].
pub fn add_products<T: Real>(mut c: ViewMut<'_, T>, a: View<'_, T>, b: View<'_, T>, parts: usize) {
    let length = a.cols / parts.max(1);
    assert_eq!(length * parts, a.cols, "add_products: parts of equal length");
    if length == 0 || T::SUMS(length, contiguous(c.reborrow()), strided(a), strided(b)) {
        return;
    }
    for from in (0..a.cols).step_by(length) {
        let rows = a.t().slice_rows(from, from + length).t();
        gemm(Acc::Add, c.reborrow(), rows, b.slice_rows(from, from + length));
    }
}

/// C_ij ← A_ij · B_ij for all `pieces`; the views are those of the first piece and reach to the end of
/// their matrices. The same bits as [`gemm`] for each piece.
pub fn gemm_pieces<T: Real>(pieces: Pieces, c: ViewMut<'_, T>, a: View<'_, T>, b: View<'_, T>) {
    let mut c = c;
    if T::PRODUCTS(pieces, contiguous(c.reborrow()), strided(a), strided(b)) {
        return;
    }
    for offsets in pieces.offsets() {
        let (c, a, b) = at(offsets, c.reborrow(), a, b);
        gemm(Acc::Set, c, a, b);
    }
}

/// C_st ← [`dot`] of row s of A and row t of B in all `pieces`, bit for bit: the order of sums is not
/// that of [`gemm`].
pub fn dots<T: Real>(pieces: Pieces, mut c: ViewMut<'_, T>, a: View<'_, T>, b: View<'_, T>) {
    if T::DOTS(pieces, contiguous(c.reborrow()), strided(a), strided(b)) {
        return;
    }
    for offsets in pieces.offsets() {
        let (mut c, a, b) = at(offsets, c.reborrow(), a, b);
        vectorize(
            #[inline(always)]
            || {
                for s in 0..a.rows {
                    for t in 0..b.rows {
                        c.row_mut(s)[t] = dot(a.row(s), b.row(t));
                    }
                }
            },
        );
    }
}

/// The piece that begins so many entries behind the first one.
fn at<'a, T>(
    [to, left, right]: [usize; 3],
    c: ViewMut<'a, T>,
    a: View<'a, T>,
    b: View<'a, T>,
) -> (ViewMut<'a, T>, View<'a, T>, View<'a, T>) {
    let c = ViewMut { data: &mut c.data[to..], ..c };
    (c, View { data: &a.data[left..], ..a }, View { data: &b.data[right..], ..b })
}

/// The same product, bit for bit, with the rows of C shared among rayon's threads.
pub fn gemm_parallel<T: Real>(acc: Acc, c: ViewMut<'_, T>, a: View<'_, T>, b: View<'_, T>) {
    assert_eq!(c.rows, a.rows, "gemm_parallel: rows of C and A");
    let (cols, stride, rows) = (c.cols, c.row_stride, c.rows);
    if rows <= ROWS_PER_TASK {
        return gemm(acc, c, a, b);
    }
    c.data
        .par_chunks_mut(ROWS_PER_TASK * stride)
        .take(rows.div_ceil(ROWS_PER_TASK))
        .enumerate()
        .for_each(|(piece, data)| {
            let from = piece * ROWS_PER_TASK;
            let to = rows.min(from + ROWS_PER_TASK);
            let part = ViewMut { data, rows: to - from, cols, row_stride: stride };
            gemm(acc, part, a.slice_rows(from, to), b);
        });
}

fn contiguous<T>(v: ViewMut<'_, T>) -> Strided<&mut [T]> {
    (v.data, v.rows, v.cols, v.row_stride, 1)
}

fn strided<T>(v: View<'_, T>) -> Strided<&[T]> {
    (v.data, v.rows, v.cols, v.row_stride, v.col_stride)
}

#[cfg(test)]
mod tests {
    use super::super::Mat;
    use super::*;
    use crate::rng::Streams;

    fn random<T: Real>(rows: usize, cols: usize, name: &str) -> Mat<T> {
        let mut r = Streams::new(3).stream(name);
        Mat::from_fn(rows, cols, |_, _| T::from_f64(r.normal()))
    }

    /// All four transpose forms, with and without accumulation, against the slow twin with `==`.
    fn same_bits<T: Real>(m: usize, k: usize, n: usize) {
        let (a, b) = (random::<T>(m, k, "a"), random::<T>(k, n, "b"));
        let (at, bt) = (a.transposed(), b.transposed());
        for acc in [Acc::Set, Acc::Add] {
            let start = match acc {
                // Old contents must not be read.
                Acc::Set => Mat::from_fn(m, n, |_, _| T::from_f64(f64::NAN)),
                Acc::Add => random::<T>(m, n, "c"),
            };
            let mut want = start.clone();
            reference::gemm(acc, want.view_mut(), a.view(), b.view());
            for (x, y) in [
                (a.view(), b.view()),
                (at.view().t(), b.view()),
                (a.view(), bt.view().t()),
                (at.view().t(), bt.view().t()),
            ] {
                let (mut serial, mut parallel) = (start.clone(), start.clone());
                gemm(acc, serial.view_mut(), x, y);
                gemm_parallel(acc, parallel.view_mut(), x, y);
                assert!(serial == want, "{m}×{k}×{n} {acc:?}");
                assert!(parallel == want, "{m}×{k}×{n} {acc:?} in parallel");
            }
        }
    }

    #[test]
    fn equals_the_reference_bit_for_bit() {
        for size in [1, 2, 3, 5, 8, 13, 17] {
            same_bits::<f32>(size, size + 1, size + 2);
            same_bits::<f64>(size + 2, size, size + 1);
        }
        for (m, k, n) in
            [(0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 257, 1), (130, 300, 33), (257, 513, 7)]
        {
            same_bits::<f32>(m, k, n);
            same_bits::<f64>(m, k, n);
        }
    }

    /// Another library's product: the reference and we could be wrong together.
    #[test]
    fn agrees_with_nalgebra() {
        let (a, b) = (random::<f64>(19, 300, "a"), random::<f64>(300, 23, "b"));
        let other = nalgebra::DMatrix::from_row_slice(19, 300, a.as_slice())
            * nalgebra::DMatrix::from_row_slice(300, 23, b.as_slice());
        let mut c = Mat::zeros(19, 23);
        gemm(Acc::Set, c.view_mut(), a.view(), b.view());
        for i in 0..19 {
            for j in 0..23 {
                assert!((c[(i, j)] - other[(i, j)]).abs() < 1e-11, "({i}, {j})");
            }
        }
    }

    #[test]
    fn a_row_can_be_the_start() {
        for (m, k, n) in [(1, 1, 1), (70, 300, 45), (3, 0, 4)] {
            let (a, b, row) = (random::<f32>(m, k, "a"), random(k, n, "b"), random(1, n, "row"));
            let mut want = Mat::from_fn(m, n, |_, j| row[(0, j)]);
            gemm(Acc::Add, want.view_mut(), a.view(), b.view());
            let mut c = Mat::from_fn(m, n, |_, _| f32::NAN);
            affine(c.view_mut(), row.row(0), a.view(), b.view());
            assert!(c == want, "{m}×{k}×{n}");
        }
    }

    #[test]
    fn products_of_rows_are_dots_bit_for_bit() {
        for (m, k, n) in [(1, 32, 5), (3, 8, 1), (16, 32, 16), (5, 40, 17), (4, 33, 9), (2, 0, 3)] {
            let (a, b) = (random::<f32>(m, k + 3, "a"), random::<f32>(2 * n, k + 1, "b"));
            let mut c = Mat::from_fn(m, n + 2, |_, _| 9.0);
            dots(
                Pieces::ONE,
                c.view_mut().columns(1, n + 1),
                a.view().columns(2, k + 2),
                b.view().every(2).columns(0, k),
            );
            for s in 0..m {
                assert_eq!((c[(s, 0)], c[(s, n + 1)]), (9.0, 9.0), "the edges stay");
                for t in 0..n {
                    let want = dot(&a.row(s)[2..k + 2], &b.row(2 * t)[..k]);
                    assert_eq!(c[(s, t + 1)], want, "{m}×{k}×{n} at ({s}, {t})");
                }
            }
        }
    }

    /// Parts short and long, of equal length, in f32 and in a type without fast sums.
    #[test]
    fn products_of_parts_are_added_in_order() {
        fn run<T: Real>(m: usize, length: usize, n: usize, parts: usize) {
            let (a, b) = (random::<T>(parts * length, m, "a"), random::<T>(parts * length, n, "b"));
            let mut c = random::<T>(m, n, "c");
            let mut want = c.clone();
            for k in 0..parts {
                let (from, to) = (k * length, (k + 1) * length);
                let (a, b) = (a.view().slice_rows(from, to), b.view().slice_rows(from, to));
                reference::gemm(Acc::Add, want.view_mut(), a.t(), b);
            }
            add_products(c.view_mut(), a.view().t(), b.view(), parts);
            assert!(c == want, "{m}×{length}×{n}, {parts} parts");
        }
        for (m, length, n, parts) in [
            (8, 64, 32, 4),
            (130, 32, 50, 3),
            (5, 257, 40, 2),
            (3, 1, 1, 5),
            (2, 7, 3, 1),
            (2, 0, 3, 2),
        ] {
            run::<f32>(m, length, n, parts);
            run::<f64>(m, length, n, parts);
        }
        run::<f32>(140, 20, 256, 3);
    }

    /// Heads of several instances, in f32 and in a type without fast products of pieces.
    #[test]
    fn pieces_equal_products_of_their_own() {
        fn run<T: Real>(rows: usize, keys: usize, head: usize) {
            let (instances, heads) = (3, 2);
            let q = random::<T>(instances * rows, heads * head, "q");
            let k = random::<T>(instances * keys, heads * head, "k");
            fn first<T: Real>(m: &Mat<T>, rows: usize, head: usize) -> View<'_, T> {
                m.view().slice_rows(0, rows).columns(0, head)
            }
            let steps = |rows: usize| [rows * heads * head, head];
            let a_step = [rows * heads * keys, keys];
            let pieces = |steps| Pieces { counts: [instances, heads], steps };
            let part = |m: &Mat<T>, rows: usize, i: usize, h: usize| {
                Mat::from_fn(rows, head, |r, c| m[(i * rows + r, h * head + c)])
            };
            let mut scores = Mat::<T>::zeros(instances * rows * heads, keys);
            let (all, step) = (
                scores.view_mut().slice_rows(0, rows * heads),
                pieces([a_step, steps(rows), steps(keys)]),
            );
            dots(step, all.every(heads), first(&q, rows, head), first(&k, keys, head));
            let mut out = Mat::<T>::zeros(instances * rows, heads * head);
            let to = out.view_mut().slice_rows(0, rows).columns(0, head);
            let a = scores.view().slice_rows(0, rows * heads).every(heads);
            gemm_pieces(pieces([steps(rows), a_step, steps(keys)]), to, a, first(&k, keys, head));
            for (i, h) in [(0, 0), (0, 1), (1, 1), (2, 0), (2, 1)] {
                let (q, k) = (part(&q, rows, i, h), part(&k, keys, i, h));
                let mut a = Mat::zeros(rows, keys);
                for s in 0..rows {
                    for t in 0..keys {
                        a[(s, t)] = dot(q.row(s), k.row(t));
                        assert!(scores[((i * rows + s) * heads + h, t)] == a[(s, t)]);
                    }
                }
                let mut want = Mat::zeros(rows, head);
                reference::gemm(Acc::Set, want.view_mut(), a.view(), k.view());
                assert!(part(&out, rows, i, h) == want, "{rows} {keys} {head}");
            }
        }
        for (rows, keys, head) in [(2, 2, 32), (1, 2, 32), (16, 16, 32), (3, 5, 8), (4, 4, 7)] {
            run::<f32>(rows, keys, head);
            run::<f64>(rows, keys, head);
        }
    }

    #[test]
    #[should_panic(expected = "gemm: 2×3 times 4×5 into 2×5")]
    fn shapes_of_products_of_rows_are_checked() {
        let (a, b) = (Mat::<f32>::zeros(2, 3), Mat::zeros(5, 4));
        dots(Pieces::ONE, Mat::zeros(2, 5).view_mut(), a.view(), b.view());
    }

    #[test]
    fn strided_windows() {
        let (a, b) = (random::<f32>(12, 7, "a"), random::<f32>(7, 9, "b"));
        let mut c = Mat::<f32>::zeros(8, 10);
        gemm(
            Acc::Set,
            c.view_mut().every(2).columns(1, 6),
            a.view().every(3),
            b.view().columns(2, 7),
        );
        let mut want = Mat::zeros(4, 5);
        reference::gemm(Acc::Set, want.view_mut(), a.view().every(3), b.view().columns(2, 7));
        for i in 0..4 {
            assert_eq!(&c.row(2 * i)[1..6], want.row(i));
            assert_eq!(c.row(2 * i + 1), &[0.0; 10]);
            assert_eq!((c[(2 * i, 0)], c[(2 * i, 6)]), (0.0, 0.0));
        }
    }

    #[test]
    #[should_panic(expected = "gemm: 2×3 times 4×5 into 2×5")]
    fn shapes_are_checked() {
        let (a, b) = (Mat::<f32>::zeros(2, 3), Mat::zeros(4, 5));
        gemm(Acc::Set, Mat::zeros(2, 5).view_mut(), a.view(), b.view());
    }
}
