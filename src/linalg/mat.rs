//! `Mat`: a row-major matrix that owns its values; `View` and `ViewMut`: parts of matrices with strides.

use crate::num::{Real, all_finite};
use crate::{Error, Result};

/// A dense matrix, row after row. Rows can be added or dropped without losing the allocation, so a
/// workspace sized once serves every smaller batch. A matrix may also show a part of its rows
/// ([`Mat::show`]): then it is that part.
#[derive(Clone, Debug, Default)]
pub struct Mat<T> {
    data: Vec<T>,
    /// Entries in front of the first row that is shown.
    hidden: usize,
    rows: usize,
    cols: usize,
}

impl<T: PartialEq> PartialEq for Mat<T> {
    fn eq(&self, other: &Self) -> bool {
        let shown = |m: &Self| m.hidden..m.hidden + m.rows * m.cols;
        (self.rows, self.cols) == (other.rows, other.cols)
            && self.data[shown(self)] == other.data[shown(other)]
    }
}

impl<T: Real> Mat<T> {
    /// All zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Mat { data: vec![T::ZERO; rows * cols], hidden: 0, rows, cols }
    }

    /// Takes `data`, row after row.
    pub fn from_vec(rows: usize, cols: usize, data: Vec<T>) -> Self {
        assert_eq!(data.len(), rows * cols, "from_vec: {rows}×{cols}");
        Mat { data, hidden: 0, rows, cols }
    }

    /// Entry (i, j) is `f(i, j)`.
    pub fn from_fn(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> T) -> Self {
        let data = (0..rows * cols).map(|k| f(k / cols, k % cols)).collect();
        Mat { data, hidden: 0, rows, cols }
    }

    /// The same matrix in another precision.
    pub fn cast<U: Real>(&self) -> Mat<U> {
        Mat {
            data: self.as_slice().iter().map(|x| U::from_f64(x.to_f64())).collect(),
            hidden: 0,
            rows: self.rows,
            cols: self.cols,
        }
    }

    /// The given rows, in that order.
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let mut data = Vec::with_capacity(rows.len() * self.cols);
        for &i in rows {
            data.extend_from_slice(self.row(i));
        }
        Mat::from_vec(rows.len(), self.cols, data)
    }

    /// Becomes the given rows of `other`, in the memory it has.
    pub fn gather_rows(&mut self, other: &Mat<T>, rows: &[usize]) {
        self.data.clear();
        rows.iter().for_each(|&i| self.data.extend_from_slice(other.row(i)));
        (self.hidden, self.rows, self.cols) = (0, rows.len(), other.cols);
    }

    /// The given columns, in that order.
    pub fn select_cols(&self, cols: &[usize]) -> Self {
        Mat::from_fn(self.rows, cols.len(), |i, j| self[(i, cols[j])])
    }

    /// A transposed copy.
    pub fn transposed(&self) -> Self {
        Mat::from_fn(self.cols, self.rows, |i, j| self[(j, i)])
    }

    /// Sets the number of rows; new rows are zero, the capacity never shrinks.
    pub fn set_rows(&mut self, rows: usize) {
        if rows != self.rows {
            // What was hidden behind the last row must not come back as a new one.
            self.data.truncate(self.hidden + self.rows * self.cols);
            self.data.resize(self.hidden + rows * self.cols, T::ZERO);
            self.rows = rows;
        }
    }

    /// Shows `rows` rows from row `from` of all that it ever had on; new rows are zero, the others keep
    /// their entries, shown or not.
    pub fn show(&mut self, from: usize, rows: usize) {
        let end = (from + rows) * self.cols;
        if self.data.len() < end {
            self.data.resize(end, T::ZERO);
        }
        (self.hidden, self.rows) = (from * self.cols, rows);
    }

    /// Sets both sizes, in the memory it has; the entries are not what they were.
    pub fn reshape(&mut self, rows: usize, cols: usize) {
        self.data.resize(rows * cols, T::ZERO);
        (self.hidden, self.rows, self.cols) = (0, rows, cols);
    }

    /// Overwrites every entry.
    pub fn fill(&mut self, value: T) {
        self.as_mut_slice().fill(value);
    }

    /// Fails with the place of the first value that is infinite or NaN; `what` are these values
    /// ("features").
    pub fn check_finite(&self, what: &str) -> Result<()> {
        if all_finite(self.as_slice()) {
            return Ok(());
        }
        let at = self.as_slice().iter().position(|v| !v.is_finite()).unwrap_or_default();
        let (row, column) = (at / self.cols, at % self.cols);
        let found = format!("{} in row {row}, column {column} (from 0)", self.as_slice()[at]);
        Err(Error::found(found, format!("finite {what}")))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All values, row after row.
    pub fn as_slice(&self) -> &[T] {
        &self.data[self.hidden..][..self.rows * self.cols]
    }

    /// All values, writable.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data[self.hidden..][..self.rows * self.cols]
    }

    /// Row i.
    #[inline]
    pub fn row(&self, i: usize) -> &[T] {
        &self.as_slice()[i * self.cols..][..self.cols]
    }

    /// Row i, writable.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.data[self.hidden + i * self.cols..][..self.cols]
    }

    /// Row after row. A matrix without columns has no rows to show.
    pub fn rows_iter(&self) -> std::slice::ChunksExact<'_, T> {
        self.as_slice().chunks_exact(self.cols.max(1))
    }

    /// The whole matrix.
    pub fn view(&self) -> View<'_, T> {
        View::new(self.as_slice(), self.rows, self.cols)
    }

    /// The whole matrix, writable.
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        {
            let (rows, cols) = (self.rows, self.cols);
            ViewMut::new(self.as_mut_slice(), rows, cols)
        }
    }
}

