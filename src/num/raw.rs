//! The only file with `unsafe`: matrixmultiply's raw-pointer GEMM, and the switch into code that is
//! compiled for the machine's vector unit.
#![allow(unsafe_code)]

/// Whether products and sums inside GEMM are fused on this machine. It is the one machine property
/// that results depend on; manifests record it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fusing {
    /// Fused multiply-add (x86 with FMA, and ARM).
    Fused,
    /// A rounding after each product.
    Unfused,
}

/// The fusing class of the running machine.
pub fn fusing() -> Fusing {
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    let fused = std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
    let fused = cfg!(target_arch = "aarch64");
    if fused { Fusing::Fused } else { Fusing::Unfused }
}

/// Runs `f` compiled for AVX2 and FMA where the machine has them, else as it is.
///
/// Works by inlining: mark the closure `#[inline(always)]` and call only inlined functions in it.
/// Rust never fuses or reorders floating-point operations by itself, so both versions give the same
/// bits; only the speed differs.
#[inline(always)]
pub fn vectorize<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            // SAFETY: the two features were found on this machine just now.
            return unsafe { vectorize_avx2(f) };
        }
    }
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn vectorize_avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// A strided matrix: the slice, rows, columns, row stride, column stride.
pub type Strided<S> = (S, usize, usize, usize, usize);

/// Matrix products; it also seals [`Real`], since code outside cannot name it.
pub trait Gemm: Sized {
    /// C ← A·B, or C ← C + A·B when `add`.
    fn gemm(c: Strided<&mut [Self]>, a: Strided<&[Self]>, b: Strided<&[Self]>, add: bool);
}

macro_rules! gemm {
    ($t:ident, $function:path) => {
        impl Gemm for $t {
            fn gemm(c: Strided<&mut [$t]>, a: Strided<&[$t]>, b: Strided<&[$t]>, add: bool) {
                let (m, k, n) = (a.1, a.2, b.2);
                assert!(
                    k == b.1 && (c.1, c.2) == (m, n),
                    "gemm: {m}×{k} times {}×{n} into {}×{}",
                    b.1,
                    c.1,
                    c.2
                );
                assert!(
                    fits(a.0.len(), m, k, a.3, a.4)
                        && fits(b.0.len(), k, n, b.3, b.4)
                        && fits(c.0.len(), m, n, c.3, c.4),
                    "gemm: a view reaches outside its slice"
                );
                assert!(
                    m <= 1 || n <= 1 || c.3 >= n * c.4 || c.4 >= m * c.3,
                    "gemm: two elements of C share an address"
                );
                let beta = if add { 1.0 } else { 0.0 };
                // alpha is always 1: otherwise a result would depend on the tile it falls in.
                // SAFETY: the three bounds were checked above; `c` is borrowed mutably, so it
                // overlaps neither `a` nor `b`.
                unsafe {
                    $function(
                        m,
                        k,
                        n,
                        1.0,
                        a.0.as_ptr(),
                        a.3 as isize,
                        a.4 as isize,
                        b.0.as_ptr(),
                        b.3 as isize,
                        b.4 as isize,
                        beta,
                        c.0.as_mut_ptr(),
                        c.3 as isize,
                        c.4 as isize,
                    );
                }
            }
        }
    };
}
gemm!(f32, matrixmultiply::sgemm);
gemm!(f64, matrixmultiply::dgemm);

/// Whether the last element of a strided matrix lies inside a slice of `len`.
fn fits(len: usize, rows: usize, cols: usize, rs: usize, cs: usize) -> bool {
    rows == 0 || cols == 0 || (rows - 1) * rs + (cols - 1) * cs < len
}
