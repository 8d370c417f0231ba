//! The gradient check: every coordinate, both values, and mistakes that must be caught.

use std::ops::Range;

use rayon::prelude::*;
use serde::Serialize;

use super::controls::Control;
use super::difference::derivative;
use crate::rng::Streams;

/// Largest relative error that passes.
pub const TOLERANCE: f64 = 1e-7;
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
    /// Where the check happens.
    pub start: Vec<f64>,
    /// How the true derivative is found.
    pub truth: Truth,
    /// The engine's gradient at `start`, as it is or spoilt by a control.
    pub analytic: Box<Gradient>,
    /// Blocks that must get exactly zero, because the method says so.
    pub detached: Vec<String>,
    /// Check only this many random coordinates (the others are too many).
    pub sample: Option<usize>,
}

/// A loss as a function of the whole vector.
pub type Loss = dyn Fn(&[f64]) -> f64 + Send + Sync;
/// Numbers from another formula.
pub type Formula = dyn Fn() -> Vec<f64> + Send + Sync;
/// The engine's gradient, as it is or spoilt by a control.
pub type Gradient = dyn Fn(Option<Control>) -> Vec<f64> + Send + Sync;

/// The independent side of a comparison.
pub enum Truth {
    /// Five-point differences of the loss.
    Differences(Box<Loss>),
    /// Another formula for the same numbers (optimisers have no loss).
    ClosedForm(Box<Formula>),
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
    /// Largest relative error.
    pub max_rel_err: f64,
    /// Where it is.
    pub worst: Option<Worst>,
    /// Blocks that got no gradient although they should.
    pub unreached: Vec<String>,
    /// Blocks that must get none and did, exactly.
    pub detached: Vec<String>,
    /// Whether the case holds.
    pub pass: bool,
}

/// The coordinate with the largest error, with both values.
#[derive(Clone, Debug, Serialize)]
pub struct Worst {
    /// Block.
    pub parameter: String,
    /// Index inside the block.
    pub index: usize,
    /// The engine's value.
    pub analytic: f64,
    /// The independent value.
    pub numeric: f64,
}

/// A control and the case that caught it best.
#[derive(Clone, Debug, Serialize)]
pub struct ControlReport {
    /// The control.
    #[serde(rename = "fault")]
    pub control: Control,
    /// In words.
    pub description: &'static str,
    /// Whether any case failed because of it.
    pub caught: bool,
    /// Number of cases that failed because of it.
    pub cases: usize,
    /// The case in which it shows most.
    pub case: Option<String>,
    /// The relative error there.
    pub rel_err: f64,
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
    /// Every case holds and every control was caught.
    pub fn pass(&self) -> bool {
        self.cases.iter().all(|c| c.pass) && self.controls.iter().all(|c| c.caught)
    }
}

/// A case with its coordinates and their true derivatives.
struct Measured<'a> {
    case: &'a Case,
    coordinates: Vec<usize>,
    numeric: Vec<f64>,
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

