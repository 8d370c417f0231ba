//! Reports: tables for people, drawings and pages.

mod cd_diagram;
mod line_chart;
mod select_page;
mod table;

pub use cd_diagram::{CdDiagram, cd_diagram};
pub use line_chart::{Colour, LineChart, Series};
pub use select_page::{FeatureBar, Figure, LabelBar, MetricTable, SelectPage, Tile, grouped};
pub use table::Rows;
