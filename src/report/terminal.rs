//! Results on a terminal: aligned tables.

use super::Exporter;
use super::tables::{headline, remarks, tables};
use crate::Result;
use crate::experiment::Results;

/// Text with aligned columns.
pub struct Terminal;

impl Exporter for Terminal {
    fn file(&self) -> &'static str {
        "results.txt"
    }

    fn export(&self, results: &Results) -> Result<String> {
        let mut text = headline(results) + "\n";
        for t in tables(results) {
            text += &format!("\n{}\n{}\n", t.title, t.table);
        }
        let remarks = remarks(results);
        if !remarks.is_empty() {
            text += &format!("\n{}\n", remarks.join("\n"));
        }
        Ok(text)
    }
}
