//! Dual numbers: a value with its derivatives in N directions, carried through every operation.
//!
//! (v + v′ε)(w + w′ε) = vw + (v′w + vw′)ε with ε² = 0, and f(v + v′ε) = f(v) + f′(v) v′ε. No step, no
//! truncation: the derivatives are exact up to the rounding of the base type. Running a loss on dual
//! numbers is forward-mode differentiation of the very code; running a *backward pass* on them gives
//! products of the Hessian with the N directions.
//!
//! Comparisons look at values alone, as the code's branches do.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Real;
use super::operators::derived_operators;
use super::raw::Gemm;

/// A value of type `B` and its derivatives in `N` directions.
#[derive(Clone, Copy, Debug)]
pub struct Dual<B, const N: usize> {
    /// The value.
    pub value: B,
    /// Its derivative in each direction.
    pub tangent: [B; N],
}

impl<B: Real, const N: usize> Dual<B, N> {
    /// A constant.
    #[inline(always)]
    pub fn constant(value: B) -> Self {
        Dual { value, tangent: [B::ZERO; N] }
    }

    /// f(self), given the value and the derivative of f here.
    #[inline(always)]
    fn chain(self, value: B, slope: B) -> Self {
        Dual { value, tangent: self.tangent.map(|t| slope * t) }
    }

    /// The tangents of two numbers, combined one by one.
    #[inline(always)]
    fn zip(a: [B; N], b: [B; N], f: impl Fn(B, B) -> B) -> [B; N] {
        std::array::from_fn(|l| f(a[l], b[l]))
    }
}

impl<B: Real, const N: usize> Default for Dual<B, N> {
    fn default() -> Self {
        Self::ZERO
    }
}

impl<B: Real, const N: usize> fmt::Display for Dual<B, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)
    }
}

impl<B: Real, const N: usize> PartialEq for Dual<B, N> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<B: Real, const N: usize> PartialOrd for Dual<B, N> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl<B: Real, const N: usize> Add for Dual<B, N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        let tangent = Self::zip(self.tangent, b.tangent, |s, t| s + t);
        Dual { value: self.value + b.value, tangent }
    }
}

impl<B: Real, const N: usize> Sub for Dual<B, N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        let tangent = Self::zip(self.tangent, b.tangent, |s, t| s - t);
        Dual { value: self.value - b.value, tangent }
    }
}

impl<B: Real, const N: usize> Mul for Dual<B, N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        let (v, w) = (self.value, b.value);
        let tangent = Self::zip(self.tangent, b.tangent, |s, t| s.mul_add(w, v * t));
        Dual { value: v * w, tangent }
    }
}

impl<B: Real, const N: usize> Div for Dual<B, N> {
    type Output = Self;
    /// (v/w)′ = (v′ − (v/w) w′) / w.
    #[inline(always)]
    fn div(self, b: Self) -> Self {
        let (value, w) = (self.value / b.value, b.value);
        let tangent = Self::zip(self.tangent, b.tangent, |s, t| (-value).mul_add(t, s) / w);
        Dual { value, tangent }
    }
}

impl<B: Real, const N: usize> Neg for Dual<B, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Dual { value: -self.value, tangent: self.tangent.map(|t| -t) }
    }
}

derived_operators!([B: Real, const N: usize] Dual<B, N>);

impl<B: Real, const N: usize> Gemm for Dual<B, N> {}

