//! A selection as a page, as files and as JSON.

mod advice;
mod content;
mod files;
mod labels;
mod page;
mod summary;
mod suspicious;

pub use advice::next_steps;
pub use files::{FILES, Written, write};
pub use labels::label_table;
pub use page::{
    FeatureBar, Figure, LabelBar, MetricTable, SelectPage, SuspiciousRow, Tile, VerdictBox, grouped,
};
pub use summary::{candidates_and_kept, stability_text, summary};
pub use suspicious::{Suspicious, emptied_rows, suspicious};
