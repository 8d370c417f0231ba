//! What is in a data set: sizes, label statistics, kinds and ranges of features, duplicates.

use std::collections::HashMap;

use serde::Serialize;

use super::{Dataset, Labels};
use crate::linalg::Mat;

/// The description that `data info` prints; the keys of its JSON are the names here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    /// Name of the data set.
    pub dataset: String,
    /// Number of instances.
    pub n: usize,
    /// Number of features.
    pub d: usize,
    /// Number of labels.
    pub labels: usize,
    /// "truth", "candidates" or both.
    pub label_blocks: Vec<&'static str>,
    /// Mean number of labels of an instance, of the first block.
    pub cardinality: f64,
    /// Cardinality divided by the number of labels.
    pub density: f64,
    /// Number of different label rows.
    pub distinct_label_sets: usize,
    /// Most labels of an instance.
    pub max_labels: usize,
    /// Instances without any label.
    pub rows_without_labels: usize,
    /// Labels that no instance has.
    pub labels_never_positive: usize,
    /// Fewest instances of a label.
    pub label_count_min: usize,
    /// Most instances of a label.
    pub label_count_max: usize,
    /// Mean number of candidates of an instance, if there are truth and candidates.
    pub candidate_cardinality: Option<f64>,
    /// How many features have which kind of values.
    pub feature_kinds: FeatureKinds,
    /// Smallest feature value.
    pub value_min: f64,
    /// Largest feature value.
    pub value_max: f64,
    /// Share of the feature values that are zero.
    pub zero_fraction: f64,
    /// Instances whose features and labels repeat an earlier instance.
    pub duplicate_rows: usize,
    /// Instances whose features repeat an earlier instance.
    pub duplicate_feature_rows: usize,
    /// Bytes of the feature matrix in f32.
    pub bytes_f32: u64,
    /// The format that was detected.
    pub format: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// What was detected and decided while reading.
    pub notes: Vec<String>,
    /// Names of the labels.
    pub label_names: Vec<String>,
}

/// Number of features by the values that they really have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FeatureKinds {
    /// One value only.
    pub constant: usize,
    /// 0 and 1.
    pub binary: usize,
    /// Two other values.
    pub two_valued: usize,
    /// Whole numbers.
    pub integer: usize,
    /// Anything else.
    pub real: usize,
}

impl Info {
    /// Describes `dataset`. Label statistics are those of the truth if it is known.
    pub fn new(dataset: &Dataset) -> Self {
        let nothing = Labels::none(dataset.n(), dataset.labels());
        let block = dataset.truth.as_ref().or(dataset.candidates.as_ref());
        let y = block.unwrap_or(&nothing);
        let per_row: Vec<usize> = (0..y.rows()).map(|i| on(y.row(i))).collect();
        let counts = y.count_by_label();
        let n = dataset.n().max(1) as f64;
        let cardinality = y.count() as f64 / n;
        let values = dataset.x.as_slice();
        let zeros = values.iter().filter(|v| **v == 0.0).count();
        let (duplicate_rows, duplicate_feature_rows) = duplicates(&dataset.x, y);
        let both = dataset.truth.is_some() && dataset.candidates.is_some();
        let blocks =
            [(dataset.truth.is_some(), "truth"), (dataset.candidates.is_some(), "candidates")];
        Info {
            dataset: dataset.name.clone(),
            n: dataset.n(),
            d: dataset.d(),
            labels: dataset.labels(),
            label_blocks: blocks.iter().filter(|b| b.0).map(|b| b.1).collect(),
            cardinality,
            density: cardinality / dataset.labels().max(1) as f64,
            distinct_label_sets: distinct((0..y.rows()).map(|i| y.row(i).to_vec())),
            max_labels: per_row.iter().copied().max().unwrap_or(0),
            rows_without_labels: per_row.iter().filter(|&&c| c == 0).count(),
            labels_never_positive: counts.iter().filter(|&&c| c == 0).count(),
            label_count_min: counts.iter().copied().min().unwrap_or(0),
            label_count_max: counts.iter().copied().max().unwrap_or(0),
            candidate_cardinality: dataset
                .candidates
                .as_ref()
                .filter(|_| both)
                .map(|c| c.count() as f64 / n),
            feature_kinds: kinds(&dataset.x),
            value_min: values.iter().copied().fold(f64::INFINITY, f64::min),
            value_max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            zero_fraction: zeros as f64 / values.len().max(1) as f64,
            duplicate_rows,
            duplicate_feature_rows,
            bytes_f32: 4 * values.len() as u64,
            format: dataset.source.format.clone(),
            sha256: dataset.source.sha256.clone(),
            notes: dataset.source.notes.clone(),
            label_names: dataset.label_names.clone(),
        }
    }
}

