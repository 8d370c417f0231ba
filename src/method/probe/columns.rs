//! Features column by column, with what is common to most rows taken away.
//!
//! A column of text counts is zero in most rows; scaled to mean 0 it has no zeros left, but still one
//! value that most rows share. Regression with an intercept does not see a constant that is
//! subtracted from a column, so that value is subtracted here, and the zeros are back. Where at most a
//! fifth of all values is left, only those are stored, and products of columns cost what they meet.

use std::borrow::Cow;

use rayon::prelude::*;

use super::dense::Dense;
use crate::linalg::Mat;
use crate::num::axpy;

/// Share of values that are not zero up to which they are stored as lists.
const SPARSE_BELOW: f64 = 0.2;

/// d columns of n values each. Dense ones stay where they are.
pub struct Columns<'a> {
    rows: usize,
    count: usize,
    entries: Entries<'a>,
}

enum Entries<'a> {
    /// All values.
    Dense(Dense<'a>),
    /// What is not zero, by column and by row.
    Sparse { by_column: Lists, by_row: Lists },
}

/// Lists of (index, value), one after the other.
struct Lists {
    start: Vec<usize>,
    items: Vec<(u32, f64)>,
}

impl Lists {
    fn new(lists: impl Iterator<Item = Vec<(u32, f64)>>) -> Self {
        let (mut start, mut items) = (vec![0], Vec::new());
        for list in lists {
            items.extend(list);
            start.push(items.len());
        }
        Lists { start, items }
    }

    fn list(&self, k: usize) -> &[(u32, f64)] {
        &self.items[self.start[k]..self.start[k + 1]]
    }

    /// The same entries, list i holding those with index i.
    fn transposed(&self, count: usize) -> Self {
        let mut lists = vec![Vec::new(); count];
        for k in 0..self.start.len() - 1 {
            self.list(k).iter().for_each(|&(i, v)| lists[i as usize].push((k as u32, v)));
        }
        Lists::new(lists.into_iter())
    }
}

impl<'a> Columns<'a> {
    /// The columns of `x`, each less the value that most of its rows share, if there is one.
    pub fn new(x: &'a Mat<f32>) -> Self {
        Columns::of(Cow::Borrowed(x))
    }

    /// The same of a matrix that nobody else needs.
    pub fn of(x: Cow<'a, Mat<f32>>) -> Self {
        let (n, d) = (x.rows(), x.cols());
        let shared: Vec<f32> = (0..d).into_par_iter().map(|a| majority(&x, a)).collect();
        let filled: usize =
            x.rows_iter().map(|row| row.iter().zip(&shared).filter(|(v, s)| v != s).count()).sum();
        if filled as f64 > SPARSE_BELOW * (n * d) as f64 {
            return Columns { rows: n, count: d, entries: Entries::Dense(Dense::new(x, shared)) };
        }
        let value = |i: usize, a: usize| f64::from(x[(i, a)]) - f64::from(shared[a]);
        let row = |i: usize| -> Vec<(u32, f64)> {
            (0..d).map(|a| (a as u32, value(i, a))).filter(|(_, v)| *v != 0.0).collect()
        };
        Columns::sparse(Lists::new((0..n).map(row)), d)
    }

    fn sparse(by_row: Lists, count: usize) -> Self {
        let by_column = by_row.transposed(count);
        let rows = by_row.start.len() - 1;
        Columns { rows, count, entries: Entries::Sparse { by_column, by_row } }
    }

