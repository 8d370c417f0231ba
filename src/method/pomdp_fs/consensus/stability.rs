//! How much several fits of the same rows agree.

use serde::Serialize;

use crate::data::Labels;
use crate::method::{Fitted, Ranked, Status};

/// Agreement of fits that differ in their random numbers alone; means are over pairs of fits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stability {
    /// Number of fits.
    pub seeds: usize,
    /// Share of all n·L label cells that are the same in two fits.
    pub label_agreement: f64,
    /// The same among the cells with a candidate; the others cannot differ.
    pub candidate_agreement: f64,
    /// Share of the cells with a candidate on which all fits agree.
    pub unanimous: f64,
    /// Spearman's correlation of two rankings of all features.
    pub ranking_correlation: f64,
    /// Share of the selected features that two fits have in common.
    pub selected_agreement: f64,
    /// The single fits.
    pub fits: Vec<OneFit>,
}

/// What one fit found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OneFit {
    /// Candidates that it keeps.
    pub kept: usize,
    /// Its noise rate, if it has one.
    pub rho: Option<f64>,
    /// What it thinks of its labels.
    pub status: Option<Status>,
    /// Share of wrong label cells, if the truth is known.
    pub epsilon_pseudo: Option<f64>,
}

impl Stability {
    /// Compares all pairs of `fits`, of which there are at least two. `epsilon` judges labels, where
    /// the truth is known.
    pub(super) fn of(
        fits: &[Fitted],
        candidates: &Labels,
        budget: usize,
        mut epsilon: impl FnMut(&Labels) -> Option<f64>,
    ) -> Self {
        let labels: Vec<&Labels> = fits.iter().filter_map(|f| f.pseudo.as_ref()).collect();
        let different = over_pairs(&labels, |a, b| {
            let cells = a.as_slice().iter().zip(b.as_slice());
            cells.filter(|(a, b)| a != b).count() as f64
        });
        let (cells, all) = (candidates.as_slice().len().max(1), candidates.count().max(1));
        let disputed = (0..candidates.as_slice().len())
            .filter(|&k| labels.iter().any(|y| y.as_slice()[k] != labels[0].as_slice()[k]))
            .count();
        let rankings: Vec<&[Ranked]> = fits.iter().map(|f| &f.ranking[..]).collect();
        Stability {
            seeds: fits.len(),
            label_agreement: 1.0 - different / cells as f64,
            candidate_agreement: 1.0 - different / all as f64,
            unanimous: 1.0 - disputed as f64 / all as f64,
            ranking_correlation: over_pairs(&rankings, spearman),
            selected_agreement: over_pairs(&rankings, |a, b| common(a, b, budget)),
            fits: fits.iter().map(|f| one_fit(f, &mut epsilon)).collect(),
        }
    }
}

fn one_fit(fitted: &Fitted, epsilon: &mut impl FnMut(&Labels) -> Option<f64>) -> OneFit {
    OneFit {
        kept: fitted.pseudo.as_ref().map_or(0, Labels::count),
        rho: fitted.trained.as_ref().and_then(|t| t.rho),
        status: fitted.verdict.as_ref().map(|v| v.status),
        epsilon_pseudo: fitted.pseudo.as_ref().and_then(epsilon),
    }
}

/// The mean of `f` over all pairs.
fn over_pairs<T: Copy>(all: &[T], f: impl Fn(T, T) -> f64) -> f64 {
    let pairs = (0..all.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    let values: Vec<f64> = pairs.map(|(a, b)| f(all[a], all[b])).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn places(ranking: &[Ranked]) -> Vec<usize> {
    let mut places = vec![0; ranking.len()];
    ranking.iter().enumerate().for_each(|(place, r)| places[r.feature] = place);
    places
}

/// 1 − 6 Σ δ² / (d³ − d) with δ the difference of the places; a single feature agrees with itself.
fn spearman(a: &[Ranked], b: &[Ranked]) -> f64 {
    let d = a.len() as f64;
    if a.len() < 2 {
        return 1.0;
    }
    let squares: f64 = places(a)
        .iter()
        .zip(places(b))
        .map(|(&a, b)| a.abs_diff(b) as f64)
        .map(|difference| difference * difference)
        .sum();
    1.0 - 6.0 * squares / (d * (d * d - 1.0))
}

/// Share of the first `budget` features of `a` that are among those of `b`.
fn common(a: &[Ranked], b: &[Ranked], budget: usize) -> f64 {
    let budget = budget.min(a.len()).max(1);
    let place = places(b);
    let both = a.iter().take(budget).filter(|r| place[r.feature] < budget).count();
    both as f64 / budget as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::rank;

    fn fitted(labels: [bool; 4], order: [f64; 3]) -> Fitted {
        Fitted {
            pseudo: Some(Labels::from_vec(2, 2, labels.to_vec())),
            ranking: rank(&order),
            ..Fitted::default()
        }
    }

    #[test]
    fn pairs_are_compared() {
        let (on, off) = (true, false);
        let fits = [
            fitted([on, on, off, off], [3.0, 2.0, 1.0]),
            fitted([on, off, off, off], [3.0, 2.0, 1.0]),
            fitted([on, on, off, off], [1.0, 2.0, 3.0]),
        ];
        let candidates = Labels::from_vec(2, 2, vec![on, on, on, off]);
        let s = Stability::of(&fits, &candidates, 1, |_| Some(0.25));
        // One cell differs in two of three pairs.
        assert!((s.label_agreement - (1.0 - 2.0 / 3.0 / 4.0)).abs() < 1e-12);
        assert!((s.candidate_agreement - (1.0 - 2.0 / 3.0 / 3.0)).abs() < 1e-12);
        assert!((s.unanimous - 2.0 / 3.0).abs() < 1e-12);
        // Equal, reversed, reversed: 1, −1, −1.
        assert!((s.ranking_correlation + 1.0 / 3.0).abs() < 1e-12);
        assert!((s.selected_agreement - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(s.fits[1].kept, 1);
        assert_eq!(s.fits[0].epsilon_pseudo, Some(0.25));
    }

    #[test]
    fn spearman_of_a_known_example() {
        let a = rank(&[10.0, 9.0, 8.0, 7.0, 6.0]);
        // Places 1 0 2 4 3 against 0 1 2 3 4: squares sum to 4.
        let b = rank(&[9.0, 10.0, 8.0, 6.0, 7.0]);
        assert!((spearman(&a, &b) - (1.0 - 6.0 * 4.0 / 120.0)).abs() < 1e-12);
        assert_eq!(spearman(&a[..1], &a[..1]), 1.0);
    }
}
