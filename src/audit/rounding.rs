//! The rounding check: the f32 and f64 gradients as they are computed in training, against their true
//! values and against a derived bound.
//!
//! Truth is the same backward pass in double-double. The bound comes from the same backward pass on
//! [`Traced`] numbers, which compute the same bits and record how each rounding reaches the result. A
//! tensor passes when, in both precisions, no number of it is farther from the truth than its bound, and
//! the bound is one: derived from the bits that train, every rounding on the way within its own bound,
//! the true values those of the run in double-double, and the roundings add up to the error.

use std::ops::Range;

use rayon::prelude::*;
use serde::Serialize;

mod controls;

use self::controls::try_controls;
use super::function::{Kind, cast, gradient};
use super::gradients::Case;
use crate::num::{DoubleDouble, Explained, Real, Rounded, Traced, record};
use crate::rng::Streams;

/// Numbers smaller than this share of the case's largest are compared on that scale.
const FLOOR: f64 = 1e-3;
/// The bound is a sum in f64 of millions of terms; this is for its own rounding.
const SLACK: f64 = 1.0 + 1e-6;
/// How much of a bound the error and the sum of the roundings that make it may differ by.
pub const UNEXPLAINED: f64 = 1e-9;
/// How far the true values beside the traced ones may be from the run in double-double, as a share of the
/// largest number of the case.
const SAME_TRUTH: f64 = 1e-20;
/// At full size each tensor is bounded at its worst number and at so many random ones.
const RANDOM: usize = 5;

/// The gradient of one tensor: how exact it is, and how that compares with the bound.
#[derive(Clone, Debug, Serialize)]
pub struct TensorReport {
    /// The case.
    pub name: String,
    /// The tensor, a block of the case's vector.
    pub tensor: String,
    /// How many numbers it has.
    pub numbers: usize,
    /// For how many of them the bound was derived; the errors are measured for all.
    pub bounded: usize,
    /// Which they are, if not all: the worst in f32 and five random ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounded_at: Option<Vec<usize>>,
    /// Largest |g − truth| / max(|truth|, 10⁻³ · largest of the case), in f32.
    pub max_rel_err_f32: f64,
    /// The median.
    pub median_rel_err_f32: f64,
    /// Largest bound on the same scale, in f32.
    pub max_bound_f32: f64,
    /// Largest bound over the largest number of the tensor (at least 10⁻³ of the case's), in f32.
    pub norm_bound_f32: f64,
    /// Largest in f64.
    pub max_rel_err_f64: f64,
    /// Median in f64.
    pub median_rel_err_f64: f64,
    /// Largest bound in f64.
    pub max_bound_f64: f64,
    /// Largest |g − truth| / bound, of both precisions.
    pub worst_share_of_bound: f64,
    /// Largest |(g − truth) − Σ Sδ| / bound, of both precisions: what the recorded roundings do not explain.
    pub unexplained: f64,
    /// Every bound is kept, and every bound is one.
    pub pass: bool,
}

/// A mistake that the check must catch.
#[derive(Clone, Debug, Serialize)]
pub struct RoundingControl {
    /// Its name.
    pub fault: String,
    /// In words.
    pub description: String,
    /// Whether it was caught in every small case that it changes, and there is one.
    pub caught: bool,
    /// In how many cases it was caught.
    pub cases: usize,
    /// How many it changes.
    pub of: usize,
}

/// The result of all cases and controls.
#[derive(Clone, Debug)]
pub struct RoundingReport {
    /// One entry per tensor of each case.
    pub tensors: Vec<TensorReport>,
    /// The mistakes; empty when they were not tried.
    pub controls: Vec<RoundingControl>,
}

impl RoundingReport {
    /// Every tensor keeps its bounds and every control was caught.
    pub fn pass(&self) -> bool {
        self.tensors.iter().all(|t| t.pass) && self.controls.iter().all(|c| c.caught)
    }
}

/// One precision of a case.
struct Precision {
    values: Vec<f64>,
    /// Of the chosen coordinates.
    explained: Vec<Explained>,
    /// Whether the bounds are bounds: of the bits that train, of their true values, with every single
    /// rounding as small as was said.
    sound: bool,
}

impl Precision {
    fn bounds(&self) -> Vec<f64> {
        self.explained.iter().map(|e| e.bound).collect()
    }
}

