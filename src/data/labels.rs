//! `Labels`: an n × L matrix of yes and no.

use crate::linalg::Mat;
use crate::num::Real;

/// Which labels each instance has: true labels Y, candidates C or pseudo labels Ŷ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    cells: Vec<bool>,
    rows: usize,
    cols: usize,
}

impl Labels {
    /// No label anywhere.
    pub fn none(rows: usize, cols: usize) -> Self {
        Labels { cells: vec![false; rows * cols], rows, cols }
    }

    /// Cell (i, j) is `f(i, j)`.
    pub fn from_fn(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> bool) -> Self {
        let cells = (0..rows * cols).map(|k| f(k / cols, k % cols)).collect();
        Labels { cells, rows, cols }
    }

    /// Takes the cells, row after row.
    pub fn from_vec(rows: usize, cols: usize, cells: Vec<bool>) -> Self {
        assert_eq!(cells.len(), rows * cols, "labels: {rows}×{cols}");
        Labels { cells, rows, cols }
    }

    /// Number of instances n.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of labels L.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Does instance i have label j?
    #[inline]
    pub fn get(&self, i: usize, j: usize) -> bool {
        debug_assert!(j < self.cols);
        self.cells[i * self.cols + j]
    }

    /// Gives or takes label j of instance i.
    #[inline]
    pub fn set(&mut self, i: usize, j: usize, on: bool) {
        debug_assert!(j < self.cols);
        self.cells[i * self.cols + j] = on;
    }

    /// The labels of instance i.
    #[inline]
    pub fn row(&self, i: usize) -> &[bool] {
        &self.cells[i * self.cols..(i + 1) * self.cols]
    }

    /// All cells, row after row.
    pub fn as_slice(&self) -> &[bool] {
        &self.cells
    }

    /// The cells as numbers: 1 for yes, 0 for no.
    pub fn to_mat<T: Real>(&self) -> Mat<T> {
        let number = |&on: &bool| if on { T::ONE } else { T::ZERO };
        Mat::from_vec(self.rows, self.cols, self.cells.iter().map(number).collect())
    }

    /// The given instances, in that order.
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let cells = rows.iter().flat_map(|&i| self.row(i)).copied().collect();
        Labels::from_vec(rows.len(), self.cols, cells)
    }

    /// Becomes the given instances of `other`, in the memory it has.
    pub fn gather_rows(&mut self, other: &Labels, rows: &[usize]) {
        self.cells.clear();
        rows.iter().for_each(|&i| self.cells.extend_from_slice(other.row(i)));
        (self.rows, self.cols) = (rows.len(), other.cols);
    }

    /// The given labels, in that order.
    pub fn select_cols(&self, cols: &[usize]) -> Self {
        Labels::from_fn(self.rows, cols.len(), |i, j| self.get(i, cols[j]))
    }

    /// Number of cells that are on.
    pub fn count(&self) -> usize {
        self.cells.iter().filter(|&&c| c).count()
    }

    /// Number of instances that have label j, for each j.
    pub fn count_by_label(&self) -> Vec<usize> {
        (0..self.cols).map(|j| (0..self.rows).filter(|&i| self.get(i, j)).count()).collect()
    }

    /// Share of the n·L cells in which the two differ (ε of the paper when one is the truth);
    /// 0 for matrices without cells.
    pub fn hamming_distance(&self, other: &Labels) -> f64 {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols));
        let differ = self.cells.iter().zip(&other.cells).filter(|(a, b)| a != b);
        differ.count() as f64 / self.cells.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_counts_and_compares() {
        let y = Labels::from_fn(4, 3, |i, j| (i + j) % 3 == 0);
        assert_eq!(y.count(), 4);
        assert_eq!(y.count_by_label(), [2, 1, 1]);
        assert_eq!(y.select_rows(&[3, 0]).row(0), y.row(3));
        assert_eq!(y.select_cols(&[2]).count(), 1);
        let numbers: Mat<f32> = y.to_mat();
        assert_eq!(numbers.row(2), [0.0, 1.0, 0.0]);
        assert_eq!((numbers.rows(), numbers.cols()), (4, 3));
        let mut gathered = Labels::none(9, 1);
        gathered.gather_rows(&y, &[3, 0]);
        assert_eq!(gathered, y.select_rows(&[3, 0]));
        assert_eq!(y.to_mat::<f32>().row(1), [0.0, 0.0, 1.0]);
        let mut z = y.clone();
        z.set(1, 1, true);
        assert_eq!(y.hamming_distance(&z), 1.0 / 12.0);
        assert_eq!(Labels::none(0, 3).hamming_distance(&Labels::none(0, 3)), 0.0);
    }
}
