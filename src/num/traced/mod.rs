//! Numbers that remember how they were computed, for a bound on their rounding error.
//!
//! `Traced<f32>` computes the value v exactly as f32 does, carries the true value t beside it in
//! double-double, and records each operation on a [`Tape`]: its own rounding δ, a bound ε on it that is
//! known beforehand, and slopes. The slopes are those of secants between v and t, not derivatives:
//!
//! ```text
//! ab − a*b*     = b (a − a*) + a* (b − b*)            + and −: 1 and ±1
//! a/b − a*/b*   = ((a − a*) − (a*/b*) (b − b*)) / b
//! √x − √x*      = (x − x*) / (√x + √x*)
//! f(x) − f(x*)  = s (x − x*),  s = (f(x) − f(x*)) / (x − x*) in double-double
//! ```
//!
//! so errors are carried from argument to result exactly, with no term of second order, and backwards
//! through the record
//!
//! ```text
//! g − g* = Σ_i S_i δ_i,   |g − g*| ≤ Σ_i |S_i| ε_i       over all intermediate results i,  with
//!
//! ε = u|v|         of + − × ÷ √ and fused products with the computed value v
//! ε = 4u|v|        of exp, ln, tanh, erf, σ, softplus: two units in the last place
//! ε = γ Σ|a_l b_l| of a matrix product of k terms, γ = (k + 2)u / (1 − (k + 2)u)
//! ε = |x − v|      of a constant x that is not a number of the type
//! ```
//!
//! Nothing is assumed: that |δ| ≤ ε is checked at every operation, and the first equation, which the
//! tape evaluates as well, shows that no rounding was forgotten. The third line of the table holds for
//! any order of summation, fused or not. Intervals, or errors that are carried along, would take the
//! worst case anew in each layer and grow by a factor of ten with each.
//!
//! Comparisons are those of the values. Where the true values would have decided otherwise, t is no
//! longer what exact arithmetic gives: whoever uses a bound compares t with a run in double-double.

mod tape;

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

pub use self::tape::{Explained, Tape, record};
use self::tape::{Rounding, push};
use super::operators::derived_operators;
use super::raw::{Gemm, Product, Start, Strided};
use super::{DoubleDouble, Real};

/// A number whose operations round to nearest: f32 or f64.
pub trait Rounded: Real {
    /// Unit roundoff u: half the distance from 1 to the next number.
    const UNIT: f64;
    /// Smallest positive number; what an underflow may lose.
    const SMALLEST: f64;
    /// Largest finite number.
    const LARGEST: f64;
}

impl Rounded for f32 {
    const UNIT: f64 = f32::EPSILON as f64 / 2.0;
    const SMALLEST: f64 = 1.5e-45;
    const LARGEST: f64 = f32::MAX as f64;
}

impl Rounded for f64 {
    const UNIT: f64 = f64::EPSILON / 2.0;
    const SMALLEST: f64 = 5e-324;
    const LARGEST: f64 = f64::MAX;
}

/// Roundings of an elementary function: two units in the last place.
const FUNCTION: f64 = 4.0;

/// Where the error of an argument is below this share of it, secants are taken for derivatives: their
/// difference is as small, and a quotient of roundings of double-double says nothing.
const NO_SECANT: f64 = 1e-24;

/// A value of type `T`, the true value, and its number on the tape.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traced<T> {
    /// The value, bit for bit that of `T`.
    pub value: T,
    /// What it would be without any rounding.
    pub truth: DoubleDouble,
    /// Its place on the tape of this thread; 0 for an exact number.
    pub result: u32,
}

impl<T: Rounded> Traced<T> {
    const fn exact(value: T, truth: f64) -> Self {
        Traced { value, truth: DoubleDouble::from_sum(truth, 0.0), result: 0 }
    }

    /// The value without its past.
    fn wide(self) -> DoubleDouble {
        DoubleDouble::from_f64(self.value.to_f64())
    }