/// A case in all precisions.
struct Measured<'a> {
    case: &'a Case,
    truth: Vec<DoubleDouble>,
    /// The largest size of the truth.
    size: f64,
    /// The coordinates whose bound is derived, in order.
    chosen: Vec<usize>,
    single: Precision,
    double: Precision,
}

/// Checks one case, tensor by tensor.
pub fn check_rounding(case: &Case) -> Vec<TensorReport> {
    measure(case).tensors()
}

/// Checks all cases; with `controls` also tries every mistake. `done` hears about each finished case.
pub fn check_all_rounding(
    cases: &[Case],
    controls: bool,
    mut done: impl FnMut(&[TensorReport]),
) -> RoundingReport {
    let measured: Vec<Measured<'_>> = cases.par_iter().map(measure).collect();
    let mut tensors = Vec::new();
    for m in &measured {
        let reports = m.tensors();
        done(&reports);
        tensors.extend(reports);
    }
    let controls = if controls { try_controls(&measured) } else { Vec::new() };
    RoundingReport { tensors, controls }
}

fn measure(case: &Case) -> Measured<'_> {
    let truth = gradient::<DoubleDouble>(&*case.function, &cast(&case.start), None);
    let size = truth.iter().fold(0.0, |m: f64, t| m.max(t.to_f64().abs()));
    let values = gradient::<f32>(&*case.function, &cast(&case.start), None);
    let off = |k: usize| distance(f64::from(values[k]), truth[k]);
    let chosen = match case.sample {
        None => (0..truth.len()).collect(),
        Some(_) => {
            let mut rng = Streams::new(0).stream(&format!("{}/rounding", case.name));
            let mut chosen: Vec<usize> = Vec::new();
            for (_, range) in &case.blocks {
                chosen.extend(range.clone().max_by(|&a, &b| off(a).total_cmp(&off(b))));
                chosen.extend((0..RANDOM).map(|_| range.start + rng.below(range.len())));
            }
            chosen.sort_unstable();
            chosen.dedup();
            chosen
        }
    };
    let single = precision::<f32>(case, &chosen, &truth, size);
    let double = precision::<f64>(case, &chosen, &truth, size);
    Measured { case, truth, size, chosen, single, double }
}

fn precision<T: Rounded + Kind>(
    case: &Case,
    chosen: &[usize],
    truth: &[DoubleDouble],
    size: f64,
) -> Precision
where
    Traced<T>: Kind,
{
    let values = gradient::<T>(&*case.function, &cast(&case.start), None);
    // The tape belongs to a thread, so the engine's parallel loops get one thread of their own.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one more thread");
    let (traced, tape) = pool
        .install(|| record(|| gradient::<Traced<T>>(&*case.function, &cast(&case.start), None)));
    let explained = chosen
        .par_chunks(8)
        .flat_map_iter(|few| {
            let mut room = Vec::new();
            let mut explain = |&k: &usize| {
                let found = tape.explain(traced[k].result, &mut room);
                Explained { bound: SLACK * found.bound, ..found }
            };
            few.iter().map(&mut explain).collect::<Vec<_>>()
        })
        .collect();
    let same_bits = values.iter().zip(&traced).all(|(v, t)| *v == t.value);
    let near = |(t, truth): (&Traced<T>, &DoubleDouble)| {
        (t.truth - *truth).abs().to_f64() <= SAME_TRUTH * size
    };
    let same_truth = traced.iter().zip(truth).all(near);
    Precision {
        values: values.into_iter().map(Real::to_f64).collect(),
        explained,
        sound: same_bits && same_truth && tape.operations().1 == 0,
    }
}

/// |value − truth|; a NaN is infinitely far.
fn distance(value: f64, truth: DoubleDouble) -> f64 {
    let distance = (DoubleDouble::from_f64(value) - truth).to_f64().abs();
    if distance.is_nan() { f64::INFINITY } else { distance }
}

/// How much of the error the roundings do not add up to, as a share of the bound.
fn unexplained(value: f64, truth: DoubleDouble, explained: &Explained) -> f64 {
    let error = (DoubleDouble::from_f64(value) - truth).to_f64();
    share((error - explained.error).abs(), explained.bound)
}

/// How much of the bound is used. No bound is not a bound.
fn share(distance: f64, bound: f64) -> f64 {
    if !bound.is_finite() {
        f64::INFINITY
    } else if distance == 0.0 {
        0.0
    } else {
        distance / bound
    }
}

