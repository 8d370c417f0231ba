//! `pomdp-fs audit paper`: the claims of the paper, each with its figure.

use std::path::PathBuf;

use clap::Args;

use super::page::Part;
use crate::Result;
use crate::audit::paper;
use crate::cli::Context;
use crate::cli::reproduce::read_runs;
use crate::experiment::grid::RunSummary;

/// Check the claims of the paper: its tables against each other and, with --run, against our results
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pomdp-fs audit paper\n  pomdp-fs audit paper --run reproduction\n\n\
    A check holds when the printed statement does; exit code 1 if one does not."
)]
pub(super) struct Paper {
    /// Folders or archives of 'reproduce': also check what needs results
    #[arg(long, value_name = "DIR", num_args = 1..)]
    run: Vec<PathBuf>,
}

impl Paper {
    /// True when every printed statement holds.
    pub(super) fn run(&self, context: &Context) -> Result<bool> {
        let data = read_runs(&self.run, context)?;
        let cells: Vec<_> = data.cells.into_values().collect();
        let run = (!self.run.is_empty()).then(|| RunSummary::new(cells)).transpose()?;
        let report = paper::check(run.as_ref())?;
        context.say(&report);
        context.emit(&report)?;
        Ok(report.pass)
    }
}

/// What the printed tables say about each other, for the page of all audits. These are claims of others: one that
/// does not hold is a fact about the paper, and no fault of this program.
pub(super) fn part(context: &Context) -> Result<Part> {
    let report = paper::check(None)?;
    for check in report.checks.iter().filter(|c| !c.holds) {
        context.say(format!("does not hold: {}: {}", check.name, check.claim));
    }
    context.say(format!(
        "{} of {} printed statements do not hold; this decides nothing",
        report.failed(),
        report.checks.len()
    ));
    Ok(Part {
        title: "The printed tables",
        command: "pomdp-fs audit paper",
        text: "For information: statements of the paper, checked against its own tables and the public data. One that \
               does not hold is a fact about the paper and does not change the result of the audit."
            .into(),
        information: true,
        report,
        figures: Vec::new(),
    })
}
