//! `data info`: what is in a file, and what was decided while reading it.

use clap::Args;

use crate::Result;
use crate::cli::Context;
use crate::cli::input::Input;
use crate::data::Info;

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
        let dataset = self.input.open(&self.data)?;
        let info = Info::new(&dataset);
        context.say(text(&info, &dataset.source.origin));
        context.emit(&info)?;
        Ok(true)
    }
}

fn text(info: &Info, origin: &str) -> String {
    let k = &info.feature_kinds;
    let mut lines = vec![
        format!("{} ({})", info.dataset, origin),
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
    lines.extend(info.notes.iter().map(|n| format!("  note: {n}")));
    lines.join("\n")
}