    /// The given rows alone; a list of them where the columns are dense.
    pub fn select_rows(&self, rows: &[usize]) -> Columns<'_> {
        match &self.entries {
            Entries::Dense(dense) => {
                let entries = Entries::Dense(dense.select_rows(rows));
                Columns { rows: rows.len(), count: self.count, entries }
            }
            Entries::Sparse { by_row, .. } => {
                let lists = rows.iter().map(|&i| by_row.list(i).to_vec());
                Columns::sparse(Lists::new(lists), self.count)
            }
        }
    }

    /// Number of rows n.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns d.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Σ of each column.
    pub fn sums(&self) -> Vec<f64> {
        self.times(&Mat::from_fn(self.rows, 1, |_, _| 1.0)).as_slice().to_vec()
    }

    /// Σ of squares of each column.
    pub fn squares(&self) -> Vec<f64> {
        match &self.entries {
            Entries::Dense(dense) => dense.squares(),
            Entries::Sparse { by_column, .. } => {
                let square = |a| by_column.list(a).iter().map(|(_, v)| v * v).sum();
                (0..self.count).map(square).collect()
            }
        }
    }

    /// ZᵀB, d × L, for targets of n × L.
    pub fn times(&self, targets: &Mat<f64>) -> Mat<f64> {
        let labels = targets.cols();
        let mut out = Mat::zeros(self.count, labels);
        match &self.entries {
            Entries::Dense(dense) => dense.times(targets, &mut out),
            Entries::Sparse { by_column, .. } => {
                for a in 0..self.count {
                    for &(i, v) in by_column.list(a) {
                        axpy(out.row_mut(a), v, targets.row(i as usize));
                    }
                }
            }
        }
        out
    }

    /// A row Zᵀz_a per feature a: its products with every column. Costs n·d each, or the entries of
    /// those rows in which column a is not zero.
    pub fn products(&self, features: &[usize]) -> Mat<f64> {
        let mut out = Mat::zeros(features.len(), self.count);
        match &self.entries {
            Entries::Dense(dense) => dense.products(features, &mut out),
            Entries::Sparse { by_column, by_row } => {
                for (k, &a) in features.iter().enumerate() {
                    let out = out.row_mut(k);
                    for &(i, v) in by_column.list(a) {
                        by_row.list(i as usize).iter().for_each(|&(b, w)| out[b as usize] += v * w);
                    }
                }
            }
        }
        out
    }

    /// ZᵀZ, d × d. Costs n·d², or d times [`Columns::products`] of one.
    pub fn gram(&self) -> Mat<f64> {
        match &self.entries {
            Entries::Dense(dense) => {
                let mut gram = Mat::zeros(self.count, self.count);
                dense.gram(&mut gram);
                gram
            }
            Entries::Sparse { .. } => {
                let row = |a: usize| self.products(&[a]).as_slice().to_vec();
                let rows: Vec<Vec<f64>> = (0..self.count).into_par_iter().map(row).collect();
                Mat::from_vec(self.count, self.count, rows.concat())
            }
        }
    }
}

/// The value of more than half of the rows of column a, else 0 (vote of Boyer and Moore: a majority
/// survives when unequal values cancel each other).
fn majority(x: &Mat<f32>, a: usize) -> f32 {
    let column = || (0..x.rows()).map(|i| x[(i, a)]);
    let (mut value, mut votes) = (0.0, 0usize);
    for v in column() {
        match votes {
            0 => (value, votes) = (v, 1),
            _ if v == value => votes += 1,
            _ => votes -= 1,
        }
    }
    let share = column().filter(|v| *v == value).count();
    if 2 * share > x.rows() { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    /// Sparse counts, scaled so that no zero is left; every product is that of the dense columns.
    #[test]
    fn sparse_columns_are_found_and_multiply_alike() {
        let mut r = Streams::new(1).stream("columns");
        for density in [0.1, 0.9] {
            let counts =
                Mat::from_fn(
                    40,
                    7,
                    |_, _| if r.bernoulli(density) { r.uniform() as f32 } else { 0.0 },
                );
            let x = Mat::from_fn(40, 7, |i, a| 3.0 * counts[(i, a)] - 0.5 - a as f32);
            let columns = Columns::new(&x);
            assert_eq!(matches!(columns.entries, Entries::Sparse { .. }), density < 0.5);
            let rows: Vec<usize> = (0..40).filter(|i| i % 3 > 0).collect();
            let targets = Mat::from_fn(rows.len(), 2, |_, _| r.normal());
            let part = columns.select_rows(&rows);
            assert_eq!((part.rows(), part.count()), (rows.len(), 7));
            // What was subtracted: the shared value where there is one.
            let shift = |a: usize| f64::from(if density < 0.5 { majority(&x, a) } else { 0.0 });
            let z = Mat::from_fn(rows.len(), 7, |i, a| f64::from(x[(rows[i], a)]) - shift(a));
            let (gram, times) = (part.gram(), part.times(&targets));
            let products = part.products(&[0, 1, 2, 3, 4, 5, 6]);
            for a in 0..7 {
                for b in 0..7 {
                    let want: f64 = (0..rows.len()).map(|i| z[(i, a)] * z[(i, b)]).sum();
                    assert!((gram[(a, b)] - want).abs() < 1e-9 * (1.0 + want.abs()));
                    assert!((products[(a, b)] - want).abs() < 1e-9 * (1.0 + want.abs()));
                }
                for j in 0..2 {
                    let want: f64 = (0..rows.len()).map(|i| z[(i, a)] * targets[(i, j)]).sum();
                    assert!((times[(a, j)] - want).abs() < 1e-9);
                }
                let sum: f64 = (0..rows.len()).map(|i| z[(i, a)]).sum();
                assert!((part.sums()[a] - sum).abs() < 1e-9);
                assert!((part.squares()[a] - gram[(a, a)]).abs() < 1e-9 * gram[(a, a)]);
            }
        }
    }

    #[test]
    fn a_majority_is_more_than_half() {
        let x = Mat::from_vec(5, 2, vec![1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 2.0, 2.0, 5.0, 4.0]);
        assert_eq!([majority(&x, 0), majority(&x, 1)], [2.0, 0.0]);
    }
}
