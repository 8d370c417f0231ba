//! `pomdp-fs audit gradients`: every gradient by two witnesses.

use std::io::IsTerminal;
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};

use super::{Context, chosen_cases};
use crate::audit::{self, CaseReport, Control, EXACT_TOLERANCE, GradientReport, TOLERANCE};
use crate::{Error, Result};

/// Compare every gradient with exact forward mode and with differences, and catch deliberate mistakes
#[derive(Args, Default)]
#[command(after_help = "Examples:\n  pomdp-fs audit gradients\n  \
    pomdp-fs audit gradients --case encoder/post\n  \
    pomdp-fs audit gradients --inject SoftmaxRankOneMissing   # exits with 1\n\n\
    With the relative error |analytic - witness| / max(|analytic|, |witness|, 1e-6 max|g|) a case passes\n\
    when it is at most 1e-7 against five-point differences and 1e-11 against forward mode (dual\n\
    numbers), f'(u) = g.u and u.Hv = v.Hu to 1e-11 for random directions, and every parameter that should get a gradient gets one.")]
pub(super) struct Gradients {
    /// Only the cases whose name contains TEXT (no negative controls)
    #[arg(long, value_name = "TEXT")]
    case: Option<String>,
    /// Spoil the gradients by a negative control; the audit must fail ('list' shows them)
    #[arg(long, value_name = "NAME")]
    inject: Option<String>,
}

impl Gradients {
    /// True when every check holds.
    pub(super) fn run(&self, context: &Context) -> Result<bool> {
        if self.inject.as_deref() == Some("list") {
            context.say(controls());
            context.emit(&Control::ALL)?;
            return Ok(true);
        }
        let (report, result) = self.check(context)?;
        context.emit(&result)?;
        Ok(report.pass())
    }

    /// The report, and the object that is written as JSON.
    pub(super) fn check(&self, context: &Context) -> Result<(GradientReport, Value)> {
        let injected = self.inject.as_deref().map(control).transpose()?;
        let cases = chosen_cases(self.case.as_deref())?;
        let start = Instant::now();
        context.say(format!(
            "{:<52} {:>8} {:>8} {:>11} {:>9} {:>9}  worst coordinate (analytic, differences)",
            "case", "numbers", "checked", "differences", "exact", "asymmetry"
        ));
        let report = if self.case.is_none() {
            audit::check_all(&cases, injected, |c| line(c, context))
        } else {
            let checked = cases.iter().map(|c| audit::check(c, injected));
            let cases = checked.inspect(|c| line(c, context)).collect();
            GradientReport { cases, controls: Vec::new() }
        };
        let pass = report.pass();
        summary(&report, injected, pass, start, context);
        let unreached: Vec<String> = report
            .cases
            .iter()
            .flat_map(|c| c.unreached.iter().map(move |u| format!("{}: {u}", c.name)))
            .collect();
        let result = json!({
            "pass": pass,
            "tolerance": TOLERANCE,
            "exact_tolerance": EXACT_TOLERANCE,
            "injected_fault": injected,
            "cases": report.cases,
            "negative_control": {
                "injected": report.controls.len(),
                "caught": report.count(|c| c.caught),
                "caught_exact": report.count(|c| c.caught_exact),
                "asymmetric": report.count(|c| c.asymmetric),
                "controls": report.controls,
            },
            "unreached_parameters": unreached,
            "seconds": start.elapsed().as_secs_f64(),
        });
        Ok((report, result))
    }
}

fn control(name: &str) -> Result<Control> {
    Control::find(name).ok_or_else(|| {
        Error::config(format!("found control '{name}', expected one of:\n{}", controls()))
    })
}

/// All negative controls, one a line.
fn controls() -> String {
    let line = |c: &Control| format!("  {c:?}: {}", c.description());
    Control::ALL.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(c: &CaseReport, context: &Context) {
    let worst = c.worst.as_ref().map_or(String::new(), |w| {
        format!("{}[{}] ({:.9e}, {:.9e})", w.parameter, w.index, w.analytic, w.numeric)
    });
    let asymmetry = c.asymmetry.map_or("-".into(), |a| format!("{a:.1e}"));
    let verdict = if c.pass { "" } else { "  FAILED" };
    context.say(format!(
        "{:<52} {:>8} {:>8} {:>11.2e} {:>9.1e} {asymmetry:>9}  {worst}{verdict}",
        c.name, c.parameters, c.checked, c.max_rel_err, c.exact_rel_err
    ));
    for name in &c.unreached {
        context.say(format!("  no gradient reached {name}"));
    }
}

fn summary(
    report: &GradientReport,
    injected: Option<Control>,
    pass: bool,
    start: Instant,
    context: &Context,
) {
    if !report.controls.is_empty() {
        context.say(
            "\nnegative controls: each mistake, the number of cases it fails, its largest error against \
             differences; 'H' where the Hessian is not symmetric either",
        );
    }
    for c in &report.controls {
        let verdict = match (c.caught, c.caught_exact) {
            (true, true) => "caught",
            (true, false) => "NOT BY FORWARD MODE",
            (false, true) => "NOT BY DIFFERENCES",
            (false, false) => "NOT CAUGHT",
        };
        context.say(format!(
            "{verdict:<10} {} {:<24} {:>3} cases {:>9.1e}  {}",
            if c.asymmetric { "H" } else { " " },
            format!("{:?}", c.control),
            c.cases,
            c.rel_err,
            c.description
        ));
    }
    let worst = |f: fn(&CaseReport) -> f64| report.cases.iter().map(f).fold(0.0, f64::max);
    let total = |f: fn(&CaseReport) -> usize| report.cases.iter().map(f).sum::<usize>();
    if let Some(control) = injected {
        context.say(format!("\ninjected: {control:?}: {}", control.description()));
    }
    context.say(format!(
        "\n{}: {} cases, {} failed, {} coordinates; largest relative error {:.2e} against differences \
         (limit {TOLERANCE:.0e}), {:.1e} against forward mode (limit {EXACT_TOLERANCE:.0e}; {} \
         coordinates in double-double), {:.1e} along directions through all coordinates, asymmetry of the \
         Hessian {:.1e}; of {} controls {} caught by \
         differences, {} by forward mode, {} by asymmetry; {:.1} s",
        if pass { "PASS" } else { "FAIL" },
        report.cases.len(),
        report.cases.iter().filter(|c| !c.pass).count(),
        total(|c| c.checked),
        worst(|c| c.max_rel_err),
        worst(|c| c.exact_rel_err),
        total(|c| c.widened),
        worst(|c| c.slope.unwrap_or(0.0)),
        worst(|c| c.asymmetry.unwrap_or(0.0)),
        report.controls.len(),
        report.count(|c| c.caught),
        report.count(|c| c.caught_exact),
        report.count(|c| c.asymmetric),
        start.elapsed().as_secs_f64()
    ));
    if std::io::stderr().is_terminal() && !pass {
        context.note("see docs/audit.md for how to read a failure");
    }
}
