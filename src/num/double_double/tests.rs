use super::*;
use crate::num::{dot, log_sum_exp};

/// |a − b| / |b|, both double-double.
fn relative(a: DoubleDouble, b: DoubleDouble) -> f64 {
    if a == b { 0.0 } else { ((a - b).hi / b.hi).abs() }
}

/// tests/golden/README.md: 60-digit arithmetic.
#[test]
fn functions_to_thirty_digits() {
    type Function = fn(DoubleDouble) -> DoubleDouble;
    let functions: [(&str, Function); 8] = [
        ("exp", Real::exp),
        ("ln", Real::ln),
        ("tanh", Real::tanh),
        ("erf", Real::erf),
        ("sigmoid", Real::sigmoid),
        ("softplus", Real::softplus),
        ("ln_1p", |x| x.ln_1p(Real::ZERO)),
        ("sqrt", Real::sqrt),
    ];
    let mut worst = functions.map(|(name, _)| (name, 0.0f64, 0));
    for line in include_str!("../../../tests/golden/double_double.csv").lines().skip(1) {
        let (name, numbers) = line.split_once(',').unwrap();
        let mut numbers =
            numbers.split(',').map(|s| f64::from_bits(u64::from_str_radix(s, 16).unwrap()));
        let mut next = || DoubleDouble::from_sum(numbers.next().unwrap(), numbers.next().unwrap());
        let (x, want) = (next(), next());
        let k = functions.iter().position(|f| f.0 == name).unwrap();
        worst[k].1 = worst[k].1.max(relative(functions[k].1(x), want));
        worst[k].2 += 1;
    }
    assert_eq!(worst.iter().map(|w| w.2).sum::<usize>(), 470);
    // The large arguments of e^x cost it digits: x itself is known to 10⁻³² of its size.
    for (name, error, _) in worst {
        assert!(error <= if name == "exp" { 5e-30 } else { 1e-30 }, "{name}: {error:e}");
    }
}

#[test]
fn arithmetic_to_thirty_digits() {
    let third = DoubleDouble::ONE / DoubleDouble::from_f64(3.0);
    assert_eq!(third.parts().1, 1.850_371_707_708_594e-17);
    let back = third * DoubleDouble::from_f64(3.0) - DoubleDouble::ONE;
    assert!(back.hi.abs() < 1e-31, "{back:?}");
    // 1 + 10⁻³⁰ − 1: f64 keeps nothing of it.
    let tiny = DoubleDouble::from_f64(1e-30);
    assert!(relative(DoubleDouble::ONE + tiny - DoubleDouble::ONE, tiny) < 1e-2);
    // (2 + √3)(2 − √3) = 1
    let (two, root) = (DoubleDouble::from_f64(2.0), DoubleDouble::from_f64(3.0).sqrt());
    assert!(relative((two + root) * (two - root), DoubleDouble::ONE) < 1e-30);
    // A sum whose f64 form cancels to nothing.
    let x = [1e16, 1.0, -1e16].map(DoubleDouble::from_f64);
    assert_eq!(dot(&x, &[DoubleDouble::ONE; 3]).parts(), (1.0, 0.0));
}

#[test]
fn infinities_stay_infinite_and_closed_entries_are_nothing() {
    let inf = DoubleDouble::from_f64(f64::INFINITY);
    let one = DoubleDouble::ONE;
    assert_eq!(inf + one, inf);
    assert_eq!(DoubleDouble::NEG_INFINITY - one, -inf);
    assert_eq!(inf * DoubleDouble::from_f64(-2.0), -inf);
    assert_eq!(one / inf, DoubleDouble::ZERO);
    assert_eq!(DoubleDouble::NEG_INFINITY.exp(), DoubleDouble::ZERO);
    assert!((inf - inf).is_nan() && DoubleDouble::from_f64(-1.0).ln().is_nan());
    assert_eq!(DoubleDouble::ZERO.ln(), -inf);
    let nan = DoubleDouble::from_f64(f64::NAN);
    for f in [Real::exp, Real::ln, Real::tanh, Real::erf, Real::sigmoid, Real::softplus] {
        let f: fn(DoubleDouble) -> DoubleDouble = f;
        assert!(f(nan).is_nan(), "NaN must stay NaN");
    }
    let open = log_sum_exp(&[one, DoubleDouble::NEG_INFINITY]);
    assert!(relative(open, one) < 1e-31);
}
