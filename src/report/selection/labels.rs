//! Labels and their probabilities as CSV.

use crate::Result;
use crate::data::{Ids, Labels};
use crate::linalg::Mat;
use crate::report::csv_bytes;

/// `pseudo_labels.csv` and `label_scores.csv`: the row's number in the source (from 0), its id if it has
/// one, then for each label 0 or 1, then for each its probability.
pub fn label_table(
    rows: impl Iterator<Item = usize>,
    ids: Option<&Ids>,
    labels: &[String],
    hard: &Labels,
    p: &Mat<f32>,
) -> Result<Vec<u8>> {
    let mut head = vec!["row".to_owned()];
    head.extend(ids.map(|ids| ids.name.clone()));
    head.extend(labels.iter().cloned());
    head.extend(labels.iter().map(|n| format!("p({n})")));
    let rows = rows.enumerate().map(|(i, row)| {
        let mut cells = vec![row.to_string()];
        cells.extend(ids.map(|ids| ids.values[row].clone()));
        cells.extend(hard.row(i).iter().map(|&on| u8::from(on).to_string()));
        cells.extend(p.row(i).iter().map(f32::to_string));
        cells
    });
    csv_bytes(&head, rows)
}
