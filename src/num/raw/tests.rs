//! Every tile that the machine can run, and the portable twin everywhere, against three plain loops.

use super::Pieces;
use super::gemm::{Start, Strided};
use super::tiles::{self, Operands, Tile};
use super::vectorize::{Class, class};
use crate::rng::Streams;

/// The twin of the fast tiles: the same cut, plain numbers. Odd sizes on purpose.
struct Portable;

impl Tile for Portable {
    const ROWS: usize = 5;
    const COLUMNS: usize = 12;
    const LANES: usize = 4;

    unsafe fn run(rows: usize, columns: usize, k: usize, o: &Operands) {
        assert!(rows <= Self::ROWS && columns <= Self::COLUMNS);
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            // SAFETY: the caller's promise: the operands reach as far as they are said to.
            unsafe {
                let a = |q: usize| *o.a.add(i * o.a_row + q * o.a_col);
                let b = |q: usize| *o.b.add(q * o.b_row + j);
                let sum = (0..k).fold(0.0f32, |sum, q| a(q).mul_add(b(q), sum));
                let start = o.start.map(|(start, row)| *start.add(i * row + j));
                *o.c.add(i * o.c_row + j) = start.map_or(sum, |s| s + sum);
            }
        }
    }

    unsafe fn transpose(from: *const f32, from_row: usize, to: *mut f32, to_row: usize) {
        for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
            // SAFETY: the caller's promise.
            unsafe { *to.add(j * to_row + i) = *from.add(i * from_row + j) };
        }
    }
}

fn numbers(count: usize, name: &str) -> Vec<f32> {
    let mut rng = Streams::new(8).stream(name);
    (0..count).map(|_| rng.normal() as f32).collect()
}

/// What the product is by definition: blocks of 256 summed in order from zero, added in order.
fn slow(start: f32, add: bool, k: usize, term: impl Fn(usize) -> (f32, f32)) -> f32 {
    let mut total = add.then_some(start);
    for from in (0..k.max(1)).step_by(256) {
        let block = (from..k.min(from + 256)).fold(0.0f32, |s, q| term(q).0.mul_add(term(q).1, s));
        total = Some(total.map_or(block, |t| t + block));
    }
    total.unwrap_or(0.0)
}

/// All forms of one shape, inside larger matrices: what lies around C must stay.
fn every_form<K: Tile>((m, k, n): (usize, usize, usize)) {
    const EDGE: f32 = 12345.0;
    let (lda, ldb, ldc) = (m.max(k) + 3, n.max(k) + 2, n + 5);
    let (a, b) = (numbers(lda * lda, "a"), numbers(ldb * ldb, "b"));
    let (old, row) = (numbers(m * ldc, "c"), numbers(n, "row"));
    for (turned_a, turned_b) in [(false, false), (false, true), (true, false), (true, true)] {
        let (a_row, a_col) = if turned_a { (1, lda) } else { (lda, 1) };
        let (b_row, b_col) = if turned_b { (1, ldb) } else { (ldb, 1) };
        for start in [Start::Nothing, Start::Old, Start::Row(&row[..])] {
            let mut c: Vec<f32> = vec![EDGE; (m * ldc).max(1)];
            for i in 0..m {
                let from = &old[i * ldc..][..n];
                let fill = &mut c[i * ldc..][..n];
                match start {
                    Start::Old => fill.copy_from_slice(from),
                    _ => fill.fill(f32::NAN),
                }
            }
            let (ca, cb) = ((&a[..], m, k, a_row, a_col), (&b[..], k, n, b_row, b_col));
            // SAFETY: the matrices are large enough for all forms.
            unsafe { tiles::gemm::<K>(start, (&mut c[..], m, n, ldc, 1), ca, cb) };
            for i in 0..m {
                for j in 0..n {
                    let first = match start {
                        Start::Nothing => 0.0,
                        Start::Old => old[i * ldc + j],
                        Start::Row(row) => row[j],
                    };
                    let term = |q: usize| (a[i * a_row + q * a_col], b[q * b_row + j * b_col]);
                    let want = slow(first, !matches!(start, Start::Nothing), k, term);
                    assert!(c[i * ldc + j] == want, "{m}×{k}×{n} at ({i}, {j}): {start:?}");
                }
                assert!(c[i * ldc + n..].iter().take(5).all(|&v| v == EDGE), "outside C");
            }
        }
    }
}