    /// A result that is rounded so many times. `exact` is the operation without rounding on the computed
    /// arguments, `truth` on the true ones; the slopes lead from the errors of the arguments to that of
    /// the result.
    #[inline(always)]
    fn new<const N: usize>(
        value: T,
        (exact, truth): (DoubleDouble, DoubleDouble),
        roundings: f64,
        slopes: [(Self, f64); N],
    ) -> Self {
        let size = value.to_f64().abs();
        // An infinity is exact here: it closes an entry of a softmax, and so are the 0 and the NaN it makes.
        let nothing = !size.is_finite() || (size == 0.0 && exact == DoubleDouble::ZERO);
        let bound = if nothing { 0.0 } else { roundings * (T::UNIT * size + T::SMALLEST) };
        let rounding = Rounding::of(value, exact, bound);
        let result = push(rounding, slopes.map(|(a, slope)| (a.result, slope)));
        Traced { value, truth, result }
    }

    /// An elementary function with this derivative at the computed argument.
    fn function(
        self,
        value: T,
        f: impl Fn(DoubleDouble) -> DoubleDouble,
        derivative: impl FnOnce(f64) -> f64,
    ) -> Self {
        let (exact, truth) = (f(self.wide()), f(self.truth));
        let slope = secant((self.wide(), exact), (self.truth, truth), derivative);
        Self::new(value, (exact, truth), FUNCTION, [(self, slope)])
    }

    fn is_zero(self) -> bool {
        self.value == T::ZERO && self.result == 0
    }
}

/// (y − y*) / (x − x*) from the computed to the true point of a function.
fn secant(
    (x, y): (DoubleDouble, DoubleDouble),
    (true_x, true_y): (DoubleDouble, DoubleDouble),
    derivative: impl FnOnce(f64) -> f64,
) -> f64 {
    let off = x - true_x;
    let size = off.to_f64().abs();
    if size.is_finite() && size > NO_SECANT * x.to_f64().abs() {
        ((y - true_y) / off).to_f64()
    } else {
        derivative(x.to_f64())
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
            return Traced { value, ..b };
        }
        if b.is_zero() {
            return Traced { value, ..self };
        }
        let both = (self.wide() + b.wide(), self.truth + b.truth);
        Self::new(value, both, 1.0, [(self, 1.0), (b, 1.0)])
    }
}

impl<T: Rounded> Sub for Traced<T> {
    type Output = Self;
    fn sub(self, b: Self) -> Self {
        let both = (self.wide() - b.wide(), self.truth - b.truth);
        Self::new(self.value - b.value, both, 1.0, [(self, 1.0), (b, -1.0)])
    }
}

impl<T: Rounded> Mul for Traced<T> {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        let both = (self.wide() * b.wide(), self.truth * b.truth);
        let slopes = [(self, b.to_f64()), (b, self.truth.to_f64())];
        Self::new(self.value * b.value, both, 1.0, slopes)
    }
}

impl<T: Rounded> Div for Traced<T> {
    type Output = Self;
    fn div(self, b: Self) -> Self {
        let both = (self.wide() / b.wide(), self.truth / b.truth);
        let inverse = 1.0 / b.to_f64();
        let slopes = [(self, inverse), (b, -both.1.to_f64() * inverse)];
        Self::new(self.value / b.value, both, 1.0, slopes)
    }
}

impl<T: Rounded> Neg for Traced<T> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::new(-self.value, (-self.wide(), -self.truth), 0.0, [(self, -1.0)])
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
        let (mut sizes, mut exact, mut truth) =
            (added[k].to_f64().abs(), added[k].wide(), added[k].truth);
        for (x, y) in pairs() {
            sizes += (x.to_f64() * y.to_f64()).abs();
            exact += x.wide() * y.wide();
            truth += x.truth * y.truth;
        }
        let slopes =
            pairs().flat_map(|(x, y)| [(x.result, y.to_f64()), (y.result, x.truth.to_f64())]);
        let rounding = Rounding::of(value, exact, gamma * sizes);
        let result = push(rounding, slopes.chain([(added[k].result, 1.0)]));
        c[i * c_row + j] = Traced { value, truth, result };
    }
}

