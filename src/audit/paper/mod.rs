//! The checkable claims of the paper, each with a figure: from its printed tables alone, and from a
//! run of the grid.
//!
//! A check holds when the printed statement does. That one does not hold is a number, not a judgement.

mod coverage;
mod run;
mod tables;

use super::{Check, CheckReport};
use crate::Result;
use crate::experiment::grid::RunSummary;
use crate::experiment::printed::Printed;

/// Checks everything that the printed tables say about each other and, with a run, what they say about
/// the methods.
pub fn check(run: Option<&RunSummary>) -> Result<CheckReport> {
    let printed = Printed::load()?;
    let mut checks: Vec<Check> = tables::check(&printed)?;
    checks.extend(coverage::check(&printed)?);
    if let Some(run) = run {
        checks.extend(run::check(run, &printed)?);
    }
    Ok(CheckReport::new(checks))
}
