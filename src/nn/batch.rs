//! The encoder over a whole batch: shards in parallel, gradients folded in a fixed order.
//!
//! A batch is cut into shards of about 64 tokens, which stay in the cache; each shard has its own
//! activations. Shards are dealt to at most eight *lanes* in runs; a lane accumulates the gradients
//! of its shards one after the other, and the lanes are added in order. Both numbers depend on the
//! batch alone, so the sum has the same bits at any thread count.

use rayon::prelude::*;

use super::dropout::Dropout;
use super::encoder::{Encoder, Workspace};
use crate::linalg::{Mat, View};
use crate::num::{Real, add_assign};

/// Tokens in a shard.
const SHARD_TOKENS: usize = 64;
/// Gradient buffers, and so the largest useful number of threads.
const MAX_LANES: usize = 8;
/// Parameters folded in one parallel piece.
const FOLD_PIECE: usize = 1 << 15;

/// An encoder with the memory for batches.
pub struct Batch<T> {
    encoder: Encoder,
    shard_rows: usize,
    shards: Vec<Workspace<T>>,
    lanes: Vec<Vec<T>>,
}

impl<T: Real> Batch<T> {
    /// `parameters` is the length of the encoder's part of the arena, which it must begin.
    pub fn new(encoder: Encoder, parameters: usize) -> Self {
        Batch {
            shard_rows: (SHARD_TOKENS / encoder.tokens.count()).max(1),
            encoder,
            shards: Vec::new(),
            lanes: vec![vec![T::ZERO; parameters]],
        }
    }

    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Makes room for `rows` instances; returns the number of shards and of shards in a lane.
    fn reserve(&mut self, rows: usize) -> (usize, usize) {
        let shards = rows.div_ceil(self.shard_rows);
        let per_lane = shards.div_ceil(MAX_LANES).max(1);
        while self.shards.len() < shards {
            self.shards.push(self.encoder.workspace(self.shard_rows));
        }
        let parameters = self.lanes[0].len();
        while self.lanes.len() < shards.div_ceil(per_lane) {
            self.lanes.push(vec![T::ZERO; parameters]);
        }
        (shards, per_lane)
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
        let (count, _) = self.reserve(rows);
        let encoder = &self.encoder;
        self.shards[..count]
            .par_iter_mut()
            .enumerate()
            .for_each(|(k, ws)| {
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
        let (count, per_lane) = self.reserve(rows);
        let used = count.div_ceil(per_lane);
        let encoder = &self.encoder;
        let runs = self.shards[..count].par_chunks_mut(per_lane);
        runs.zip(self.lanes[..used].par_iter_mut())
            .enumerate()
            .for_each(|(lane, (run, grads))| {
                grads.fill(T::ZERO);
                for (k, ws) in run.iter_mut().enumerate() {
                    let from = (lane * per_lane + k) * per;
                    let to = rows.min(from + per);
                    let candidates = candidates.map(|c| c.slice_rows(from, to));
                    let dphi = dphi.view().slice_rows(from, to);
                    encoder.backward(ws, None, grads, dphi, x.slice_rows(from, to), candidates, p);
                }
            });
        let lanes = &self.lanes[..used];
        let dp = &mut dp[..lanes[0].len()];
        dp.par_chunks_mut(FOLD_PIECE)
            .enumerate()
            .for_each(|(k, piece)| {
                let from = k * FOLD_PIECE;
                for lane in lanes {
                    add_assign(piece, &lane[from..from + piece.len()]);
                }
            });
    }
}
