//! Results as Markdown tables.

use super::tables::{headline, remarks, tables};
use super::{Exporter, TextTable};
use crate::Result;
use crate::experiment::Results;

/// Markdown.
pub struct Markdown;

impl Exporter for Markdown {
    fn file(&self) -> &'static str {
        "results.md"
    }

    fn export(&self, results: &Results) -> Result<String> {
        let mut text =
            format!("# {}\n\n{}\n", escape(&results.about.dataset), escape(&headline(results)));
        for t in tables(results) {
            text += &format!("\n## {}\n\n{}", escape(&t.title), table(&t.table));
        }
        for (k, remark) in remarks(results).iter().enumerate() {
            let gap = if k == 0 { "\n" } else { "" };
            text += &format!("{gap}- {}\n", escape(remark));
        }
        Ok(text)
    }
}

/// A table.
pub(super) fn table(table: &TextTable) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|c| escape(c)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = format!("|{}\n", " --- |".repeat(table.header().len()));
    let rows: String = table.rows().iter().map(|row| line(row)).collect();
    line(table.header()) + &rule + &rows
}

/// Names come from the user's file: nothing in them is markup, and none of them ends a line.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '*' | '_' | '`' | '<' | '[' | '\\' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}
