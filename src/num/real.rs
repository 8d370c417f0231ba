//! `Real`: what the engine needs of a number. f32 trains; f64, dual numbers, double-double and traced
//! numbers audit; the code is the same.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A number (sealed): f32, f64, and the kinds that audit them, [`super::Dual`],
/// [`super::DoubleDouble`] and [`super::Traced`].
///
/// The elementary functions of f32 and f64 are the crate's own polynomials: built from `+ − × ÷` and
/// fused multiply-add only, so a value is the same on every machine and at every vector width, and at
/// most 2 units in the last place from the truth (the tests compare dense grids with libm).
pub trait Real:
    super::raw::Gemm
    + Copy
    + Default
    + PartialEq
    + PartialOrd
    + Debug
    + Display
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// −∞.
    const NEG_INFINITY: Self;
    /// Largest finite value.
    const MAX: Self;
    /// Name as in Rust and in safetensors' documentation.
    const NAME: &'static str;
    /// Size in bytes.
    const BYTES: usize;

    /// Nearest value.
    fn from_f64(x: f64) -> Self;
    /// The nearest f64; exact for f32 and f64. Derivatives are left behind.
    fn to_f64(self) -> f64;
    /// Appends the little-endian bytes.
    fn write_le(self, out: &mut Vec<u8>);
    /// `self · a + b` with one rounding.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Correctly rounded.
    fn sqrt(self) -> Self;
    /// |x|.
    fn abs(self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// The larger; NaN if either is (unlike std: a NaN must not vanish).
    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        if self > other || self.is_nan() { self } else { other }
    }
    /// True for NaN.
    #[inline(always)]
    #[allow(clippy::eq_op)]
    fn is_nan(self) -> bool {
        self != self
    }
    /// eˣ.
    #[inline(always)]
    fn exp(self) -> Self {
        self.exp_parts().0
    }
    /// eˣ as an unevaluated sum: the value, and what its rounding left out.
    fn exp_parts(self) -> (Self, Self);
    /// ln x; −∞ at 0, NaN below.
    fn ln(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Error function 2/√π ∫₀ˣ e^(−t²) dt.
    fn erf(self) -> Self;
    /// σ(x) = 1/(1 + e^(−x)), without overflow on either side.
    fn sigmoid(self) -> Self;
    /// ln(1 + x + tail) for x ≥ 0 and a tail far below x: an unevaluated sum keeps its last bits.
    fn ln_1p(self, tail: Self) -> Self;
    /// ln(1 + eˣ), stable for all x.
    fn softplus(self) -> Self;
    /// ln σ(x) = −softplus(−x).
    #[inline(always)]
    fn log_sigmoid(self) -> Self {
        -(-self).softplus()
    }
}
