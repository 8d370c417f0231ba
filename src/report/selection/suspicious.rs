//! The labels that are most likely wrong, for people who check them by hand.

use crate::Result;
use crate::data::Labels;
use crate::experiment::Selection;
use crate::report::csv_bytes;

/// A candidate label that is more likely wrong than right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspicious {
    /// Row of the data file, from 0.
    pub row: usize,
    /// Number of the label.
    pub label: usize,
    /// Probability that it is true.
    pub probability: f32,
    /// Whether it is kept all the same.
    pub kept: bool,
}

impl Suspicious {
    /// The probability in four digits; one that is not zero is not shown as zero.
    pub fn shown_probability(&self) -> String {
        match self.probability {
            p if p > 0.0 && p < 0.0001 => "< 0.0001".to_owned(),
            p => format!("{p:.4}"),
        }
    }
}

/// All candidates with a probability below one half, the least likely first.
pub fn suspicious(selection: &Selection<'_>) -> Vec<Suspicious> {
    let outcome = &selection.outcome;
    let (Some(p), Some(pseudo)) = (&outcome.fitted.confidence, &outcome.fitted.pseudo) else {
        return Vec::new();
    };
    let mut cells = Vec::new();
    for (i, &row) in outcome.prepared.train_rows.iter().enumerate() {
        for (label, &on) in outcome.prepared.candidates.row(i).iter().enumerate() {
            let probability = p[(i, label)];
            if on && probability < 0.5 {
                cells.push(Suspicious { row, label, probability, kept: pseudo.get(i, label) });
            }
        }
    }
    cells.sort_by(|a, b| a.probability.total_cmp(&b.probability));
    cells
}

/// `suspicious.csv`.
pub(super) fn table(selection: &Selection<'_>) -> Result<Vec<u8>> {
    let ids = selection.data.ids.as_ref();
    let mut head = vec!["row".to_owned()];
    head.extend(ids.map(|ids| ids.name.clone()));
    head.extend(["label", "probability", "kept"].map(str::to_owned));
    let rows = suspicious(selection).into_iter().map(|cell| {
        let mut row = vec![cell.row.to_string()];
        row.extend(ids.map(|ids| ids.values[cell.row].clone()));
        row.extend([
            selection.data.label_names[cell.label].clone(),
            cell.probability.to_string(),
            u8::from(cell.kept).to_string(),
        ]);
        row
    });
    csv_bytes(&head, rows)
}

/// Rows of the data that had candidates and keep none.
pub fn emptied_rows(selection: &Selection<'_>) -> Vec<usize> {
    let outcome = &selection.outcome;
    let empty = |y: &Labels, i: usize| !y.row(i).contains(&true);
    let Some(pseudo) = &outcome.fitted.pseudo else { return Vec::new() };
    let rows = outcome.prepared.train_rows.iter().enumerate();
    rows.filter(|(i, _)| empty(pseudo, *i) && !empty(&outcome.prepared.candidates, *i))
        .map(|(_, &row)| row)
        .collect()
}
