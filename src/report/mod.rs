//! Reports: results for people and for programs, drawings and pages.
//!
//! [`Exporter`] is one form of the results of an evaluation; each is one file here. A selection has
//! its own page and files ([`selection`]).

mod audit;
mod cd_diagram;
mod csv;
mod curves;
mod html;
mod json;
mod latex;
mod line_chart;
mod markdown;
mod plot;
pub mod reproduction;
pub mod selection;
mod spoken;
mod tables;
mod terminal;
mod text_table;

pub use audit::{AuditFigure, AuditPage, AuditRow, AuditSection};
pub use cd_diagram::{CdDiagram, cd_diagram};
pub use csv::{Csv, csv_bytes};
pub use curves::{Axis, Curve, Curves};
pub use html::Html;
pub use json::Json;
pub use latex::Latex;
pub use line_chart::{Colour, LineChart, Series};
pub use markdown::Markdown;
pub use tables::score_table;
pub use terminal::Terminal;
pub use text_table::TextTable;

use minijinja::{Environment, Value, context};

use crate::experiment::Results;
use crate::{Error, Result};

/// One form of the results of an evaluation.
pub trait Exporter {
    /// Name of the file that holds this form.
    fn file(&self) -> &'static str;
    /// The results in this form.
    fn export(&self, results: &Results) -> Result<String>;
}

/// All forms that are written to a folder.
pub const FILES: [&dyn Exporter; 5] = [&Json, &Csv, &Markdown, &Latex, &Html];

/// Fills the template of a page, which stands inside `base.html`. Names from the data are escaped;
/// `style` is the common style sheet.
fn render(template: &str, values: Value) -> Result<String> {
    let style = Value::from_safe_string(include_str!("style.css").to_owned());
    let mut pages = Environment::new();
    pages
        .add_template("base.html", include_str!("base.html"))
        .and_then(|()| pages.add_template("figure.html", include_str!("figure.html")))
        .and_then(|()| pages.render_named_str("page.html", template, context! { style, ..values }))
        .map_err(|e| Error::numeric(format!("cannot write the report: {e:#}")))
}

#[cfg(test)]
mod export_tests;
