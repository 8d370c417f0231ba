//! POMDP-FS, the paper's method: Stage 1 disambiguates the candidate labels, Stage 2 selects
//! features. `docs/method.md` goes through it equation by equation, `docs/notation.md` maps the
//! symbols.
//!
//! The default preset: [`belief`] (Stage 1 on top of [`super::observation`]), [`stage2::sequential`]
//! (Stage 2), `default_fit` (both together). Preset `paper`: [`network`] (encoder and heads), [`stage1`]
//! and [`stage2`] (losses and training loops), [`fit`] (both together). For both: [`checkpoint`],
//! [`model`] and [`columns`] (what a fit learned, for new rows), [`config`] (every setting), `consensus`
//! (several fits with other seeds).
//!
//! ```
//! use pomdp_fs::{data::Labels, linalg::Mat, rng::Streams};
//! use pomdp_fs::method::{Context, Method, Silent, Training, pomdp_fs::{Config, PomdpFs}};
//!
//! let mut rng = Streams::new(7).stream("example");
//! let x = Mat::from_fn(200, 6, |_, _| rng.normal() as f32);
//! let truth = Labels::from_fn(200, 2, |i, j| x[(i, j)] > 0.4);
//! let candidates = Labels::from_fn(200, 2, |i, j| truth.get(i, j) || rng.bernoulli(0.3));
//!
//! let config = Config { width: 16, heads: 2, epochs1: 20, ..Config::default() };
//! let mut observer = Silent; // or your own: it hears about the progress and may stop the fit
//! let mut context = Context { streams: Streams::new(0), budget: 2, observer: &mut observer };
//! let training = Training { x: &x, candidates: &candidates };
//! let fitted = PomdpFs::new(config).fit(&training, &mut context)?;
//!
//! let pseudo = fitted.pseudo.unwrap();
//! assert!(pseudo.hamming_distance(&truth) < candidates.hamming_distance(&truth));
//! assert_eq!(fitted.ranking.len(), 6); // best feature first
//! # Ok::<(), pomdp_fs::Error>(())
//! ```

pub mod belief;
pub mod checkpoint;
pub mod columns;
pub mod config;
mod consensus;
mod default_fit;
pub mod fit;
mod memory;
mod method;
pub mod model;
pub mod network;
pub mod stage1;
pub mod stage2;

pub use columns::Matched;
pub use config::{Config, Preset, Ranking};
pub use consensus::{Consensus, OneFit, Stability};
pub use fit::{Fit, History2, Progress, Trained};
pub use method::PomdpFs;
pub use model::{Description, Model, Weights};
pub use network::Network;
