//! `data info`: what is in a file, and what was decided while reading it.

use std::path::Path;

use clap::Args;

use crate::Result;
use crate::cli::Context;
use crate::cli::flags::column_flags;
use crate::cli::input::Input;
use crate::data::{Column, Info, Kind, Role, needed_changes, survey_table};
use crate::text::{name, printable};

/// Columns of a table that are described one by one.
const SHOWN_COLUMNS: usize = 100;

/// Describe a data set: sizes, labels, kinds and ranges of features, what was detected
#[derive(Args)]
#[command(
    name = "info",
    after_help = "Examples:\n  pomdp-fs data info yeast\n  pomdp-fs data info mine.csv --labels prefix:tag_ --json -"
)]
pub struct InfoCommand {
    /// A file, or the name of a set of the catalog
    data: String,
    #[command(flatten)]
    input: Input,
}

impl InfoCommand {
    pub(super) fn run(&self, context: &Context) -> Result<bool> {
        let dataset = match self.input.open(&self.data, Role::Truth) {
            Ok(dataset) => dataset,
            Err(error) => {
                self.show_columns(context)?;
                return Err(error);
            }
        };
        let info = Info::new(&dataset);
        context.say(text(&info, &dataset.source.origin));
        context.emit(&info)?;
        Ok(true)
    }
}

impl InfoCommand {
    /// What is in the columns of a table that cannot be read as it stands, so that the options that it
    /// needs can be seen at once.
    fn show_columns(&self, context: &Context) -> Result<()> {
        let path = Path::new(&self.data);
        if !path.is_file() {
            return Ok(());
        }
        // The error that is told is the one of reading the data.
        let Ok(Some((rows, columns))) = survey_table(path, &self.input.options()?) else {
            return Ok(());
        };
        context.say(columns_text(&self.data, rows, &columns));
        Ok(())
    }
}

fn columns_text(file: &str, rows: usize, columns: &[Column]) -> String {
    let mut lines = vec![format!("{}: {rows} rows, {} columns", printable(file), columns.len())];
    let shown =
        |c: &Column| format!("  {:>5}  {:<28} {}", c.number, name(&c.name), c.description());
    lines.extend(columns.iter().take(SHOWN_COLUMNS).map(shown));
    if columns.len() > SHOWN_COLUMNS {
        lines.push(format!("  … and {} more columns", columns.len() - SHOWN_COLUMNS));
    }
    let yes_no = columns.iter().filter(|c| matches!(c.kind(), Kind::Binary | Kind::YesNo));
    let yes_no: Vec<String> = yes_no.map(|c| name(&c.name)).collect();
    if !yes_no.is_empty() {
        lines.push(format!("  yes and no, so these could be labels: {}", yes_no.join(", ")));
    }
    for tags in columns.iter().filter(|c| c.kind() == Kind::Tags) {
        lines.push(format!("  joined tags, so this could be --labels 'tags:{}'", name(&tags.name)));
    }
    let needed = column_flags(&needed_changes(columns));
    if !needed.is_empty() {
        lines.push(format!("  columns that cannot be used as they stand need {needed}"));
    }
    lines.join("\n")
}

fn text(info: &Info, origin: &str) -> String {
    let k = &info.feature_kinds;
    let mut lines = vec![
        format!("{} ({})", name(&info.dataset), printable(origin)),
        format!("  instances            {}", info.n),
        format!("  features             {}", info.d),
        format!("  labels               {} ({})", info.labels, info.label_blocks.join(" and ")),
        format!("  cardinality          {:.6}", info.cardinality),
        format!("  density              {:.6}", info.density),
        format!("  distinct label sets  {}", info.distinct_label_sets),
        format!("  labels per instance  at most {}", info.max_labels),
        format!(
            "  instances per label  {} to {} ({} labels never)",
            info.label_count_min, info.label_count_max, info.labels_never_positive
        ),
        format!("  rows without labels  {}", info.rows_without_labels),
        format!(
            "  kinds of features    {} real, {} integer, {} two-valued, {} binary, {} constant",
            k.real, k.integer, k.two_valued, k.binary, k.constant
        ),
        format!("  range of values      {} to {}", info.value_min, info.value_max),
        format!("  share of zeros       {:.4}", info.zero_fraction),
        format!(
            "  duplicate rows       {} ({} in the features alone)",
            info.duplicate_rows, info.duplicate_feature_rows
        ),
        format!("  memory in f32        {} bytes", info.bytes_f32),
        format!("  format               {}", info.format),
        format!("  SHA-256              {}", info.sha256),
    ];
    if let Some(c) = info.candidate_cardinality {
        lines.insert(5, format!("  candidates           {c:.6} per instance"));
    }
    lines.extend(info.notes.iter().map(|n| format!("  note: {}", printable(n))));
    lines.join("\n")
}
