//! `pomdp-fs audit`: the checks of the engine.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, Subcommand};
use serde_json::json;

use super::Context;
use crate::audit::{self, Control, determinism, export};
use crate::{Error, Result};

/// Check the engine: gradients, determinism; export a complete training case
#[derive(Args)]
#[command(after_help = "Example:\n  pomdp-fs audit gradients --json -")]
pub struct Audit {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Gradients(Gradients),
    Determinism(Determinism),
    Export(Export),
    /// Run gradients and determinism
    #[command(after_help = "Example:\n  pomdp-fs audit all")]
    All,
}

/// Compare every gradient with five-point differences in f64, and catch deliberate mistakes
#[derive(Args, Default)]
#[command(after_help = "Examples:\n  pomdp-fs audit gradients\n  \
    pomdp-fs audit gradients --case encoder/post\n  \
    pomdp-fs audit gradients --inject SoftmaxRankOneMissing   # exits with 1\n\n\
    A case passes when the largest |analytic - numeric| / max(|analytic|, |numeric|, 1e-6 max|g|)\n\
    is at most 1e-7 and every parameter that should get a gradient gets one.")]
struct Gradients {
    /// Only the cases whose name contains TEXT (no negative controls)
    #[arg(long, value_name = "TEXT")]
    case: Option<String>,
    /// Spoil the gradients by a negative control; the audit must fail ('list' shows them)
    #[arg(long, value_name = "NAME")]
    inject: Option<String>,
}

/// Train with 1, 2 and 4 threads and compare the bytes of all weights
#[derive(Args)]
#[command(after_help = "Example:\n  pomdp-fs audit determinism")]
struct Determinism {}

/// Write one training case (weights, inputs, masks, losses, gradients, Adam) for other tools
#[derive(Args)]
#[command(after_help = "Example:\n  pomdp-fs audit export --case pre-gelu --out case\n\n\
    docs/audit.md has the layout and a program that recomputes it with automatic differentiation.")]
struct Export {
    /// Folder to write case.json and case.safetensors to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Which case: pre-gelu, pre-relu, post-gelu, post-relu, stage2-pre-gelu, stage2-post-relu, full-size
    #[arg(long, value_name = "NAME", default_value = "pre-gelu")]
    case: String,
    /// Compute in f32 instead of f64 (the file holds f64 either way)
    #[arg(long)]
    single: bool,
}

impl Audit {
    /// True when every check holds.
    pub fn run(&self, context: &Context) -> Result<bool> {
        match &self.what {
            What::Gradients(options) => gradients(options, context),
            What::Determinism(_) => determinism(context),
            What::Export(options) => {
                let build =
                    if options.single { export::build::<f32> } else { export::build::<f64> };
                let case = build(&options.case)?;
                case.write(&options.out)?;
                context.say(format!(
                    "{} tensors of case {} in {}",
                    case.tensors.len(),
                    options.case,
                    options.out.display()
                ));
                Ok(true)
            }
            What::All => {
                let first = gradients(&Gradients::default(), context)?;
                Ok(determinism(context)? && first)
            }
        }
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

fn gradients(options: &Gradients, context: &Context) -> Result<bool> {
    if options.inject.as_deref() == Some("list") {
        context.say(controls());
        context.emit(&Control::ALL)?;
        return Ok(true);
    }
    let injected = options.inject.as_deref().map(control).transpose()?;
    let mut cases = audit::cases::all();
    if let Some(text) = &options.case {
        cases.retain(|c| c.name.contains(text.as_str()));
        if cases.is_empty() {
            return Err(Error::config(format!("no case has '{text}' in its name")));
        }
    }
    let start = Instant::now();
    context.say(format!(
        "{:<52} {:>9} {:>8} {:>10}  worst coordinate (analytic, numeric)",
        "case", "numbers", "checked", "rel. error"
    ));
    let report = |c: &audit::CaseReport| {
        let worst = c.worst.as_ref().map_or(String::new(), |w| {
            format!("{}[{}] ({:.9e}, {:.9e})", w.parameter, w.index, w.analytic, w.numeric)
        });
        let verdict = if c.pass { "" } else { "  FAILED" };
        context.say(format!(
            "{:<52} {:>9} {:>8} {:>10.2e}  {worst}{verdict}",
            c.name, c.parameters, c.checked, c.max_rel_err
        ));
        for name in &c.unreached {
            context.say(format!("  no gradient reached {name}"));
        }
    };
    let report = if options.case.is_none() {
        audit::check_all(&cases, injected, report)
    } else {
        let cases = cases.iter().map(|c| audit::check(c, injected)).inspect(report).collect();
        audit::GradientReport { cases, controls: Vec::new() }
    };
    let pass = report.pass();
    summary(&report, injected, pass, start, context);
    let unreached: Vec<String> = report
        .cases
        .iter()
        .flat_map(|c| c.unreached.iter().map(move |u| format!("{}: {u}", c.name)))
        .collect();
    context.emit(&json!({
        "pass": pass,
        "tolerance": 1e-7,
        "injected_fault": injected,
        "cases": report.cases,
        "negative_control": {
            "injected": report.controls.len(),
            "caught": report.controls.iter().filter(|c| c.caught).count(),
            "controls": report.controls,
        },
        "unreached_parameters": unreached,
        "seconds": start.elapsed().as_secs_f64(),
    }))?;
    Ok(pass)
}

fn summary(
    report: &audit::GradientReport,
    injected: Option<Control>,
    pass: bool,
    start: Instant,
    context: &Context,
) {
    if !report.controls.is_empty() {
        context.say(
            "\nnegative controls: each mistake, the number of cases it fails, its largest error",
        );
    }
    for c in &report.controls {
        let verdict = if c.caught { "caught" } else { "NOT CAUGHT" };
        context.say(format!(
            "{verdict:<10} {:<24} {:>3} cases {:>9.1e}  {}",
            format!("{:?}", c.control),
            c.cases,
            c.rel_err,
            c.description
        ));
    }
    let worst = report.cases.iter().map(|c| c.max_rel_err).fold(0.0, f64::max);
    let checked: usize = report.cases.iter().map(|c| c.checked).sum();
    let failed = report.cases.iter().filter(|c| !c.pass).count();
    let caught = report.controls.iter().filter(|c| c.caught).count();
    let verdict = if pass { "PASS" } else { "FAIL" };
    if let Some(control) = injected {
        context.say(format!("\ninjected: {control:?}: {}", control.description()));
    }
    context.say(format!(
        "\n{verdict}: {} cases, {failed} failed, {checked} coordinates, largest relative error \
         {worst:.2e} (limit 1e-7), {caught} of {} controls caught, {:.1} s",
        report.cases.len(),
        report.controls.len(),
        start.elapsed().as_secs_f64()
    ));
    if std::io::stderr().is_terminal() && !pass {
        context.note("see docs/audit.md for how to read a failure");
    }
}

fn determinism(context: &Context) -> Result<bool> {
    let report = determinism::check(context.streams.root(), &[1, 2, 4])?;
    for run in report.runs.iter().chain([&report.control]) {
        context.say(format!(
            "seed {} with {} thread{}: {}",
            run.seed,
            run.threads,
            if run.threads == 1 { "" } else { "s" },
            run.hashes.iter().map(|h| &h[..12]).collect::<Vec<_>>().join(" ")
        ));
    }
    let verdict = if report.pass { "PASS" } else { "FAIL" };
    context.say(format!(
        "{verdict}: weights after each of 3 steps of Stage 1 and 3 of Stage 2; the last line is the \
         control with another seed and must differ"
    ));
    context.emit(&report)?;
    Ok(report.pass)
}
