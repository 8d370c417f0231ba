//! Experiments: noise, fit, rank, classify, score, over folds and repeats.

mod protocol;
mod run;
mod trial;

pub use protocol::{Budget, Protocol, TrainLabels, parse_budgets};
pub use run::{FoldResult, MethodResult, Outcome, evaluate_method};
pub use trial::Trial;
