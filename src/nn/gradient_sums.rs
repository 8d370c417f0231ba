//! Gradients of many shards, summed in a fixed order.
//!
//! A batch is cut into shards of 64 to 256 tokens, which stay in the cache. Consecutive shards form at
//! most eight groups; the shards of the first group add their gradients one after the other to the
//! result, those of the others to a buffer of the group's own, and the buffers are added in order. Both
//! numbers depend on the batch alone, so the sum has the same bits at any thread count.

use rayon::prelude::*;

use crate::num::{Real, add_assign};

/// Tokens in a shard: a quarter of the batch, within these limits. Small shards serve more threads and
/// stay in the cache, large ones read the weights less often.
const SHARD_TOKENS: (usize, usize) = (64, 256);
/// Groups, and so the largest useful number of threads.
const MAX_GROUPS: usize = 8;
/// Parameters folded in one parallel piece.
const FOLD_PIECE: usize = 1 << 15;

/// Instances in a shard of a batch of `rows`, when each has `tokens` tokens. It depends on the batch
/// alone.
pub fn shard_rows(rows: usize, tokens: usize) -> usize {
    let (least, most) = SHARD_TOKENS;
    ((rows * tokens / 4).clamp(least, most) / tokens).max(1)
}

/// Shards in a group when there are `shards`.
fn group_size(shards: usize) -> usize {
    shards.div_ceil(MAX_GROUPS).max(1)
}

/// Number of groups for `shards` shards; the first needs no buffer.
pub fn group_count(shards: usize) -> usize {
    shards.div_ceil(group_size(shards))
}

/// The gradient buffers.
#[derive(Clone, Debug)]
pub struct GradientSums<T> {
    buffers: Vec<Vec<T>>,
    len: usize,
}

impl<T: Real> GradientSums<T> {
    /// For gradients of `len` parameters.
    pub fn new(len: usize) -> Self {
        GradientSums { buffers: Vec::new(), len }
    }

    /// dp[..len] += Σ over the shards of what `backward(k, shard, grads)` adds to `grads`.
    pub fn accumulate<S: Send>(
        &mut self,
        dp: &mut [T],
        shards: &mut [S],
        backward: impl Fn(usize, &mut S, &mut [T]) + Sync,
    ) {
        let (size, count) = (group_size(shards.len()), group_count(shards.len()));
        let count = count.saturating_sub(1);
        while self.buffers.len() < count {
            self.buffers.push(vec![T::ZERO; self.len]);
        }
        let dp = &mut dp[..self.len];
        let buffers = self.buffers[..count].par_iter_mut().map(Vec::as_mut_slice);
        let targets = rayon::iter::once(&mut *dp).chain(buffers);
        let groups = shards.par_chunks_mut(size).zip(targets);
        groups.enumerate().for_each(|(g, (group, grads))| {
            if g > 0 {
                grads.fill(T::ZERO);
            }
            for (k, shard) in group.iter_mut().enumerate() {
                backward(g * size + k, shard, grads);
            }
        });
        let buffers = &self.buffers[..count];
        let pieces = dp.par_chunks_mut(FOLD_PIECE).enumerate();
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
            let mut sums = GradientSums::new(70_000);
            let mut dp = vec![0.5f64; 70_001];
            for _ in 0..2 {
                sums.accumulate(&mut dp, &mut work, |k, shard, grads| {
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
            assert_eq!(dp[70_000], 0.5, "nothing beyond the buffers' length");
            assert!(group_count(shards) <= MAX_GROUPS);
        }
        assert_eq!((shard_rows(64, 2), shard_rows(5, 64), shard_rows(9, 1000)), (32, 1, 1));
        assert_eq!((shard_rows(128, 16), shard_rows(64, 8), shard_rows(9999, 2)), (16, 16, 128));
    }
}
