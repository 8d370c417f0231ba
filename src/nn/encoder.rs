//! The encoder: tokens, N blocks, and the representation φ = the CLS row of the last layer.
//!
//! Paper, 4.1 and App. G: d_model 128, 4 heads, 2 layers, feed-forward 4·d_model, "the token of the
//! final layer". With pre-norm a last layer norm follows, as in PyTorch. Only the CLS row of the
//! last block is computed, since nothing reads the others.

use serde::{Deserialize, Serialize};

use super::activation::Activation;
use super::attention::Shape;
use super::block::{Block, BlockSaved, Scratch};
use super::dropout::Dropout;
use super::layernorm::{LayerNorm, NormSaved};
use super::params::Layout;
use super::tokens::Tokens;
use crate::linalg::{Mat, View, ViewMut};
use crate::num::Real;
use crate::{Error, Result};

pub use super::block::NormPlace;

/// Sizes and variants of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderConfig {
    /// Number of features d.
    pub features: usize,
    /// Number of labels L, the width of the candidate token.
    pub labels: usize,
    /// d_model.
    pub width: usize,
    /// n_head; divides the width.
    pub heads: usize,
    /// n_layer.
    pub layers: usize,
    /// Feed-forward width, 4·d_model in the paper.
    pub ffn: usize,
    /// Where the layer norms stand.
    pub norm: NormPlace,
    /// Feed-forward activation.
    pub activation: Activation,
    /// Number of feature groups F, each a token; at most d.
    pub groups: usize,
    /// Whether the candidates are a token (observation O = (X, C)).
    pub candidate_token: bool,
}

impl EncoderConfig {
    /// The paper's sizes for d features and L labels.
    pub fn paper(features: usize, labels: usize) -> Self {
        EncoderConfig {
            features,
            labels,
            width: 128,
            heads: 4,
            layers: 2,
            ffn: 512,
            norm: NormPlace::Pre,
            activation: Activation::Gelu,
            groups: 1,
            candidate_token: false,
        }
    }

    /// Refuses what cannot be built, with the allowed range.
    pub fn check(&self) -> Result<()> {
        let positive = [
            ("features", self.features),
            ("labels", self.labels),
            ("width", self.width),
            ("heads", self.heads),
            ("layers", self.layers),
            ("ffn", self.ffn),
        ];
        for (name, value) in positive {
            if value == 0 {
                return Err(Error::config(format!("encoder: {name} is 0, expected at least 1")));
            }
        }
        if !self.width.is_multiple_of(self.heads) {
            return Err(Error::config(format!(
                "encoder: width {} is not a multiple of heads {}",
                self.width, self.heads
            )));
        }
        if self.groups == 0 || self.groups > self.features {
            return Err(Error::config(format!(
                "encoder: groups is {}, expected 1 to {} (the number of features)",
                self.groups, self.features
            )));
        }
        Ok(())
    }
}

/// Where the encoder's parameters lie, and what it computes.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: EncoderConfig,
    /// The token builder.
    pub tokens: Tokens,
    blocks: Vec<Block>,
    last_norm: Option<LayerNorm>,
}

/// All activations of one shard: what the forward pass saves and the backward pass needs.
#[derive(Clone, Debug)]
pub struct Workspace<T> {
    /// h[0] are the tokens, h[l] the output of block l.
    h: Vec<Mat<T>>,
    pub(crate) saved: Vec<BlockSaved<T>>,
    last_norm: NormSaved<T>,
    /// φ, B × D.
    pub phi: Mat<T>,
    /// ∂ℓ/∂h of the last layer, which has CLS rows only.
    dcls: Mat<T>,
    /// ∂ℓ/∂h of the other layers, in turn.
    dh: [Mat<T>; 2],
    /// For the last block, and for the others: matrices that shrink and grow again are cleared each time.
    scratch: [Scratch<T>; 2],
    /// Batches that lie one below the other: 1 unless several are shown ([`Encoder::show`]).
    parts: usize,
}

impl<T: Real> Workspace<T> {
    /// The token rows, to be filled before [`Encoder::forward_tokens`].
    pub fn tokens_mut(&mut self) -> &mut Mat<T> {
        &mut self.h[0]
    }

    /// ∂ℓ/∂tokens after [`Encoder::backward_tokens`].
    pub fn dtokens(&self) -> &Mat<T> {
        &self.dh[0]
    }

    /// Takes over the memory of the backward pass from `other`, which is done with it.
    pub fn take_room(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.dcls, &mut other.dcls);
        std::mem::swap(&mut self.dh, &mut other.dh);
        std::mem::swap(&mut self.scratch, &mut other.scratch);
    }

    /// The saved activations of each block.
    pub fn blocks(&self) -> &[BlockSaved<T>] {
        &self.saved
    }
}

impl Encoder {
    /// Lays out all parameters.
    pub fn new(layout: &mut Layout, config: EncoderConfig) -> Result<Self> {
        config.check()?;
        let EncoderConfig { width, ffn, heads, layers, norm, activation, .. } = config;
        let labels = config.candidate_token.then_some(config.labels);
        let tokens = Tokens::new(layout, config.features, config.groups, labels, width);
        let keys = tokens.count();
        let blocks = (0..layers)
            .map(|l| {
                // Nothing reads the last block's other rows.
                let queries = if l + 1 == layers { 1 } else { keys };
                let shape = Shape { heads, keys, queries, others_only: false };
                let name = format!("block{l}");
                Block::new(layout, &name, (width, ffn), shape, norm, activation)
            })
            .collect();
        let last_norm =
            (norm == NormPlace::Pre).then(|| LayerNorm::new(layout, "last_norm", width));
        Ok(Encoder { config, tokens, blocks, last_norm })
    }

