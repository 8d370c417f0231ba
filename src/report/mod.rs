//! Reports: tables for people and drawings.

mod cd_diagram;
mod table;

pub use cd_diagram::{CdDiagram, cd_diagram};
pub use table::Rows;
