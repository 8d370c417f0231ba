//! `Dataset`: features, labels, names and where they came from.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Impute, Labels};
use crate::linalg::Mat;

/// A multi-label data set as it was read. Values are kept in f64 so that a conversion loses
/// nothing; training casts to f32.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// Short name: the catalog's, or the file's stem.
    pub name: String,
    /// Features X, n × d.
    pub x: Mat<f64>,
    /// True labels Y, if they are known.
    pub truth: Option<Labels>,
    /// Candidate labels C, if the file has them; otherwise noise makes them from the truth.
    pub candidates: Option<Labels>,
    /// Names of the d features.
    pub feature_names: Vec<String>,
    /// Names of the L labels.
    pub label_names: Vec<String>,
    /// Declared values of the nominal features: value number k of feature j is `nominal[&j][k]`.
    pub nominal: BTreeMap<usize, Vec<String>>,
    /// Names of the rows, if a column was chosen for that.
    pub ids: Option<Ids>,
    /// Where it came from.
    pub source: Source,
}

/// Names of the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// Name of their column.
    pub name: String,
    /// One for each row.
    pub values: Vec<String>,
}

/// Provenance of a data set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// File or catalog name, as the user gave it.
    pub origin: String,
    /// SHA-256 of the bytes that were read, in hexadecimal.
    pub sha256: String,
    /// Format that was detected.
    pub format: String,
    /// The file has no names for the features, so the reader numbered them.
    pub numbered_features: bool,
    /// What was detected and decided on the way, one sentence each.
    pub notes: Vec<String>,
    /// How it was read, as far as other files of the same kind must be read alike.
    pub reading: Reading,
    /// Where the labels stand, if the file was a table.
    pub table: Option<TableColumns>,
    /// What came through a pipe, which cannot be read a second time.
    pub piped: Option<Arc<Vec<u8>>>,
}

/// How a file was read, as far as other files of the same kind must be read alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Column that names the rows.
    pub id: Option<String>,
    /// The words of each column that became one feature per word.
    pub one_hot: BTreeMap<String, Vec<String>>,
    /// Column of joined tags.
    pub tags: Option<String>,
    /// What became of missing values.
    pub impute: Impute,
}

/// How a table holds its labels, so that it can be written again with others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableColumns {
    /// What separates the fields.
    pub delimiter: u8,
    /// Does the first line name the columns?
    pub header: bool,
    /// The column of each label.
    pub labels: Vec<usize>,
    /// For each column of the file how it writes that a label is off.
    pub no: Vec<String>,
    /// The column of joined tags, and what joins them.
    pub tags: Option<(usize, u8)>,
}

impl Dataset {
    /// Number of instances n.
    pub fn n(&self) -> usize {
        self.x.rows()
    }

    /// Number of features d.
    pub fn d(&self) -> usize {
        self.x.cols()
    }

    /// Number of labels L.
    pub fn labels(&self) -> usize {
        self.label_names.len()
    }
}