impl Rounding {
    /// Of a computed value, beside the same operation without rounding.
    fn of<T: Rounded>(value: T, exact: DoubleDouble, bound: f64) -> Self {
        let value = value.to_f64();
        let own = (DoubleDouble::from_f64(value) - exact).to_f64();
        Rounding { own: if value.is_finite() { own } else { 0.0 }, bound }
    }
}

impl<T: Rounded> Real for Traced<T> {
    const ZERO: Self = Self::exact(T::ZERO, 0.0);
    const ONE: Self = Self::exact(T::ONE, 1.0);
    const NEG_INFINITY: Self = Self::exact(T::NEG_INFINITY, f64::NEG_INFINITY);
    const MAX: Self = Self::exact(T::MAX, T::LARGEST);
    const NAME: &'static str = "traced";
    const BYTES: usize = size_of::<Self>();

    fn from_f64(x: f64) -> Self {
        let (value, truth) = (T::from_f64(x), DoubleDouble::from_f64(x));
        // A NaN is no rounding, and stays one.
        let bound = (x - value.to_f64()).abs();
        let rounding = Rounding::of(value, truth, if bound > 0.0 { bound } else { 0.0 });
        Traced { value, truth, result: push(rounding, []) }
    }
    fn to_f64(self) -> f64 {
        self.value.to_f64()
    }
    fn write_le(self, out: &mut Vec<u8>) {
        self.value.write_le(out);
    }
    fn mul_add(self, a: Self, b: Self) -> Self {
        let both = (self.wide() * a.wide() + b.wide(), self.truth * a.truth + b.truth);
        let slopes = [(self, a.to_f64()), (a, self.truth.to_f64()), (b, 1.0)];
        Self::new(self.value.mul_add(a.value, b.value), both, 1.0, slopes)
    }
    fn sqrt(self) -> Self {
        let (exact, truth) = (self.wide().sqrt(), self.truth.sqrt());
        let slope = 1.0 / (exact + truth).to_f64();
        Self::new(self.value.sqrt(), (exact, truth), 1.0, [(self, slope)])
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
        let bound = rest.to_f64().abs();
        let rounding = Rounding::of(rest, DoubleDouble::ZERO, bound);
        let rest = Traced { value: rest, truth: DoubleDouble::ZERO, result: push(rounding, []) };
        (self.function(value, Real::exp, |_| value.to_f64()), rest)
    }
    fn ln(self) -> Self {
        self.function(self.value.ln(), Real::ln, |x| 1.0 / x)
    }
    fn tanh(self) -> Self {
        let slope = |x: f64| 4.0 * Real::sigmoid(2.0 * x) * Real::sigmoid(-2.0 * x);
        self.function(self.value.tanh(), Real::tanh, slope)
    }
    fn erf(self) -> Self {
        let slope = |x: f64| std::f64::consts::FRAC_2_SQRT_PI * Real::exp(-(x * x));
        self.function(self.value.erf(), Real::erf, slope)
    }
    fn sigmoid(self) -> Self {
        let slope = |x: f64| Real::sigmoid(x) * Real::sigmoid(-x);
        self.function(self.value.sigmoid(), Real::sigmoid, slope)
    }
    /// The tail is taken to first order: as many roundings again.
    fn ln_1p(self, tail: Self) -> Self {
        let (sum, true_sum) = (self.wide() + tail.wide(), self.truth + tail.truth);
        let both = (sum.ln_1p(DoubleDouble::ZERO), true_sum.ln_1p(DoubleDouble::ZERO));
        let slope = secant((sum, both.0), (true_sum, both.1), |x| 1.0 / (1.0 + x));
        let value = self.value.ln_1p(tail.value);
        Self::new(value, both, 2.0 * FUNCTION, [(self, slope), (tail, slope)])
    }
    fn softplus(self) -> Self {
        self.function(self.value.softplus(), Real::softplus, Real::sigmoid)
    }
}

#[cfg(test)]
mod tests;
