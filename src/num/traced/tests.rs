use super::super::{DoubleDouble, dot, log_sum_exp, sum};
use super::*;
use crate::linalg::{Acc, Mat, gemm};
use crate::rng::Streams;

/// The errors of `traced` against double-double as shares of their bounds.
fn shares<T: Rounded>(tape: &Tape, traced: &[Traced<T>], truth: &[DoubleDouble]) -> Vec<f64> {
    let mut room = Vec::new();
    let share = |(got, want): (&Traced<T>, &DoubleDouble)| {
        let error = (DoubleDouble::from_f64(got.to_f64()) - *want).abs().to_f64();
        let found = tape.explain(got.result, &mut room);
        // The roundings make up the whole error, and the true value was carried along.
        let off = (DoubleDouble::from_f64(got.to_f64()) - *want).to_f64();
        assert!((found.error - off).abs() <= 1e-9 * found.bound, "{} {off}", found.error);
        assert!((got.truth - *want).abs().to_f64() <= 1e-25 * want.abs().to_f64().max(1e-3));
        if error == 0.0 { 0.0 } else { error / found.bound }
    };
    traced.iter().zip(truth).map(share).collect()
}

/// The same program over `T`, `Traced<T>` and double-double: same bits, and inside the bound. Returns
/// the largest share.
fn programs<T: Rounded>() -> f64 {
    fn run<S: Real>(x: &[f64]) -> Vec<S> {
        let v: Vec<S> = x.iter().map(|&x| S::from_f64(x)).collect();
        let w: Vec<S> = v.iter().map(|&x| (x * x + S::ONE).sqrt()).collect();
        let (mean, norm) = (sum(&v) / S::from_f64(v.len() as f64), dot(&w, &w).sqrt());
        let mut out = vec![mean, norm, log_sum_exp(&v), v[0].mul_add(w[1], -v[2])];
        for (&a, &b) in v.iter().zip(&w) {
            let y = (a - mean) / norm;
            out.extend([y.exp(), b.ln(), a.tanh(), y.erf(), a.sigmoid(), a.softplus()]);
            out.extend([a.log_sigmoid(), a.abs().ln_1p(S::ZERO), a.maximum(b), a * b]);
        }
        out
    }
    let mut rng = Streams::new(5).stream("traced");
    let mut worst = 0.0f64;
    for n in 3..60 {
        let x: Vec<f64> = (0..n).map(|_| 3.0 * rng.normal()).collect();
        let (plain, truth) = (run::<T>(&x), run::<DoubleDouble>(&x));
        let (traced, tape) = record(|| run::<Traced<T>>(&x));
        assert!(traced.iter().zip(&plain).all(|(t, p)| t.value == *p), "{n} numbers: other bits");
        assert_eq!(tape.operations().1, 0, "roundings beyond their bounds");
        for (k, share) in shares(&tape, &traced, &truth).into_iter().enumerate() {
            assert!(share <= 1.0, "{n} numbers, result {k}: {share}");
            worst = worst.max(share);
        }
    }
    worst
}

#[test]
fn values_are_those_of_the_type_and_errors_stay_below_the_bound() {
    // A bound that nothing comes near would prove little.
    assert!(programs::<f32>() > 0.3);
    assert!(programs::<f64>() > 0.3);
}

#[test]
fn products_are_bounded_in_every_form() {
    fn run<S: Real>(a: &Mat<f64>, b: &Mat<f64>, c: &Mat<f64>, acc: Acc) -> Vec<S> {
        let (a, b, mut c) = (a.cast::<S>(), b.cast::<S>(), c.cast::<S>());
        let (at, bt) = (a.transposed(), b.transposed());
        gemm(acc, c.view_mut(), at.view().t(), bt.view().t());
        c.as_slice().to_vec()
    }
    fn check<T: Rounded>() {
        let mut rng = Streams::new(5).stream("product");
        let mut random = |rows, cols| Mat::from_fn(rows, cols, |_, _| rng.normal());
        let (a, b, start) = (random(5, 300), random(300, 4), random(5, 4));
        for acc in [Acc::Set, Acc::Add] {
            let (traced, tape) = record(|| run::<Traced<T>>(&a, &b, &start, acc));
            let plain = run::<T>(&a, &b, &start, acc);
            assert!(traced.iter().zip(&plain).all(|(t, p)| t.value == *p));
            let truth = run::<DoubleDouble>(&a, &b, &start, acc);
            let shares = shares(&tape, &traced, &truth);
            assert!(shares.iter().all(|&s| s > 0.0 && s <= 1.0), "{shares:?}");
        }
    }
    check::<f32>();
    check::<f64>();
}

/// x − (x + 1 − 1) is rounded, not carried: the slopes of the two paths cancel, the roundings do not.
#[test]
fn dependence_is_known() {
    let (error, tape) = record(|| {
        let x = Traced::<f32>::from_f64(0.1);
        let y = (x + Traced::ONE) - Traced::ONE;
        x - y
    });
    let bound = tape.explain(error.result, &mut Vec::new()).bound;
    let u = <f32 as Rounded>::UNIT;
    // 1.1 u from the sum, 0.1 u from the difference; nothing from 0.1 itself.
    assert!((bound / u - 1.2).abs() < 1e-6, "{}", bound / u);
    assert!(error.to_f64().abs() <= bound);
}

/// A mistake in a bound must show: half of it is broken by many products.
#[test]
fn half_a_rounding_is_not_enough() {
    let mut broken = 0;
    for i in 0..1000 {
        let short = |x: f64| f64::from(x as f32);
        let (a, b) = (short(1.0 + f64::from(i) * 0.003_17), short(2.0 - f64::from(i) * 0.000_71));
        let (got, tape) = record(|| Traced::<f32>::from_f64(a) * Traced::from_f64(b));
        let share =
            shares(&tape, &[got], &[DoubleDouble::from_f64(a) * DoubleDouble::from_f64(b)])[0];
        assert!(share <= 1.0);
        broken += usize::from(share > 0.5);
    }
    assert!(broken > 100, "{broken}");
}

#[test]
fn exact_numbers_leave_no_record() {
    type N = Traced<f32>;
    let (results, tape) = record(|| {
        let closed = (N::NEG_INFINITY - N::ONE).exp();
        [closed, N::from_f64(0.5), N::ZERO + N::from_f64(3.0), -N::ONE]
    });
    assert!(results.iter().all(|r| r.result == 0) && results[0].value == 0.0);
    assert_eq!(tape.explain(0, &mut Vec::new()).bound, 0.0);
    let (tenth, tape) = record(|| N::from_f64(0.1));
    assert_eq!(tape.explain(tenth.result, &mut Vec::new()).bound, f64::from(0.1f32) - 0.1);
}
