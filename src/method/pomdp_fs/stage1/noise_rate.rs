//! ρ, the probability that a label that is not true became a candidate: where EM starts, how it goes on.
//!
//! P(C_j | x) = P(Y_j | x) + ρ (1 − P(Y_j | x)) ≥ ρ for every label and every x, so the share of
//! candidates in any part of the data bounds ρ from above. EM must start near that bound: a smaller ρ
//! explains the candidates as well, with a prior that believes the noise, and EM would stay there.
//! Much above the true ρ it must not start either, or the prior learns that there are no labels.
//!
//! The whole data give a good bound when a label is rare. When all labels are frequent, a part is needed
//! where one is absent. It is found by cross-fitting, because a part that was chosen by the
//! candidates that are then counted in it would look better than it is: one half of the rows gives a direction Σ (c_ij − c̄_j) x_i for each label, the other half is ordered
//! along it, and the candidates in its lowest third are counted.

use crate::data::Labels;
use crate::linalg::{Acc, Mat, gemm};
use crate::rng::Streams;

/// Bounds of ρ.
pub(super) const RHO: (f64, f64) = (0.01, 0.6);

/// The smallest of the bounds over the given rows, in [`RHO`].
pub(super) fn first(
    (x, candidates): (&Mat<f32>, &Labels),
    rows: &[usize],
    streams: &Streams,
) -> f64 {
    let n = rows.len().max(1) as f64;
    let counts = candidates.select_rows(rows).count_by_label();
    let whole = counts.into_iter().map(|c| c as f64 / n);
    let parts = least_believed((x, candidates), rows, streams);
    let parts = parts.into_iter().map(|(count, rows)| {
        let share = count as f64 / rows as f64;
        // One standard error more, or the least of L noisy shares would be too low.
        share + (share * (1.0 - share) / rows as f64).sqrt()
    });
    whole.chain(parts).fold(RHO.1, f64::min).max(RHO.0)
}

/// Halfway from ρ to its estimate under the confidences.
pub(super) fn next(rho: f64, confidence: &Mat<f32>, candidates: &Labels) -> f64 {
    let (mut dropped, mut negative) = (1.0, 5.0);
    for (&p, &c) in confidence.as_slice().iter().zip(candidates.as_slice()) {
        let absent = 1.0 - f64::from(p);
        negative += absent;
        dropped += if c { absent } else { 0.0 };
    }
    (0.5 * rho + 0.5 * dropped / negative).clamp(RHO.0, RHO.1)
}

/// Candidates and rows, for each label, in the third where the features speak least for it.
fn least_believed(
    (x, candidates): (&Mat<f32>, &Labels),
    rows: &[usize],
    streams: &Streams,
) -> Vec<(usize, usize)> {
    let labels = candidates.cols();
    let order = streams.stream("halves").permutation(rows.len());
    let order: Vec<usize> = order.into_iter().map(|k| rows[k]).collect();
    let (one, two) = order.split_at(rows.len() / 2);
    if one.len() < 3 {
        return Vec::new();
    }
    let mut found = vec![(0, 0); labels];
    for (learn, counted) in [(one, two), (two, one)] {
        let c = candidates.select_rows(learn);
        let shares: Vec<f32> =
            c.count_by_label().iter().map(|&k| k as f32 / learn.len() as f32).collect();
        let mut centred: Mat<f32> = c.to_mat();
        for row in 0..learn.len() {
            centred.row_mut(row).iter_mut().zip(&shares).for_each(|(c, share)| *c -= share);
        }
        let mut directions = Mat::zeros(x.cols(), labels);
        gemm(Acc::Set, directions.view_mut(), x.select_rows(learn).view().t(), centred.view());
        let mut scores = Mat::zeros(counted.len(), labels);
        gemm(Acc::Set, scores.view_mut(), x.select_rows(counted).view(), directions.view());
        let part = counted.len() / 3;
        let mut rows: Vec<usize> = (0..counted.len()).collect();
        for (j, (candidates_there, total)) in found.iter_mut().enumerate() {
            rows.sort_by(|&a, &b| scores[(a, j)].total_cmp(&scores[(b, j)]).then(a.cmp(&b)));
            let on = |i: &&usize| candidates.get(counted[**i], j);
            *candidates_there += rows[..part].iter().filter(on).count();
            *total += part;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rho_moves_halfway_to_its_estimate_within_bounds() {
        // Four cells: candidates with p = 1 and p = 0, two that are no candidates.
        let p = Mat::from_vec(1, 4, vec![1.0, 0.0, 0.0, 0.0]);
        let c = Labels::from_vec(1, 4, vec![true, true, false, false]);
        let estimate = (1.0 + 1.0) / (3.0 + 5.0);
        assert!((next(0.2, &p, &c) - 0.5 * (0.2 + estimate)).abs() < 1e-12);
        let all = Labels::from_fn(100, 4, |_, _| true);
        assert_eq!(next(0.6, &Mat::zeros(100, 4), &all), 0.6);
    }

    /// Labels follow the signs of the features; every other label becomes a candidate with
    /// probability `rho`.
    fn bound(x: &Mat<f32>, c: &Labels) -> f64 {
        let all: Vec<usize> = (0..x.rows()).collect();
        first((x, c), &all, &Streams::new(0))
    }

    fn noisy(n: usize, rho: f64) -> (Mat<f32>, Labels) {
        let mut stream = Streams::new(3).stream("data");
        let x = Mat::from_fn(n, 4, |_, _| stream.normal() as f32);
        let c = Labels::from_fn(n, 3, |i, j| x[(i, j)] > 0.2 || stream.bernoulli(rho));
        (x, c)
    }

    #[test]
    fn the_bound_is_near_the_rate_even_when_every_label_is_frequent() {
        for rho in [0.05, 0.2, 0.4] {
            let (x, c) = noisy(1500, rho);
            let rarest = c.count_by_label().into_iter().min().unwrap() as f64 / 1500.0;
            let bound = bound(&x, &c);
            assert!(rarest > rho + 0.2, "the whole data say little: {rarest}");
            assert!((rho - 0.02..rho + 0.08).contains(&bound), "{rho}: {bound}");
        }
    }

    /// Only the given rows count.
    #[test]
    fn a_part_of_the_rows_is_as_good_as_data_of_their_own() {
        let (x, c) = noisy(300, 0.2);
        let rows: Vec<usize> = (0..300).filter(|i| i % 3 != 1).collect();
        let own = bound(&x.select_rows(&rows), &c.select_rows(&rows));
        assert_eq!(first((&x, &c), &rows, &Streams::new(0)), own);
        assert_ne!(own, bound(&x, &c));
    }

    #[test]
    fn small_or_odd_data_have_a_bound_too() {
        for n in [0, 1, 5, 6, 7] {
            let (x, c) = noisy(n, 0.2);
            let bound = bound(&x, &c);
            assert!((RHO.0..=RHO.1).contains(&bound), "{n} rows: {bound}");
        }
        let (x, _) = noisy(50, 0.2);
        assert_eq!(bound(&x, &Labels::from_fn(50, 3, |_, _| true)), RHO.1);
        assert_eq!(bound(&x, &Labels::none(50, 3)), RHO.0);
    }
}
