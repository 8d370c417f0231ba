//! Stage 1 of the default preset: the belief about Y given the whole observation (X, C).
//!
//! From the bottom up: [`network`] (encoder, label context, policy), [`train`] (one part of
//! cross-fitting), [`fit`] (all parts, early stopping), [`model`] (new rows), [`verdict`].

pub mod checkpoint;
pub mod fit;
pub mod model;
pub mod network;
pub mod train;
pub mod verdict;

pub use fit::{BeliefFit, BeliefState, Beliefs};
pub use model::BeliefModel;
