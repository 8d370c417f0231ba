//! The observation model P(C | Y), and beliefs about Y that are fitted under it.
//!
//! From the bottom up: [`likelihood`] (one cell), `cells` (all of them), [`features`] and [`solver`]
//! (logistic regression of all labels), [`cross_fit`] (rows judged by models that never saw them),
//! [`envelope`] (the noise rate), [`context`] and [`joint`] (what the other labels say, in two forms:
//! [`label_context`]), [`signs`] (what the data look like), [`linear_belief`] (all of it).

mod cells;
pub mod context;
pub mod cross_fit;
pub mod envelope;
pub mod features;
pub mod joint;
pub mod label_context;
mod lbfgs;
pub mod likelihood;
pub mod linear_belief;
pub mod signs;
pub mod solver;

pub use linear_belief::{LinearBelief, LinearModel, LinearOptions};
pub use signs::Signs;