/// The true derivatives are those of the loss, so they serve all controls.
fn try_control(control: Control, measured: &[Measured<'_>]) -> ControlReport {
    let mut found = ControlReport {
        control,
        description: control.description(),
        caught: false,
        cases: 0,
        case: None,
        rel_err: 0.0,
    };
    for m in measured {
        let report = m.compare(Some(control));
        if !report.pass {
            found.caught = true;
            found.cases += 1;
            if found.case.is_none() || report.max_rel_err > found.rel_err {
                found.rel_err = report.max_rel_err;
                found.case = Some(report.name);
            }
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
    let numeric = match &case.truth {
        Truth::ClosedForm(f) => {
            let values = f();
            coordinates.iter().map(|&k| values[k]).collect()
        }
        Truth::Differences(loss) => differences(case, loss, &coordinates),
    };
    Measured { case, coordinates, numeric }
}

fn differences(case: &Case, loss: &Loss, coordinates: &[usize]) -> Vec<f64> {
    // Only the size of the gradient enters, as the scale below which nothing is asked for.
    let size = largest(&(case.analytic)(None));
    let floor = FLOOR * size;
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
                            loss(&z)
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

impl Measured<'_> {
    fn compare(&self, control: Option<Control>) -> CaseReport {
        let case = self.case;
        let analytic = (case.analytic)(control);
        assert_eq!(analytic.len(), case.start.len(), "{}", case.name);
        let floor = FLOOR * largest(&analytic).max(largest(&self.numeric));
        let (mut max_rel_err, mut worst) = (0.0, None);
        for (&k, &n) in self.coordinates.iter().zip(&self.numeric) {
            let a = analytic[k];
            let scale = a.abs().max(n.abs()).max(floor);
            let error = if a == n { 0.0 } else { (a - n).abs() / scale };
            // A NaN is the largest error of all.
            if error > max_rel_err || error.is_nan() {
                max_rel_err = if error.is_nan() { f64::INFINITY } else { error };
                worst = Some(k);
            }
        }
        let zero = |range: &Range<usize>| analytic[range.clone()].iter().all(|&a| a == 0.0);
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
            worst: worst.map(|k| self.worst(k, &analytic)),
            pass: max_rel_err <= TOLERANCE && unreached.is_empty() && !leaks,
            unreached,
            detached: detached.into_iter().map(|(name, _)| name.clone()).collect(),
        }
    }

    fn worst(&self, k: usize, analytic: &[f64]) -> Worst {
        let (name, range) = self
            .case
            .blocks
            .iter()
            .find(|(_, r)| r.contains(&k))
            .expect("the blocks cover the vector");
        let at = self.coordinates.binary_search(&k).expect("a checked coordinate");
        Worst {
            parameter: name.clone(),
            index: k - range.start,
            analytic: analytic[k],
            numeric: self.numeric[at],
        }
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m: f64, v| m.max(v.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// f = x² + 3xy at (1, 2), with a gradient of choice.
    fn case(analytic: [f64; 2], detached: &[&str]) -> Case {
        Case {
            name: "toy".into(),
            shape: "2".into(),
            blocks: vec![("x".into(), 0..1), ("y".into(), 1..2)],
            start: vec![1.0, 2.0],
            truth: Truth::Differences(Box::new(|z| z[0] * z[0] + 3.0 * z[0] * z[1])),
            analytic: Box::new(move |_| analytic.to_vec()),
            detached: detached.iter().map(|&s| s.into()).collect(),
            sample: None,
        }
    }

    #[test]
    fn a_right_gradient_passes_and_wrong_ones_are_named() {
        let good = check(&case([8.0, 3.0], &[]), None);
        assert!(good.pass && good.checked == 2, "{good:?}");
        let off = check(&case([8.0, 3.0 + 3e-6], &[]), None);
        let worst = off.worst.unwrap();
        assert!(!off.pass && worst.parameter == "y" && worst.index == 0);
        assert!((worst.numeric - 3.0).abs() < 1e-9);
        assert!(!check(&case([8.0, f64::NAN], &[]), None).pass);
        let missing = check(&case([8.0, 0.0], &[]), None);
        assert_eq!(missing.unreached, ["y"]);
        assert!(!missing.pass);
        let leaking = check(&case([8.0, 3.0], &["y"]), None);
        assert!(!leaking.pass);
    }

    #[test]
    fn an_uncaught_control_fails_the_report() {
        let cases = [case([8.0, 3.0], &[])];
        let report = check_all(&cases, None, |_| {});
        assert!(report.cases[0].pass && !report.pass(), "the toy ignores every control");
        assert_eq!(report.controls.len(), Control::ALL.len());
        assert!(report.controls.iter().all(|c| !c.caught));
    }

    #[test]
    fn sampling_takes_the_stated_number() {
        let mut c = case([8.0, 3.0], &[]);
        c.sample = Some(1);
        assert_eq!(check(&c, None).checked, 1);
    }
}
