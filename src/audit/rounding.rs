//! The rounding check: the f32 and f64 gradients as they are computed in training, against their true
//! values and against a derived bound.
//!
//! Truth is the same backward pass in double-double. The bound comes from the same backward pass on
//! [`Traced`] numbers, which compute the same bits and record how each rounding reaches the result. A
//! tensor passes when no number of it is farther from the truth than its bound, in both precisions.

use std::ops::Range;

use rayon::prelude::*;
use serde::Serialize;

use super::controls::Control;
use super::function::{Kind, cast, gradient};
use super::gradients::Case;
use crate::num::{DoubleDouble, Real, Rounded, Traced, record};
use crate::rng::Streams;

/// Numbers smaller than this share of the case's largest are compared on that scale.
const FLOOR: f64 = 1e-3;
/// The derived bound is of first order; this is for the rest.
const SECOND_ORDER: f64 = 1.01;
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
    /// Largest |g − truth| / max(|truth|, 10⁻³ · largest of the case), in f32.
    pub max_rel_err_f32: f64,
    /// The median.
    pub median_rel_err_f32: f64,
    /// Largest bound on the same scale, in f32.
    pub max_bound_f32: f64,
    /// Largest in f64.
    pub max_rel_err_f64: f64,
    /// Median in f64.
    pub median_rel_err_f64: f64,
    /// Largest bound in f64.
    pub max_bound_f64: f64,
    /// Largest |g − truth| / bound, of both precisions.
    pub worst_share_of_bound: f64,
    /// Every bound is kept, and the bounds belong to the bits that train.
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
    bounds: Vec<f64>,
    /// Whether the bounds were derived from the bits that train.
    same_bits: bool,
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
    let single = precision::<f32>(case, &chosen);
    let double = precision::<f64>(case, &chosen);
    Measured { case, truth, size, chosen, single, double }
}

fn precision<T: Rounded + Kind>(case: &Case, chosen: &[usize]) -> Precision
where
    Traced<T>: Kind,
{
    let values = gradient::<T>(&*case.function, &cast(&case.start), None);
    // The tape belongs to a thread, so the engine's parallel loops get one thread of their own.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one more thread");
    let (traced, tape) = pool
        .install(|| record(|| gradient::<Traced<T>>(&*case.function, &cast(&case.start), None)));
    let bounds = chosen
        .par_chunks(8)
        .flat_map_iter(|few| {
            let mut room = Vec::new();
            let bound = |&k: &usize| SECOND_ORDER * tape.bound(traced[k].result, &mut room);
            few.iter().map(bound).collect::<Vec<f64>>()
        })
        .collect();
    Precision {
        same_bits: values.iter().zip(&traced).all(|(v, t)| *v == t.value),
        values: values.into_iter().map(Real::to_f64).collect(),
        bounds,
    }
}

/// |value − truth|; a NaN is infinitely far.
fn distance(value: f64, truth: DoubleDouble) -> f64 {
    let distance = (DoubleDouble::from_f64(value) - truth).to_f64().abs();
    if distance.is_nan() { f64::INFINITY } else { distance }
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
        let bound = |p: &Precision| worst(&|at, k| relative(p.bounds[at], k));
        let used = |p: &Precision| worst(&|at, k| share(off(p, k), p.bounds[at]));
        let (max_rel_err_f32, median_rel_err_f32) = errors(&self.single);
        let (max_rel_err_f64, median_rel_err_f64) = errors(&self.double);
        let worst_share_of_bound = used(&self.single).max(used(&self.double));
        let same_bits = self.single.same_bits && self.double.same_bits;
        TensorReport {
            name: self.case.name.clone(),
            tensor: name.into(),
            numbers: range.len(),
            bounded: chosen.len(),
            max_rel_err_f32,
            median_rel_err_f32,
            max_bound_f32: bound(&self.single),
            max_rel_err_f64,
            median_rel_err_f64,
            max_bound_f64: bound(&self.double),
            worst_share_of_bound,
            pass: worst_share_of_bound <= 1.0 && same_bits,
        }
    }

    /// Whether a number of `values` is farther from the truth than its bound.
    fn breaks(&self, values: &[f64], bounds: &[f64]) -> bool {
        let mut all = self.chosen.iter().zip(bounds);
        all.any(|(&k, &bound)| share(distance(values[k], self.truth[k]), bound) > 1.0)
    }
}

/// A gradient and bounds that must not fit together, or nothing where the mistake changes nothing.
type Spoilt<'a> = dyn Fn(&Measured<'_>) -> Option<(Vec<f64>, Vec<f64>)> + Sync + 'a;

fn try_controls(measured: &[Measured<'_>]) -> Vec<RoundingControl> {
    // Where every number has its bound: a sample may miss those that a mistake changes.
    let small: Vec<&Measured<'_>> = measured.iter().filter(|m| m.case.sample.is_none()).collect();
    let attempt = |fault: String, description: &str, spoilt: &Spoilt<'_>| {
        let found: Vec<bool> = small
            .par_iter()
            .filter_map(|m| spoilt(m).map(|(values, bounds)| m.breaks(&values, &bounds)))
            .collect();
        let (cases, of) = (found.iter().filter(|&&caught| caught).count(), found.len());
        let (description, caught) = (description.into(), of > 0 && cases == of);
        RoundingControl { fault, description, caught, cases, of }
    };
    let too_small = |m: &Measured<'_>| {
        // Where f32 happens to be exact no bound is too small.
        let exact = |(&v, &t): (&f64, &DoubleDouble)| distance(v, t) == 0.0;
        let inexact = !m.single.values.iter().zip(&m.truth).all(exact);
        inexact.then(|| (m.single.values.clone(), m.double.bounds.clone()))
    };
    let moved = |m: &Measured<'_>| {
        let mut values = m.single.values.clone();
        let size = |at: &usize| values[*at].abs();
        let at = (0..values.len()).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        let away = 2.0 * m.single.bounds[at];
        let farther = distance(values[at] + away, m.truth[at]) > away;
        values[at] += if farther { away } else { -away };
        (away > 0.0).then(|| (values, m.single.bounds.clone()))
    };
    let mut controls = vec![
        attempt("BoundTooSmall".into(), "the f32 gradient is held to the bound of f64", &too_small),
        attempt(
            "GradientMoved".into(),
            "the largest number of the f32 gradient is moved by twice its bound",
            &moved,
        ),
    ];
    for &control in Control::ALL {
        let spoil = |m: &Measured<'_>| {
            let values = gradient::<f64>(&*m.case.function, &m.case.start, Some(control));
            (values != m.double.values).then(|| (values, m.double.bounds.clone()))
        };
        controls.push(attempt(format!("{control:?}"), control.description(), &spoil));
    }
    controls
}

#[cfg(test)]
mod tests {
    use super::super::cases;
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
        assert!(report.pass() && report.controls.len() == Control::ALL.len() + 2);
    }

    #[test]
    fn no_bound_is_not_a_bound() {
        assert_eq!(share(0.0, f64::INFINITY), f64::INFINITY);
        assert_eq!(share(0.0, 0.0), 0.0);
        assert_eq!(share(1.0, 0.0), f64::INFINITY);
        assert_eq!(distance(f64::NAN, DoubleDouble::ONE), f64::INFINITY);
    }
}
