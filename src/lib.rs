//! Partial multi-label learning as two POMDPs, on a numeric engine written from scratch.

pub mod audit;
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
#[cfg(feature = "cli")]
pub mod report;
pub mod rng;

pub use error::{Error, ErrorKind, Result};
