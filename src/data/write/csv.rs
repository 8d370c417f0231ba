//! CSV with marked columns: ids, features by name, `label:NAME` for truth, `candidate:NAME` for candidates.

use super::blocks;
use crate::data::Dataset;
use crate::data::read::layout::{CANDIDATE, LABEL, feature_column};
use crate::{Error, Result};

/// The whole file.
pub(crate) fn bytes(dataset: &Dataset, delimiter: u8) -> Result<Vec<u8>> {
    let blocks = blocks(dataset);
    let mut out = csv::WriterBuilder::new()
        .delimiter(delimiter)
        .quote_style(csv::QuoteStyle::NonNumeric)
        .from_writer(Vec::new());
    let fail = |e: csv::Error| Error::input(e.to_string());
    let features = dataset.feature_names.iter().map(|n| feature_column(n));
    let labels = blocks.iter().flat_map(|(truth, _)| {
        let prefix = if *truth { LABEL } else { CANDIDATE };
        dataset.label_names.iter().map(move |n| format!("{prefix}{n}"))
    });
    let id = dataset.ids.iter().map(|ids| ids.name.clone());
    out.write_record(id.chain(features).chain(labels)).map_err(fail)?;
    let mut row: Vec<String> = Vec::new();
    for i in 0..dataset.n() {
        row.clear();
        row.extend(dataset.ids.iter().map(|ids| ids.values[i].clone()));
        row.extend(dataset.x.row(i).iter().map(f64::to_string));
        for (_, block) in &blocks {
            row.extend(block.row(i).iter().map(|&on| u8::from(on).to_string()));
        }
        out.write_record(&row).map_err(fail)?;
    }
    out.into_inner().map_err(|e| Error::input(e.to_string()))
}
