//! Gradients of many shards, summed in a fixed order.
//!
//! A batch is cut into shards of about 64 tokens, which stay in the cache. Shards are dealt to at
//! most eight *lanes* in runs; a lane accumulates its shards one after the other in its own buffer,
//! and the lanes are added in order. Both numbers depend on the batch alone, so the sum has the
//! same bits at any thread count.

use rayon::prelude::*;

use crate::num::{Real, add_assign};

/// Tokens in a shard.
const SHARD_TOKENS: usize = 64;
/// Gradient buffers, and so the largest useful number of threads.
const MAX_LANES: usize = 8;
/// Parameters folded in one parallel piece.
const FOLD_PIECE: usize = 1 << 15;

/// Instances in a shard when each has `tokens` tokens.
pub fn shard_rows(tokens: usize) -> usize {
    (SHARD_TOKENS / tokens).max(1)
}

/// Shards in a lane when there are `shards`.
fn run_length(shards: usize) -> usize {
    shards.div_ceil(MAX_LANES).max(1)
}

/// Number of lanes for `shards` shards.
pub fn lane_count(shards: usize) -> usize {
    shards.div_ceil(run_length(shards))
}

/// The gradient buffers.
#[derive(Clone, Debug)]
pub struct Lanes<T> {
    buffers: Vec<Vec<T>>,
    len: usize,
}

impl<T: Real> Lanes<T> {
    /// For gradients of `len` parameters.
    pub fn new(len: usize) -> Self {
        Lanes { buffers: Vec::new(), len }
    }

    /// dp[..len] += Σ over the shards of what `backward(k, shard, grads)` adds to `grads`.
    pub fn accumulate<S: Send>(
        &mut self,
        dp: &mut [T],
        shards: &mut [S],
        backward: impl Fn(usize, &mut S, &mut [T]) + Sync,
    ) {
        let (length, lanes) = (run_length(shards.len()), lane_count(shards.len()));
        while self.buffers.len() < lanes {
            self.buffers.push(vec![T::ZERO; self.len]);
        }
        let buffers = &mut self.buffers[..lanes];
        let runs = shards.par_chunks_mut(length).zip(buffers.par_iter_mut());
        runs.enumerate().for_each(|(lane, (run, grads))| {
            grads.fill(T::ZERO);
            for (k, shard) in run.iter_mut().enumerate() {
                backward(lane * length + k, shard, grads);
            }
        });
        let buffers = &self.buffers[..lanes];
        let pieces = dp[..self.len].par_chunks_mut(FOLD_PIECE).enumerate();
        pieces.for_each(|(k, piece)| {
            let from = k * FOLD_PIECE;
            for buffer in buffers {
                add_assign(piece, &buffer[from..from + piece.len()]);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shard_counts_once_in_order() {
        for shards in [1usize, 2, 7, 8, 9, 16, 17, 40] {
            let mut work: Vec<usize> = (0..shards).collect();
            let mut lanes = Lanes::new(70_000);
            let mut dp = vec![0.5f64; 70_001];
            for _ in 0..2 {
                lanes.accumulate(&mut dp, &mut work, |k, shard, grads| {
                    assert_eq!(k, *shard);
                    for (i, g) in grads.iter_mut().enumerate() {
                        *g += (k + 1) as f64 * (i % 3) as f64;
                    }
                });
            }
            let total = (shards * (shards + 1)) as f64;
            for i in [0, 1, 2, 32_768, 65_537, 69_999] {
                assert_eq!(dp[i], 0.5 + total * (i % 3) as f64, "{shards} shards");
            }
            assert_eq!(dp[70_000], 0.5, "nothing beyond the lanes' length");
            assert!(lane_count(shards) <= MAX_LANES);
        }
        assert_eq!((shard_rows(2), shard_rows(64), shard_rows(1000)), (32, 1, 1));
    }
}
