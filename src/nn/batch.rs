//! The encoder over a whole batch: shards in parallel, gradients folded in a fixed order.
//!
//! Shards and their gradients: see [`super::lanes`].

use rayon::prelude::*;

use super::dropout::Dropout;
use super::encoder::{Encoder, Workspace};
use super::lanes::{Lanes, shard_rows};
use crate::linalg::{Mat, View};
use crate::num::Real;

/// An encoder with the memory for batches.
pub struct Batch<T> {
    encoder: Encoder,
    shard_rows: usize,
    shards: Vec<Workspace<T>>,
    lanes: Lanes<T>,
}

impl<T: Real> Batch<T> {
    /// `parameters` is the length of the encoder's part of the arena, which it must begin.
    pub fn new(encoder: Encoder, parameters: usize) -> Self {
        Batch {
            shard_rows: shard_rows(encoder.tokens.count()),
            encoder,
            shards: Vec::new(),
            lanes: Lanes::new(parameters),
        }
    }

    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Makes room for `rows` instances; returns the number of shards.
    fn reserve(&mut self, rows: usize) -> usize {
        let shards = rows.div_ceil(self.shard_rows);
        while self.shards.len() < shards {
            self.shards.push(self.encoder.workspace());
        }
        shards
    }

    /// phi (B × D) from x (B × d) and the candidates (B × L).
    pub fn forward(
        &mut self,
        phi: &mut Mat<T>,
        x: View<'_, T>,
        candidates: Option<View<'_, T>>,
        p: &[T],
        dropout: Option<Dropout>,
    ) {
        let (rows, per) = (x.rows(), self.shard_rows);
        let count = self.reserve(rows);
        let encoder = &self.encoder;
        self.shards[..count].par_iter_mut().enumerate().for_each(|(k, ws)| {
            let (from, to) = (k * per, rows.min((k + 1) * per));
            let candidates = candidates.map(|c| c.slice_rows(from, to));
            encoder.forward(ws, x.slice_rows(from, to), candidates, p, dropout, from);
        });
        phi.set_rows(rows);
        for (k, ws) in self.shards[..count].iter().enumerate() {
            for i in 0..ws.phi.rows() {
                phi.row_mut(k * per + i).copy_from_slice(ws.phi.row(i));
            }
        }
    }

    /// Accumulates the encoder's gradients from dphi (B × D) of the last forward pass.
    pub fn backward(
        &mut self,
        dp: &mut [T],
        dphi: &Mat<T>,
        x: View<'_, T>,
        candidates: Option<View<'_, T>>,
        p: &[T],
    ) {
        let (rows, per) = (x.rows(), self.shard_rows);
        let count = self.reserve(rows);
        let encoder = &self.encoder;
        self.lanes.accumulate(dp, &mut self.shards[..count], |k, ws, grads| {
            let (from, to) = (k * per, rows.min((k + 1) * per));
            let candidates = candidates.map(|c| c.slice_rows(from, to));
            let dphi = dphi.view().slice_rows(from, to);
            encoder.backward(ws, None, grads, dphi, x.slice_rows(from, to), candidates, p);
        });
    }
}
