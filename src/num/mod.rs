//! Numbers: the two precisions that train, the kinds that audit them, elementary functions with
//! reproducible bits, ordered sums.

mod double_double;
mod dual;
mod elementwise;
mod log_sum_exp;
mod math;
mod operators;
pub(crate) mod raw;
mod real;
mod reduce;
mod traced;

pub use double_double::DoubleDouble;
pub use dual::Dual;
pub use elementwise::{add_assign, axpy, little_endian, mul_assign, scale};
pub use log_sum_exp::log_sum_exp;
pub use raw::{CacheLines, Class, Fusing, class, fusing, give_back, multiply_adds, vectorize};
pub use real::Real;
pub use reduce::{all_finite, dot, dot4, max, squared_distance, sum};
pub use traced::{Explained, Rounded, Tape, Traced, record};
