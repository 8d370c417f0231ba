//! Audits that have reports of their own, as lines of claim, figure and limit.

use crate::audit::check::number;
use crate::audit::determinism::DeterminismReport;
use crate::audit::{
    CaseReport, Check, CheckReport, ControlReport, EXACT_TOLERANCE, GradientReport, Limit,
    RoundingControl, RoundingReport, TOLERANCE, TensorReport, UNEXPLAINED,
};

/// Two lines per family of cases, one for each witness, and the controls.
pub(super) fn gradients(report: &GradientReport) -> CheckReport {
    let mut checks = Vec::new();
    for name in families(report.cases.iter().map(|c| &c.name[..])) {
        let cases = || report.cases.iter().filter(|c| family(&c.name) == name);
        let checked: usize = cases().map(|c| c.checked).sum();
        let worst = |of: fn(&CaseReport) -> f64| cases().map(of).fold(0.0, f64::max);
        let size = format!("{}, {checked} coordinates", counted(cases().count()));
        checks.push(Check::new(
            format!("exact/{name}"),
            format!("largest relative error against forward mode, {size}"),
            worst(|c| c.exact_rel_err),
            Limit::AtMost(EXACT_TOLERANCE),
        ));
        checks.push(Check::new(
            format!("differences/{name}"),
            format!("largest relative error against five-point differences, {size}"),
            worst(|c| c.max_rel_err),
            Limit::AtMost(TOLERANCE),
        ));
    }
    let along =
        |of: fn(&CaseReport) -> Option<f64>| report.cases.iter().filter_map(of).fold(0.0, f64::max);
    let all: usize = report.cases.iter().map(|c| c.parameters).sum();
    checks.extend([
        Check::new(
            "directions",
            format!(
                "|f′(u) − g·u| over the size of its terms, random directions through all {all} coordinates"
            ),
            along(|c| c.slope),
            Limit::AtMost(EXACT_TOLERANCE),
        ),
        Check::new(
            "symmetry",
            "|u·Hv − v·Hu| over the size of its terms: the Hessian of the backward pass is symmetric",
            along(|c| c.asymmetry),
            Limit::AtMost(EXACT_TOLERANCE),
        ),
    ]);
    let none = Limit::Exactly(0.0);
    let failed = report.cases.iter().filter(|c| !c.pass).count();
    let unreached: usize = report.cases.iter().map(|c| c.unreached.len()).sum();
    checks.extend([
        Check::new("cases", "cases that fail, for any reason", failed as f64, none),
        Check::new(
            "unreached",
            "parameters that should learn and get no gradient",
            unreached as f64,
            none,
        ),
    ]);
    let mistake = |c: &ControlReport| {
        Check::control(
            format!("{:?}", c.control),
            format!(
                "{}; the smaller of its largest errors against both witnesses, {} fail",
                c.description,
                counted(c.cases)
            ),
            c.rel_err.min(c.exact_rel_err),
            Limit::AtMost(TOLERANCE),
        )
    };
    checks.extend(report.controls.iter().map(mistake));
    CheckReport::new(checks)
}

/// `1 case`, `2 cases`.
fn counted(cases: usize) -> String {
    format!("{cases} case{}", if cases == 1 { "" } else { "s" })
}

/// The first part of a case's name.
fn family(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

/// The families of the cases, in their order.
fn families<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut families = Vec::new();
    for name in names.map(family) {
        if !families.contains(&name) {
            families.push(name);
        }
    }
    families
}

/// One line per family of cases with the share of the bound, and the controls.
pub(super) fn rounding(report: &RoundingReport) -> CheckReport {
    let mut checks = Vec::new();
    for name in families(report.tensors.iter().map(|t| &t.name[..])) {
        let tensors = || report.tensors.iter().filter(|t| family(&t.name) == name);
        let worst = |of: fn(&TensorReport) -> f64| number(tensors().map(of).fold(0.0, f64::max));
        checks.push(Check::new(
            format!("share/{name}"),
            format!(
                "largest |g − truth| over its derived bound, {} tensors in f32 and f64; largest relative error {} and {}, \
                 median at most {} and {}",
                tensors().count(),
                worst(|t| t.max_rel_err_f32),
                worst(|t| t.max_rel_err_f64),
                worst(|t| t.median_rel_err_f32),
                worst(|t| t.median_rel_err_f64),
            ),
            tensors().map(|t| t.worst_share_of_bound).fold(0.0, f64::max),
            Limit::AtMost(1.0),
        ));
    }
    let outside = report.tensors.iter().filter(|t| !t.pass).count();
    let unexplained = report.tensors.iter().map(|t| t.unexplained).fold(0.0, f64::max);
    checks.extend([
        Check::new(
            "explained",
            "what the recorded roundings do not add up to, as a share of the bound",
            unexplained,
            Limit::AtMost(UNEXPLAINED),
        ),
        Check::new(
            "outside",
            "tensors with a number outside its bound, or a bound that was not derived from the bits that train",
            outside as f64,
            Limit::Exactly(0.0),
        ),
    ]);
    let mistake = |c: &RoundingControl| {
        Check::new(
            format!("{}/control", c.fault),
            format!("caught: {}; share of the {} that it changes", c.description, counted(c.of)),
            c.cases as f64 / c.of as f64,
            Limit::Exactly(1.0),
        )
    };
    checks.extend(report.controls.iter().map(mistake));
    CheckReport::new(checks)
}

/// All runs agree, the control differs.
pub(super) fn determinism(report: &DeterminismReport) -> CheckReport {
    let runs = report.runs.iter();
    let differ = runs
        .flat_map(|r| r.hashes.iter().zip(&report.runs[0].hashes))
        .filter(|(a, b)| a != b)
        .count();
    let same =
        report.control.hashes.iter().zip(&report.runs[0].hashes).filter(|(a, b)| a == b).count();
    let threads: Vec<String> = report.runs.iter().map(|r| r.threads.to_string()).collect();
    CheckReport::new(vec![
        Check::new(
            "threads",
            format!(
                "training steps after which the weights differ between {} threads",
                threads.join(", ")
            ),
            differ as f64,
            Limit::Exactly(0.0),
        ),
        Check::new(
            "seed",
            "steps after which another seed has the same weights: the comparison can see a difference",
            same as f64,
            Limit::Exactly(0.0),
        ),
    ])
}
