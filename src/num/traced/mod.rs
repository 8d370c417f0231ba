//! Numbers that remember how they were computed, for a bound on their rounding error.
//!
//! `Traced<f32>` computes the value exactly as f32 does and records each operation on a [`Tape`]: a
//! bound on its own rounding, and its derivatives by its arguments. Backwards through the record, the
//! error of one result is, to first order in the unit roundoff u,
//!
//! ```text
//! |g − g*| ≤ Σ_i |∂g/∂r_i| ε_i            over all intermediate results r_i,  with
//!
//! ε = u|v|         of + − × ÷ √ and fused products with the computed value v
//! ε = 4u|v|        of exp, ln, tanh, erf, σ, softplus: two units in the last place
//! ε = γ Σ|a_l b_l| of a matrix product of k terms, γ = (k + 2)u / (1 − (k + 2)u)
//! ε = |x − v|      of a constant x that is not a number of the type
//! ```
//!
//! The third line holds for any order of summation, fused or not, so the bound does not depend on how a
//! kernel is written. Intervals, or errors that are carried along, would take the worst case anew in each
//! layer and grow by a factor of ten with each; here the slopes are those of the whole computation. That
//! the elementary functions are right to 2 units in the last place is tested on grids, not proved. A
//! comparison is assumed to be decided as without rounding; in the engine only ReLU depends on that.

mod tape;

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

use self::tape::push;
pub use self::tape::{Tape, record};
use super::Real;
use super::operators::derived_operators;
use super::raw::{Gemm, Product, Start, Strided};

/// A number whose operations round to nearest: f32 or f64.
pub trait Rounded: Real {
    /// Unit roundoff u: half the distance from 1 to the next number.
    const UNIT: f64;
    /// Smallest positive number; what an underflow may lose.
    const SMALLEST: f64;
}

impl Rounded for f32 {
    const UNIT: f64 = f32::EPSILON as f64 / 2.0;
    const SMALLEST: f64 = 1.5e-45;
}

impl Rounded for f64 {
    const UNIT: f64 = f64::EPSILON / 2.0;
    const SMALLEST: f64 = 5e-324;
}

/// Roundings of an elementary function: two units in the last place.
const FUNCTION: f64 = 4.0;

/// A value of type `T` and its number on the tape.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traced<T> {
    /// The value, bit for bit that of `T`.
    pub value: T,
    /// Its place on the tape of this thread; 0 for an exact number.
    pub result: u32,
}

impl<T: Rounded> Traced<T> {
    const fn exact(value: T) -> Self {
        Traced { value, result: 0 }
    }

    /// A result that is rounded so many times and depends on its arguments with these slopes.
    #[inline(always)]
    fn new<const N: usize>(value: T, roundings: f64, arguments: [(Self, f64); N]) -> Self {
        let size = value.to_f64().abs();
        // An infinity is exact here: it closes an entry of a softmax, and so is the 0 it makes.
        let error = if size == f64::INFINITY { 0.0 } else { roundings * T::UNIT * size };
        let error = if error > 0.0 { error + T::SMALLEST } else { error };
        Traced { value, result: push(error, arguments.map(|(a, slope)| (a.result, slope))) }
    }

    fn function(self, value: T, slope: f64) -> Self {
        Self::new(value, FUNCTION, [(self, slope)])
    }

    fn is_zero(self) -> bool {
        self.value == T::ZERO && self.result == 0
    }
}

impl<T: Rounded> PartialEq for Traced<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Rounded> PartialOrd for Traced<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl<T: Rounded> fmt::Display for Traced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)
    }
}

impl<T: Rounded> Add for Traced<T> {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        let value = self.value + b.value;
        // Adding nothing rounds nothing.
        if self.is_zero() {
            return Traced { value, result: b.result };
        }
        if b.is_zero() {
            return Traced { value, result: self.result };
        }
        Self::new(value, 1.0, [(self, 1.0), (b, 1.0)])
    }
}

impl<T: Rounded> Sub for Traced<T> {
    type Output = Self;
    fn sub(self, b: Self) -> Self {
        Self::new(self.value - b.value, 1.0, [(self, 1.0), (b, -1.0)])
    }
}

impl<T: Rounded> Mul for Traced<T> {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        let slopes = [(self, b.to_f64()), (b, self.to_f64())];
        Self::new(self.value * b.value, 1.0, slopes)
    }
}

impl<T: Rounded> Div for Traced<T> {
    type Output = Self;
    fn div(self, b: Self) -> Self {
        let value = self.value / b.value;
        let inverse = 1.0 / b.to_f64();
        Self::new(value, 1.0, [(self, inverse), (b, -value.to_f64() * inverse)])
    }
}

impl<T: Rounded> Neg for Traced<T> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::new(-self.value, 0.0, [(self, -1.0)])
    }
}

derived_operators!([T: Rounded] Traced<T>);

impl<T: Rounded> Gemm for Traced<T> {
    const PRODUCT: Option<Product<Self>> = Some(product);
}

