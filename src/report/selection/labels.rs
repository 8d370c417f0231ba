//! Labels and their probabilities as CSV.

use crate::Result;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::report::csv_bytes;

/// `pseudo_labels.csv` and, without hard labels, `label_scores.csv`: the row's number in the source
/// (from 0), then for each label its pseudo label, then for each its probability.
pub fn label_table(
    rows: impl Iterator<Item = usize>,
    labels: &[String],
    pseudo: Option<&Labels>,
    p: &Mat<f32>,
) -> Result<Vec<u8>> {
    let mut head = vec!["row".to_owned()];
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
    csv_bytes(&head, rows)
}
