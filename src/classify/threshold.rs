//! From scores to labels: one threshold for all labels.

use super::Targets;
use crate::linalg::Mat;

/// From which score on a label is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// The score that maximises the expected Micro-F1 on held-out rows.
    F1,
    /// 0 for margins, ½ for probabilities.
    Fixed,
}

/// The threshold t that maximises the expected Micro-F1 of the prediction `score > t`,
///
/// `F(t) = 2 Σ p·1(s > t) / (Σ 1(s > t) + Σ p)`,
///
/// over all cells of the scores s with the targets' probabilities p: the ratio of the expected
/// counts. Halfway between two scores; the largest one of equals.
pub fn best_f1(scores: &Mat<f64>, targets: Targets<'_>) -> f64 {
    let mut cells: Vec<(f64, f64)> = (0..scores.rows())
        .flat_map(|i| (0..scores.cols()).map(move |j| (i, j)))
        .map(|(i, j)| (scores[(i, j)], targets.probability(i, j)))
        .collect();
    let total: f64 = cells.iter().map(|(_, p)| p).sum();
    cells.sort_by(|a, b| b.0.total_cmp(&a.0));
    // Without any positive no label is predicted.
    let mut best = (0.0, cells.first().map_or(0.0, |c| c.0));
    let (mut hits, mut taken) = (0.0, 0);
    for group in cells.chunk_by(|a, b| a.0 == b.0) {
        hits += group.iter().map(|(_, p)| p).sum::<f64>();
        taken += group.len();
        let f1 = 2.0 * hits / (taken as f64 + total);
        if f1 > best.0 {
            best = (f1, below(group[0].0, cells.get(taken).map(|c| c.0)));
        }
    }
    best.1
}

/// A number below `score` and not below the next smaller score.
fn below(score: f64, next: Option<f64>) -> f64 {
    let Some(next) = next else {
        return score.next_down();
    };
    let middle = 0.5 * (score + next);
    if next <= middle && middle < score { middle } else { next }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Labels;
    use crate::rng::Streams;

    fn expected_f1(scores: &Mat<f64>, p: &Mat<f32>, t: f64) -> f64 {
        let (mut hits, mut on, mut total) = (0.0, 0.0, 0.0);
        for (&s, &p) in scores.as_slice().iter().zip(p.as_slice()) {
            total += f64::from(p);
            if s > t {
                hits += f64::from(p);
                on += 1.0;
            }
        }
        2.0 * hits / (on + total)
    }

    /// No other threshold does better: every cut between two of the scores, ties included, is tried.
    #[test]
    fn nothing_beats_it() {
        let mut r = Streams::new(5).stream("threshold");
        let mut fixed_is_worse = 0;
        for case in 0..200 {
            let (n, labels) = (1 + r.below(12), 1 + r.below(4));
            // Few different values: many ties.
            let values = 1 + r.below(30);
            let scores = Mat::from_fn(n, labels, |_, _| r.below(values) as f64 / 7.0 - 1.0);
            let p = Mat::from_fn(n, labels, |i, j| match case % 2 {
                0 => r.uniform() as f32,
                _ => f32::from(u8::from(r.bernoulli(0.2 + 0.6 * f64::from(scores[(i, j)] > 0.4)))),
            });
            let found = expected_f1(&scores, &p, best_f1(&scores, Targets::Confidence(&p)));
            let cuts = scores.as_slice().iter().flat_map(|s| [*s, s - 1e-9]);
            let best = cuts.map(|t| expected_f1(&scores, &p, t)).fold(0.0, f64::max);
            assert!(best > 0.0 || p.as_slice().iter().all(|p| *p == 0.0));
            if best > 0.0 {
                assert!((found - best).abs() < 1e-12, "case {case}: {found}, possible {best}");
            }
            fixed_is_worse += usize::from(expected_f1(&scores, &p, 0.0) < best - 1e-3);
        }
        assert!(fixed_is_worse > 100, "the cases ask for a choice: {fixed_is_worse}");
    }

    #[test]
    fn edges() {
        let scores = Mat::from_vec(2, 2, vec![3.0, 1.0, -2.0, -2.0]);
        let at = |on: [bool; 4]| {
            let y = Labels::from_vec(2, 2, on.to_vec());
            best_f1(&scores, Targets::Labels(&y))
        };
        assert_eq!(at([true, false, false, false]), 2.0, "halfway");
        assert_eq!(at([true, true, false, false]), -0.5);
        assert_eq!(at([false; 4]), 3.0, "no label at all");
        assert!(at([true; 4]) < -2.0 && at([true; 4]) > -2.001, "every label");
        // Two scores without a number between them.
        let next = 1.0f64.next_up();
        let tight = Mat::from_vec(1, 2, vec![1.0, next]);
        let y = Labels::from_vec(1, 2, vec![false, true]);
        assert_eq!(best_f1(&tight, Targets::Labels(&y)), 1.0);
    }
}
