//! `pomdp-fs audit`: the checks of the engine.

mod gradients;
mod lines;
mod page;
mod paper;
mod rounding;
mod theorems;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use self::gradients::Gradients;
use self::page::Part;
use self::paper::Paper;
use self::rounding::Rounding;
use super::Context;
use crate::audit::determinism::{self, DeterminismReport};
use crate::audit::{Case, Check, CheckReport, cases, export, training};
use crate::{Error, Result};

/// Check engine and paper: gradients, rounding, training step, theorems, determinism; export a case
#[derive(Args)]
#[command(after_help = "Example:\n  pomdp-fs audit gradients --json -")]
pub struct Audit {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Gradients(Gradients),
    Rounding(Rounding),
    Training(Training),
    Theorems(theorems::Theorems),
    Determinism(Determinism),
    Paper(Paper),
    Export(Export),
    All(All),
}

/// Compare the rest of the training step with slow versions: rewards, baselines, credit, sampling, noise, graph, Adam
#[derive(Args)]
#[command(after_help = "Example:\n  pomdp-fs audit training --html training.html\n\n\
    Each part has a control: the slow version with a mistake in it must not agree. Random parts are\n\
    compared by chi-square tests at level 1e-4.")]
struct Training {
    /// Write a page with every claim, figure and limit
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Run every audit: gradients, rounding, training, theorems, determinism; the printed tables for information
#[derive(Args)]
#[command(after_help = "Example:\n  pomdp-fs audit all --html audit.html --json audit.json\n\n\
    The exit code is that of the audits of this program. What 'audit paper' finds about the printed\n\
    tables is shown beside them and decides nothing.")]
struct All {
    /// Write one page of results, each line with the claim, the figure and the limit
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
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
            What::Gradients(options) => options.run(context),
            What::Rounding(options) => options.run(context),
            What::Training(options) => {
                page::alone("Audit of the training step", &options.html, context, training_step)
            }
            What::Theorems(options) => options.run(context),
            What::Determinism(_) => {
                let report = determinism(context)?;
                context.emit(&report)?;
                Ok(report.pass)
            }
            What::Paper(options) => options.run(context),
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
            What::All(options) => all(options, context),
        }
    }
}

/// Every audit, then one result of all.
fn all(options: &All, context: &Context) -> Result<bool> {
    page::check_writable(&options.html)?;
    context.say("gradients");
    let gradients = Part {
        title: "Gradients",
        command: "pomdp-fs audit gradients",
        text: "Every backward pass is written by hand. Each coordinate is compared with forward-mode differentiation and \
               with five-point differences, and each deliberate mistake must be caught by both."
            .into(),
        report: lines::gradients(&Gradients::default().check(context)?.0),
        information: false,
        figures: Vec::new(),
    };
    context.say("\nrounding");
    let rounding = Part {
        title: "Rounding",
        command: "pomdp-fs audit rounding",
        text: "Gradients in f32 and f64 as training computes them, against double-double and a derived bound.".into(),
        report: lines::rounding(&Rounding::default().check(context)?.0),
        information: false,
        figures: Vec::new(),
    };
    context.say("\ntraining");
    let training = training_step(context)?;
    context.say("\ntheorems");
    let theorems = theorems::part(context)?;
    context.say("\ndeterminism");
    let determinism = Part {
        title: "Determinism",
        command: "pomdp-fs audit determinism",
        text: "Training steps of both stages with 1, 2 and 4 threads: SHA-256 of all weights after each step.".into(),
        report: lines::determinism(&determinism(context)?),
        information: false,
        figures: Vec::new(),
    };
    context.say("\nprinted tables");
    let paper = paper::part(context)?;
    let parts = [gradients, rounding, training, theorems, determinism, paper];
    let (others, own): (Vec<&Part>, Vec<&Part>) = parts.iter().partition(|part| part.information);
    let lines = |parts: Vec<&Part>| parts.iter().flat_map(|part| part.prefixed()).collect();
    let report = CheckReport::new(lines(own));
    let information: Vec<Check> = lines(others);
    let verdict = if report.pass { "PASS" } else { "FAIL" };
    context.say(format!(
        "\n{verdict}: {} checks in all, {} failed",
        report.checks.len(),
        report.failed()
    ));
    page::write(&options.html, "Audit", &parts, context)?;
    context.emit(&json!({
        "pass": report.pass,
        "checks": report.checks,
        "information": information,
    }))?;
    Ok(report.pass)
}

fn training_step(context: &Context) -> Result<Part> {
    let report = training::check(&context.streams)?;
    context.say(&report);
    Ok(Part {
        title: "Training step",
        command: "pomdp-fs audit training",
        text: "Everything between the gradients and the result, against slow versions of the same computation or \
               exact enumeration; random parts by chi-square tests, whose figures are p-values."
            .into(),
        report,
        information: false,
        figures: Vec::new(),
    })
}

/// All cases, or those whose name contains `text`.
fn chosen_cases(text: Option<&str>) -> Result<Vec<Case>> {
    let mut cases = cases::all();
    if let Some(text) = text {
        cases.retain(|c| c.name.contains(text));
        if cases.is_empty() {
            return Err(Error::config(format!("no case has '{text}' in its name")));
        }
    }
    Ok(cases)
}

fn determinism(context: &Context) -> Result<DeterminismReport> {
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
    Ok(report)
}
