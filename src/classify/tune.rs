//! C by cross-validation inside the training data.
//!
//! Every C of the grid, from small to large, is judged on held-out training labels, never on the
//! truth, by the expected value of three metrics under the labels' probabilities p (0 and 1 for hard
//! labels): ranking loss + Hamming loss + (1 − Micro-F1). The machine's own loss is not used: it is
//! measured in units of the margin, which a small C shrinks, and prefers too large a C for rare
//! labels. The search ends when two values in a row were worse than the best one.

use super::rbf_svm::RbfSvm;
use super::svm::LinearSvm;
use super::{Classifier, Model, OwnedTargets, Prediction, Targets, inner_folds};
use crate::Result;
use crate::linalg::Mat;
use crate::rng::Streams;

/// The values that are tried.
pub const GRID: [f64; 7] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0];
const FOLDS: usize = 3;
const WORSE_IN_A_ROW: usize = 2;

/// A classifier with a cost C of an error.
pub trait HasCost: Classifier + Sized {
    /// The same with another C.
    fn with_c(&self, c: f64) -> Self;
}

impl HasCost for LinearSvm {
    fn with_c(&self, c: f64) -> Self {
        LinearSvm { c, ..self.clone() }
    }
}

impl HasCost for RbfSvm {
    fn with_c(&self, c: f64) -> Self {
        RbfSvm { c, ..self.clone() }
    }
}

/// A machine that chooses its own C.
pub struct Tuned<C> {
    /// The machine; its C is not used.
    pub machine: C,
}

impl<C: HasCost> Tuned<C> {
    /// The C of the grid with the smallest held-out loss; the smaller one of equals.
    pub fn choose(&self, x: &Mat<f64>, targets: Targets<'_>, streams: &Streams) -> Result<f64> {
        let parts: Vec<_> = inner_folds(x.rows(), FOLDS, &streams.child("tune"))?
            .into_iter()
            .map(|(train, test)| {
                let pick =
                    |rows: &[usize]| (x.select_rows(rows), OwnedTargets::select(targets, rows));
                (pick(&train), pick(&test))
            })
            .collect();
        let (mut best, mut worse) = ((f64::INFINITY, GRID[0]), 0);
        for c in GRID {
            let machine = self.machine.with_c(c);
            let mut total = 0.0;
            for ((x, y), (new_x, new_y)) in &parts {
                let found = machine.fit(x, y.borrow(), streams)?.predict(new_x)?;
                total += held_out(&found, new_y.borrow());
            }
            if total < best.0 {
                (best, worse) = ((total, c), 0);
            } else if total > best.0 {
                worse += 1;
            }
            if worse == WORSE_IN_A_ROW {
                break;
            }
        }
        Ok(best.1)
    }
}

/// Expected ranking loss + Hamming loss + (1 − Micro-F1).
fn held_out(found: &Prediction, targets: Targets<'_>) -> f64 {
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

impl<C: HasCost> Classifier for Tuned<C> {
    fn name(&self) -> &'static str {
        self.machine.name()
    }

    fn fit(&self, x: &Mat<f64>, targets: Targets<'_>, streams: &Streams) -> Result<Box<dyn Model>> {
        targets.check(x)?;
        let c = self.choose(x, targets, streams)?;
        let model = self.machine.with_c(c).fit(x, targets, streams)?;
        Ok(Box::new(TunedModel { model, c }))
    }
}

struct TunedModel {
    model: Box<dyn Model>,
    c: f64,
}

impl Model for TunedModel {
    fn predict(&self, x: &Mat<f64>) -> Result<Prediction> {
        self.model.predict(x)
    }

    fn chosen_c(&self) -> Option<f64> {
        Some(self.c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Labels;
    use crate::measure::{Comparison, Convention, hamming_loss, micro_f1, ranking_loss};

    /// Hard labels: the three metrics themselves.
    #[test]
    fn the_judge_is_the_sum_of_three_metrics() {
        let scores = Mat::from_vec(2, 3, vec![0.9, -0.2, 0.1, -0.5, 0.4, -0.3]);
        let y = Labels::from_vec(2, 3, vec![true, false, false, true, true, false]);
        let found = Prediction::at_threshold(scores, 0.0, false);
        let compared = Comparison::new(&y, &found.scores, &found.labels).unwrap();
        let want = ranking_loss(&compared, Convention::ScikitLearn)
            + hamming_loss(&compared)
            + (1.0 - micro_f1(&compared, Convention::ScikitLearn));
        assert!((held_out(&found, Targets::Labels(&y)) - want).abs() < 1e-12);
        let half = Mat::from_fn(2, 3, |_, _| 0.5f32);
        assert!((held_out(&found, Targets::Confidence(&half)) - (0.5 + 0.5 + 0.5)).abs() < 1e-12);
    }

    #[test]
    fn the_choice_is_on_the_grid_and_repeatable() {
        let mut r = Streams::new(2).stream("tune");
        let x = Mat::from_fn(90, 12, |_, _| r.normal());
        let line = Labels::from_fn(90, 2, |i, j| x[(i, j)] > 0.0);
        let tuned = Tuned { machine: LinearSvm::default() };
        let choose = |y: &Labels| tuned.choose(&x, Targets::Labels(y), &Streams::new(0)).unwrap();
        assert!(GRID.contains(&choose(&line)));
        assert_eq!(choose(&line), choose(&line));
        let model = tuned.fit(&x, Targets::Labels(&line), &Streams::new(0)).unwrap();
        assert_eq!(model.chosen_c(), Some(choose(&line)));
        let kernel = Tuned { machine: RbfSvm::default() };
        let c = kernel.choose(&x, Targets::Labels(&line), &Streams::new(0)).unwrap();
        assert!(c >= 1e-2, "too stiff to follow the line: {c}");
        let single = x.select_rows(&[0]);
        assert!(
            tuned.fit(&single, Targets::Labels(&line.select_rows(&[0])), &Streams::new(0)).is_ok()
        );
    }
}
