//! Data sets: from a file to a training set with candidate labels.

mod dataset;
mod labels;

pub use dataset::{Dataset, Source};
pub use labels::Labels;
