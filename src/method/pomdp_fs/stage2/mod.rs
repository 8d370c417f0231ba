//! Stage 2: feature selection (Section 4.2).
//!
//! [`rollout`] lets the policy select features, [`loss`] has the joint loss of what it did and its
//! gradients, [`train`] the loop around them, [`ranking`] turns a trained policy into a ranking.

pub mod loss;
pub mod ranking;
pub mod rollout;
pub mod sequential;
pub mod train;

#[cfg(test)]
mod tests;
