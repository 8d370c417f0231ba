//! Matrix products of strided matrices: the checks, and the choice of who computes.
//!
//! Sound because every public way in goes through [`check`] or, for many pieces, [`Pieces::check`], after which each operand lies inside its
//! slice, no two entries of C share an address, and C, borrowed mutably, overlaps neither A nor B.

use super::pieces::Pieces;

/// A strided matrix: the slice, rows, columns, row stride, column stride.
pub type Strided<S> = (S, usize, usize, usize, usize);

/// What the products are added to.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a, T> {
    /// Nothing: C ← A·B, the old contents of C are not read.
    Nothing,
    /// C ← C + A·B.
    Old,
    /// The same row everywhere: C ← 1·rowᵀ + A·B.
    Row(&'a [T]),
}

/// C ← start + A·B. The columns of C are contiguous.
pub type Product<T> = fn(Start<'_, T>, Strided<&mut [T]>, Strided<&[T]>, Strided<&[T]>);

/// C ← A·B for many pieces of three matrices; `false` if it is left to the caller. The columns of C are
/// contiguous.
pub type Products<T> = fn(Pieces, Strided<&mut [T]>, Strided<&[T]>, Strided<&[T]>) -> bool;

/// C ← C + A·B with sums of so many products, which are added in order; `false` if it is left to the
/// caller.
pub type Sums<T> = fn(usize, Strided<&mut [T]>, Strided<&[T]>, Strided<&[T]>) -> bool;

/// As [`Products`], C_st ← product of row s of A and row t of B in the order of `num::dot`.
pub type Dots<T> = Products<T>;

/// out, x̂ and 1/√(var + ε) of a layer norm from its input, γ and β, and ε; `false` if it is left to the
/// caller.
pub type NormForward<T> = fn([&mut [T]; 3], &[T], [&[T]; 2], T) -> bool;

/// The input's gradient of a layer norm, with dγ and dβ, which accumulate, from dout, γ, x̂ and
/// 1/√(var + ε); `false` if it is left to the caller.
pub type NormBackward<T> = fn([&mut [T]; 3], &[T], &[T], [&[T]; 2]) -> bool;

/// Matrix products; it also seals [`Real`](crate::num::Real), since code outside cannot name it.
pub trait Gemm: Sized {
    /// The fast product of this type; without one the slow reference is used.
    const PRODUCT: Option<Product<Self>> = None;
    /// Fast products of many pieces.
    const PRODUCTS: Products<Self> = |_, _, _, _| false;
    /// Fast sums of products.
    const SUMS: Sums<Self> = |_, _, _, _| false;
    /// Fast products of rows.
    const DOTS: Dots<Self> = |_, _, _, _| false;
    /// Fast layer norms.
    const NORM_FORWARD: NormForward<Self> = |_, _, _, _| false;
    /// Their gradients.
    const NORM_BACKWARD: NormBackward<Self> = |_, _, _, _| false;
}

impl Gemm for f32 {
    const PRODUCT: Option<Product<f32>> = Some(|start, mut c, a, b| {
        check(&start, (c.0.len(), c.1, c.2, c.3, c.4), sizes(&a), sizes(&b));
        #[cfg(target_arch = "x86_64")]
        {
            use super::vectorize::{Class, class};
            use super::{avx2::Avx2, avx512::Avx512, tiles};
            match class() {
                // SAFETY: `check` passed, and the machine has what the tile's code needs.
                Class::Avx512 => return unsafe { tiles::gemm::<Avx512>(start, c, a, b) },
                // SAFETY: likewise.
                Class::Avx2 => return unsafe { tiles::gemm::<Avx2>(start, c, a, b) },
                Class::Portable => {}
            }
        }
        let beta = write_start(start, &mut c);
        // SAFETY: `check` passed.
        unsafe { call!(matrixmultiply::sgemm, beta, c, a, b) }
    });

    #[cfg(target_arch = "x86_64")]
    const PRODUCTS: Products<f32> = |pieces, c, a, b| {
        use super::vectorize::{Class, class};
        use super::{avx2::Avx2, avx512::Avx512, pieces::products};
        pieces.check(&c, &a, &b, false);
        match class() {
            // SAFETY: `check` passed, and the machine has what the tile's code needs.
            Class::Avx512 => unsafe { products::<Avx512>(pieces, c, a, b) },
            // SAFETY: likewise.
            Class::Avx2 => unsafe { products::<Avx2>(pieces, c, a, b) },
            Class::Portable => return false,
        }
        true
    };

    #[cfg(target_arch = "x86_64")]
    const SUMS: Sums<f32> = |length, c, a, b| {
        use super::vectorize::{Class, class};
        use super::{avx2::Avx2, avx512::Avx512, tiles};
        check::<f32>(&Start::Old, (c.0.len(), c.1, c.2, c.3, c.4), sizes(&a), sizes(&b));
        if length == 0 || length > tiles::K_BLOCK {
            return false;
        }
        match class() {
            // SAFETY: `check` passed, and the machine has what the tile's code needs.
            Class::Avx512 => unsafe { tiles::sums::<Avx512>(length, Start::Old, c, a, b) },
            // SAFETY: likewise.
            Class::Avx2 => unsafe { tiles::sums::<Avx2>(length, Start::Old, c, a, b) },
            Class::Portable => return false,
        }
        true
    };

    #[cfg(target_arch = "x86_64")]
    const DOTS: Dots<f32> = |pieces, c, a, b| {
        use super::dots::{LANES, dots, dots_in_pairs};
        use super::vectorize::{Class, class};
        pieces.check(&c, &a, &b, true);
        if a.4 != 1 || b.4 != 1 || !a.2.is_multiple_of(LANES) {
            return false;
        }
        match class() {
            // SAFETY: `check` passed, and the machine has what the code needs.
            Class::Avx512 => unsafe { dots_in_pairs(pieces, c, a, b) },
            // SAFETY: likewise.
            Class::Avx2 => unsafe { dots(pieces, c, a, b) },
            Class::Portable => return false,
        }
        true
    };

    #[cfg(target_arch = "x86_64")]
    const NORM_FORWARD: NormForward<f32> = |[out, xhat, rstd], x, [gain, shift], epsilon| {
        use super::vectorize::{Class, class};
        // SAFETY: the machine has AVX-512; the sizes are checked there.
        class() == Class::Avx512
            && unsafe { super::norm::forward((out, xhat, rstd), x, (gain, shift), epsilon) }
    };

    #[cfg(target_arch = "x86_64")]
    const NORM_BACKWARD: NormBackward<f32> = |[dinp, dgain, dshift], dout, gain, [xhat, rstd]| {
        use super::vectorize::{Class, class};
        // SAFETY: likewise.
        class() == Class::Avx512
            && unsafe { super::norm::backward(dinp, (dgain, dshift), dout, gain, (xhat, rstd)) }
    };
}

impl Gemm for f64 {
    const PRODUCT: Option<Product<f64>> = Some(|start, mut c, a, b| {
        check(&start, (c.0.len(), c.1, c.2, c.3, c.4), sizes(&a), sizes(&b));
        let beta = write_start(start, &mut c);
        // SAFETY: `check` passed.
        unsafe { call!(matrixmultiply::dgemm, beta, c, a, b) }
    });
}

/// matrixmultiply; α is always 1: otherwise a result would depend on the tile it falls in.
macro_rules! call {
    ($function:path, $beta:expr, $c:expr, $a:expr, $b:expr) => {
        $function(
            $a.1,
            $a.2,
            $b.2,
            1.0,
            $a.0.as_ptr(),
            $a.3 as isize,
            $a.4 as isize,
            $b.0.as_ptr(),
            $b.3 as isize,
            $b.4 as isize,
            $beta.into(),
            $c.0.as_mut_ptr(),
            $c.3 as isize,
            $c.4 as isize,
        )
    };
}
use call;

/// Puts the start into C; returns the factor β of C in the product.
fn write_start<T: Copy>(start: Start<'_, T>, c: &mut Strided<&mut [T]>) -> f32 {
    match start {
        Start::Nothing => return 0.0,
        Start::Old => {}
        Start::Row(row) => {
            for i in 0..c.1 {
                c.0[i * c.3..][..row.len()].copy_from_slice(row);
            }
        }
    }
    1.0
}

pub(super) fn sizes<T>(m: &Strided<&[T]>) -> Strided<usize> {
    (m.0.len(), m.1, m.2, m.3, m.4)
}

/// Panics unless the shapes match, every view lies in its slice, and the entries of C are apart.
pub(super) fn check<T>(
    start: &Start<'_, T>,
    c: Strided<usize>,
    a: Strided<usize>,
    b: Strided<usize>,
) {
    let (m, k, n) = (a.1, a.2, b.2);
    assert!(
        k == b.1 && (c.1, c.2) == (m, n),
        "gemm: {m}×{k} times {}×{n} into {}×{}",
        b.1,
        c.1,
        c.2
    );
    assert!(fits(a) && fits(b) && fits(c), "gemm: a view reaches outside its slice");
    assert!(c.4 == 1 && (m <= 1 || c.3 >= n), "gemm: two elements of C share an address");
    if let Start::Row(row) = start {
        assert_eq!(row.len(), n, "gemm: length of the row that is added");
    }
}

/// Whether the last element of a strided matrix lies inside a slice of the given length.
fn fits((len, rows, cols, row_stride, col_stride): Strided<usize>) -> bool {
    rows == 0 || cols == 0 || (rows - 1) * row_stride + (cols - 1) * col_stride < len
}
