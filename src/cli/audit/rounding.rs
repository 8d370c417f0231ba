//! `pomdp-fs audit rounding`: how exact the gradients that train are, and how exact they must be.

use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};

use super::{Context, chosen_cases};
use crate::Result;
use crate::audit::{RoundingReport, TensorReport, check_all_rounding};

/// Compare the f32 and f64 gradients with double-double and with a derived bound on their rounding
#[derive(Args, Default)]
#[command(after_help = "Examples:\n  pomdp-fs audit rounding\n  \
    pomdp-fs audit rounding --case full-size   # every tensor of the paper's network\n\n\
    Errors are |g - truth| / max(|truth|, 1e-3 max|g|); 'of norm' is the bound over the largest number of\n\
    the tensor. A tensor passes when every number of it is no farther from the truth than its bound, in f32\n\
    and in f64. At full size the bound is derived for some numbers; --json says which (bounded_at).")]
pub(super) struct Rounding {
    /// Only the cases whose name contains TEXT, tensor by tensor (no negative controls)
    #[arg(long, value_name = "TEXT")]
    case: Option<String>,
}

impl Rounding {
    /// True when every check holds.
    pub(super) fn run(&self, context: &Context) -> Result<bool> {
        let (report, result) = self.check(context)?;
        context.emit(&result)?;
        Ok(report.pass())
    }

    /// The report, and the object that is written as JSON.
    pub(super) fn check(&self, context: &Context) -> Result<(RoundingReport, Value)> {
        let cases = chosen_cases(self.case.as_deref())?;
        let start = Instant::now();
        let title = if self.case.is_none() { "case: tensor that loses most" } else { "tensor" };
        context.say(format!(
            "{title:<84} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
            "f32 max", "median", "bound", "of norm", "f64 max", "median", "bound", "share"
        ));
        let controls = self.case.is_none();
        let report = check_all_rounding(&cases, controls, |tensors| {
            if controls {
                worst_of(tensors).iter().for_each(|t| line(t, context));
            } else {
                tensors.iter().for_each(|t| line(t, context));
            }
        });
        summary(&report, cases.len(), start, context);
        let result = json!({
            "pass": report.pass(),
            "cases": report.tensors,
            "negative_control": {
                "injected": report.controls.len(),
                "caught": report.controls.iter().filter(|c| c.caught).count(),
                "controls": report.controls,
            },
            "seconds": start.elapsed().as_secs_f64(),
        });
        Ok((report, result))
    }
}

/// The tensor with the largest error in f32.
fn worst_of(tensors: &[TensorReport]) -> Option<&TensorReport> {
    tensors.iter().max_by(|a, b| a.max_rel_err_f32.total_cmp(&b.max_rel_err_f32))
}

fn line(t: &TensorReport, context: &Context) {
    context.say(format!(
        "{:<84} {:>8.1e} {:>8.1e} {:>8.1e} {:>8.1e} {:>8.1e} {:>8.1e} {:>8.1e} {:>8.1e}{}",
        format!("{}: {}", t.name, t.tensor),
        t.max_rel_err_f32,
        t.median_rel_err_f32,
        t.max_bound_f32,
        t.norm_bound_f32,
        t.max_rel_err_f64,
        t.median_rel_err_f64,
        t.max_bound_f64,
        t.worst_share_of_bound,
        if t.pass { "" } else { "  FAILED" }
    ));
}

fn summary(report: &RoundingReport, cases: usize, start: Instant, context: &Context) {
    if !report.controls.is_empty() {
        context.say("\nnegative controls: each mistake, and in how many of the cases it changes it is caught");
    }
    for c in &report.controls {
        context.say(format!(
            "{:<10} {:<24} {:>3} of {:>3}  {}",
            if c.caught { "caught" } else { "NOT CAUGHT" },
            c.fault,
            c.cases,
            c.of,
            c.description
        ));
    }
    let worst = |f: fn(&TensorReport) -> f64| report.tensors.iter().map(f).fold(0.0, f64::max);
    let full: Vec<TensorReport> =
        report.tensors.iter().filter(|t| t.name.starts_with("full-size")).cloned().collect();
    if let Some(t) = worst_of(&full) {
        context.say(format!(
            "\nthe full-size network loses most in {} ({}): largest relative error {:.1e} in f32, {:.1e} in f64",
            t.tensor, t.name, t.max_rel_err_f32, t.max_rel_err_f64
        ));
        let norm = full.iter().map(|t| t.norm_bound_f32).fold(0.0, f64::max);
        let bounded: usize = full.iter().map(|t| t.bounded).sum();
        context.say(format!(
            "no bound of its tensors in f32 is above {norm:.1e} of the largest number of the tensor; derived for {bounded} of \
             its numbers, the worst of each tensor and five random ones"
        ));
    }
    context.say(format!(
        "\n{}: {cases} cases, {} tensors, {} outside their bound; largest relative error {:.1e} in f32, \
         {:.1e} in f64, largest share of a bound {:.2}, roundings unexplained up to {:.0e} of a bound, {} of {} \
         controls caught, {:.1} s",
        if report.pass() { "PASS" } else { "FAIL" },
        report.tensors.len(),
        report.tensors.iter().filter(|t| !t.pass).count(),
        worst(|t| t.max_rel_err_f32),
        worst(|t| t.max_rel_err_f64),
        worst(|t| t.worst_share_of_bound),
        worst(|t| t.unexplained),
        report.controls.iter().filter(|c| c.caught).count(),
        report.controls.len(),
        start.elapsed().as_secs_f64()
    ));
}
