//! Results as a page that needs nothing but itself.

use minijinja::{Value, context};

use super::tables::{headline, remarks, tables};
use super::{Exporter, render};
use crate::Result;
use crate::experiment::Results;

/// HTML without scripts or outside resources.
pub struct Html;

impl Exporter for Html {
    fn file(&self) -> &'static str {
        "results.html"
    }

    fn export(&self, results: &Results) -> Result<String> {
        let tables = tables(results).into_iter().map(|t| {
            let (head, rows) = (t.table.header().to_vec(), t.table.rows().to_vec());
            context! { title => t.title, head, rows }
        });
        render(
            include_str!("evaluation.html"),
            context! {
                dataset => &results.about.dataset,
                headline => headline(results),
                tables => Value::from_iter(tables),
                remarks => remarks(results),
                sha256 => &results.about.sha256,
                version => &results.about.version,
            },
        )
    }
}
