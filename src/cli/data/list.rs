//! `data list`: the catalog, with what is here and what is not.

use clap::Args;
use comfy_table::{LineStyle, Table, TableStyle};
use serde::Serialize;

use crate::Result;
use crate::cli::Context;
use crate::cli::input::Place;
use crate::data::catalog::{self, Entry, Status};

/// List the known data sets and where they would come from
#[derive(Args)]
#[command(after_help = "Example: pomdp-fs data list --data-dir ~/multilabel")]
pub struct List {
    #[command(flatten)]
    place: Place,
    /// Also print addresses, sizes, hashes and citations
    #[arg(long)]
    long: bool,
}

#[derive(Serialize)]
struct Row<'a> {
    status: Status,
    #[serde(flatten)]
    entry: &'a Entry,
}

impl List {
    pub(super) fn run(&self, context: &Context) -> Result<bool> {
        let folders = self.place.folders();
        let entries = catalog::entries()?;
        let rows: Vec<Row<'_>> =
            entries.iter().map(|entry| Row { status: entry.status(&folders), entry }).collect();
        let mut table = Table::new();
        table.load_style(
            TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')),
        );
        table.set_header(["set", "status", "full n x d x L", "paper's n x d x L", "rule"]);
        for row in &rows {
            let (e, p) = (row.entry, &row.entry.paper);
            table.add_row([
                e.name.clone(),
                status_text(row.status).to_owned(),
                format!("{} x {} x {}", e.n, e.d, e.labels),
                format!("{} x {} x {}", p.n, p.d, p.labels),
                p.rule.name().to_owned(),
            ]);
        }
        context.say(&table);
        if self.long {
            entries.iter().for_each(|entry| context.say(details(entry)));
        } else {
            context.say("Addresses, hashes and citations: pomdp-fs data list --long");
        }
        context.emit(&rows)?;
        Ok(true)
    }
}

fn status_text(status: Status) -> &'static str {
    match status {
        Status::Embedded => "in the program",
        Status::Bundled => "in data/",
        Status::Found => "found",
        Status::Partial => "found in part",
        Status::Missing => "missing",
    }
}

fn details(entry: &Entry) -> String {
    let mut text = format!("\n{}\n  cite: {}", entry.title, entry.citation);
    if let Some(note) = &entry.note {
        text += &format!("\n  note: {note}");
    }
    let bundled = entry.bundled.iter().flat_map(|b| &b.files);
    for file in entry.files.iter().chain(bundled) {
        let size = file.size.map_or("size unknown".to_owned(), |s| format!("{s} bytes"));
        let hash = match (&file.sha256, &file.git_blob) {
            (Some(hash), _) => format!("SHA-256 {hash}"),
            (None, Some(id)) => format!("git blob {id}"),
            _ => String::new(),
        };
        let url = file.url.as_deref().unwrap_or("in the project's data/ folder");
        text += &format!("\n  {}: {size}, {hash}\n    {url}", file.file);
    }
    text
}
