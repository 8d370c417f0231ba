//! The network, layer by layer: each file holds one layer's formula, forward and backward.
//!
//! Conventions of every layer:
//! * activations are row-major, one row per token (or per instance); weights are `in × out`, so
//!   `out = inp · W + b`;
//! * `forward(out, saved, inp, weights)`, `backward(dinp, dweights, dout, inp, weights, saved)`;
//!   what the forward saves for the backward is an argument, never hidden state;
//! * gradients of *weights* accumulate (`+=`), because a weight is used many times in a step;
//!   gradients of *activations* are set, because each is made once; exceptions say `add`;
//! * the code is generic over [`crate::num::Real`]: trained in f32, audited in f64, the same lines.

pub mod activation;
pub mod adam;
pub mod attention;
pub mod batch;
pub mod block;
pub mod dropout;
pub mod encoder;
pub mod gradient_sums;
pub mod init;
pub mod label_context;
pub mod layernorm;
pub mod linear;
pub mod loss;
pub mod params;
pub mod policy;
pub mod tokens;

pub use activation::Activation;
pub use adam::{Adam, AdamConfig};
pub use batch::BatchSaved;
pub use dropout::Dropout;
pub use encoder::{Encoder, EncoderConfig, NormPlace};
pub use init::Init;
pub use linear::Linear;
pub use params::{Layout, Param};
