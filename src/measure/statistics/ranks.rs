//! Ranks: best = 1, ties share the average of their places, a missing result is the worst.

use crate::linalg::Mat;

/// Ranks of k methods on N data sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranks {
    /// Mean rank of each method.
    pub average: Vec<f64>,
    /// Number of data sets N.
    pub datasets: usize,
    /// Σ (t³ − t) over all groups of t tied methods.
    pub tie_term: f64,
    /// Number of results that were NaN.
    pub missing: usize,
}

/// Ranks each row of `results` (N × k) and averages the ranks down the columns.
pub fn average_ranks(results: &Mat<f64>, higher_is_better: bool) -> Ranks {
    let (n, k) = (results.rows(), results.cols());
    let mut sums = vec![0.0; k];
    let mut tie_term = 0.0;
    for row in results.rows_iter() {
        // Turned so that smaller is better; NaN becomes the worst.
        let keys: Vec<f64> = row
            .iter()
            .map(|&v| match (v.is_nan(), higher_is_better) {
                (true, _) => f64::INFINITY,
                (false, true) => -v,
                (false, false) => v,
            })
            .collect();
        tie_term += rank(&keys, |j, r| sums[j] += r);
    }
    Ranks {
        average: sums.into_iter().map(|s| s / n as f64).collect(),
        datasets: n,
        tie_term,
        missing: results.as_slice().iter().filter(|v| v.is_nan()).count(),
    }
}

/// Calls `visit(j, rank)` for each key, smallest first; returns Σ (t³ − t) over the tied groups.
pub(super) fn rank(keys: &[f64], mut visit: impl FnMut(usize, f64)) -> f64 {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
    let mut tie_term = 0.0;
    let mut done = 0;
    for group in order.chunk_by(|&a, &b| keys[a] == keys[b]) {
        let t = group.len() as f64;
        let shared = done as f64 + (t + 1.0) / 2.0;
        group.iter().for_each(|&j| visit(j, shared));
        tie_term += t * t * t - t;
        done += group.len();
    }
    tie_term
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_and_missing_results_are_last() {
        let results = Mat::from_vec(2, 4, vec![0.3, 0.1, 0.3, f64::NAN, 1.0, 1.0, 1.0, 1.0]);
        let low = average_ranks(&results, false);
        assert_eq!(low.average, [2.5, 1.75, 2.5, 3.25]);
        assert_eq!(low.tie_term, 6.0 + 60.0);
        assert_eq!(low.missing, 1);
        let high = average_ranks(&results, true);
        assert_eq!(high.average, [2.0, 2.75, 2.0, 3.25]);
        assert_eq!(high.average.iter().sum::<f64>(), 10.0);
        // −0.0 and 0.0 are the same result.
        let zeros = Mat::from_vec(1, 2, vec![0.0, -0.0]);
        assert_eq!(average_ranks(&zeros, true).average, [1.5, 1.5]);
    }
}
