//! Reads the golden files of the classifiers: each line is a kind and numbers.

use crate::data::Labels;
use crate::linalg::Mat;

/// All lines of one kind as a matrix.
pub(super) fn block(text: &str, kind: &str) -> Mat<f64> {
    let rows: Vec<Vec<f64>> = text
        .lines()
        .filter_map(|l| l.split_once(','))
        .filter(|(name, _)| *name == kind)
        .map(|(_, cells)| cells.split(',').map(|c| c.parse().unwrap()).collect())
        .collect();
    Mat::from_vec(rows.len(), rows[0].len(), rows.concat())
}

/// All lines of one kind as labels.
pub(super) fn labels(text: &str, kind: &str) -> Labels {
    let cells = block(text, kind);
    Labels::from_fn(cells.rows(), cells.cols(), |i, j| cells[(i, j)] == 1.0)
}
