//! Checks of the engine that anyone can run: gradients, determinism, export.
//!
//! The audit looks at the code that trains, not at a copy: the same generic functions, in f64.

pub mod cases;
pub mod check;
mod controls;
pub mod determinism;
mod difference;
pub mod export;
mod gradients;

pub use check::{Check, CheckReport, Figure, Limit};
pub use controls::Control;
pub use difference::derivative;
pub use gradients::{
    Case, CaseReport, ControlReport, GradientReport, Truth, Worst, check, check_all,
};