fn on(row: &[bool]) -> usize {
    row.iter().filter(|&&c| c).count()
}

fn distinct(rows: impl Iterator<Item = Vec<bool>>) -> usize {
    rows.collect::<std::collections::HashSet<_>>().len()
}

/// Instances that equal an earlier one: in features and labels, and in features alone. Rows are
/// compared in full; the hash only finds partners.
fn duplicates(x: &Mat<f64>, y: &Labels) -> (usize, usize) {
    let mut seen: HashMap<u64, Vec<usize>> = HashMap::with_capacity(x.rows());
    let (mut both, mut features) = (0, 0);
    for i in 0..x.rows() {
        // Adding zero makes −0 and 0 the same, as they compare.
        let key = x.row(i).iter().fold(0, |h, v| crate::rng::mix(h ^ (v + 0.0).to_bits()));
        let bucket = seen.entry(key).or_default();
        let mut twins = bucket.iter().filter(|&&j| x.row(i) == x.row(j)).peekable();
        features += usize::from(twins.peek().is_some());
        if twins.any(|&j| y.row(i) == y.row(j)) {
            both += 1;
        } else {
            bucket.push(i);
        }
    }
    (both, features)
}

/// What a column's values have shown so far.
#[derive(Clone, Default)]
struct Column {
    /// Up to three different values.
    values: Vec<f64>,
    fractions: bool,
}

fn kinds(x: &Mat<f64>) -> FeatureKinds {
    let mut columns = vec![Column::default(); x.cols()];
    for row in x.rows_iter() {
        for (column, v) in columns.iter_mut().zip(row) {
            column.fractions |= v.fract() != 0.0;
            if column.values.len() < 3 && !column.values.contains(v) {
                column.values.push(*v);
            }
        }
    }
    let mut kinds = FeatureKinds::default();
    for column in columns {
        let zero_one = column.values.iter().all(|&v| v == 0.0 || v == 1.0);
        *(match column.values.len() {
            0 | 1 => &mut kinds.constant,
            2 if zero_one => &mut kinds.binary,
            2 => &mut kinds.two_valued,
            _ if column.fractions => &mut kinds.real,
            _ => &mut kinds.integer,
        }) += 1;
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_is_there() {
        let dataset = Dataset {
            x: Mat::from_vec(
                4,
                5,
                vec![
                    1.0, 0.0, 5.0, 1.0, 0.5, //
                    1.0, 1.0, 7.0, 2.0, 0.25, //
                    1.0, 1.0, 7.0, 2.0, 0.25, //
                    1.0, 0.0, 5.0, 3.0, -1.0,
                ],
            ),
            truth: Some(Labels::from_fn(4, 2, |i, j| i == 2 && j == 0 || i == 3)),
            label_names: vec!["a".to_owned(), "b".to_owned()],
            ..Dataset::default()
        };
        let info = Info::new(&dataset);
        let kinds = FeatureKinds { constant: 1, binary: 1, two_valued: 1, integer: 1, real: 1 };
        assert_eq!(info.feature_kinds, kinds);
        assert_eq!((info.duplicate_rows, info.duplicate_feature_rows), (0, 1));
        assert_eq!(
            (info.rows_without_labels, info.max_labels, info.distinct_label_sets),
            (2, 2, 3)
        );
        assert_eq!((info.cardinality, info.density), (0.75, 0.375));
        assert_eq!((info.value_min, info.value_max, info.bytes_f32), (-1.0, 7.0, 80));
        assert_eq!(info.label_blocks, ["truth"]);
    }
}
