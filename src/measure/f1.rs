//! F1 = 2·TP / (2·TP + FP + FN): over all cells (micro), mean over labels (macro), mean over
//! instances (example). 0/0 is 1 in MULAN and 0 elsewhere.

use super::{Comparison, Convention};

/// True positives, and 2·TP + FP + FN = positives + predictions.
#[derive(Clone, Copy, Default)]
struct Counts {
    hits: usize,
    total: usize,
}

impl Counts {
    #[inline(always)]
    fn add(&mut self, truth: bool, predicted: bool) {
        self.hits += usize::from(truth & predicted);
        self.total += usize::from(truth) + usize::from(predicted);
    }

    fn f1(self, zero_by_zero: f64) -> f64 {
        if self.total == 0 { zero_by_zero } else { 2.0 * self.hits as f64 / self.total as f64 }
    }
}

fn count(truth: &[bool], predicted: &[bool]) -> Counts {
    let mut counts = Counts::default();
    for (&y, &p) in truth.iter().zip(predicted) {
        counts.add(y, p);
    }
    counts
}

/// F1 of all cells together.
pub fn micro_f1(compared: &Comparison<'_>, convention: Convention) -> f64 {
    count(compared.truth.as_slice(), compared.predictions.as_slice()).f1(convention.zero_by_zero())
}

/// Mean over the labels of each label's F1.
pub fn macro_f1(compared: &Comparison<'_>, convention: Convention) -> f64 {
    let mut by_label = vec![Counts::default(); compared.labels()];
    for (truth, predicted) in compared.hard_rows() {
        for ((counts, &y), &p) in by_label.iter_mut().zip(truth).zip(predicted) {
            counts.add(y, p);
        }
    }
    let sum: f64 = by_label.iter().map(|c| c.f1(convention.zero_by_zero())).sum();
    sum / compared.labels() as f64
}

/// Mean over the instances of each instance's F1.
pub fn example_f1(compared: &Comparison<'_>, convention: Convention) -> f64 {
    let sum: f64 =
        compared.hard_rows().map(|(y, p)| count(y, p).f1(convention.zero_by_zero())).sum();
    sum / compared.truth.rows() as f64
}