impl<T: Real> std::ops::Index<(usize, usize)> for Mat<T> {
    type Output = T;
    #[inline]
    fn index(&self, (i, j): (usize, usize)) -> &T {
        debug_assert!(j < self.cols);
        &self.data[self.hidden + i * self.cols + j]
    }
}

impl<T: Real> std::ops::IndexMut<(usize, usize)> for Mat<T> {
    #[inline]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        debug_assert!(j < self.cols);
        &mut self.data[self.hidden + i * self.cols + j]
    }
}

/// Borrowed values: entry (i, j) lies at `i·row_stride + j·col_stride`.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    pub(super) data: &'a [T],
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) row_stride: usize,
    pub(super) col_stride: usize,
}

impl<'a, T: Real> View<'a, T> {
    /// Row-major and dense.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Self {
        assert_eq!(data.len(), rows * cols, "view: {rows}×{cols}");
        View { data, rows, cols, row_stride: cols, col_stride: 1 }
    }

    /// The transposed view.
    pub fn t(self) -> Self {
        View {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    /// Rows 0, step, 2·step, …: the first token of each sequence.
    pub fn every(self, step: usize) -> Self {
        View { rows: self.rows.div_ceil(step), row_stride: self.row_stride * step, ..self }
    }

    /// Columns from..to.
    pub fn columns(self, from: usize, to: usize) -> Self {
        assert!(from <= to && to <= self.cols && self.col_stride == 1);
        View { data: self.data.get(from..).unwrap_or(&[]), cols: to - from, ..self }
    }

    /// Without the first `count` rows, or empty if there are not so many.
    pub fn skip_rows(self, count: usize) -> Self {
        self.slice_rows(count.min(self.rows), self.rows)
    }

    /// Rows from..to.
    pub fn slice_rows(self, from: usize, to: usize) -> Self {
        assert!(from <= to && to <= self.rows);
        View {
            data: self.data.get(from * self.row_stride..).unwrap_or(&[]),
            rows: to - from,
            ..self
        }
    }

    /// All entries, row after row, if nothing lies between them.
    pub fn as_slice(&self) -> Option<&'a [T]> {
        let whole = self.col_stride == 1 && (self.rows <= 1 || self.row_stride == self.cols);
        if whole { self.data.get(..self.rows * self.cols) } else { None }
    }

    /// Row i; the columns must be contiguous.
    #[inline]
    pub fn row(&self, i: usize) -> &'a [T] {
        debug_assert!(self.col_stride == 1 && i < self.rows);
        &self.data[i * self.row_stride..i * self.row_stride + self.cols]
    }

    /// Entry (i, j).
    #[inline]
    pub fn get(&self, i: usize, j: usize) -> T {
        self.data[i * self.row_stride + j * self.col_stride]
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }
}

/// A writable view; columns are contiguous.
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    pub(super) data: &'a mut [T],
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) row_stride: usize,
}

impl<'a, T: Real> ViewMut<'a, T> {
    /// Row-major and dense.
    pub fn new(data: &'a mut [T], rows: usize, cols: usize) -> Self {
        assert_eq!(data.len(), rows * cols, "view: {rows}×{cols}");
        ViewMut { data, rows, cols, row_stride: cols }
    }

    /// Rows 0, step, 2·step, ….
    pub fn every(self, step: usize) -> Self {
        ViewMut { rows: self.rows.div_ceil(step), row_stride: self.row_stride * step, ..self }
    }

    /// Without the first `count` rows, or empty if there are not so many.
    pub fn skip_rows(self, count: usize) -> Self {
        let rows = self.rows;
        self.slice_rows(count.min(rows), rows)
    }

    /// Rows from..to.
    pub fn slice_rows(self, from: usize, to: usize) -> Self {
        assert!(from <= to && to <= self.rows);
        ViewMut {
            data: self.data.get_mut(from * self.row_stride..).unwrap_or(&mut []),
            rows: to - from,
            ..self
        }
    }

    /// Columns from..to.
    pub fn columns(self, from: usize, to: usize) -> Self {
        assert!(from <= to && to <= self.cols);
        ViewMut { data: self.data.get_mut(from..).unwrap_or(&mut []), cols: to - from, ..self }
    }

    /// Row i.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.data[i * self.row_stride..i * self.row_stride + self.cols]
    }

    /// Row `to` ← row `from`.
    pub fn copy_row(&mut self, from: usize, to: usize) {
        let (from, to) = (from * self.row_stride, to * self.row_stride);
        self.data.copy_within(from..from + self.cols, to);
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The same view, borrowed again.
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        ViewMut { data: self.data, rows: self.rows, cols: self.cols, row_stride: self.row_stride }
    }

    /// Read-only.
    pub fn view(&self) -> View<'_, T> {
        View {
            data: self.data,
            rows: self.rows,
            cols: self.cols,
            row_stride: self.row_stride,
            col_stride: 1,
        }
    }
}

#[cfg(test)]
#[path = "mat_tests.rs"]
mod tests;