/// Largest and median of some numbers.
fn summary(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    let at = |k: Option<usize>| k.and_then(|k| values.get(k)).copied().unwrap_or(0.0);
    (at(values.len().checked_sub(1)), at(Some(values.len() / 2)))
}

impl Measured<'_> {
    fn tensors(&self) -> Vec<TensorReport> {
        self.case.blocks.iter().map(|(name, range)| self.tensor(name, range.clone())).collect()
    }

    fn tensor(&self, name: &str, range: Range<usize>) -> TensorReport {
        let off = |p: &Precision, k: usize| distance(p.values[k], self.truth[k]);
        let scale = |k: usize| self.truth[k].to_f64().abs().max(FLOOR * self.size);
        let relative = |error: f64, k: usize| if error == 0.0 { 0.0 } else { error / scale(k) };
        let errors =
            |p: &Precision| summary(range.clone().map(|k| relative(off(p, k), k)).collect());
        let chosen: Vec<(usize, usize)> =
            self.chosen.iter().copied().enumerate().filter(|(_, k)| range.contains(k)).collect();
        let worst = |f: &dyn Fn(usize, usize) -> f64| {
            chosen.iter().map(|&(at, k)| f(at, k)).fold(0.0, f64::max)
        };
        let bound = |p: &Precision| worst(&|at, k| relative(p.explained[at].bound, k));
        let used = |p: &Precision| worst(&|at, k| share(off(p, k), p.explained[at].bound));
        let unexplained = |p: &Precision| {
            worst(&|at, k| unexplained(p.values[k], self.truth[k], &p.explained[at]))
        };
        let sizes = range.clone().map(|k| self.truth[k].to_f64().abs());
        let largest = sizes.fold(FLOOR * self.size, f64::max);
        let norm_bound = worst(&|at, _| share(self.single.explained[at].bound, largest));
        let (max_rel_err_f32, median_rel_err_f32) = errors(&self.single);
        let (max_rel_err_f64, median_rel_err_f64) = errors(&self.double);
        let worst_share_of_bound = used(&self.single).max(used(&self.double));
        let unexplained = unexplained(&self.single).max(unexplained(&self.double));
        let sound = self.single.sound && self.double.sound && unexplained <= UNEXPLAINED;
        let all = chosen.len() == range.len();
        TensorReport {
            name: self.case.name.clone(),
            tensor: name.into(),
            numbers: range.len(),
            bounded: chosen.len(),
            bounded_at: (!all).then(|| chosen.iter().map(|&(_, k)| k - range.start).collect()),
            max_rel_err_f32,
            median_rel_err_f32,
            max_bound_f32: bound(&self.single),
            norm_bound_f32: norm_bound,
            max_rel_err_f64,
            median_rel_err_f64,
            max_bound_f64: bound(&self.double),
            worst_share_of_bound,
            unexplained,
            pass: worst_share_of_bound <= 1.0 && sound,
        }
    }

    /// Whether a number of `values` is farther from the truth than its bound.
    fn breaks(&self, values: &[f64], bounds: &[f64]) -> bool {
        let mut all = self.chosen.iter().zip(bounds);
        all.any(|(&k, &bound)| share(distance(values[k], self.truth[k]), bound) > 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Control, cases};
    use super::*;

    #[test]
    fn small_cases_keep_their_bounds_and_mistakes_do_not() {
        let small: Vec<Case> = cases::all().into_iter().filter(|c| c.sample.is_none()).collect();
        let report = check_all_rounding(&small, true, |_| {});
        for t in &report.tensors {
            assert!(t.pass, "{t:?}");
            assert!(t.max_rel_err_f32 >= t.max_rel_err_f64 && t.bounded == t.numbers, "{t:?}");
        }
        for c in &report.controls {
            assert!(c.caught, "{c:?}");
        }
        assert!(report.pass() && report.controls.len() == Control::ALL.len() + 3);
    }

    #[test]
    fn no_bound_is_not_a_bound() {
        assert_eq!(share(0.0, f64::INFINITY), f64::INFINITY);
        assert_eq!(share(0.0, 0.0), 0.0);
        assert_eq!(share(1.0, 0.0), f64::INFINITY);
        assert_eq!(distance(f64::NAN, DoubleDouble::ONE), f64::INFINITY);
    }
}
