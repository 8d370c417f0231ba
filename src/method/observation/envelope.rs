//! ρ from below the data: the share of candidates where a label is least likely.
//!
//! P(C_j | o) = P(Y_j | o) + ρ(1 − P(Y_j | o)) ≥ ρ for every label and whatever o is observed besides C_j,
//! with equality where the label is surely absent. So the cells with the lowest scores of a
//! cross-fitted model of P(C_j | o) hold candidates at a rate of ρ and a little more. The lower the
//! scores, the smaller this excess, but the fewer the cells, and the smallest of several noisy shares
//! is too small. Both errors are small when no share is taken over fewer than some hundred cells
//! and the scores are means over several partitions (docs/method.md has the figures).

use crate::data::Labels;
use crate::linalg::Mat;

/// Smallest and largest ρ.
pub const BOUNDS: (f64, f64) = (0.02, 0.6);
/// Lowest shares of the cells that are looked at, in percent.
const CUTS: [usize; 10] = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50];
/// Fewest cells of a cut, if half of all cells are as many; of a single label.
const LEAST_CELLS: usize = 400;
const LEAST_CELLS_OF_A_LABEL: usize = 100;
/// Rows that a label needs for a rate of its own: below, the shared rate counts as much.
const OWN_ROWS: f64 = 100.0;

/// ρ from scores that order the cells by how likely they are candidates.
pub fn estimate(scores: &Mat<f64>, candidates: &Labels) -> f64 {
    lowest(scores.as_slice(), candidates.as_slice(), LEAST_CELLS).clamp(BOUNDS.0, BOUNDS.1)
}

/// ρ_j of each label from its own cells, drawn towards the shared rate where rows are few.
pub fn estimate_by_label(scores: &Mat<f64>, candidates: &Labels, shared: f64) -> Vec<f64> {
    let weight = candidates.rows() as f64 / (candidates.rows() as f64 + OWN_ROWS);
    (0..scores.cols())
        .map(|j| {
            let own: Vec<f64> = (0..scores.rows()).map(|i| scores[(i, j)]).collect();
            let candidates = candidates.select_cols(&[j]);
            let bound = lowest(&own, candidates.as_slice(), LEAST_CELLS_OF_A_LABEL);
            (weight * bound + (1.0 - weight) * shared).clamp(BOUNDS.0, BOUNDS.1)
        })
        .collect()
}

/// Smallest share of candidates over the cuts; 1 without cells.
fn lowest(scores: &[f64], candidates: &[bool], least: usize) -> f64 {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(a.cmp(&b)));
    let share = |percent: &usize| {
        let cells = (order.len() * percent / 100).max(least.min(order.len() / 2));
        let found = order[..cells].iter().filter(|&&k| candidates[k]).count();
        if cells == 0 { 1.0 } else { found as f64 / cells as f64 }
    };
    CUTS.iter().map(share).fold(1.0, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    /// Scores that know the truth: absent labels are candidates at rate ρ.
    #[test]
    fn the_estimate_is_near_the_rate_and_never_far_below() {
        for rho in [0.05, 0.2, 0.4] {
            let mut r = Streams::new(8).stream("envelope");
            let truth = Labels::from_fn(800, 6, |_, _| r.bernoulli(0.3));
            let candidates = Labels::from_fn(800, 6, |i, j| truth.get(i, j) || r.bernoulli(rho));
            let scores = Mat::from_fn(800, 6, |i, j| {
                let shift = if truth.get(i, j) { 1.0 } else { -1.0 };
                shift + r.normal()
            });
            let found = estimate(&scores, &candidates);
            // The smallest cut has 400 cells: a standard error of 0.02.
            assert!((found - rho).abs() < 0.04, "{rho}: {found}");
            // Scores that know nothing cannot come near: the negative control.
            let blind = Mat::from_fn(800, 6, |_, _| r.normal());
            assert!(estimate(&blind, &candidates) > rho + 0.1);
        }
    }

    #[test]
    fn labels_have_their_own_rates() {
        let mut r = Streams::new(8).stream("labels");
        let rates = [0.05, 0.4];
        let candidates = Labels::from_fn(2000, 2, |_, j| r.bernoulli(rates[j]));
        let scores = Mat::from_fn(2000, 2, |_, _| r.normal());
        let found = estimate_by_label(&scores, &candidates, 0.05);
        assert!((found[0] - 0.05).abs() < 0.03 && (found[1] - 0.4).abs() < 0.06, "{found:?}");
        let few = estimate_by_label(&Mat::zeros(0, 2), &Labels::none(0, 2), 0.2);
        assert_eq!(few, [0.2, 0.2]);
    }

    /// Few cells, all of them noise: the smallest share must not be a stroke of luck.
    #[test]
    fn small_tables_are_not_far_below_the_rate() {
        let mut worst = 0.0_f64;
        for k in 0..40 {
            let mut r = Streams::new(k).stream("small");
            let candidates = Labels::from_fn(206, 15, |_, _| r.bernoulli(0.2));
            let scores = Mat::from_fn(206, 15, |_, _| r.normal());
            worst = worst.max((estimate(&scores, &candidates) - 0.2).abs());
        }
        assert!(worst < 0.06, "{worst}");
    }

    #[test]
    fn odd_data_stay_within_the_bounds() {
        let all = Labels::from_fn(5, 2, |_, _| true);
        assert_eq!(estimate(&Mat::zeros(5, 2), &all), BOUNDS.1);
        assert_eq!(estimate(&Mat::zeros(5, 2), &Labels::none(5, 2)), BOUNDS.0);
        assert_eq!(estimate(&Mat::zeros(0, 2), &Labels::none(0, 2)), BOUNDS.1);
    }
}
