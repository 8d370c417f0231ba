//! `MatrixBuilder`: rows as they come in, cell by cell, into the final matrices: nothing is held twice.

use super::layout::{Layout, Use};
use super::options::{Impute, ReadOptions, Role};
use super::texts::{Texts, Words};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::{Error, Remedy, Result};

/// Collects the rows of a file.
pub(crate) struct MatrixBuilder {
    uses: Vec<Use>,
    /// A row in which nothing is written yet: features, truth, candidates.
    blank: (Vec<f64>, Vec<bool>, Vec<bool>),
    x: Vec<f64>,
    truth: Vec<bool>,
    candidates: Vec<bool>,
    texts: Texts,
    rows: usize,
    limit: u64,
    impute: Impute,
    /// Names of the features, where a model has means for them.
    means: Option<Vec<f64>>,
}

/// The finished matrices.
pub(crate) struct Matrices {
    pub(crate) x: Mat<f64>,
    pub(crate) truth: Option<Labels>,
    pub(crate) candidates: Option<Labels>,
    /// What the text columns became.
    pub(crate) words: Words,
}

impl MatrixBuilder {
    /// Ready for the first row. `absent(column)` is the value of a cell that a sparse row leaves out.
    pub(crate) fn new(
        layout: &Layout,
        options: &ReadOptions,
        absent: impl Fn(usize) -> f64,
    ) -> Result<Self> {
        let labels = layout.label_names.len();
        let mut rows = MatrixBuilder {
            uses: layout.uses.clone(),
            blank: (
                vec![0.0; layout.feature_names.len()],
                vec![false; if layout.has_truth { labels } else { 0 }],
                vec![false; if layout.has_candidates { labels } else { 0 }],
            ),
            x: Vec::new(),
            truth: Vec::new(),
            candidates: Vec::new(),
            texts: Texts::new(layout, options),
            rows: 0,
            limit: options.max_bytes,
            impute: options.impute,
            means: options.needed.as_ref().map(|n| n.means_of(&layout.feature_names)),
        };
        rows.begin()?;
        for column in 0..layout.uses.len() {
            // A label whose absence means something else than yes or no is caught when it is read.
            let _ = rows.put(column, absent(column));
        }
        rows.blank = (rows.x.clone(), rows.truth.clone(), rows.candidates.clone());
        rows.x.clear();
        rows.truth.clear();
        rows.candidates.clear();
        rows.texts.clear();
        rows.rows = 0;
        Ok(rows)
    }

    /// Starts a row.
    pub(crate) fn begin(&mut self) -> Result<()> {
        let row_bytes = self.blank.0.len() * 8 + self.blank.1.len() + self.blank.2.len();
        let needed = (self.rows as u64 + 1).saturating_mul(row_bytes as u64);
        let needed = needed.saturating_add(self.texts.bytes());
        if needed > self.limit {
            return Err(too_big(needed, self.limit));
        }
        let row = self.blank.0.len();
        if self.x.capacity() - self.x.len() < row {
            // By half, not to the double: old and new block together stay below three matrices.
            self.x.reserve_exact((self.x.len() / 2).max(row));
        }
        self.x.extend_from_slice(&self.blank.0);
        self.truth.extend_from_slice(&self.blank.1);
        self.candidates.extend_from_slice(&self.blank.2);
        self.texts.begin();
        self.rows += 1;
        Ok(())
    }

    /// Sets a cell of the row that was begun last. The error says what is wrong with the value; the
    /// caller adds the place.
    #[inline]
    pub(crate) fn put(&mut self, column: usize, value: f64) -> Result<()> {
        let row = self.rows - 1;
        match self.uses[column] {
            Use::Feature(j) => self.x[row * self.blank.0.len() + j as usize] = value,
            Use::Truth(j) => self.truth[row * self.blank.1.len() + j as usize] = yes_or_no(value)?,
            Use::Candidate(j) => {
                self.candidates[row * self.blank.2.len() + j as usize] = yes_or_no(value)?;
            }
            Use::Id | Use::OneHot(_) | Use::Tags | Use::Ignored => {}
        }
        Ok(())
    }

    /// Keeps the text of a column of which [`Use::is_text`] holds; blank where it is missing.
    pub(crate) fn put_text(&mut self, column: usize, text: &[u8]) {
        self.texts.put(self.uses[column], text);
    }

    /// Marks a cell as missing.
    pub(crate) fn put_missing(&mut self, column: usize) -> Result<()> {
        match self.uses[column] {
            Use::Truth(_) | Use::Candidate(_) => Err(Error::found("a missing label", "0 or 1")),
            Use::Feature(_) if self.impute == Impute::Refuse => Err(refuse_missing()),
            _ => self.put(column, f64::NAN),
        }
    }

    /// What becomes of a column.
    pub(crate) fn used(&self, column: usize) -> Use {
        self.uses[column]
    }

