//! Elementary functions of double-double numbers, to about 31 digits (`tests.rs` compares them with
//! 60-digit arithmetic). Not fast: they serve the audit.

use super::DoubleDouble;
use crate::num::Real;

const LN_2: DoubleDouble =
    DoubleDouble { hi: std::f64::consts::LN_2, lo: 2.319_046_813_846_299_6e-17 };
/// What the two parts of ln 2 leave out.
const LN_2_REST: f64 = 5.707_708_438_416_212e-34;
const FRAC_2_SQRT_PI: DoubleDouble =
    DoubleDouble { hi: std::f64::consts::FRAC_2_SQRT_PI, lo: 1.533_545_961_316_588e-17 };

/// Terms of the series of eˣ − 1 for |x| ≤ ln 2 / 1024: the next is 10⁻³⁵ of the first.
const EXP_TERMS: u32 = 10;
/// The argument of the series is divided by 2⁹.
const EXP_HALVINGS: u32 = 9;

fn number(x: f64) -> DoubleDouble {
    DoubleDouble::from_f64(x)
}

/// x = k ln 2 + r with |r| ≤ ½ ln 2; returns k and eʳ − 1. |x| at most 10⁶.
fn reduced(x: DoubleDouble) -> (i32, DoubleDouble) {
    let k = (x.hi * std::f64::consts::LOG2_E).round();
    let r = (x - LN_2 * number(k)) - number(k * LN_2_REST);
    let s = r.scaled(-(EXP_HALVINGS as i32));
    // s + s²/2 + s³/6 + … = s (1 + s/2 (1 + s/3 (…)))
    let mut sum = DoubleDouble::ONE;
    for n in (2..=EXP_TERMS).rev() {
        sum = sum * s / number(f64::from(n)) + DoubleDouble::ONE;
    }
    // (1 + m)² − 1 = 2m + m²: small values keep their digits.
    let mut minus_one = sum * s;
    for _ in 0..EXP_HALVINGS {
        minus_one = minus_one.scaled(1) + minus_one * minus_one;
    }
    (k as i32, minus_one)
}

pub(super) fn exp(x: DoubleDouble) -> DoubleDouble {
    if x.hi > 709.9 {
        return number(f64::INFINITY);
    }
    if x.hi < -746.0 {
        return DoubleDouble::ZERO;
    }
    let (k, minus_one) = reduced(x);
    (minus_one + DoubleDouble::ONE).scaled(k)
}

/// eˣ − 1, to the last digit near 0 as well.
fn exp_m1(x: DoubleDouble) -> DoubleDouble {
    if x.hi.abs() > 0.3 {
        return exp(x) - DoubleDouble::ONE;
    }
    reduced(x).1
}

pub(super) fn ln(x: DoubleDouble) -> DoubleDouble {
    if !(x.hi > 0.0 && x.hi.is_finite()) {
        return number(Real::ln(x.hi));
    }
    let from_one = x - DoubleDouble::ONE;
    if from_one.hi.abs() < 0.5 {
        return ln_1p(from_one);
    }
    // One Newton step from the f64 value: ln x = y + ln(x e^(−y)).
    let y = number(Real::ln(x.hi));
    y + corrected(x * exp(-y) - DoubleDouble::ONE)
}

/// ln(1 + x) for x > −½.
pub(super) fn ln_1p(x: DoubleDouble) -> DoubleDouble {
    if !x.hi.is_finite() || x.hi == 0.0 {
        return x;
    }
    // The f64 value with all its digits: ln u plus what the rounding of u = 1 + x left out.
    let u = 1.0 + x.hi;
    let y = number(Real::ln(u) + (x.hi - (u - 1.0)) / u);
    let e = exp_m1(y);
    y + corrected((x - e) / (e + DoubleDouble::ONE))
}

/// ln(1 + d) for a d of the size of an f64 rounding.
fn corrected(d: DoubleDouble) -> DoubleDouble {
    d - number(0.5 * d.hi * d.hi)
}

pub(super) fn tanh(x: DoubleDouble) -> DoubleDouble {
    let a = x.abs();
    // From 40 on the distance to 1 is below 10⁻³⁴.
    if a.hi > 40.0 {
        return number(1f64.copysign(x.hi));
    }
    let t = exp_m1(a.scaled(1));
    let y = t / (t + number(2.0));
    if x.hi < 0.0 { -y } else { y }
}

/// σ(x), with all digits on both sides.
pub(super) fn sigmoid(x: DoubleDouble) -> DoubleDouble {
    let e = exp(-x.abs());
    let numerator = if x.hi < 0.0 { e } else { DoubleDouble::ONE };
    numerator / (e + DoubleDouble::ONE)
}

/// 2/√π · e^(−x²) Σ 2ⁿ x^(2n+1) / (1·3·…·(2n+1)): all terms have one sign, so nothing cancels.
pub(super) fn erf(x: DoubleDouble) -> DoubleDouble {
    // From 9 on the distance to 1 is below 10⁻³⁶.
    if x.hi.abs() > 9.0 {
        return number(1f64.copysign(x.hi));
    }
    let square = x * x;
    let twice = square.scaled(1);
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.hi.abs() > 1e-34 * sum.hi.abs() {
        odd += 2.0;
        term = term * twice / number(odd);
        sum += term;
    }
    FRAC_2_SQRT_PI * exp(-square) * sum
}
