//! Partial multi-label learning as two POMDPs, on a numeric engine written from scratch.

pub mod audit;
#[cfg(feature = "cli")]
pub mod cli;
pub mod data;
pub mod error;
pub mod graph;
pub mod io;
pub mod linalg;
pub mod method;
pub mod nn;
pub mod num;
pub mod rng;

pub use error::{Error, ErrorKind, Result};
