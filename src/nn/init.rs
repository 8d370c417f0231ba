//! Initial weights, as PyTorch's defaults: linear weights and biases uniform in ±1/√fan_in;
//! the attention's query, key and value weights uniform in ±√(6 / (4·D)) (Xavier on the joint
//! D × 3D matrix), attention biases 0; layer norms 1 and 0; CLS normal with deviation 0.02.
//!
//! Each tensor draws from the stream of its own name, so that adding a layer moves no other weight.

use super::params::Layout;
use crate::num::Real;
use crate::rng::Streams;

/// Fills the arena.
pub fn init<T: Real>(layout: &Layout, streams: &Streams) -> Vec<T> {
    let mut arena = vec![T::ZERO; layout.len()];
    for (name, param) in layout.iter() {
        let (rows, cols) = param.shape();
        let mut rng = streams.stream(name);
        let last = name.rsplit('.').next().unwrap_or(name);
        let attention = ["query", "key_value", "output"].iter().any(|a| name.contains(a));
        let projection = attention && !name.contains("output");
        let bound = match last {
            "gain" => {
                param.slice_mut(&mut arena).fill(T::ONE);
                continue;
            }
            "cls" => {
                let normal = || T::from_f64(0.02 * rng.normal());
                param.slice_mut(&mut arena).fill_with(normal);
                continue;
            }
            "shift" => continue,
            "b" if attention => continue,
            "w" if projection => (6.0 / (4 * rows) as f64).sqrt(),
            "w" => 1.0 / (rows as f64).sqrt(),
            _ => 1.0 / (fan_in(layout, name, cols) as f64).sqrt(),
        };
        param.slice_mut(&mut arena).fill_with(|| T::from_f64(rng.range(-bound, bound)));
    }
    arena
}

/// Inputs of the layer whose bias is called `name`: the rows of its weight.
fn fan_in(layout: &Layout, name: &str, cols: usize) -> usize {
    let weight = name.strip_suffix(".b").map(|n| format!("{n}.w"));
    let found = weight.and_then(|w| layout.find(&w));
    found.map_or(cols, |w| w.shape().0)
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
