//! Small data for the tests of this folder.

use crate::data::{Dataset, Labels};
use crate::linalg::Mat;

/// 20 rows, 5 features (0 where not `filled`), 3 labels.
pub fn small(filled: impl Fn(usize, usize) -> bool) -> Dataset {
    Dataset {
        name: "small".into(),
        x: Mat::from_fn(20, 5, |i, j| if filled(i, j) { (i + 2 * j + 1) as f64 } else { 0.0 }),
        truth: Some(Labels::from_fn(20, 3, |i, j| (i + j) % 3 == 0)),
        feature_names: (0..5).map(|j| format!("f{j}")).collect(),
        label_names: (0..3).map(|j| format!("l{j}")).collect(),
        ..Dataset::default()
    }
}