impl<B: Real, const N: usize> Real for Dual<B, N> {
    const ZERO: Self = Dual { value: B::ZERO, tangent: [B::ZERO; N] };
    const ONE: Self = Dual { value: B::ONE, tangent: [B::ZERO; N] };
    const NEG_INFINITY: Self = Dual { value: B::NEG_INFINITY, tangent: [B::ZERO; N] };
    const MAX: Self = Dual { value: B::MAX, tangent: [B::ZERO; N] };
    const NAME: &'static str = "dual";
    const BYTES: usize = size_of::<Self>();

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        Self::constant(B::from_f64(x))
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.value.to_f64()
    }
    fn write_le(self, out: &mut Vec<u8>) {
        self.value.write_le(out);
        self.tangent.iter().for_each(|t| t.write_le(out));
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        let (v, w) = (self.value, a.value);
        let product = Self::zip(a.tangent, b.tangent, |t, r| v.mul_add(t, r));
        let tangent = Self::zip(self.tangent, product, |s, r| s.mul_add(w, r));
        Dual { value: v.mul_add(w, b.value), tangent }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, B::from_f64(0.5) / root)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        if self.value < B::ZERO { -self } else { self }
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self.value.is_finite()
    }
    #[inline(always)]
    fn exp_parts(self) -> (Self, Self) {
        // The slope of both parts together is both parts together.
        let (value, rest) = self.value.exp_parts();
        (self.chain(value, value), self.chain(rest, rest))
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.chain(self.value.ln(), B::ONE / self.value)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        // 1 − tanh² x = 4 σ(2x) σ(−2x), without cancellation.
        let twice = self.value + self.value;
        let slope = B::from_f64(4.0) * twice.sigmoid() * (-twice).sigmoid();
        self.chain(self.value.tanh(), slope)
    }
    #[inline(always)]
    fn erf(self) -> Self {
        // 2/√π in two parts: the second counts for bases wider than f64.
        let factor =
            B::from_f64(std::f64::consts::FRAC_2_SQRT_PI) + B::from_f64(1.533_545_961_316_588e-17);
        let slope = factor * (-(self.value * self.value)).exp();
        self.chain(self.value.erf(), slope)
    }
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let value = self.value.sigmoid();
        self.chain(value, value * (-self.value).sigmoid())
    }
    #[inline(always)]
    fn ln_1p(self, tail: Self) -> Self {
        let slope = B::ONE / (B::ONE + self.value + tail.value);
        (self + tail).chain(self.value.ln_1p(tail.value), slope)
    }
    #[inline(always)]
    fn softplus(self) -> Self {
        self.chain(self.value.softplus(), self.value.sigmoid())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DoubleDouble, log_sum_exp};
    use super::*;

    type D = Dual<f64, 2>;

    fn at(value: f64) -> D {
        Dual { value, tangent: [1.0, -3.0] }
    }

    /// Each function against the difference quotient of its own values, in double-double, where a
    /// step of 10⁻⁸ is right to 10⁻¹⁵.
    #[test]
    fn slopes_are_those_of_the_functions() {
        type Function = (&'static str, fn(D) -> D, fn(DoubleDouble) -> DoubleDouble);
        let functions: [Function; 8] = [
            ("exp", Real::exp, Real::exp),
            ("ln", |x| x.abs().ln(), |x| x.abs().ln()),
            ("tanh", Real::tanh, Real::tanh),
            ("erf", Real::erf, Real::erf),
            ("sigmoid", Real::sigmoid, Real::sigmoid),
            ("softplus", Real::softplus, Real::softplus),
            ("log_sigmoid", Real::log_sigmoid, Real::log_sigmoid),
            ("sqrt", |x| x.abs().sqrt(), |x| x.abs().sqrt()),
        ];
        let wide = DoubleDouble::from_f64;
        let h = 1e-8;
        for (name, dual, truth) in functions {
            for x in [-5.0, -1.3, -0.2, 0.01, 0.7, 2.0, 4.5] {
                let got = dual(at(x));
                let (up, down) = (truth(wide(x) + wide(h)), truth(wide(x) - wide(h)));
                let want = ((up - down) / wide(2.0 * h)).to_f64();
                let scale = want.abs().max(1e-3);
                assert!(
                    (got.tangent[0] - want).abs() <= 1e-11 * scale,
                    "{name}({x}): {got:?} {want}"
                );
                assert!((got.tangent[1] + 3.0 * want).abs() <= 1e-10 * scale, "{name}({x})");
            }
        }
    }

    #[test]
    fn products_quotients_and_fused_sums_by_hand() {
        let (a, b, c) = (at(3.0), D::constant(4.0), at(0.5));
        assert_eq!((a * b).tangent, [4.0, -12.0]);
        assert_eq!((a * c).tangent, [3.5, -10.5]);
        assert_eq!((b / a).tangent, [-4.0 / 9.0, 12.0 / 9.0]);
        assert_eq!(a.mul_add(c, c).tangent, [4.5, -13.5]);
        assert_eq!((-a - c).tangent, [-2.0, 6.0]);
        let sum: D = [a, b, c].into_iter().sum();
        assert_eq!((sum.value, sum.tangent), (7.5, [2.0, -6.0]));
        let mut d = a;
        d /= c;
        assert_eq!((d.value, d.tangent), (6.0, [-10.0, 30.0]));
    }

    /// ∂ ln Σ eˣ = softmax, through the compensated sum; a closed entry (−∞) gives nothing.
    #[test]
    fn the_compensated_sum_has_the_slope_of_the_exact_one() {
        let x = [0.3, -1.0, f64::NEG_INFINITY, 2.5];
        for k in [0, 1, 3] {
            let mut z = x.map(Dual::<f64, 1>::constant);
            z[k].tangent = [1.0];
            let got = log_sum_exp(&z);
            let want = Real::exp(x[k] - log_sum_exp(&x));
            assert!((got.tangent[0] - want).abs() < 1e-15, "{k}: {got:?} {want}");
        }
    }
}