    /// Number of rows so far.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// All rows are in.
    pub(crate) fn finish(mut self, notes: &mut Vec<String>) -> Result<Matrices> {
        if self.rows == 0 {
            return Err(Error::found("no rows", "at least one instance"));
        }
        self.x.shrink_to_fit();
        let mut x = Mat::from_vec(self.rows, self.blank.0.len(), self.x);
        fill_missing(&mut x, self.impute, self.means.as_deref(), notes);
        let (words, tags) = self.texts.finish(&mut x, self.limit, notes)?;
        let (tagged_truth, tagged_candidates) = match tags {
            Some((Role::Truth, labels)) => (Some(labels), None),
            Some((Role::Candidates, labels)) => (None, Some(labels)),
            None => (None, None),
        };
        if x.cols() == 0 {
            return Err(Error::found("no feature", "at least one"));
        }
        let labels = |cells: Vec<bool>, cols: usize| {
            (cols > 0).then(|| Labels::from_vec(self.rows, cols, cells))
        };
        Ok(Matrices {
            truth: tagged_truth.or(labels(self.truth, self.blank.1.len())),
            candidates: tagged_candidates.or(labels(self.candidates, self.blank.2.len())),
            x,
            words,
        })
    }
}

/// The refusal of a missing feature value.
pub(crate) fn refuse_missing() -> Error {
    Error::found("a missing value", "a number")
        .hint("fill in missing values with the mean of their column or with zero")
        .remedy(Remedy::Impute)
}

/// The refusal of a matrix beyond the limit.
pub(crate) fn too_big(needed: u64, limit: u64) -> Error {
    Error::input(format!("the matrix needs at least {needed} bytes, the limit is {limit}"))
        .hint("raise the limit if the file is meant to be that big")
        .remedy(Remedy::MemoryLimit)
}

/// 1 is yes; 0 and −1 are no.
pub(crate) fn yes_or_no(value: f64) -> Result<bool> {
    match value {
        1.0 => Ok(true),
        0.0 | -1.0 => Ok(false),
        _ => Err(Error::found(format_args!("the label value {value}"), "0, 1 or -1")),
    }
}

/// Replaces the missing values (NaN inside this reader) column by column.
/// `means` are those of a model; without them the mean is that of the known values.
pub(crate) fn fill_missing(
    x: &mut Mat<f64>,
    impute: Impute,
    means: Option<&[f64]>,
    notes: &mut Vec<String>,
) {
    if impute == Impute::Refuse {
        return;
    }
    let (n, d) = (x.rows(), x.cols());
    let (mut cells, mut columns) = (0, 0);
    for j in 0..d {
        let known: Vec<f64> = (0..n).map(|i| x[(i, j)]).filter(|v| !v.is_nan()).collect();
        if known.len() == n {
            continue;
        }
        let value = match (impute, means) {
            (Impute::Mean, Some(means)) => means[j],
            // Divided first: a sum of huge values must not overflow.
            (Impute::Mean, None) => known.iter().map(|v| v / known.len() as f64).sum(),
            _ => 0.0,
        };
        for i in 0..n {
            if x[(i, j)].is_nan() {
                x[(i, j)] = value;
            }
        }
        cells += n - known.len();
        columns += 1;
    }
    let how = match (impute, means) {
        (Impute::Mean, Some(_)) => "the mean of the rows that trained the model",
        (Impute::Mean, None) => "the column's mean",
        _ => "zero",
    };
    if cells > 0 {
        notes
            .push(format!("missing values: {cells} cells in {columns} features filled with {how}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_become_means_of_the_known() {
        let nan = f64::NAN;
        let mut x = Mat::from_vec(3, 3, vec![1.0, nan, 5.0, nan, nan, 6.0, 3.0, nan, 7.0]);
        let mut notes = Vec::new();
        let mut again = x.clone();
        fill_missing(&mut x, Impute::Mean, None, &mut notes);
        assert_eq!(x.as_slice(), [1.0, 0.0, 5.0, 2.0, 0.0, 6.0, 3.0, 0.0, 7.0]);
        fill_missing(&mut again, Impute::Mean, Some(&[9.0, 8.0, 7.0]), &mut Vec::new());
        assert_eq!(again.as_slice(), [1.0, 8.0, 5.0, 9.0, 8.0, 6.0, 3.0, 8.0, 7.0]);
        assert_eq!(notes, ["missing values: 4 cells in 2 features filled with the column's mean"]);
    }

    #[test]
    fn label_values() {
        assert!(yes_or_no(1.0).unwrap());
        assert!(!yes_or_no(-1.0).unwrap() && !yes_or_no(0.0).unwrap());
        assert!(yes_or_no(2.0).is_err() && yes_or_no(f64::NAN).is_err());
    }
}
