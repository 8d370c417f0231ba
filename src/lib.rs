//! Partial multi-label learning as two POMDPs, on a numeric engine written from scratch.
//!
//! # Where to begin
//!
//! [`prelude`] is the face of the library: reading a table, [`prelude::fit`], [`prelude::Model`],
//! [`prelude::evaluate`] and the metrics. All other modules are the engine: its layers are public so
//! that they can be checked, measured and replaced, and may change between versions.
//!
//! # Map
//!
//! From the bottom up; a module uses only those above it in this list.
//!
//! * [`error`], [`io`]: one error type with place and remedy; files that are never half written.
//! * [`num`], [`rng`], [`linalg`]: numbers, named random streams, matrices and their products.
//! * [`nn`], [`graph`]: layers with hand-written backward passes, Adam; the neighbour graph.
//! * [`data`]: labels and data sets; reading, splitting, noise, writing.
//! * [`measure`], [`classify`]: metrics and tests of significance; downstream classifiers.
//! * [`method`]: from candidate labels to a ranking of the features; [`method::pomdp_fs`] is the
//!   paper's.
//! * [`experiment`]: from data to results, cell by cell.
//! * [`audit`]: checks of the engine that anyone can run.
//! * [`mod@bench`]: how fast this machine is with this program.
//!
//! The folder `docs` goes deeper: `engine.md` for whoever changes the engine, `notation.md` from the
//! paper's symbols to names in the code, `audit.md` for the checks.
//!
//! # The same bits
//!
//! Results are a function of data, settings and seed. The number of threads never enters: work is
//! cut by the size of the batch alone, and sums over its pieces are taken in a fixed order. Random
//! numbers are found by name ([`rng::Streams`]), not by how many were drawn before. Elementary
//! functions are the crate's own. One property of the machine remains: whether products and sums
//! inside matrix products are fused ([`num::fusing`]). Machines of one class give the same bits.
//!
//! # Gradients that can be checked
//!
//! ```
//! use pomdp_fs::audit::{self, Control};
//!
//! let cases = audit::cases::all();
//! let linear = cases.iter().find(|c| c.name == "linear/3x5x2").unwrap();
//! let report = audit::check(linear, None);
//! assert!(report.pass && report.max_rel_err < 1e-7);
//! // A check that has never caught anything proves nothing:
//! assert!(!audit::check(linear, Some(Control::LinearWrongTranspose)).pass);
//! ```

pub mod audit;
pub mod bench;
mod checksum;
pub mod classify;
#[cfg(feature = "cli")]
pub mod cli;
pub mod data;
pub mod error;
pub mod experiment;
pub mod graph;
pub mod io;
pub mod linalg;
pub mod measure;
pub mod method;
pub mod nn;
pub mod num;
pub mod prelude;
#[cfg(feature = "cli")]
pub mod report;
pub mod rng;
mod tensors;
pub(crate) mod text;

pub use error::{ColumnChanges, Error, ErrorKind, Remedy, Result};

#[cfg(test)]
#[path = "../tests/skip/mod.rs"]
mod skip;