    /// Sizes and variants.
    pub fn config(&self) -> &EncoderConfig {
        &self.config
    }

    /// Empty; it takes its size from the first batch and keeps the largest.
    pub fn workspace<T: Real>(&self) -> Workspace<T> {
        let empty = || Mat::zeros(0, self.config.width);
        let scratch = || Scratch::new(self.config.width, self.config.ffn);
        Workspace {
            h: vec![empty(); self.blocks.len() + 1],
            saved: self.blocks.iter().map(Block::saved).collect(),
            last_norm: NormSaved::new(self.config.width),
            phi: empty(),
            dcls: empty(),
            dh: [empty(), empty()],
            scratch: [scratch(), scratch()],
            parts: 1,
        }
    }

    /// Shows in `ws` batches `first` … `first + parts − 1`, each of `rows` instances: one for the forward
    /// pass, several for the backward pass of all of them at once. The rows between pre-norm layers have
    /// one place for all batches, because the backward pass does not read them.
    pub fn show<T: Real>(&self, ws: &mut Workspace<T>, first: usize, parts: usize, rows: usize) {
        for (block, saved) in self.blocks.iter().zip(&mut ws.saved) {
            block.show(saved, first, parts, rows);
        }
        ws.last_norm.show(first * rows, parts * rows);
        ws.phi.show(first * rows, parts * rows);
        let pre = self.config.norm == NormPlace::Pre;
        let tokens = self.tokens.count();
        for (l, h) in ws.h.iter_mut().enumerate() {
            let rows = if l == self.blocks.len() { rows } else { rows * tokens };
            match pre {
                true => h.show(0, rows),
                false => h.show(first * rows, parts * rows),
            }
        }
        ws.parts = parts;
    }

    /// ws.phi from x (B × d) and the candidates (B × L). `first_row` is the place of the first
    /// instance in the batch: it fixes the dropout masks.
    pub fn forward<T: Real>(
        &self,
        ws: &mut Workspace<T>,
        x: View<'_, T>,
        candidates: Option<View<'_, T>>,
        p: &[T],
        dropout: Option<Dropout>,
        first_row: usize,
    ) {
        ws.h[0].set_rows(x.rows() * self.tokens.count());
        self.tokens.forward(ws.h[0].view_mut(), x, candidates, p);
        let only = candidates.is_none().then(|| self.tokens.only_group()).flatten();
        self.forward_tokens(ws, p, dropout, first_row, only);
    }

    /// ws.phi from the tokens that were put into `ws`. `only` is the only token of a sequence that
    /// differs between the instances, if there is one: the first block projects the others once.
    pub fn forward_tokens<T: Real>(
        &self,
        ws: &mut Workspace<T>,
        p: &[T],
        dropout: Option<Dropout>,
        first_row: usize,
        only: Option<usize>,
    ) {
        let s = self.tokens.count();
        for (l, block) in self.blocks.iter().enumerate() {
            let (before, after) = ws.h.split_at_mut(l + 1);
            let (inp, out) = (&before[l], &mut after[0]);
            let carried = if l + 1 == self.blocks.len() { 1 } else { s };
            let dropout = dropout.map(|d| (d, l, first_row * carried));
            block.forward(out, &mut ws.saved[l], inp, p, dropout, only.filter(|_| l == 0));
        }
        let cls = ws.h.last().expect("at least one layer");
        match &self.last_norm {
            Some(norm) => norm.forward(&mut ws.phi, &mut ws.last_norm, cls, p),
            None => {
                ws.phi.set_rows(cls.rows());
                ws.phi.as_mut_slice().copy_from_slice(cls.as_slice());
            }
        }
    }

    /// Accumulates the parameters' gradients from dφ (B × D); sets dx if asked for.
    pub fn backward<T: Real>(
        &self,
        ws: &mut Workspace<T>,
        dx: Option<ViewMut<'_, T>>,
        dp: &mut [T],
        dphi: View<'_, T>,
        x: View<'_, T>,
        candidates: Option<View<'_, T>>,
        p: &[T],
    ) {
        self.backward_tokens(ws, dp, dphi, p);
        self.tokens.backward(dx, dp, ws.dh[0].view(), x, candidates, p);
    }

    /// The same down to the tokens, whose gradient is then `ws.dtokens()`.
    pub fn backward_tokens<T: Real>(
        &self,
        ws: &mut Workspace<T>,
        dp: &mut [T],
        dphi: View<'_, T>,
        p: &[T],
    ) {
        let dcls = &mut ws.dcls;
        match &self.last_norm {
            Some(norm) => norm.backward(dcls, dp, dphi, p, &ws.last_norm),
            None => {
                dcls.set_rows(dphi.rows());
                for i in 0..dphi.rows() {
                    dcls.row_mut(i).copy_from_slice(dphi.row(i));
                }
            }
        }
        let [dout, dinp] = &mut ws.dh;
        let [of_last, of_others] = &mut ws.scratch;
        for (l, block) in self.blocks.iter().enumerate().rev() {
            let last = l + 1 == self.blocks.len();
            let (from, scratch) =
                if last { (&*dcls, &mut *of_last) } else { (&*dout, &mut *of_others) };
            block.backward(dinp, dp, from, &ws.h[l], p, &ws.saved[l], scratch, ws.parts);
            std::mem::swap(dout, dinp);
        }
    }
}

#[cfg(test)]
#[path = "encoder_tests.rs"]
mod tests;
