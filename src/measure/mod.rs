//! Measures: multi-label metrics under named conventions, and statistics over tables of results.
//!
//! The same metric name gives different numbers in different packages: they disagree about tied
//! scores, about instances without labels (or with all of them), and about what 0/0 is. A
//! [`Convention`] names one package's answers to all three questions, so a number can say what it is.

mod average_precision;
mod comparison;
mod coverage;
mod f1;
mod hamming;
mod one_error;
mod order;
mod ranking_loss;
pub mod statistics;
mod summary;

pub use average_precision::average_precision;
pub use comparison::{Comparison, Scores};
pub use coverage::{CoverageForm, coverage};
pub use f1::{example_f1, macro_f1, micro_f1};
pub use hamming::{hamming_loss, subset_accuracy};
pub use one_error::one_error;
pub use ranking_loss::ranking_loss;
pub use summary::{METRICS, Metric, Summary};

use crate::data::choice::choice;
use order::Ties;

/// Whose definition of the metrics is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Convention {
    /// scikit-learn 1.9: a tie counts against the classifier, nothing is dropped.
    #[default]
    ScikitLearn,
    /// MULAN 1.5: ties go to the higher index, 0/0 is 1.
    Mulan,
    /// The MATLAB files of the partial multi-label literature: instances without an irrelevant or
    /// without a relevant label are dropped.
    Matlab,
    /// The later package of the authors of POMDP-FS: per-instance normalised coverage.
    Reference,
}

choice!(Convention {
    ScikitLearn => "sklearn", Mulan => "mulan", Matlab => "matlab", Reference => "ref",
});

impl Convention {
    /// How tied scores are ranked where a rank is needed.
    fn ties(self) -> Ties {
        match self {
            Convention::ScikitLearn => Ties::Worst,
            Convention::Mulan | Convention::Matlab => Ties::HigherFirst,
            Convention::Reference => Ties::LowerFirst,
        }
    }

    /// The value of F1 when there is neither a positive nor a prediction.
    fn zero_by_zero(self) -> f64 {
        if self == Convention::Mulan { 1.0 } else { 0.0 }
    }
}

/// Mean of the values that are there; NaN when there is none.
fn mean(values: impl Iterator<Item = Option<f64>>) -> f64 {
    let (mut sum, mut count) = (0.0, 0usize);
    for value in values.flatten() {
        sum += value;
        count += 1;
    }
    sum / count as f64
}

#[cfg(test)]
mod golden_tests;
