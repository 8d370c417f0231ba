//! Data sets: from a file to a training set with candidate labels.

pub mod catalog;
pub(crate) mod choice;
mod clean;
pub(crate) mod dataset;
mod info;
mod labels;
pub mod noise;
mod read;
mod scale;
pub mod split;
mod write;

pub use clean::cleaned;
pub use dataset::{Dataset, Ids, Reading, Source};
pub use info::{FeatureKinds, Info};
pub use labels::Labels;
pub use read::{
    Format, Impute, LabelSpec, Needed, Part, ReadOptions, Role, load, needed_changes, read_bytes,
    split_names,
    survey::{Column, Kind},
    survey_table,
};
pub(crate) use read::{gunzip, gzip};
pub use scale::{Scaler, Scaling};
pub use split::{Folds, Splitter};
pub use write::{encode, save};
