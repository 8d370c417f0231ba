//! The gradient check: every coordinate, two witnesses, and mistakes that both must catch.
//!
//! The first witness are five-point differences of the loss in f64 ([`super::difference`]), the second
//! is forward-mode differentiation ([`super::exact`]). The engine's gradient is judged by both.

use std::ops::Range;

use rayon::prelude::*;
use serde::Serialize;

use super::controls::Control;
use super::difference::derivative;
use super::exact;
use super::function::{AnyFunction, cast, gradient};
use crate::num::{DoubleDouble, Real};
use crate::rng::Streams;

/// Largest relative error against differences that passes.
pub const TOLERANCE: f64 = 1e-7;
/// Largest relative error against forward mode, and largest asymmetry of the Hessian, that passes.
pub const EXACT_TOLERANCE: f64 = 1e-11;
/// Gradients smaller than this share of the largest are compared on that scale.
const FLOOR: f64 = 1e-6;

/// A function of a flat vector of named blocks, with the gradient that the engine computes.
pub struct Case {
    /// Name, as `encoder/pre/gelu/…`.
    pub name: String,
    /// Sizes, for the reader.
    pub shape: String,
    /// Names and ranges of the blocks of the vector.
    pub blocks: Vec<(String, Range<usize>)>,
    /// Where the check happens; numbers of f32.
    pub start: Vec<f64>,
    /// The function and its gradient, for every kind of number.
    pub(super) function: Box<dyn AnyFunction>,
    /// The gradient by another formula, where there is no loss to differentiate (optimisers).
    pub(super) closed_form: Option<Vec<DoubleDouble>>,
    /// Blocks that must get exactly zero, because the method says so.
    pub detached: Vec<String>,
    /// Check only this many random coordinates (the others are too many).
    pub sample: Option<usize>,
}

/// The result of one case.
#[derive(Clone, Debug, Serialize)]
pub struct CaseReport {
    /// Name of the case.
    pub name: String,
    /// Sizes.
    pub shape: String,
    /// Coordinates in all.
    pub parameters: usize,
    /// Coordinates compared.
    pub checked: usize,
    /// Largest relative error against five-point differences.
    pub max_rel_err: f64,
    /// Largest relative error against forward mode.
    pub exact_rel_err: f64,
    /// Coordinates whose forward mode needed double-double, because f64 rounding hid the digits.
    pub widened: usize,
    /// |f′(u) − g·u| over the size of its terms, for random directions u through all coordinates.
    pub slope: Option<f64>,
    /// |u·Hv − v·Hu| over the size of its terms, for the Hessian H by the backward pass.
    pub asymmetry: Option<f64>,
    /// Where the largest error against differences is.
    pub worst: Option<Worst>,
    /// Blocks that got no gradient although they should.
    pub unreached: Vec<String>,
    /// Blocks that must get none and did, exactly.
    pub detached: Vec<String>,
    /// Whether the case holds.
    pub pass: bool,
}

/// The coordinate with the largest error, with all values.
#[derive(Clone, Debug, Serialize)]
pub struct Worst {
    /// Block.
    pub parameter: String,
    /// Index inside the block.
    pub index: usize,
    /// The engine's value.
    pub analytic: f64,
    /// By differences.
    pub numeric: f64,
    /// By forward mode.
    pub exact: f64,
}

/// A control and how each witness caught it.
#[derive(Clone, Debug, Serialize)]
pub struct ControlReport {
    /// The control.
    #[serde(rename = "fault")]
    pub control: Control,
    /// In words.
    pub description: &'static str,
    /// Whether differences caught it in any case.
    pub caught: bool,
    /// Whether forward mode caught it in any case.
    pub caught_exact: bool,
    /// Whether the Hessian was not symmetric in any case. Not asked for: a gradient of another function
    /// is wrong and symmetric.
    pub asymmetric: bool,
    /// Number of cases that failed because of it.
    pub cases: usize,
    /// The case in which it shows most.
    pub case: Option<String>,
    /// The relative error against differences there.
    pub rel_err: f64,
    /// The largest relative error against forward mode, in any case.
    pub exact_rel_err: f64,
}

/// The result of all cases and controls.
#[derive(Clone, Debug)]
pub struct GradientReport {
    /// One entry per case.
    pub cases: Vec<CaseReport>,
    /// One entry per control.
    pub controls: Vec<ControlReport>,
}

