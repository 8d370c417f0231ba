//! What a user of the library needs, in one `use pomdp_fs::prelude::*`.
//!
//! [`load`] reads a table; [`fit`] cleans its candidate labels and ranks its features; [`Model`] labels
//! new rows; [`evaluate`] compares methods by cross-validation; [`Comparison`] and the metrics measure
//! predictions of any origin. `examples/own_data.rs` and `examples/custom_method.rs` show them at
//! work.
//!
//! ```
//! use pomdp_fs::prelude::*;
//!
//! // 60 rows; label j goes with feature j, and a fifth of the other labels are candidates, too.
//! let mut rng = Streams::new(0).stream("example");
//! let x = Mat::from_fn(60, 4, |_, _| rng.normal());
//! let candidates = Labels::from_fn(60, 2, |i, j| x[(i, j)] > 0.0 || rng.bernoulli(0.2));
//! let names = |word: &str, count| (0..count).map(|k| format!("{word}{k}")).collect();
//! let data = Dataset {
//!     x,
//!     candidates: Some(candidates),
//!     feature_names: names("feature", 4),
//!     label_names: names("label", 2),
//!     ..Dataset::default()
//! };
//! let config = Config { width: 16, heads: 2, epochs1: 3, ..Config::default() };
//! let selection = fit(&data, &config, Budget::Count(2), 0)?;
//! assert_eq!(selection.selected().len(), 2);
//! let scores = selection.model().score(&data.x)?; // or of rows that it has not seen
//! assert_eq!((scores.rows(), scores.cols()), (60, 2));
//! # Ok::<(), Error>(())
//! ```

pub use crate::data::{Dataset, LabelSpec, Labels, ReadOptions, Role, load};
pub use crate::experiment::{
    Budget, ClassifierConfig, ClassifierKind, Protocol, Results, Scoring, Selection, TrainLabels,
    evaluate, fit, moments,
};
pub use crate::linalg::Mat;
pub use crate::measure::{
    Comparison, Convention, CoverageForm, METRICS, Scores, Summary, average_precision, coverage,
    example_f1, hamming_loss, macro_f1, micro_f1, one_error, ranking_loss, subset_accuracy,
};
pub use crate::method::pomdp_fs::{Config, Model};
pub use crate::method::{Context, Fitted, Method, Observer, Training, by_name, rank};
pub use crate::rng::Streams;
pub use crate::{Error, Result};
