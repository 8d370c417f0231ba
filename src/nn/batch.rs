//! The encoder over a whole batch: shards in parallel, gradients added in a fixed order.
//!
//! Shards and their gradients: see [`super::gradient_sums`].

use rayon::prelude::*;

use super::dropout::Dropout;
use super::encoder::{Encoder, Workspace};
use super::gradient_sums::{GradientSums, shard_rows};
use super::params::Layout;
use crate::linalg::{Mat, View, reference};
use crate::num::Real;

/// What the forward pass over a batch keeps for the backward pass, shard by shard, and the
/// gradient buffers. It grows with the largest batch and is used again for the next one.
pub struct BatchSaved<T> {
    shards: Vec<Workspace<T>>,
    sums: GradientSums<T>,
}

impl<T: Real> BatchSaved<T> {
    /// `parameters` is the length of the encoder's part of the arena, which it must begin.
    pub fn new(layout: &Layout, parameters: usize) -> Self {
        let sums = GradientSums::once_per_shard(parameters, layout.summed_by_rows(parameters));
        BatchSaved { shards: Vec::new(), sums }
    }
}

impl Encoder {
    /// phi (B × D) from x (B × d) and the candidates (B × L).
    pub fn forward_batch<T: Real>(
        &self,
        phi: &mut Mat<T>,
        saved: &mut BatchSaved<T>,
        x: View<'_, T>,
        candidates: Option<View<'_, T>>,
        p: &[T],
        dropout: Option<Dropout>,
    ) {
        let (rows, per) = (x.rows(), shard_rows(x.rows(), self.tokens.count()));
        let count = rows.div_ceil(per);
        while saved.shards.len() < count {
            saved.shards.push(self.workspace());
        }
        let shards = &mut saved.shards[..count];
        shards.par_iter_mut().enumerate().for_each(|(k, ws)| {
            let (from, to) = (k * per, rows.min((k + 1) * per));
            let candidates = candidates.map(|c| c.slice_rows(from, to));
            self.forward(ws, x.slice_rows(from, to), candidates, p, dropout, from);
        });
        phi.set_rows(rows);
        for (k, ws) in shards.iter().enumerate() {
            for i in 0..ws.phi.rows() {
                phi.row_mut(k * per + i).copy_from_slice(ws.phi.row(i));
            }
        }
    }

    /// Accumulates the encoder's gradients from dphi (B × D), with what the forward pass of this
    /// batch saved.
    pub fn backward_batch<T: Real>(
        &self,
        dp: &mut [T],
        dphi: &Mat<T>,
        x: View<'_, T>,
        candidates: Option<View<'_, T>>,
        p: &[T],
        saved: &mut BatchSaved<T>,
    ) {
        let (rows, per) = (x.rows(), shard_rows(x.rows(), self.tokens.count()));
        let shards = &mut saved.shards[..rows.div_ceil(per)];
        let one_sum = per * self.tokens.count() <= reference::K_BLOCK;
        saved.sums.accumulate(dp, shards, one_sum, |k, ws, grads| {
            let (from, to) = (k * per, rows.min((k + 1) * per));
            let candidates = candidates.map(|c| c.slice_rows(from, to));
            let dphi = dphi.view().slice_rows(from, to);
            self.backward(ws, None, grads, dphi, x.slice_rows(from, to), candidates, p);
        });
    }
}
