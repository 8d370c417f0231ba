//! Double-double numbers: the unevaluated sum of two f64, about 31 decimal digits.
//!
//! Error-free sums (Knuth) and products (fused multiply-add), as in Dekker 1971 and the QD library of
//! Hida, Li and Bailey. They are the truth that the audit measures f32 and f64 against: the same
//! generic code runs on them, and its rounding is 10¹⁵ times smaller.

mod elementary;

use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Real;
use super::operators::derived_operators;
use super::raw::Gemm;

/// hi + lo with |lo| at most half a unit in the last place of hi. Infinities and NaN have lo = 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct DoubleDouble {
    hi: f64,
    lo: f64,
}

impl DoubleDouble {
    /// The sum of two f64, exactly.
    #[inline(always)]
    pub const fn from_sum(a: f64, b: f64) -> Self {
        let sum = a + b;
        let from_b = sum - a;
        let rest = (a - (sum - from_b)) + (b - from_b);
        DoubleDouble { hi: sum, lo: if sum.is_finite() { rest } else { 0.0 } }
    }

    /// The two parts: the nearest f64, and the rest.
    pub fn parts(self) -> (f64, f64) {
        (self.hi, self.lo)
    }

    /// hi + lo for |hi| ≥ |lo|.
    #[inline(always)]
    fn renormalised(hi: f64, lo: f64) -> Self {
        let sum = hi + lo;
        let rest = lo - (sum - hi);
        // ∞ − ∞ left a NaN in `lo`; the value is in `hi`.
        let finite = hi.is_finite() && sum.is_finite();
        DoubleDouble { hi: if finite { sum } else { hi }, lo: if finite { rest } else { 0.0 } }
    }

    /// a · b for f64, exactly.
    #[inline(always)]
    fn product(a: f64, b: f64) -> Self {
        let p = a * b;
        DoubleDouble { hi: p, lo: a.mul_add(b, -p) }
    }

    /// self · 2ᵏ: two exact factors, so that k may be anything an exponential needs.
    #[inline(always)]
    fn scaled(self, k: i32) -> Self {
        let power = |n: i32| f64::from_bits(((n + 1023) as u64) << 52);
        let (a, b) = (power(k / 2), power(k - k / 2));
        Self::renormalised(self.hi * a * b, self.lo * a * b)
    }
}

impl Add for DoubleDouble {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        let (high, low) = (Self::from_sum(self.hi, b.hi), Self::from_sum(self.lo, b.lo));
        let sum = Self::renormalised(high.hi, high.lo + low.hi);
        Self::renormalised(sum.hi, sum.lo + low.lo)
    }
}

impl Sub for DoubleDouble {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        self + -b
    }
}

impl Mul for DoubleDouble {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        let p = Self::product(self.hi, b.hi);
        Self::renormalised(p.hi, p.lo + self.hi.mul_add(b.lo, self.lo * b.hi))
    }
}

impl Div for DoubleDouble {
    type Output = Self;
    /// Long division with three digits of 53 bits.
    #[inline(always)]
    fn div(self, b: Self) -> Self {
        let first = self.hi / b.hi;
        if !first.is_finite() || !b.hi.is_finite() {
            return Self::from_f64(first);
        }
        let rest = self - b * Self::from_f64(first);
        let second = rest.hi / b.hi;
        let third = (rest - b * Self::from_f64(second)).hi / b.hi;
        Self::renormalised(first, second) + Self::from_f64(third)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        DoubleDouble { hi: -self.hi, lo: -self.lo }
    }
}

impl fmt::Display for DoubleDouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hi.fmt(f)
    }
}

derived_operators!([] DoubleDouble);

impl Gemm for DoubleDouble {}

impl Real for DoubleDouble {
    const ZERO: Self = DoubleDouble { hi: 0.0, lo: 0.0 };
    const ONE: Self = DoubleDouble { hi: 1.0, lo: 0.0 };
    const NEG_INFINITY: Self = DoubleDouble { hi: f64::NEG_INFINITY, lo: 0.0 };
    const MAX: Self = DoubleDouble { hi: f64::MAX, lo: 0.0 };
    const NAME: &'static str = "double-double";
    const BYTES: usize = size_of::<Self>();

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        DoubleDouble { hi: x, lo: 0.0 }
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.hi
    }
    fn write_le(self, out: &mut Vec<u8>) {
        self.hi.write_le(out);
        self.lo.write_le(out);
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        self * a + b
    }
    /// One Newton step from the f64 root.
    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.hi.sqrt();
        if root == 0.0 || !root.is_finite() {
            return Self::from_f64(root);
        }
        let rest = self - Self::product(root, root);
        Self::renormalised(root, rest.hi / (2.0 * root))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        if self.hi < 0.0 { -self } else { self }
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self.hi.is_finite()
    }
    #[inline(always)]
    fn exp_parts(self) -> (Self, Self) {
        (elementary::exp(self), Self::ZERO)
    }
    fn ln(self) -> Self {
        elementary::ln(self)
    }
    fn tanh(self) -> Self {
        elementary::tanh(self)
    }
    fn erf(self) -> Self {
        elementary::erf(self)
    }
    fn sigmoid(self) -> Self {
        elementary::sigmoid(self)
    }
    fn ln_1p(self, tail: Self) -> Self {
        elementary::ln_1p(self + tail)
    }
    fn softplus(self) -> Self {
        let positive = if self > Self::ZERO { self } else { Self::ZERO };
        positive + elementary::ln_1p(elementary::exp(-self.abs()))
    }
}

#[cfg(test)]
mod tests;
