//! Numbers: the two precisions, elementary functions with reproducible bits, ordered sums.

mod elementwise;
mod log_sum_exp;
mod math;
pub(crate) mod raw;
mod real;
mod reduce;

pub use elementwise::{add_assign, axpy, little_endian, mul_assign, scale};
pub use log_sum_exp::log_sum_exp;
pub use raw::{Class, Fusing, class, fusing, vectorize};
pub use real::Real;
pub use reduce::{all_finite, dot, dot4, max, squared_distance, sum};
