//! ρ from below the data: the share of candidates where a label is least likely.
//!
//! P(C_j | o) = P(Y_j | o) + ρ(1 − P(Y_j | o)) ≥ ρ for every label and whatever o is observed besides C_j,
//! with equality where the label is surely absent. So the cells with the lowest scores of a
//! cross-fitted model of P(C_j | o) hold candidates at a rate of ρ and a little more. The lower the
//! scores, the smaller this excess, but the fewer the cells: the estimate is the smallest of
//! share + standard error over several cuts. The rarest label bounds ρ in the same way.

use crate::data::Labels;
use crate::linalg::Mat;

/// Smallest and largest ρ.
pub const BOUNDS: (f64, f64) = (0.02, 0.6);
/// Lowest shares of the cells that are looked at, in percent.
const CUTS: [usize; 10] = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50];
/// Rows that a label needs for a rate of its own: below, the shared rate counts as much.
const OWN_ROWS: f64 = 100.0;

/// ρ from scores that order the cells by how likely they are candidates.
pub fn estimate(scores: &Mat<f64>, candidates: &Labels) -> f64 {
    let bound = lowest(scores.as_slice(), candidates.as_slice());
    bound.min(rarest(candidates)).clamp(BOUNDS.0, BOUNDS.1)
}

/// ρ_j of each label from its own cells, drawn towards the shared rate where rows are few.
pub fn estimate_by_label(scores: &Mat<f64>, candidates: &Labels, shared: f64) -> Vec<f64> {
    let weight = candidates.rows() as f64 / (candidates.rows() as f64 + OWN_ROWS);
    (0..scores.cols())
        .map(|j| {
            let own: Vec<f64> = (0..scores.rows()).map(|i| scores[(i, j)]).collect();
            let bound = lowest(&own, candidates.select_cols(&[j]).as_slice());
            (weight * bound + (1.0 - weight) * shared).clamp(BOUNDS.0, BOUNDS.1)
        })
        .collect()
}

/// Smallest share + standard error over the cuts.
fn lowest(scores: &[f64], candidates: &[bool]) -> f64 {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(a.cmp(&b)));
    let bound = |percent: &usize| {
        let cells = &order[..order.len() * percent / 100];
        upper(cells.iter().filter(|&&k| candidates[k]).count(), cells.len())
    };
    CUTS.iter().map(bound).fold(1.0, f64::min)
}

/// Smallest share of a label + its standard error.
fn rarest(candidates: &Labels) -> f64 {
    let counts = candidates.count_by_label().into_iter();
    counts.map(|count| upper(count, candidates.rows())).fold(1.0, f64::min)
}

/// Share + standard error; 1 without cells.
fn upper(count: usize, total: usize) -> f64 {
    if total == 0 {
        return 1.0;
    }
    let share = count as f64 / total as f64;
    share + (share * (1.0 - share) / total as f64).sqrt()
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
            assert!((found - rho).abs() < 0.03, "{rho}: {found}");
            // Scores that know nothing give no more than the share of the rarest label.
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

    #[test]
    fn odd_data_stay_within_the_bounds() {
        let all = Labels::from_fn(5, 2, |_, _| true);
        assert_eq!(estimate(&Mat::zeros(5, 2), &all), BOUNDS.1);
        assert_eq!(estimate(&Mat::zeros(5, 2), &Labels::none(5, 2)), BOUNDS.0);
        assert_eq!(estimate(&Mat::zeros(0, 2), &Labels::none(0, 2)), BOUNDS.1);
    }
}
