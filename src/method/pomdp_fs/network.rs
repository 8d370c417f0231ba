//! The shared encoder with its three heads, in one arena.
//!
//! Order in the arena: encoder f_enc, discriminative head h_disc, label policy θ, feature policy ψ.
//! The groups that the paper optimises apart (App. G) are therefore contiguous ranges.

use std::ops::Range;

use crate::linalg::Mat;
use crate::nn::init::init;
use crate::nn::{Encoder, EncoderConfig, Layout, Linear};
use crate::num::Real;
use crate::rng::Streams;
use crate::{Error, Result};

/// Where all parameters lie.
#[derive(Clone, Debug)]
pub struct Network {
    /// Names and places.
    pub layout: Layout,
    /// f_enc.
    pub encoder: Encoder,
    /// h_disc: φ → U, the logits of the labels.
    pub disc: Linear,
    /// θ: φ → s, the logits of keeping a candidate.
    pub label_policy: Linear,
    /// ψ: h → scores of the features.
    pub feature_policy: Linear,
    config: EncoderConfig,
    encoder_len: usize,
}

impl Network {
    /// Lays out the parameters; refuses impossible sizes.
    pub fn new(config: EncoderConfig) -> Result<Self> {
        let mut layout = Layout::default();
        let encoder = Encoder::new(&mut layout, config)?;
        let encoder_len = layout.len();
        let EncoderConfig { width, labels, features, .. } = config;
        let disc = Linear::new(&mut layout, "disc", width, labels);
        let label_policy = Linear::new(&mut layout, "label_policy", width, labels);
        let feature_policy = Linear::new(&mut layout, "feature_policy", width, features);
        Ok(Network { layout, encoder, disc, label_policy, feature_policy, config, encoder_len })
    }

    /// Sizes and variants of the encoder; the heads follow from them.
    pub fn config(&self) -> EncoderConfig {
        self.config
    }

    /// f_enc in the arena.
    pub fn encoder_range(&self) -> Range<usize> {
        0..self.encoder_len
    }

    /// f_enc and h_disc in the arena.
    pub fn disc_range(&self) -> Range<usize> {
        0..self.disc.b.range().end
    }

    /// θ in the arena.
    pub fn label_policy_range(&self) -> Range<usize> {
        self.label_policy.w.range().start..self.label_policy.b.range().end
    }

    /// ψ in the arena.
    pub fn feature_policy_range(&self) -> Range<usize> {
        self.feature_policy.w.range().start..self.feature_policy.b.range().end
    }

    /// Initial weights, each tensor from its own stream. ψ starts at zero: a uniform policy.
    pub fn init<T: Real>(&self, streams: &Streams) -> Vec<T> {
        let mut p = init(&self.layout, streams);
        p[self.feature_policy_range()].fill(T::ZERO);
        p
    }

    /// Refuses features `x` (B × d) and weights `p` that the network cannot take, with the place of
    /// the first bad value. The layers themselves do not look: they pass a NaN on, visibly, so this
    /// belongs before the first step. Any number of rows is fine, none included.
    pub fn check_inputs<T: Real>(&self, x: &Mat<T>, p: &[T]) -> Result<()> {
        let features = self.config.features;
        if x.cols() != features {
            return Err(Error::found(format!("{} features", x.cols()), features));
        }
        if p.len() != self.layout.len() {
            return Err(Error::found(format!("{} weights", p.len()), self.layout.len()));
        }
        x.check_finite("features")?;
        self.layout.check_finite(p, "weight")
    }

    /// Refuses targets `y` that are not one number in [0, 1] for each of `rows` instances and each
    /// label.
    pub fn check_targets<T: Real>(&self, rows: usize, y: &Mat<T>) -> Result<()> {
        let labels = self.config.labels;
        if (y.rows(), y.cols()) != (rows, labels) {
            let found = format!("targets of size {}×{}", y.rows(), y.cols());
            return Err(Error::found(found, format!("{rows}×{labels}")));
        }
        y.check_finite("targets")?;
        let outside = y.as_slice().iter().position(|&v| v < T::ZERO || v > T::ONE);
        if let Some(at) = outside {
            let (row, label) = (at / labels, at % labels);
            let found = format!("target {} in row {row}, label {label} (from 0)", y.as_slice()[at]);
            return Err(Error::found(found, "a number from 0 to 1"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_tile_the_arena() {
        let n = Network::new(EncoderConfig::paper(11, 4)).unwrap();
        assert_eq!(n.encoder_range().end, n.disc.w.range().start);
        assert_eq!(n.disc_range().end, n.label_policy_range().start);
        assert_eq!(n.label_policy_range().end, n.feature_policy_range().start);
        assert_eq!(n.feature_policy_range().end, n.layout.len());
        assert_eq!(n.label_policy_range().len(), (128 + 1) * 4);
        let p: Vec<f32> = n.init(&Streams::new(0));
        assert!(p[n.feature_policy_range()].iter().all(|&w| w == 0.0));
        assert!(p[n.disc_range()].iter().any(|&w| w != 0.0));
    }
}