/// The values of `T`'s own product, with the rounding of any order of summation.
fn product<T: Rounded>(
    start: Start<'_, Traced<T>>,
    (c, rows, cols, c_row, _): Strided<&mut [Traced<T>]>,
    (a, _, inner, a_row, a_col): Strided<&[Traced<T>]>,
    (b, b_rows, _, b_row, b_col): Strided<&[Traced<T>]>,
) {
    assert_eq!(inner, b_rows, "columns of A and rows of B");
    let dense = |rows: usize, cols: usize, at: &dyn Fn(usize, usize) -> Traced<T>| {
        (0..rows * cols).map(|k| at(k / cols, k % cols)).collect::<Vec<_>>()
    };
    let left = dense(rows, inner, &|i, j| a[i * a_row + j * a_col]);
    let right = dense(inner, cols, &|i, j| b[i * b_row + j * b_col]);
    let added = dense(rows, cols, &|i, j| match start {
        Start::Nothing => Traced::ZERO,
        Start::Old => c[i * c_row + j],
        Start::Row(row) => row[j],
    });
    let values = |m: &[Traced<T>]| m.iter().map(|x| x.value).collect::<Vec<T>>();
    let mut result = values(&added);
    let own = match start {
        Start::Nothing => Start::Nothing,
        Start::Old | Start::Row(_) => Start::Old,
    };
    let multiply = T::PRODUCT.expect("f32 and f64 have products");
    multiply(
        own,
        (&mut result, rows, cols, cols, 1),
        (&values(&left), rows, inner, inner, 1),
        (&values(&right), inner, cols, cols, 1),
    );
    let n = (inner + 2) as f64;
    let gamma = n * T::UNIT / (1.0 - n * T::UNIT);
    for (k, value) in result.into_iter().enumerate() {
        let (i, j) = (k / cols, k % cols);
        let pairs = || (0..inner).map(|l| (left[i * inner + l], right[l * cols + j]));
        let sizes: f64 = pairs().map(|(x, y)| (x.to_f64() * y.to_f64()).abs()).sum();
        let slopes = pairs().flat_map(|(x, y)| [(x.result, y.to_f64()), (y.result, x.to_f64())]);
        let error = gamma * (sizes + added[k].to_f64().abs());
        let result = push(error, slopes.chain([(added[k].result, 1.0)]));
        c[i * c_row + j] = Traced { value, result };
    }
}

impl<T: Rounded> Real for Traced<T> {
    const ZERO: Self = Self::exact(T::ZERO);
    const ONE: Self = Self::exact(T::ONE);
    const NEG_INFINITY: Self = Self::exact(T::NEG_INFINITY);
    const MAX: Self = Self::exact(T::MAX);
    const NAME: &'static str = "traced";
    const BYTES: usize = size_of::<Self>();

    fn from_f64(x: f64) -> Self {
        let value = T::from_f64(x);
        let error = (x - value.to_f64()).abs();
        Traced { value, result: push(if error > 0.0 { error } else { 0.0 }, []) }
    }
    fn to_f64(self) -> f64 {
        self.value.to_f64()
    }
    fn write_le(self, out: &mut Vec<u8>) {
        self.value.write_le(out);
    }
    fn mul_add(self, a: Self, b: Self) -> Self {
        let slopes = [(self, a.to_f64()), (a, self.to_f64()), (b, 1.0)];
        Self::new(self.value.mul_add(a.value, b.value), 1.0, slopes)
    }
    fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        Self::new(value, 1.0, [(self, 0.5 / value.to_f64())])
    }
    fn abs(self) -> Self {
        if self.value < T::ZERO { -self } else { self }
    }
    fn is_finite(self) -> bool {
        self.value.is_finite()
    }
    /// Without rounding the second part is 0, so its whole size is error.
    fn exp_parts(self) -> (Self, Self) {
        let (value, rest) = self.value.exp_parts();
        let error = rest.to_f64().abs();
        let rest = Traced { value: rest, result: push(error, []) };
        (self.function(value, value.to_f64()), rest)
    }
    fn ln(self) -> Self {
        self.function(self.value.ln(), 1.0 / self.to_f64())
    }
    fn tanh(self) -> Self {
        let twice = 2.0 * self.to_f64();
        self.function(self.value.tanh(), 4.0 * Real::sigmoid(twice) * Real::sigmoid(-twice))
    }
    fn erf(self) -> Self {
        let x = self.to_f64();
        let slope = std::f64::consts::FRAC_2_SQRT_PI * Real::exp(-(x * x));
        self.function(self.value.erf(), slope)
    }
    fn sigmoid(self) -> Self {
        let x = self.to_f64();
        self.function(self.value.sigmoid(), Real::sigmoid(x) * Real::sigmoid(-x))
    }
    /// The tail is taken to first order: as many roundings again.
    fn ln_1p(self, tail: Self) -> Self {
        let slope = 1.0 / (1.0 + self.to_f64() + tail.to_f64());
        let value = self.value.ln_1p(tail.value);
        Self::new(value, 2.0 * FUNCTION, [(self, slope), (tail, slope)])
    }
    fn softplus(self) -> Self {
        self.function(self.value.softplus(), Real::sigmoid(self.to_f64()))
    }
}

#[cfg(test)]
mod tests;
