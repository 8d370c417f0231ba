//! A selection as a page, as files and as JSON.

mod content;
mod files;
mod labels;
mod page;
mod summary;

pub use files::{FILES, write};
pub use labels::label_table;
pub use page::{FeatureBar, Figure, LabelBar, MetricTable, SelectPage, Tile, grouped};
pub use summary::{candidates_and_kept, stability_text, summary};
