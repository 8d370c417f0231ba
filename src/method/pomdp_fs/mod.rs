//! POMDP-FS, the paper's method: Stage 1 disambiguates the candidate labels, Stage 2 selects
//! features. This folder holds the numerics of both stages; `docs/notation.md` maps the symbols.

pub mod disambiguation;
pub mod network;
pub mod rollout;

pub use disambiguation::{DiscLoss, DiscWeights, Stage1};
pub use network::{Network, NetworkConfig};
pub use rollout::{Rollouts, Stage2Loss, Stage2Weights, Trajectories};
