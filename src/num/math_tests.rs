//! Dense grids against libm (f64) and against f64 rounded to f32.

use super::ulps::{ulps32, ulps64};
use super::*;

type Twin = (&'static str, fn(f64) -> f64, fn(f32) -> f32, fn(f64) -> f64, f64, f64);

/// Name, ours in f64, ours in f32, the truth, and the interval of the dense grid.
const TWINS: [Twin; 7] = [
    ("exp", Real::exp, Real::exp, libm::exp, -745.0, 709.7),
    ("ln", Real::ln, Real::ln, libm::log, 1e-300, 20.0),
    ("tanh", Real::tanh, Real::tanh, libm::tanh, -25.0, 25.0),
    ("erf", Real::erf, Real::erf, libm::erf, -7.0, 7.0),
    ("sigmoid", Real::sigmoid, Real::sigmoid, sigmoid, -700.0, 60.0),
    ("softplus", Real::softplus, Real::softplus, softplus, -700.0, 60.0),
    ("log_sigmoid", Real::log_sigmoid, Real::log_sigmoid, |x| -softplus(-x), -60.0, 700.0),
];

fn sigmoid(x: f64) -> f64 {
    let e = libm::exp(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + libm::log1p(libm::exp(-x.abs()))
}

/// A linear grid, a fine grid around zero, and all binades.
fn grid(lo: f64, hi: f64) -> impl Iterator<Item = f64> {
    let linear = (0..=200_000).map(move |i| lo + (hi - lo) * f64::from(i) / 200_000.0);
    let near_zero = (-40_000..=40_000).map(|i| f64::from(i) / 10_000.0 + 1e-7);
    let binades = (-1000..=9).flat_map(|e| {
        (0..40).flat_map(move |k| {
            let x = libm::scalbn(1.0 + f64::from(k) / 40.0, e);
            [x, -x]
        })
    });
    linear.chain(near_zero).chain(binades).filter(move |x| (lo..=hi).contains(x))
}

#[test]
fn f64_within_two_ulp_of_libm() {
    // The last three truths are composed and carry errors of their own: see the next test.
    for (name, ours, _, truth, lo, hi) in TWINS.into_iter().take(4) {
        let worst = grid(lo, hi)
            .map(|x| (ulps64(ours(x), truth(x)), x))
            .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
        assert!(worst.0 <= 2.0, "{name}: {} ulp at {:e}", worst.0, worst.1);
    }
}

/// Columns x, σ(x), ln(1 + eˣ) as bits of f64, from 60-digit arithmetic (tests/golden/README.md).
#[test]
fn f64_within_two_ulp_of_sixty_digits() {
    let table = include_str!("../../tests/golden/sigmoid_softplus.csv");
    let bits = |s: &str| f64::from_bits(u64::from_str_radix(s, 16).unwrap());
    let mut rows = 0;
    for line in table.lines().skip(1) {
        let mut cells = line.split(',').map(bits);
        let mut next = || cells.next().unwrap();
        let (x, sigmoid, softplus) = (next(), next(), next());
        for (name, got, want) in [
            ("sigmoid", x.sigmoid(), sigmoid),
            ("softplus", x.softplus(), softplus),
            ("log_sigmoid", -(-x).log_sigmoid(), softplus),
        ] {
            assert!(ulps64(got, want) <= 2.0, "{name}({x:e}): {got:e}, expected {want:e}");
        }
        rows += 1;
    }
    assert_eq!(rows, 1500);
}

#[test]
fn f32_within_two_ulp_of_the_truth() {
    for (name, _, ours, truth, lo, hi) in TWINS {
        let worst = grid(lo.max(-103.0), hi.min(88.5))
            .map(|x| x as f32)
            .map(|x| (ulps32(ours(x), truth(f64::from(x))), x))
            .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
        assert!(worst.0 <= 2.0, "{name}: {} ulp at {:e}", worst.0, worst.1);
    }
}

#[test]
fn edges() {
    fn check<T: Real>(inf: T, nan: T) {
        let (zero, one) = (T::ZERO, T::ONE);
        let huge = T::from_f64(1e30);
        for x in [inf, huge] {
            assert!((-x).exp() == zero && x.exp() == inf);
            assert!(x.tanh() == one && (-x).tanh() == -one);
            assert!(x.erf() == one && (-x).erf() == -one);
            assert!(x.sigmoid() == one && (-x).sigmoid() == zero);
            assert!(x.softplus() == x && (-x).softplus() == zero);
            assert!(x.log_sigmoid() == zero && (-x).log_sigmoid() == -x);
        }
        assert!(zero.exp() == one && one.ln() == zero && inf.ln() == inf);
        assert!(zero.ln() == -inf && (-one).ln().is_nan());
        assert!(zero.tanh() == zero && zero.erf() == zero);
        assert!(zero.sigmoid() == T::from_f64(0.5));
        for f in [T::exp, T::ln, T::tanh, T::erf, T::sigmoid, T::softplus, T::log_sigmoid] {
            assert!(f(nan).is_nan(), "NaN must stay NaN");
        }
        assert!(one.maximum(nan).is_nan() && nan.maximum(one).is_nan());
    }
    check(f32::INFINITY, f32::NAN);
    check(f64::INFINITY, f64::NAN);
    assert_eq!(Real::exp(-745.0f64), 5e-324);
    assert!(ulps64(Real::ln(5e-324f64), libm::log(5e-324)) <= 2.0);
    assert!(ulps32(Real::ln(1e-45f32), libm::log(f64::from(1e-45f32))) <= 2.0);
}

#[test]
fn the_vectorised_loop_gives_the_same_bits() {
    let x: Vec<f32> = (0..1000).map(|i| (i as f32 - 500.0) * 0.037).collect();
    let scalar: Vec<f32> = x.iter().map(|v| Real::erf(*v) + Real::exp(*v)).collect();
    let mut fast = vec![0.0; x.len()];
    super::super::vectorize(
        #[inline(always)]
        || {
            for (o, v) in fast.iter_mut().zip(&x) {
                *o = Real::erf(*v) + Real::exp(*v);
            }
        },
    );
    assert_eq!(scalar, fast);
}
