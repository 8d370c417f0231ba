//! `Dataset`: features, labels, names and where they came from.

use std::collections::BTreeMap;

use super::Labels;
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
    /// Where it came from.
    pub source: Source,
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