impl GradientReport {
    /// Every case holds, every control was caught by both witnesses, and the symmetry of the Hessian
    /// caught at least one.
    pub fn pass(&self) -> bool {
        let caught = |c: &ControlReport| c.caught && c.caught_exact;
        self.cases.iter().all(|c| c.pass)
            && self.controls.iter().all(caught)
            && (self.controls.is_empty() || self.controls.iter().any(|c| c.asymmetric))
    }

    /// Controls that satisfy `how`.
    pub fn count(&self, how: impl Fn(&ControlReport) -> bool) -> usize {
        self.controls.iter().filter(|c| how(c)).count()
    }
}

/// A case with its coordinates and what the witnesses say.
struct Measured<'a> {
    case: &'a Case,
    coordinates: Vec<usize>,
    numeric: Vec<f64>,
    exact: Vec<DoubleDouble>,
    widened: usize,
    /// The engine's gradient as it is, in f64.
    unspoilt: Vec<f64>,
}

/// Checks one case, with its gradient as it is or spoilt by a control.
pub fn check(case: &Case, control: Option<Control>) -> CaseReport {
    measure(case).compare(control)
}

/// Checks all cases, spoilt by `control` if one is given; else also tries every control on every
/// case. `done` hears about each finished case.
pub fn check_all(
    cases: &[Case],
    control: Option<Control>,
    mut done: impl FnMut(&CaseReport),
) -> GradientReport {
    let mut reports = Vec::with_capacity(cases.len());
    let mut measured = Vec::with_capacity(cases.len());
    for case in cases {
        let m = measure(case);
        let report = m.compare(control);
        done(&report);
        reports.push(report);
        measured.push(m);
    }
    let controls = if control.is_none() { Control::ALL } else { &[] };
    let controls = controls.par_iter().map(|&c| try_control(c, &measured)).collect();
    GradientReport { cases: reports, controls }
}

/// The witnesses speak of the loss, so they serve all controls.
fn try_control(control: Control, measured: &[Measured<'_>]) -> ControlReport {
    let mut found = ControlReport {
        control,
        description: control.description(),
        caught: false,
        caught_exact: false,
        asymmetric: false,
        cases: 0,
        case: None,
        rel_err: 0.0,
        exact_rel_err: 0.0,
    };
    // A control that changes no number of a case cannot show there.
    for m in measured.iter().filter(|m| m.plain(Some(control)) != m.unspoilt) {
        let report = m.compare(Some(control));
        let by_differences = report.max_rel_err > TOLERANCE;
        found.caught |= by_differences;
        found.caught_exact |= report.exact_rel_err > EXACT_TOLERANCE;
        found.exact_rel_err = found.exact_rel_err.max(report.exact_rel_err);
        found.asymmetric |= report.asymmetry.is_some_and(|a| a > EXACT_TOLERANCE);
        found.cases += usize::from(!report.pass);
        if by_differences && (found.case.is_none() || report.max_rel_err > found.rel_err) {
            found.rel_err = report.max_rel_err;
            found.case = Some(report.name);
        }
    }
    found
}

fn measure(case: &Case) -> Measured<'_> {
    let all = case.start.len();
    let coordinates: Vec<usize> = match case.sample {
        Some(count) if count < all => {
            let mut order = Streams::new(0).stream(&case.name).permutation(all);
            order.truncate(count);
            order.sort_unstable();
            order
        }
        _ => (0..all).collect(),
    };
    let unspoilt = gradient::<f64>(&*case.function, &case.start, None);
    let (numeric, exact, widened) = match &case.closed_form {
        Some(values) => {
            let values: Vec<DoubleDouble> = coordinates.iter().map(|&k| values[k]).collect();
            (values.iter().map(|v| v.to_f64()).collect(), values, 0)
        }
        None => {
            let numeric = differences(case, &unspoilt, &coordinates);
            let (exact, widened) = exact::derivatives(case, &coordinates);
            (numeric, exact, widened)
        }
    };
    Measured { case, coordinates, numeric, exact, widened, unspoilt }
}

fn differences(case: &Case, analytic: &[f64], coordinates: &[usize]) -> Vec<f64> {
    // Only the size of the gradient enters, as the scale below which nothing is asked for.
    let floor = FLOOR * largest(analytic);
    coordinates
        .par_chunks(16)
        .flat_map_iter(|chunk| {
            let mut z = case.start.clone();
            let values: Vec<f64> = chunk
                .iter()
                .map(|&k| {
                    let x = z[k];
                    let value = derivative(
                        |d| {
                            z[k] = x + d;
                            case.function.run_f64(&z, None)
                        },
                        x,
                        floor,
                    );
                    z[k] = x;
                    value
                })
                .collect();
            values
        })
        .collect()
}

