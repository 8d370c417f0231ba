//! Coverage: how far down the ranking one has to go to meet every relevant label.
//!
//! depth = the largest rank of a relevant label (1 = best), 0 for an instance without labels. The
//! packages agree neither on ties nor on what they report; [`CoverageForm`] names the latter.

use super::order::{Ties, relevant};
use super::{Comparison, Convention, mean};
use crate::data::choice::choice;
use crate::num::vectorize;

/// What is made of the depths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoverageForm {
    /// The convention's own: mean depth (scikit-learn), mean depth − 1 (MULAN, MATLAB), per instance
    /// (reference).
    Native,
    /// Mean depth.
    Raw,
    /// Mean depth / L.
    OverLabels,
    /// (Mean depth − 1) / L.
    MinusOneOverLabels,
    /// Mean of (depth − |P|)/(L − |P|): 0 is perfect, 1 the worst possible. Instances without labels
    /// are skipped, those with all labels count 0.
    PerInstance,
}

choice!(CoverageForm {
    Native => "native",
    Raw => "raw",
    OverLabels => "over-labels",
    MinusOneOverLabels => "minus-one-over-labels",
    PerInstance => "per-instance",
});

/// Mean coverage in the given form; NaN when every instance is skipped. O(L) per instance.
pub fn coverage(compared: &Comparison<'_>, convention: Convention, form: CoverageForm) -> f64 {
    let ties = convention.ties();
    let depths = || {
        // One call compiled for the vector unit; the rows are too short to pay for one each.
        let mut depths = Vec::with_capacity(compared.truth.rows());
        vectorize(
            #[inline(always)]
            || {
                for i in 0..compared.truth.rows() {
                    depths.push(depth(compared.truth.row(i), compared.scores.row(i), ties));
                }
            },
        );
        depths.into_iter()
    };
    let raw = || mean(depths().map(|d| Some(d as f64)));
    let labels = compared.labels() as f64;
    match (form, convention) {
        (CoverageForm::Raw, _) | (CoverageForm::Native, Convention::ScikitLearn) => raw(),
        (CoverageForm::OverLabels, _) => raw() / labels,
        (CoverageForm::MinusOneOverLabels, _) => (raw() - 1.0) / labels,
        // MULAN counts an instance without labels as 0, MATLAB's shift makes it −1.
        (CoverageForm::Native, Convention::Mulan) => {
            mean(depths().map(|d| Some(d.saturating_sub(1) as f64)))
        }
        (CoverageForm::Native, Convention::Matlab) => raw() - 1.0,
        (CoverageForm::PerInstance, _) | (CoverageForm::Native, Convention::Reference) => {
            mean(compared.rows().map(|(truth, scores)| normalised(truth, scores, ties)))
        }
    }
}

fn normalised(truth: &[bool], scores: &[f64], ties: Ties) -> Option<f64> {
    let positive = relevant(truth);
    let negative = truth.len() - positive;
    match (positive, negative) {
        (0, _) => None,
        (_, 0) => Some(0.0),
        _ => Some((depth(truth, scores, ties) - positive) as f64 / negative as f64),
    }
}

/// Rank of the last relevant label; 0 without one.
#[inline(always)]
fn depth(truth: &[bool], scores: &[f64], ties: Ties) -> usize {
    if ties == Ties::Worst {
        return depth_of_all_ties(truth, scores);
    }
    let mut last = None;
    for (j, (&y, &f)) in truth.iter().zip(scores).enumerate() {
        if y && last.is_none_or(|worst| ties.precedes(worst, (f, j))) {
            last = Some((f, j));
        }
    }
    let Some(last) = last else { return 0 };
    let before = scores.iter().enumerate().filter(|&(j, &f)| ties.precedes((f, j), last)).count();
    // Under `Worst` the label itself is among those that precede it.
    before + usize::from(ties != Ties::Worst)
}

const MINIMA: usize = 8;

/// The same under [`Ties::Worst`], where only the lowest relevant score matters.
#[inline(always)]
fn depth_of_all_ties(truth: &[bool], scores: &[f64]) -> usize {
    // Several independent minima: each comparison waits only for the one before it in its own.
    let mut lowest = [f64::INFINITY; MINIMA];
    let mut any = false;
    let (whole, rest) = truth.as_chunks::<MINIMA>();
    let (whole_scores, rest_scores) = scores.as_chunks::<MINIMA>();
    let mut look = |l: usize, y: bool, f: f64| {
        let seen = if y { f } else { f64::INFINITY };
        lowest[l] = if seen < lowest[l] { seen } else { lowest[l] };
        any |= y;
    };
    for (truth, scores) in whole.iter().zip(whole_scores) {
        for l in 0..MINIMA {
            look(l, truth[l], scores[l]);
        }
    }
    for (l, (&y, &f)) in rest.iter().zip(rest_scores).enumerate() {
        look(l, y, f);
    }
    let lowest = lowest.into_iter().fold(f64::INFINITY, f64::min);
    let mut reached = 0u32;
    for &f in scores {
        reached += u32::from(f >= lowest);
    }
    if any { reached as usize } else { 0 }
}
