//! Wilcoxon's signed-rank test for two methods over N data sets, and Holm's step-down.
//!
//! Differences of zero are dropped (Wilcoxon's own rule), the absolute differences ranked with
//! shared ranks. Up to 50 differences the p-value is exact: the distribution of the positive rank
//! sum over all 2^n signs, ties included, by dynamic programming on doubled ranks. Above, the
//! normal approximation with the variance corrected for ties, without continuity correction.

use super::friedman::chi_squared_tail;
use super::ranks::rank;

/// Most differences for which all signs are counted.
const EXACT_UP_TO: usize = 50;

/// The outcome of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wilcoxon {
    /// Rank sum of the positive differences a − b.
    pub positive: f64,
    /// Rank sum of the negative differences.
    pub negative: f64,
    /// Two-sided p-value; 1 when no difference is left.
    pub p: f64,
}

/// Compares paired results. Pairs with a NaN are left out.
pub fn wilcoxon(a: &[f64], b: &[f64]) -> Wilcoxon {
    assert_eq!(a.len(), b.len(), "wilcoxon: number of results");
    let differences: Vec<f64> =
        a.iter().zip(b).map(|(x, y)| x - y).filter(|d| *d != 0.0 && !d.is_nan()).collect();
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let mut ranks = vec![0.0; sizes.len()];
    let tie_term = rank(&sizes, |j, r| ranks[j] = r);
    let (mut positive, mut negative) = (0.0, 0.0);
    for (d, r) in differences.iter().zip(&ranks) {
        *(if *d > 0.0 { &mut positive } else { &mut negative }) += r;
    }
    let smaller = f64::min(positive, negative);
    let p = if ranks.len() <= EXACT_UP_TO {
        exact(&ranks, smaller)
    } else {
        approximate(ranks.len() as f64, smaller, tie_term)
    };
    Wilcoxon { positive, negative, p }
}

/// 2·P(sum ≤ `smaller`), at most 1. Counts up to 2^50 are exact in f64.
fn exact(ranks: &[f64], smaller: f64) -> f64 {
    let doubled: Vec<usize> = ranks.iter().map(|r| (2.0 * r) as usize).collect();
    let total: usize = doubled.iter().sum();
    let mut ways = vec![0.0; total + 1];
    ways[0] = 1.0;
    let mut reach = 0;
    for &r in &doubled {
        reach += r;
        for s in (r..=reach).rev() {
            ways[s] += ways[s - r];
        }
    }
    let below: f64 = ways[..=(2.0 * smaller) as usize].iter().sum();
    let all: f64 = ways.iter().sum();
    (2.0 * below / all).min(1.0)
}

fn approximate(n: f64, smaller: f64, tie_term: f64) -> f64 {
    let mean = n * (n + 1.0) / 4.0;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tie_term / 48.0;
    // 2·P(Z < −|z|) = P(χ²₁ > z²), which keeps all digits in the tail.
    let z = (smaller - mean) / variance.sqrt();
    chi_squared_tail(z * z, 1)
}

/// Holm's adjusted p-values: reject those below α and the family-wise error stays below α.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut running: f64 = 0.0;
    for (done, &j) in order.iter().enumerate() {
        running = running.max(((p.len() - done) as f64 * p[j]).min(1.0));
        adjusted[j] = running;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::super::friedman::tests::demsar;
    use super::*;

    /// Every choice of signs, counted one by one.
    fn slow(ranks: &[f64], smaller: f64) -> f64 {
        let below = (0u32..1 << ranks.len())
            .filter(|signs| {
                let chosen = ranks.iter().enumerate().filter(|(j, _)| signs >> j & 1 == 1);
                chosen.map(|(_, r)| r).sum::<f64>() <= smaller
            })
            .count();
        (2.0 * below as f64 / f64::from(1u32 << ranks.len())).min(1.0)
    }

    #[test]
    fn equal_to_counting_every_sign() {
        let a = [3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.0, 3.5, 8.9];
        let b = [2.0, 2.0, 4.0, 1.0, 5.0, 9.0, 2.6, 5.3, 5.8];
        let test = wilcoxon(&a, &b);
        // |a − b| without the zero: 1 1 .5 4 6.4 2.4 1.8 3.1
        let ranks = [2.5, 2.5, 1.0, 7.0, 8.0, 5.0, 4.0, 6.0];
        assert_eq!((test.positive, test.negative), (21.5, 14.5));
        assert_eq!(test.p, slow(&ranks, 14.5));
        let none = wilcoxon(&[1.0, f64::NAN], &[1.0, 2.0]);
        assert_eq!((none.positive, none.negative, none.p), (0.0, 0.0, 1.0));
    }

    #[test]
    fn equal_to_scipy() {
        // SciPy 1.17: wilcoxon(a, b, method=PermutationMethod(n_resamples=inf)) on the first and last
        // column of Demšar's table; method="approx" on the second pair.
        let table = demsar();
        let column = |j| (0..14).map(|i| table[(i, j)]).collect::<Vec<_>>();
        let test = wilcoxon(&column(0), &column(3));
        assert!((test.p - SCIPY_EXACT).abs() < 1e-12, "{}", test.p);
        let a: Vec<f64> = (0..80).map(|i| f64::from((i * 37) % 61)).collect();
        let b: Vec<f64> = (0..80).map(|i| f64::from((i * 11) % 53)).collect();
        let test = wilcoxon(&a, &b);
        assert!((test.p - SCIPY_NORMAL).abs() < 1e-12, "{}", test.p);
    }

    const SCIPY_EXACT: f64 = 0.012451171875;
    const SCIPY_NORMAL: f64 = 0.10730356674253808;

    #[test]
    fn holm_steps_down() {
        let p = [0.01, 0.04, 0.03, 0.005];
        assert_eq!(holm(&p), [0.03, 0.06, 0.06, 0.02]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
