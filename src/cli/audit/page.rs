//! From checks to a page.

use std::path::PathBuf;

use super::Context;
use crate::audit::{Check, CheckReport};
use crate::report::{AuditFigure, AuditPage, AuditRow, AuditSection};
use crate::{Result, io};

/// One audit with what its page says.
pub(super) struct Part {
    pub title: &'static str,
    pub command: &'static str,
    pub text: String,
    /// Whether its lines are claims of others, which decide nothing.
    pub information: bool,
    pub report: CheckReport,
    pub figures: Vec<AuditFigure>,
}

impl Part {
    /// The checks under the name of the audit, for one list of all audits.
    pub fn prefixed(&self) -> impl Iterator<Item = Check> {
        let audit = self.command.rsplit(' ').next().unwrap_or(self.command);
        let checks = self.report.checks.iter().cloned();
        checks.map(move |check| Check { name: format!("{audit}/{}", check.name), ..check })
    }

    fn section(&self) -> AuditSection {
        let row = |check: &Check| AuditRow {
            name: check.name.clone(),
            claim: check.claim.clone(),
            figure: check.figure.to_string(),
            limit: check.limit.clone(),
            holds: check.holds,
        };
        AuditSection {
            title: self.title.into(),
            command: self.command.into(),
            text: self.text.clone(),
            information: self.information,
            rows: self.report.checks.iter().map(row).collect(),
            figures: self.figures.clone(),
        }
    }
}

/// Refuses a page that cannot be written before any work.
pub(super) fn check_writable(html: &Option<PathBuf>) -> Result<()> {
    html.as_deref().map_or(Ok(()), io::check_writable)
}

/// Writes the page, if one was asked for.
pub(super) fn write(
    html: &Option<PathBuf>,
    title: &str,
    parts: &[Part],
    context: &Context,
) -> Result<()> {
    let Some(path) = html else { return Ok(()) };
    let story = format!(
        "Each line is a claim, the figure that was measured and the limit that it must keep. Seed {}.",
        context.streams.root()
    );
    let sections = parts.iter().map(Part::section).collect();
    let page = AuditPage { title: title.into(), story: vec![story], sections };
    io::write_atomic(path, page.html()?.as_bytes())?;
    context.note(format!("page: {}", path.display()));
    Ok(())
}

/// A command that is one audit: run, write page and JSON; true when every check holds.
pub(super) fn alone(
    title: &str,
    html: &Option<PathBuf>,
    context: &Context,
    run: impl FnOnce(&Context) -> Result<Part>,
) -> Result<bool> {
    check_writable(html)?;
    let part = run(context)?;
    write(html, title, std::slice::from_ref(&part), context)?;
    context.emit(&part.report)?;
    Ok(part.report.pass)
}
