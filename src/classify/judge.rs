//! What a value of C is worth on held-out rows.

use super::{Prediction, Targets};
use crate::Result;
use crate::data::Labels;
use crate::data::choice::choice;
use crate::measure::{Comparison, Convention, ranking_loss};

/// How C is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostRule {
    /// By the ranking loss against the held-out candidates, whatever the machine was trained on.
    Candidates,
    /// By three metrics against the held-out training labels themselves.
    Labels,
}

choice!(CostRule { Candidates => "candidates", Labels => "labels" });

/// The loss that a C is judged by.
///
/// Candidates are the only labels of held-out rows that nobody has estimated: judged by its own
/// pseudo labels or confidences, a machine is rewarded for repeating their errors. Noise that is
/// spread evenly adds the same to the ranking loss of every C. The ranking loss does not depend on a
/// threshold, which is chosen afterwards.
#[derive(Clone, Copy, Debug)]
pub enum Judge<'a> {
    /// Ranking loss against these labels of all rows.
    Ranking(&'a Labels),
    /// Expected ranking loss + Hamming loss + (1 − Micro-F1) against the targets of the training.
    ThreeMetrics,
}

impl Judge<'_> {
    /// Loss of a prediction for `rows`, whose training targets are `targets`.
    pub(super) fn loss(
        &self,
        found: &Prediction,
        rows: &[usize],
        targets: Targets<'_>,
    ) -> Result<f64> {
        match self {
            Judge::Ranking(labels) => {
                let labels = labels.select_rows(rows);
                let compared = Comparison::new(&labels, &found.scores, &found.labels)?;
                Ok(ranking_loss(&compared, Convention::ScikitLearn))
            }
            Judge::ThreeMetrics => Ok(three_metrics(found, targets)),
        }
    }
}

/// Expected ranking loss + Hamming loss + (1 − Micro-F1) under the labels' probabilities.
fn three_metrics(found: &Prediction, targets: Targets<'_>) -> f64 {
    let scores = found.scores.values();
    let (n, labels) = (scores.rows(), scores.cols());
    let (mut ranking, mut wrong, mut hits, mut total) = (0.0, 0.0, 0.0, 0.0);
    for i in 0..n {
        let p: Vec<f64> = (0..labels).map(|j| targets.probability(i, j)).collect();
        ranking += expected_ranking_loss(&p, scores.row(i));
        for (p, &on) in p.iter().zip(found.labels.row(i)) {
            let on = f64::from(u8::from(on));
            wrong += on * (1.0 - p) + (1.0 - on) * p;
            hits += on * p;
            total += on + p;
        }
    }
    let f1 = if total > 0.0 { 2.0 * hits / total } else { 0.0 };
    ranking / n as f64 + wrong / (n * labels) as f64 + (1.0 - f1)
}

/// Σ p_a(1 − p_b)[f_a ≤ f_b] / Σ p_a(1 − p_b) over pairs of different labels; 0 without pairs.
fn expected_ranking_loss(p: &[f64], f: &[f64]) -> f64 {
    let (mut wrong, mut pairs) = (0.0, 0.0);
    for a in 0..p.len() {
        for b in (0..p.len()).filter(|&b| b != a) {
            let pair = p[a] * (1.0 - p[b]);
            pairs += pair;
            wrong += if f[a] <= f[b] { pair } else { 0.0 };
        }
    }
    if pairs > 0.0 { wrong / pairs } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Mat;
    use crate::measure::{hamming_loss, micro_f1};

    fn found() -> Prediction {
        let scores = Mat::from_vec(2, 3, vec![0.9, -0.2, 0.1, -0.5, 0.4, -0.3]);
        Prediction::at_threshold(scores, 0.0, false)
    }

    /// Hard labels: the three metrics themselves.
    #[test]
    fn three_metrics_are_a_sum() {
        let (found, rows) = (found(), [0, 1]);
        let y = Labels::from_vec(2, 3, vec![true, false, false, true, true, false]);
        let compared = Comparison::new(&y, &found.scores, &found.labels).unwrap();
        let want = ranking_loss(&compared, Convention::ScikitLearn)
            + hamming_loss(&compared)
            + (1.0 - micro_f1(&compared, Convention::ScikitLearn));
        let loss = |targets| Judge::ThreeMetrics.loss(&found, &rows, targets).unwrap();
        assert!((loss(Targets::Labels(&y)) - want).abs() < 1e-12);
        let half = Mat::from_fn(2, 3, |_, _| 0.5f32);
        assert!((loss(Targets::Confidence(&half)) - (0.5 + 0.5 + 0.5)).abs() < 1e-12);
    }

    /// The ranking loss looks at its own labels, row by row, and not at the training targets.
    #[test]
    fn the_ranking_loss_is_against_the_given_labels() {
        let found = found();
        // Rows 2 and 0 are held out: first label before all others, then second label.
        let y =
            Labels::from_vec(3, 3, vec![false, true, false, true, true, true, true, false, false]);
        let wrong = Labels::from_fn(2, 3, |_, j| j == 2);
        let targets = Targets::Labels(&wrong);
        let judge = Judge::Ranking(&y);
        assert_eq!(judge.loss(&found, &[2, 0], targets).unwrap(), 0.0);
        assert_eq!(judge.loss(&found, &[0, 2], targets).unwrap(), 1.0);
    }
}
