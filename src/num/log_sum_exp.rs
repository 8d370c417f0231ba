//! ln Σ e^(xᵢ) to the last place: exact differences, a compensated sum, and ln(1 + rest).

use super::{Real, max};

const PARTIAL_SUMS: usize = 8;

/// An unevaluated sum: the value rounded, and what the rounding left out.
#[derive(Clone, Copy)]
struct Parts<T> {
    value: T,
    rest: T,
}

/// a + b without loss (Knuth's two-sum; no order of size is asked).
#[inline(always)]
fn two_sum<T: Real>(a: T, b: T) -> Parts<T> {
    let value = a + b;
    let from_b = value - a;
    Parts { value, rest: (a - (value - from_b)) + (b - from_b) }
}

impl<T: Real> Parts<T> {
    #[inline(always)]
    fn plus(self, term: Self) -> Self {
        let sum = two_sum(self.value, term.value);
        Self { value: sum.value, rest: (self.rest + term.rest) + sum.rest }
    }
}

/// ln Σ e^(xᵢ), shifted by the maximum so that nothing overflows. −∞ for an empty slice or when all
/// entries are −∞; +∞ when one is.
///
/// The value is max + ln(1 + rest), where `rest` is the sum without one maximal entry. The maximum
/// enters the sum as exactly 1, and the compensated sum gives it back exactly, so a rest far below
/// the precision of 1 survives: ln(e⁰ + e⁻⁴⁰) is 4.2e-18, not 0. At most 2 units in the last place
/// of the larger of |max| and |value|; the difference shows only where a negative maximum and the
/// logarithm cancel, as in ln(e^(−ln 2) + e^(−ln 2)) ≈ 0.
#[inline(always)]
pub fn log_sum_exp<T: Real>(x: &[T]) -> T {
    let top = max(x);
    if !top.is_finite() {
        return top;
    }
    let term = |v: T| {
        let d = two_sum(v, -top);
        let (value, rest) = d.value.exp_parts();
        // e^(d + rest) = e^d (1 + rest); for v = −∞ the rest is NaN and e^d is 0.
        Parts { value, rest: if value == T::ZERO { value } else { value.mul_add(d.rest, rest) } }
    };
    // Values and rests apart: side by side in pairs they would be taken apart and put together again
    // around every addition. Two rounds of terms at a time fill the widest registers.
    let (mut values, mut rests) = ([T::ZERO; PARTIAL_SUMS], [T::ZERO; PARTIAL_SUMS]);
    let mut add = |l: usize, term: Parts<T>| {
        let sum = Parts { value: values[l], rest: rests[l] }.plus(term);
        (values[l], rests[l]) = (sum.value, sum.rest);
    };
    let (chunks, remainder) = x.as_chunks::<{ 2 * PARTIAL_SUMS }>();
    for chunk in chunks {
        let (mut value, mut rest) = ([T::ZERO; 2 * PARTIAL_SUMS], [T::ZERO; 2 * PARTIAL_SUMS]);
        for l in 0..2 * PARTIAL_SUMS {
            let of = term(chunk[l]);
            (value[l], rest[l]) = (of.value, of.rest);
        }
        for l in 0..PARTIAL_SUMS {
            add(l, Parts { value: value[l], rest: rest[l] });
        }
        for l in 0..PARTIAL_SUMS {
            add(l, Parts { value: value[PARTIAL_SUMS + l], rest: rest[PARTIAL_SUMS + l] });
        }
    }
    for (l, &v) in remainder.iter().enumerate() {
        add(l % PARTIAL_SUMS, term(v));
    }
    let part = |l: usize| Parts { value: values[l], rest: rests[l] };
    let total = (1..PARTIAL_SUMS).fold(part(0), |total, l| total.plus(part(l)));
    let rest = two_sum(total.value - T::ONE, total.rest);
    top + rest.value.ln_1p(rest.rest)
}

#[cfg(test)]
mod tests {
    use super::super::math::ulps::{ulp32, ulp64, ulps32, ulps64};
    use super::*;

    /// Rows of `entries…,ln Σ e^x` as bits of f64, from 60-digit arithmetic
    /// (tests/golden/README.md).
    fn golden() -> Vec<(Vec<f64>, f64)> {
        let table = include_str!("../../tests/golden/log_sum_exp.csv");
        let bits = |s: &str| f64::from_bits(u64::from_str_radix(s, 16).unwrap());
        let rows = table.lines().skip(1).map(|line| {
            let mut cells: Vec<f64> = line.split(',').map(bits).collect();
            let truth = cells.pop().unwrap();
            (cells, truth)
        });
        rows.collect()
    }

    /// In units of the last place of max(|top|, |truth|).
    fn error64(x: &[f64], truth: f64) -> f64 {
        let scale = truth.abs().max(max(x).abs());
        (log_sum_exp(x) - truth).abs() / ulp64(scale)
    }

    #[test]
    fn f64_within_two_ulp_of_sixty_digits() {
        let rows = golden();
        assert_eq!(rows.len(), 1725);
        let mut plain = 0;
        for (x, truth) in rows {
            assert!(error64(&x, truth) <= 2.0, "{x:?}: {:e}, {truth:e}", log_sum_exp(&x));
            // Where nothing cancels, in units of the value itself.
            if max(&x) >= 0.0 || truth < 0.5 * max(&x) {
                plain += 1;
                let ulps = ulps64(log_sum_exp(&x), truth);
                assert!(ulps <= 2.0, "{x:?}: {ulps} ulp");
            }
        }
        assert!(plain > 1000, "only {plain} rows without cancellation");
    }

    /// The f64 form, right to 1e-16, is the truth of the f32 form on dense grids.
    #[test]
    fn f32_within_two_ulp_of_the_truth() {
        let mut worst = 0.0f64;
        let mut check = |x: &[f32]| {
            let wide: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
            let truth = log_sum_exp(&wide);
            let scale = truth.abs().max(max(&wide).abs());
            worst = worst.max((f64::from(log_sum_exp(x)) - truth).abs() / ulp32(scale));
            if max(x) >= 0.0 {
                worst = worst.max(ulps32(log_sum_exp(x), truth));
            }
        };
        for i in 0..=600 {
            for j in 0..=600 {
                let (a, b) = (i as f32 * 0.017 - 5.1, j as f32 * 0.171 - 51.3);
                check(&[a, b]);
                check(&[0.0, b, a - 5.1, b]);
            }
        }
        for n in 1..600 {
            let x: Vec<f32> = (0..n).map(|i| ((i * 37 + n) % 101) as f32 * 0.11 - 3.0).collect();
            check(&x);
        }
        assert!(worst <= 2.0, "{worst} ulp");
    }

    #[test]
    fn the_ends() {
        const INF: f64 = f64::INFINITY;
        assert_eq!(log_sum_exp::<f64>(&[]), -INF);
        assert_eq!(log_sum_exp(&[-INF; 3]), -INF);
        assert_eq!(log_sum_exp(&[-INF, 2.0]), 2.0);
        assert_eq!(log_sum_exp(&[INF, 2.0, -INF]), INF);
        assert_eq!(log_sum_exp(&[1e308, 1e308]), 1e308);
        assert_eq!(log_sum_exp(&[f64::MAX, -f64::MAX]), f64::MAX);
        assert_eq!(log_sum_exp(&[7.5]), 7.5);
        assert!(log_sum_exp(&[1.0, f64::NAN]).is_nan());
        assert!(log_sum_exp(&[INF, f64::NAN]).is_nan());
    }
}
