//! The CSV files that commands write.

use crate::data::Labels;
use crate::linalg::Mat;
use crate::{Error, Result};

/// A head and rows.
pub fn table(head: &[String], rows: impl Iterator<Item = Vec<String>>) -> Result<Vec<u8>> {
    let failed = |e: csv::Error| Error::numeric(format!("cannot write a table: {e}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(head).map_err(failed)?;
    for row in rows {
        writer.write_record(row).map_err(failed)?;
    }
    writer.into_inner().map_err(|e| Error::numeric(format!("cannot write a table: {e}")))
}

/// Names of columns.
pub fn names<const N: usize>(head: [&str; N]) -> Vec<String> {
    head.map(str::to_owned).to_vec()
}

/// `pseudo_labels.csv` and, without hard labels, `label_scores.csv`: the row's number in the source
/// (from 0), then for each label its pseudo label, then for each its probability.
pub fn label_table(
    rows: impl Iterator<Item = usize>,
    labels: &[String],
    pseudo: Option<&Labels>,
    p: &Mat<f32>,
) -> Result<Vec<u8>> {
    let mut head = names(["row"]);
    if pseudo.is_some() {
        head.extend(labels.iter().cloned());
    }
    head.extend(labels.iter().map(|n| format!("p({n})")));
    let rows = rows.enumerate().map(|(i, row)| {
        let mut cells = vec![row.to_string()];
        if let Some(pseudo) = pseudo {
            cells.extend(pseudo.row(i).iter().map(|&on| u8::from(on).to_string()));
        }
        cells.extend(p.row(i).iter().map(f32::to_string));
        cells
    });
    table(&head, rows)
}
