//! Experiments: one way from data to results.
//!
//! ```text
//! Dataset ── Protocol ──► Repeat ──► Prepared ── Method::fit ──► Fitted ── Scoring ──► CellResult
//!            (split, noise)  (fold, scaling)                (every score of one fit)
//! ```
//!
//! A [`Cell`] is one method with its settings on one fold: a pure function of its configuration,
//! named by a hash of it. It is fitted once, and every score is taken from that fit. A [`Plan`] is a
//! grid of cells; [`Plan::evaluate`] computes them in parallel, keeps each in a [`Store`] as it
//! finishes, and gathers them in [`Results`], which `report` shows.

mod budget;
mod cell;
mod checkpoint;
mod classifier;
#[cfg(test)]
mod fixture;
pub mod grid;
mod observe;
mod parallel;
mod plan;
mod prepare;
pub mod printed;
mod protocol;
mod result;
mod scoring;
mod selection;
mod store;
mod tune;

pub use budget::{Budget, parse_budgets};
pub use cell::{Cell, Outcome};
pub use checkpoint::Checkpoint;
pub use classifier::{ClassifierConfig, ClassifierKind, ThresholdRule};
pub use plan::{MethodRun, Plan, Unwatched, Watch, evaluate};
pub use prepare::Prepared;
pub use protocol::{Protocol, Repeat};
pub use result::{About, CellResult, Entry, Epsilon, Failure, Results, Score, Values, moments};
pub use scoring::{Scoring, TrainLabels};
pub use selection::{Request, Selection, fit};
pub use store::Store;
