//! Gradients of many shards, summed in a fixed order.
//!
//! A batch is cut into shards of 64 to 256 tokens, which stay in the cache. Consecutive shards form at
//! most eight groups; the shards of the first group add their gradients one after the other to the
//! result, those of the others to a buffer of the group's own, and the buffers are added in order. Both
//! numbers depend on the batch alone, so the sum has the same bits at any thread count.

use std::ops::Range;

use rayon::prelude::*;

use crate::num::{Real, add_assign, vectorize};

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
    /// If a shard adds to each parameter once, but for these ranges, where it adds row after row.
    by_rows: Option<Vec<Range<usize>>>,
    /// Sums of those ranges that are set aside.
    aside: Vec<T>,
}

impl<T: Real> GradientSums<T> {
    /// For gradients of `len` parameters.
    pub fn new(len: usize) -> Self {
        GradientSums { buffers: Vec::new(), len, by_rows: None, aside: Vec::new() }
    }

    /// The same for a backward pass that adds to each parameter once, but for those of `by_rows`.
    pub fn once_per_shard(len: usize, by_rows: Vec<Range<usize>>) -> Self {
        GradientSums { by_rows: Some(by_rows), ..GradientSums::new(len) }
    }

    /// dp[..len] += Σ over the shards of what `backward(k, shard, grads)` adds to `grads`. `one_sum` says
    /// that what is added once is a single sum for this size of shards.
    pub fn accumulate<S: Send>(
        &mut self,
        dp: &mut [T],
        shards: &mut [S],
        one_sum: bool,
        backward: impl Fn(usize, &mut S, &mut [T]) + Sync,
    ) {
        let (size, count) = (group_size(shards.len()), group_count(shards.len()));
        let count = count.saturating_sub(1);
        let dp = &mut dp[..self.len];
        if rayon::current_num_threads() == 1 {
            if size == 1 && one_sum && self.by_rows.is_some() {
                return self.in_place(dp, shards, backward);
            }
            return self.one_after_the_other(dp, shards, size, backward);
        }
        while self.buffers.len() < count {
            self.buffers.push(vec![T::ZERO; self.len]);
        }
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

    /// The same sums on one thread, where each group is one shard: what a shard adds once may as well be
    /// added to the result. What it adds row after row is summed from zero, with the result set aside.
    fn in_place<S>(
        &mut self,
        dp: &mut [T],
        shards: &mut [S],
        backward: impl Fn(usize, &mut S, &mut [T]),
    ) {
        let by_rows = self.by_rows.as_deref().unwrap_or_default();
        self.aside.resize(by_rows.iter().map(Range::len).sum(), T::ZERO);
        for (k, shard) in shards.iter_mut().enumerate() {
            if k == 0 {
                backward(k, shard, dp);
                continue;
            }
            let mut aside = &mut self.aside[..];
            for range in by_rows {
                let (part, rest) = aside.split_at_mut(range.len());
                part.copy_from_slice(&dp[range.clone()]);
                dp[range.clone()].fill(T::ZERO);
                aside = rest;
            }
            backward(k, shard, dp);
            let mut aside = &self.aside[..];
            for range in by_rows {
                let (part, rest) = aside.split_at(range.len());
                add_assign(&mut dp[range.clone()], part);
                aside = rest;
            }
        }
    }

    /// The same sums on one thread, where all groups share one buffer, which stays in the cache: a group
    /// is added to the result as soon as it is done, and that is the order of the groups.
    fn one_after_the_other<S>(
        &mut self,
        dp: &mut [T],
        shards: &mut [S],
        size: usize,
        backward: impl Fn(usize, &mut S, &mut [T]),
    ) {
        if shards.len() > size && self.buffers.is_empty() {
            self.buffers.push(vec![T::ZERO; self.len]);
        }
        for (g, group) in shards.chunks_mut(size).enumerate() {
            if g == 1 {
                self.buffers[0].fill(T::ZERO);
            }
            let grads = if g == 0 { &mut *dp } else { &mut self.buffers[0][..] };
            for (k, shard) in group.iter_mut().enumerate() {
                backward(g * size + k, shard, grads);
            }
            if g > 0 {
                add_and_clear(dp, &mut self.buffers[0]);
            }
        }
    }
}

/// y ← y + x, x ← 0: the buffer is read once.
fn add_and_clear<T: Real>(y: &mut [T], x: &mut [T]) {
    vectorize(
        #[inline(always)]
        || {
            for (y, x) in y.iter_mut().zip(x) {
                *y += *x;
                *x = T::ZERO;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One addition for each shard, but for two ranges, which are summed row by row: in place on one thread,
    /// in buffers on three.
    #[test]
    fn in_place_gives_the_bits_of_buffers() {
        let by_rows = vec![3..10, 500..777];
        let told = |told: &[Range<usize>], threads: usize, shards: usize, one_sum: bool| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut sums = GradientSums::once_per_shard(1000, told.to_vec());
            let (mut dp, mut work) = (vec![0.1f32; 1100], vec![(); shards]);
            for _ in 0..2 {
                pool.install(|| {
                    sums.accumulate(&mut dp, &mut work, one_sum, |k, (), grads| {
                        let rows =
                            |i: usize| if by_rows.iter().any(|r| r.contains(&i)) { 5 } else { 1 };
                        for (i, g) in grads.iter_mut().enumerate() {
                            for row in 0..rows(i) {
                                *g += 1.0 / (1 + (i + row) * (k + 3)) as f32;
                            }
                        }
                    });
                });
            }
            dp
        };
        let run = |threads, shards, one_sum| told(&by_rows, threads, shards, one_sum);
        assert!(told(&[], 1, 5, true) != run(3, 5, true), "who is not told sums otherwise");
        for shards in [1, 2, 5, 8, 9] {
            assert!(run(1, shards, true) == run(3, shards, true), "{shards} shards");
            assert!(run(1, shards, true) == run(1, shards, false), "{shards} shards");
        }
    }

    /// One buffer for all groups against one for each: numbers whose sum depends on the order.
    #[test]
    fn one_thread_gives_the_bits_of_many() {
        let run = |threads: usize, shards: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut sums = GradientSums::new(40_000);
            let (mut dp, mut work) = (vec![0.1f32; 40_000], vec![(); shards]);
            for _ in 0..2 {
                pool.install(|| {
                    sums.accumulate(&mut dp, &mut work, true, |k, (), grads| {
                        for (i, g) in grads.iter_mut().enumerate() {
                            *g += 1.0 / (1 + i * (k + 3)) as f32;
                        }
                    });
                });
            }
            dp
        };
        for shards in [1, 2, 8, 13, 17] {
            assert!(run(1, shards) == run(3, shards), "{shards} shards");
        }
    }

    #[test]
    fn every_shard_counts_once_in_order() {
        for shards in [1usize, 2, 7, 8, 9, 16, 17, 40] {
            let mut work: Vec<usize> = (0..shards).collect();
            let mut sums = GradientSums::new(70_000);
            let mut dp = vec![0.5f64; 70_001];
            for _ in 0..2 {
                sums.accumulate(&mut dp, &mut work, true, |k, shard, grads| {
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