/// Small and odd sizes, all remainders of tiles and lanes, several blocks of k, many rows.
fn shapes() -> impl Iterator<Item = (usize, usize, usize)> {
    let odd = [(0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (2, 257, 3), (9, 600, 33)];
    let rows = (1..=17).map(|m| (m, 19, 37));
    let columns = (1..=67).map(|n| (9, 18, n));
    let depths = [1, 15, 16, 17, 255, 256, 257, 513].map(|k| (11, k, 35));
    let many = [(384, 5, 33), (520, 33, 64), (64, 128, 96), (33, 64, 128)];
    odd.into_iter().chain(rows).chain(columns).chain(depths).chain(many)
}

#[test]
fn tiles_equal_the_plain_loops_bit_for_bit() {
    shapes().for_each(every_form::<Portable>);
    #[cfg(target_arch = "x86_64")]
    {
        if class() != Class::Portable {
            shapes().for_each(every_form::<super::avx2::Avx2>);
        }
        if class() == Class::Avx512 {
            shapes().for_each(every_form::<super::avx512::Avx512>);
        }
    }
}

/// The same bits as matrixmultiply, which other machines and f64 use.
#[test]
fn tiles_equal_matrixmultiply() {
    use super::{Fusing, fusing};
    if fusing() == Fusing::Unfused {
        return;
    }
    for (m, k, n) in shapes().filter(|&(m, k, n)| m * k * n > 0) {
        let (a, b) = (numbers(m * k, "a"), numbers(k * n, "b"));
        for add in [false, true] {
            let mut ours = numbers(m * n, "c");
            let mut theirs = ours.clone();
            let start = if add { Start::Old } else { Start::Nothing };
            let (ca, cb) = ((&a[..], m, k, k, 1), (&b[..], k, n, n, 1));
            // SAFETY: dense matrices of the given shapes.
            unsafe {
                tiles::gemm::<Portable>(start, (&mut ours[..], m, n, n, 1), ca, cb);
                matrixmultiply::sgemm(
                    m,
                    k,
                    n,
                    1.0,
                    a.as_ptr(),
                    k as isize,
                    1,
                    b.as_ptr(),
                    n as isize,
                    1,
                    f32::from(u8::from(add)),
                    theirs.as_mut_ptr(),
                    n as isize,
                    1,
                );
            }
            assert!(ours == theirs, "{m}×{k}×{n}");
        }
    }
}

/// Products of rows by every code that the machine can run; odd numbers of rows on both sides.
#[cfg(target_arch = "x86_64")]
#[test]
fn products_of_rows_have_the_order_of_dot() {
    use super::dots::{dots, dots_in_pairs};
    for (m, k, n) in [(1, 8, 1), (2, 16, 8), (3, 32, 5), (16, 32, 16), (7, 24, 19)] {
        let (a, b) = (numbers(m * (k + 3), "a"), numbers(n * (k + 1), "b"));
        let want =
            |s: usize, t: usize| crate::num::dot(&a[s * (k + 3)..][..k], &b[t * (k + 1)..][..k]);
        let check = |c: &[f32]| {
            for (s, row) in c.chunks(n + 2).enumerate() {
                assert!((0..n).all(|t| row[t] == want(s, t)), "{m}×{k}×{n}");
                assert!(row[n..].iter().all(|&v| v == 9.0), "outside C");
            }
        };
        let (ca, cb) = ((&a[..], m, k, k + 3, 1), (&b[..], n, k, k + 1, 1));
        let mut c = vec![9.0; m * (n + 2)];
        if class() != Class::Portable {
            // SAFETY: the machine has the features, the matrices are large enough.
            unsafe { dots(Pieces::ONE, (&mut c[..], m, n, n + 2, 1), ca, cb) };
            check(&c);
        }
        if class() == Class::Avx512 {
            c.fill(9.0);
            // SAFETY: likewise.
            unsafe { dots_in_pairs(Pieces::ONE, (&mut c[..], m, n, n + 2, 1), ca, cb) };
            check(&c);
        }
    }
}

type Run = fn(Pieces, Strided<&mut [f32]>, Strided<&[f32]>, Strided<&[f32]>);

/// Pieces in two directions, whole panels and odd widths, A as it lies and turned: each piece as a
/// product of its own, and nothing between the pieces is touched.
#[test]
fn pieces_equal_single_products() {
    const EDGE: f32 = 7.0;
    for (m, k, n) in [(2, 2, 32), (1, 2, 32), (16, 16, 64), (3, 5, 17), (9, 20, 48), (2, 300, 32)] {
        for turned in [false, true] {
            let (lda, ldb, ldc) = (m.max(k) + 1, 2 * n + 3, 2 * n + 1);
            let counts = [3, 2];
            let steps = [[m * ldc, n], [lda * lda, 2], [k * ldb, n]];
            let pieces = Pieces { counts, steps };
            let (a, b) = (numbers(3 * lda * lda + 2, "a"), numbers(3 * k * ldb, "b"));
            let (a_row, a_col) = if turned { (1, lda) } else { (lda, 1) };
            let check = |run: Run| {
                let mut c = vec![EDGE; 3 * m * ldc];
                run(
                    pieces,
                    (&mut c[..], m, n, ldc, 1),
                    (&a[..], m, k, a_row, a_col),
                    (&b[..], k, n, ldb, 1),
                );
                for (at, &got) in c.iter().enumerate() {
                    let (row, j) = (at / ldc, at % ldc);
                    let (left, right) = (row / m * lda * lda + j / n * 2, row / m * k * ldb + j);
                    let term =
                        |q: usize| (a[left + row % m * a_row + q * a_col], b[right + q * ldb]);
                    let want = if j < 2 * n { slow(0.0, false, k, term) } else { EDGE };
                    assert!(got == want, "{m}×{k}×{n} at ({row}, {j})");
                }
            };
            use super::pieces::products;
            // SAFETY: the matrices are large enough, the machine has what the tiles need.
            check(|pieces, c, a, b| unsafe { products::<Portable>(pieces, c, a, b) });
            #[cfg(target_arch = "x86_64")]
            {
                if class() != Class::Portable {
                    // SAFETY: likewise.
                    check(|pieces, c, a, b| unsafe {
                        products::<super::avx2::Avx2>(pieces, c, a, b)
                    });
                }
                if class() == Class::Avx512 {
                    // SAFETY: likewise.
                    check(|pieces, c, a, b| unsafe {
                        products::<super::avx512::Avx512>(pieces, c, a, b)
                    });
                }
            }
        }
    }
}
