//! Initial weights, as PyTorch's defaults: linear weights and biases uniform in ±1/√fan_in;
//! the attention's query, key and value weights uniform in ±√(6 / (4·D)) (Xavier on the joint
//! D × 3D matrix), attention biases 0; layer norms 1 and 0; CLS normal with deviation 0.02.
//!
//! A layer says how each of its tensors starts when it lays them out. Each tensor draws from the
//! stream of its own name, so that adding a layer moves no other weight.

use super::params::Layout;
use crate::num::Real;
use crate::rng::Streams;

/// How a tensor starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    /// All 0: shifts, biases of the attention.
    Zero,
    /// All 1: gains.
    One,
    /// Normal with deviation 0.02: the CLS token.
    SmallNormal,
    /// Uniform in ±1/√n for a layer of n inputs: linear weights and biases.
    FanIn(usize),
    /// Uniform in ±√(6 / (4·D)) for width D: projections to queries, keys and values.
    Projection(usize),
}

/// Fills the arena.
pub fn init<T: Real>(layout: &Layout, streams: &Streams) -> Vec<T> {
    let mut arena = vec![T::ZERO; layout.len()];
    for (name, param, init) in layout.entries() {
        let mut rng = streams.stream(name);
        let mut uniform = |bound: f64| T::from_f64(rng.range(-bound, bound));
        let values = param.slice_mut(&mut arena);
        match init {
            Init::Zero => {}
            Init::One => values.fill(T::ONE),
            Init::SmallNormal => values.fill_with(|| T::from_f64(0.02 * rng.normal())),
            Init::FanIn(inputs) => {
                let bound = 1.0 / (inputs as f64).sqrt();
                values.fill_with(|| uniform(bound));
            }
            Init::Projection(width) => {
                let bound = (6.0 / (4 * width) as f64).sqrt();
                values.fill_with(|| uniform(bound));
            }
        }
    }
    arena
}

#[cfg(test)]
mod tests {
    use super::super::{Encoder, EncoderConfig};
    use super::*;

    #[test]
    fn bounds_and_exceptions() {
        let mut layout = Layout::default();
        let config = EncoderConfig { candidate_token: true, ..EncoderConfig::paper(50, 7) };
        Encoder::new(&mut layout, config).unwrap();
        let arena: Vec<f32> = init(&layout, &Streams::new(0));
        let largest = |name: &str| {
            let p = layout.find(name).unwrap();
            p.slice(&arena).iter().fold(0.0f32, |m, v| m.max(v.abs()))
        };
        let near = |got: f32, bound: f64| {
            assert!(f64::from(got) <= bound && f64::from(got) > 0.9 * bound, "{got} {bound}");
        };
        near(largest("block0.query.w"), (6.0f64 / 512.0).sqrt());
        near(largest("block1.key_value.w"), (6.0f64 / 512.0).sqrt());
        near(largest("block0.output.w"), (1.0f64 / 128.0).sqrt());
        near(largest("block0.up.b"), (1.0f64 / 128.0).sqrt());
        near(largest("block0.down.w"), (1.0f64 / 512.0).sqrt());
        near(largest("tokens.features.w"), (1.0f64 / 50.0).sqrt());
        near(largest("tokens.features.b"), (1.0f64 / 50.0).sqrt());
        near(largest("tokens.candidates.b"), (1.0f64 / 7.0).sqrt());
        for zero in ["block0.query.b", "block0.output.b", "block0.norm1.shift"] {
            assert_eq!(largest(zero), 0.0, "{zero}");
        }
        assert!(layout.find("last_norm.gain").unwrap().slice(&arena).iter().all(|&g| g == 1.0));
        let cls = layout.find("tokens.cls").unwrap().slice(&arena);
        let mean_square = cls.iter().map(|v| v * v).sum::<f32>() / cls.len() as f32;
        assert!((mean_square.sqrt() - 0.02).abs() < 0.005, "a normal of deviation 0.02");
    }

    #[test]
    fn a_new_layer_moves_no_old_weight() {
        let arena = |layers| {
            let mut layout = Layout::default();
            let config = EncoderConfig { layers, ..EncoderConfig::paper(9, 3) };
            Encoder::new(&mut layout, config).unwrap();
            let arena: Vec<f64> = init(&layout, &Streams::new(4));
            let p = layout.find("block0.up.w").unwrap();
            p.slice(&arena).to_vec()
        };
        assert_eq!(arena(1), arena(3));
    }
}
