//! How much the probe trusts a column and cares for a label.
//!
//! A ridge regression asks the same price λ‖w‖² for every column of deviation 1. A column that is
//! zero in most rows has deviation 1 through a few rows with large values: it fits those rows, and
//! tells nothing about the others. [`Weighting::Spread`] makes such columns dear:
//!
//! * values beyond `LIMIT` deviations from the mean are moved there, and the column is scaled to
//!   deviation 1 again;
//! * it is multiplied by √(1 − Σ_v (share of the rows with value v)³), the deviation of its ranks over
//!   that of ranks without ties. All values different: 1. A share p of the rows not zero: about √(3p).
//!
//! Targets are divided by the root of their deviation. As they come, labels count by their variance, and a
//! rare one hardly counts; divided by the deviation all count alike, and the many rare labels of a text set
//! take the budget from the frequent ones. The root lies between, with the deviation as weight. No divisor is
//! less than that of a label with one certain positive, or noise would be blown up. `docs/stage2.md` has the
//! measurements behind this.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::linalg::Mat;

/// Deviations from the mean beyond which values are moved.
const LIMIT: f64 = 2.5;

/// Columns that are weighted together.
const COLUMNS: usize = 16;

/// Whether columns and labels are weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// Columns by the spread of their ranks, labels by one over the root of their deviation.
    Spread,
    /// As they come.
    None,
}

impl Weighting {
    /// Features as the probe sees them. Rows that share a value go on sharing one.
    pub fn features(self, x: &Mat<f32>) -> Mat<f32> {
        match self {
            Weighting::None => x.clone(),
            Weighting::Spread => {
                let mut seen = Mat::zeros(x.rows(), x.cols());
                // A few columns at a time: all of them would be a second copy of the features.
                for from in (0..x.cols()).step_by(COLUMNS) {
                    let columns = from..x.cols().min(from + COLUMNS);
                    let columns: Vec<Vec<f32>> =
                        columns.into_par_iter().map(|a| weighted(x, a)).collect();
                    for i in 0..x.rows() {
                        let row = seen.row_mut(i)[from..].iter_mut();
                        row.zip(&columns).for_each(|(v, column)| *v = column[i]);
                    }
                }
                seen
            }
        }
    }

    /// Targets as the probe sees them, n × L.
    pub fn targets(self, targets: &Mat<f64>) -> Mat<f64> {
        if self == Weighting::None {
            return targets.clone();
        }
        let n = targets.rows() as f64;
        let least = (1.0 / n * (1.0 - 1.0 / n)).sqrt();
        let column = |j: usize| (0..targets.rows()).map(move |i| targets[(i, j)]);
        // One row has no deviation at all.
        let divisor = |j: usize| match moments(column(j)).1.max(least) {
            0.0 => 1.0,
            deviation => deviation.sqrt(),
        };
        let divisors: Vec<f64> = (0..targets.cols()).map(divisor).collect();
        Mat::from_fn(targets.rows(), targets.cols(), |i, j| targets[(i, j)] / divisors[j])
    }
}

fn weighted(x: &Mat<f32>, a: usize) -> Vec<f32> {
    let mut values: Vec<f64> = (0..x.rows()).map(|i| f64::from(x[(i, a)])).collect();
    let weight = spread_of_ranks(&values);
    let (mean, deviation) = moments(values.iter().copied());
    let (low, high) = (mean - LIMIT * deviation, mean + LIMIT * deviation);
    values.iter_mut().for_each(|v| *v = v.clamp(low, high));
    let (mean, deviation) = moments(values.iter().copied());
    let scale = if deviation > 0.0 { weight / deviation } else { 0.0 };
    values.into_iter().map(|v| ((v - mean) * scale) as f32).collect()
}

/// √(1 − Σ_v (share of v)³).
fn spread_of_ranks(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let share = |ties: &[f64]| ties.len() as f64 / values.len() as f64;
    let cubes: f64 = sorted.chunk_by(|a, b| a == b).map(|t| share(t) * share(t) * share(t)).sum();
    (1.0 - cubes).max(0.0).sqrt()
}

/// Mean and standard deviation.
fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / n;
    (mean, (values.map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    fn column(values: Vec<f32>) -> Vec<f64> {
        let x = Mat::from_vec(values.len(), 1, values);
        Weighting::Spread.features(&x).cast::<f64>().as_slice().to_vec()
    }

    /// Against the definition: the deviation of mid-ranks, computed from the ranks themselves.
    #[test]
    fn the_weight_is_the_deviation_of_the_ranks() {
        let mut r = Streams::new(4).stream("weighting");
        for different in [2, 3, 10, 1000] {
            let values: Vec<f32> = (0..60).map(|_| r.below(different) as f32).collect();
            let less = |v: f32| values.iter().filter(|u| **u < v).count() as f64;
            let equal = |v: f32| values.iter().filter(|u| **u == v).count() as f64;
            let ranks = values.iter().map(|&v| less(v) + 0.5 * equal(v));
            // Ranks without ties fill [0, n] evenly: variance n²/12.
            let want = moments(ranks).1 / (60.0f64 * 60.0 / 12.0).sqrt();
            let found = moments(column(values.clone()).into_iter()).1;
            assert!((found - want).abs() < 1e-6, "{different}: {found}, want {want}");
        }
    }

    #[test]
    fn few_large_values_are_dear_and_ties_stay() {
        let one_in_twenty = column((0..100).map(|i| if i % 20 == 0 { 9.0 } else { 0.0 }).collect());
        let even = column((0..100).map(|i| i as f32).collect());
        let deviation = |v: &[f64]| moments(v.iter().copied()).1;
        assert!(
            (deviation(&one_in_twenty) - (1.0f64 - 0.95f64.powi(3) - 0.05f64.powi(3)).sqrt()).abs()
                < 1e-6
        );
        assert!((deviation(&even) - 1.0).abs() < 1e-3);
        assert_eq!(one_in_twenty[1], one_in_twenty[99]);
        // A value far out is no further out than LIMIT was.
        let far = column((0..100).map(|i| if i == 0 { 1e6 } else { (i % 7) as f32 }).collect());
        let plain = column((0..100).map(|i| (i % 7) as f32).collect());
        assert!(far[0] > far[1] && deviation(&far[1..]) < deviation(&plain));
        assert_eq!(column(vec![3.0; 5]), [0.0; 5], "a constant");
        assert_eq!(column(vec![3.0]), [0.0]);
    }

    #[test]
    fn labels_count_by_their_deviation_but_noise_is_not_blown_up() {
        let b = Mat::from_fn(50, 3, |i, j| match j {
            0 => f64::from(u8::from(i % 2 == 0)),
            1 => f64::from(u8::from(i % 10 == 0)),
            _ => 1e-9 * i as f64,
        });
        let seen = Weighting::Spread.targets(&b);
        let deviation = |j: usize| moments((0..50).map(|i| seen[(i, j)])).1;
        // Half and a tenth of the rows: deviations .5 and .3, and their roots afterwards.
        for (j, before) in [(0, 0.5f64), (1, 0.3)] {
            assert!((deviation(j) - before.sqrt()).abs() < 1e-12);
        }
        assert!(deviation(2) < 1e-6);
        assert_eq!(Weighting::None.targets(&b), b);
        let one = Mat::from_vec(1, 1, vec![0.7]);
        assert_eq!(Weighting::Spread.targets(&one), one);
        let x = Mat::from_fn(4, 2, |i, a| (i * a) as f32);
        assert_eq!(Weighting::None.features(&x), x);
    }
}
