//! `pomdp-fs audit`: the checks of the engine.

mod gradients;
mod paper;
mod rounding;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use self::gradients::Gradients;
use self::paper::Paper;
use self::rounding::Rounding;
use super::Context;
use crate::audit::{Case, cases, determinism, export};
use crate::{Error, Result};

/// Check the engine: gradients, rounding, determinism; export a complete training case
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
    Determinism(Determinism),
    Paper(Paper),
    Export(Export),
    /// Run gradients, rounding and determinism
    #[command(after_help = "Example:\n  pomdp-fs audit all")]
    All,
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
            What::Determinism(_) => determinism(context),
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
            What::All => {
                let gradients = Gradients::default().run(context)?;
                let rounding = Rounding::default().run(context)?;
                Ok(determinism(context)? && gradients && rounding)
            }
        }
    }
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
