//! The whole paper as a grid of cells: sets × methods × seeds × folds, in one folder.
//!
//! ```text
//! Choice ── sets ──► GridPlan ──► Task (a cell with its id) ── shard ──► run ──► RunFolder
//! ```
//!
//! A [`Task`] is an [`super::Cell`] of the pipeline that `select` and `evaluate` use. Its result is one
//! file, a function of its configuration alone: runs that were interrupted, cut into shards or spread
//! over machines leave the same bytes. Times lie apart.

mod archive;
mod choice;
mod estimate;
mod folder;
mod run;
mod shard;
mod stored;
mod summary;
mod task;
mod verify;

pub use archive::{CellBytes, RunData, pack, stored_bytes, unpack};
pub use choice::{Choice, GridSet, Study, sets};
pub use estimate::{Estimates, Eta, Timed};
pub use folder::{FailedCell, RunFolder};
pub use run::{Ran, run};
pub use shard::Shard;
pub use stored::StoredCell;
pub use summary::{At, PAPER_NOISE, RunSet, RunSummary, View, noise_name, score};
pub use task::{GridPlan, Task, tasks};
pub use verify::{Verified, verify};

#[cfg(test)]
mod tests;
