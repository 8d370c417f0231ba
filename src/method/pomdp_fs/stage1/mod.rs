//! Stage 1: label disambiguation (Section 4.1).
//!
//! [`loss`] has the two losses of a batch and their gradients, [`train`] the loop around them,
//! [`labels`] what a trained policy says about rows.

pub mod labels;
pub mod loss;
pub mod train;
