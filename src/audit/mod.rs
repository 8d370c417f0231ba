//! Checks of the engine that anyone can run: gradients, rounding, determinism, export.
//!
//! The audit looks at the code that trains, not at a copy: the same generic functions, in f64, on dual
//! numbers, in double-double and on numbers that are traced for a bound on their error.

pub mod cases;
pub mod check;
mod controls;
pub mod determinism;
mod difference;
mod exact;
pub mod export;
mod function;
mod gradients;
mod layer;
pub mod paper;
mod rounding;
pub mod theorems;
pub mod training;

pub use check::{Check, CheckReport, Figure, Limit};
pub use controls::Control;
pub use difference::derivative;
pub use function::{Function, Wanted};
pub use gradients::{
    Case, CaseReport, ControlReport, EXACT_TOLERANCE, GradientReport, TOLERANCE, Worst, check,
    check_all,
};
pub use layer::{Layer, check_layer, layer_case};
pub use rounding::{
    RoundingControl, RoundingReport, TensorReport, UNEXPLAINED, check_all_rounding, check_rounding,
};
