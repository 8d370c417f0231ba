//! POMDP-FS, the paper's method: Stage 1 disambiguates the candidate labels, Stage 2 selects
//! features. `docs/method.md` goes through it equation by equation, `docs/notation.md` maps the
//! symbols.
//!
//! From the bottom up: [`network`] (encoder and heads), [`disambiguation`] and [`rollout`] (the
//! losses of the two stages, which the audit checks), [`stage1`] and [`stage2`] (their training
//! loops), [`fit`] (both together, resumable), [`config`] (every setting).

pub mod checkpoint;
pub mod config;
pub mod disambiguation;
pub mod fit;
pub mod network;
mod noise_rate;
pub mod rollout;
pub mod stage1;
pub mod stage2;

pub use config::{Config, Preset, Ranking};
pub use disambiguation::{DiscLoss, DiscWeights, Stage1};
pub use fit::{Fit, Outcome, PomdpFs, Progress};
pub use network::{Network, NetworkConfig};
pub use rollout::{Rollouts, Sampled, Stage2Loss, Stage2Weights, Trajectories};
