//! Critical differences: two average ranks differ when they lie more than
//! CD = q_α √(k(k+1)/(6N)) apart.
//!
//! Nemenyi (all pairs): q_α is the studentised range quantile for infinite degrees of freedom over
//! √2. Bonferroni-Dunn (all against one control): q_α is the normal quantile at 1 − α/(2(k−1)). The
//! table in Demšar (2006) prints 2.724 for the latter at k = 9, α = 0.05; the value is 2.734.

use statrs::distribution::{ContinuousCDF, Normal};

use super::studentized;

/// q_α for all pairs of k methods.
pub fn nemenyi_q(k: usize, alpha: f64) -> f64 {
    studentized::quantile(1.0 - alpha, k) / 2f64.sqrt()
}

/// q_α for k − 1 methods against a control.
pub fn bonferroni_dunn_q(k: usize, alpha: f64) -> f64 {
    Normal::standard().inverse_cdf(1.0 - alpha / (2.0 * (k as f64 - 1.0)))
}

/// CD from q_α, for k methods on N data sets.
pub fn critical_difference(q: f64, k: usize, datasets: usize) -> f64 {
    let k = k as f64;
    q * (k * (k + 1.0) / (6.0 * datasets as f64)).sqrt()
}

/// The largest sets of methods within one critical difference of each other, as index lists ordered
/// by rank: the bars of a CD diagram. A set of one is no bar.
pub fn groups(average_ranks: &[f64], cd: f64) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..average_ranks.len()).collect();
    order.sort_by(|&a, &b| average_ranks[a].total_cmp(&average_ranks[b]));
    let mut bars = Vec::new();
    let mut reached = 0;
    for (from, &first) in order.iter().enumerate() {
        let within = |&&m: &&usize| average_ranks[m] - average_ranks[first] <= cd;
        let to = from + order[from..].iter().take_while(within).count();
        if to > reached && to - from > 1 {
            bars.push(order[from..to].to_vec());
        }
        reached = reached.max(to);
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    /// k, Nemenyi at .05 and .10, Bonferroni-Dunn at .05 and .10 (SciPy 1.17, three digits).
    const TABLE: [(usize, [f64; 4]); 13] = [
        (2, [1.960, 1.645, 1.960, 1.645]),
        (3, [2.344, 2.052, 2.241, 1.960]),
        (4, [2.569, 2.291, 2.394, 2.128]),
        (5, [2.728, 2.460, 2.498, 2.241]),
        (6, [2.850, 2.589, 2.576, 2.326]),
        (7, [2.948, 2.693, 2.638, 2.394]),
        (8, [3.031, 2.780, 2.690, 2.450]),
        (9, [3.102, 2.855, 2.734, 2.498]),
        (10, [3.164, 2.920, 2.773, 2.539]),
        (11, [3.219, 2.978, 2.807, 2.576]),
        (12, [3.268, 3.030, 2.838, 2.609]),
        (15, [3.391, 3.159, 2.914, 2.690]),
        (20, [3.544, 3.319, 3.008, 2.790]),
    ];

    #[test]
    fn quantiles_agree_with_the_table() {
        for (k, want) in TABLE {
            let got = [
                nemenyi_q(k, 0.05),
                nemenyi_q(k, 0.10),
                bonferroni_dunn_q(k, 0.05),
                bonferroni_dunn_q(k, 0.10),
            ];
            for (g, w) in got.into_iter().zip(want) {
                assert!((g - w).abs() < 6e-4, "k = {k}: {g}, expected {w}");
            }
        }
    }

    #[test]
    fn critical_differences_of_demsar_and_of_nine_methods() {
        let cd = |q, k, n| critical_difference(q, k, n);
        let cases = [
            (cd(nemenyi_q(4, 0.05), 4, 14), 1.253559),
            (cd(nemenyi_q(4, 0.10), 4, 14), 1.118060),
            (cd(bonferroni_dunn_q(4, 0.05), 4, 14), 1.168143),
            (cd(bonferroni_dunn_q(4, 0.10), 4, 14), 1.038380),
        ];
        for (got, want) in cases {
            assert!((got - want).abs() < 1e-6, "{got}, expected {want}");
        }
        for (n, bd, nemenyi) in [(8, 3.744, 4.247), (9, 3.530, 4.004), (12, 3.057, 3.468)] {
            assert!((cd(bonferroni_dunn_q(9, 0.05), 9, n) - bd).abs() < 6e-4);
            assert!((cd(nemenyi_q(9, 0.05), 9, n) - nemenyi).abs() < 6e-4);
        }
    }

    #[test]
    fn bars_are_the_largest_indistinguishable_sets() {
        let ranks = [3.0, 1.0, 2.2, 5.0, 2.0];
        assert_eq!(groups(&ranks, 1.25), [vec![1, 4, 2], vec![4, 2, 0]]);
        assert_eq!(groups(&ranks, 0.1), Vec::<Vec<usize>>::new());
        assert_eq!(groups(&ranks, 9.0), [vec![1, 4, 2, 0, 3]]);
    }
}