/// The largest |a − n| / max(|a|, |n|, 10⁻⁶ · largest of all) and its place. A NaN is the largest
/// error of all.
pub(super) fn relative_error(
    analytic: &[DoubleDouble],
    witness: &[DoubleDouble],
) -> (f64, Option<usize>) {
    let errors = relative_errors(analytic, witness);
    errors.into_iter().enumerate().fold(
        (0.0, None),
        |worst, (k, e)| {
            if e > worst.0 { (e, Some(k)) } else { worst }
        },
    )
}

/// The same for every coordinate.
pub(super) fn relative_errors(analytic: &[DoubleDouble], witness: &[DoubleDouble]) -> Vec<f64> {
    let size = |v: &[DoubleDouble]| v.iter().fold(0.0, |m: f64, v| m.max(v.to_f64().abs()));
    let floor = FLOOR * size(analytic).max(size(witness));
    let pairs = analytic.iter().zip(witness);
    pairs
        .map(|(&a, &n)| {
            let scale = a.to_f64().abs().max(n.to_f64().abs()).max(floor);
            let error = if a == n { 0.0 } else { (a - n).to_f64().abs() / scale };
            if error.is_nan() { f64::INFINITY } else { error }
        })
        .collect()
}

impl Measured<'_> {
    /// The engine's gradient in f64.
    fn plain(&self, control: Option<Control>) -> Vec<f64> {
        gradient::<f64>(&*self.case.function, &self.case.start, control)
    }

    /// The checked coordinates of a gradient.
    fn checked(&self, gradient: &[DoubleDouble]) -> Vec<DoubleDouble> {
        self.coordinates.iter().map(|&k| gradient[k]).collect()
    }

    fn compare(&self, control: Option<Control>) -> CaseReport {
        let case = self.case;
        let plain = self.plain(control);
        let (max_rel_err, worst) =
            relative_error(&self.checked(&cast(&plain)), &cast::<DoubleDouble>(&self.numeric));
        let wide = gradient::<DoubleDouble>(&*case.function, &cast(&case.start), control);
        let exact_rel_err = relative_error(&self.checked(&wide), &self.exact).0;
        let along = case.closed_form.is_none().then(|| exact::along(case, control));
        let (slope, asymmetry) = (along.as_ref().map(|a| a.slope), along.map(|a| a.asymmetry));
        let zero = |range: &Range<usize>| plain[range.clone()].iter().all(|&a| a == 0.0);
        let (detached, reached): (Vec<_>, Vec<_>) =
            case.blocks.iter().partition(|(name, _)| case.detached.contains(name));
        let leaks = detached.iter().any(|(_, range)| !zero(range));
        let unreached: Vec<String> =
            reached.iter().filter(|(_, r)| zero(r)).map(|(n, _)| n.clone()).collect();
        CaseReport {
            name: case.name.clone(),
            shape: case.shape.clone(),
            parameters: case.start.len(),
            checked: self.coordinates.len(),
            max_rel_err,
            exact_rel_err,
            widened: self.widened,
            slope,
            asymmetry,
            worst: worst.map(|at| self.worst(at, &plain)),
            pass: max_rel_err <= TOLERANCE
                && exact_rel_err <= EXACT_TOLERANCE
                && slope.is_none_or(|s| s <= EXACT_TOLERANCE)
                && asymmetry.is_none_or(|a| a <= EXACT_TOLERANCE)
                && unreached.is_empty()
                && !leaks,
            unreached,
            detached: detached.into_iter().map(|(name, _)| name.clone()).collect(),
        }
    }

    fn worst(&self, at: usize, analytic: &[f64]) -> Worst {
        let k = self.coordinates[at];
        let (name, range) = self
            .case
            .blocks
            .iter()
            .find(|(_, r)| r.contains(&k))
            .expect("the blocks cover the vector");
        Worst {
            parameter: name.clone(),
            index: k - range.start,
            analytic: analytic[k],
            numeric: self.numeric[at],
            exact: self.exact[at].to_f64(),
        }
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m: f64, v| m.max(v.abs()))
}

#[cfg(test)]
#[path = "gradients_tests.rs"]
mod tests;
