//! Multi-head attention, the part between the projections.
//!
//! Per instance and head with d_head = D / heads, for query row s and key row t:
//! A_st = softmax_t(q_s · k_t / √d_head), out_s = Σ_t A_st v_t. With G = ∂ℓ/∂out:
//! ∂ℓ/∂v_t = Σ_s A_st G_s; a_st = G_s · v_t; ∂ℓ/∂score_st = A_st (a_st − Σ_u A_su a_su);
//! ∂ℓ/∂q_s = Σ_t ∂ℓ/∂score_st k_t / √d_head, and likewise for k.
//!
//! Scores and slopes are products of rows, the other four sums small matrix products, all heads of all
//! instances in one call.

use crate::linalg::{Mat, Pieces, View, ViewMut, dots, gemm_pieces};
use crate::num::{Real, max, vectorize};

/// Sizes of an attention call.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Number of heads.
    pub heads: usize,
    /// Keys (tokens) per instance, S.
    pub keys: usize,
    /// Queries per instance: S, or 1 when only the first token is wanted.
    pub queries: usize,
    /// Query s attends to all keys but key s; needs as many queries as keys.
    pub others_only: bool,
}

impl Shape {
    fn scale<T: Real>(&self, width: usize) -> T {
        T::ONE / T::from_f64((width / self.heads) as f64).sqrt()
    }
}

/// Numbers of A that are made at a time: they stay in the nearest cache.
const AT_A_TIME: usize = 2048;

/// out and A from q (B·queries × D) and kv (B·keys × 2D, keys then values).
/// A is stored with one row per (query row, head): B·queries·heads × keys.
pub fn forward<T: Real>(out: &mut Mat<T>, att: &mut Mat<T>, q: &Mat<T>, kv: &Mat<T>, shape: Shape) {
    let Shape { heads, keys, queries, others_only } = shape;
    assert!(!others_only || queries == keys, "each key has a query of its own");
    let width = q.cols();
    let scale = shape.scale::<T>(width);
    out.set_rows(q.rows());
    att.set_rows(q.rows() * heads);
    if others_only && keys == 1 {
        // There are no others: nothing is attended to.
        out.fill(T::ZERO);
        att.fill(T::ZERO);
    }
    if q.rows() == 0 || (others_only && keys == 1) {
        return;
    }
    let parts = Parts { shape, instances: q.rows() / queries, width };
    dots(
        parts.each(Of::Scores, Of::Queries, Of::Keys),
        parts.scores_mut(att.as_mut_slice()),
        parts.queries(q),
        parts.keys(kv, 0),
    );
    let rows = (AT_A_TIME / keys).max(1);
    vectorize(
        #[inline(always)]
        || {
            for (k, a) in att.as_mut_slice().chunks_mut(rows * keys).enumerate() {
                let hidden = |row: usize| others_only.then_some((k * rows + row) / heads % keys);
                softmax(a, keys, scale, hidden);
            }
        },
    );
    gemm_pieces(
        parts.each(Of::Queries, Of::Scores, Of::Keys),
        parts.queries_mut(out),
        parts.scores(att.as_slice()),
        parts.keys(kv, width),
    );
}

/// dq and dkv from dout and what the forward pass saved in `att`; both are set. `dscores` is room for the
/// slopes of all scores.
pub fn backward<T: Real>(
    dq: &mut Mat<T>,
    dkv: &mut Mat<T>,
    dout: &Mat<T>,
    q: &Mat<T>,
    kv: &Mat<T>,
    att: &Mat<T>,
    dscores: &mut Vec<T>,
    shape: Shape,
) {
    let Shape { heads, keys, queries, .. } = shape;
    let width = q.cols();
    let scale = shape.scale::<T>(width);
    dq.set_rows(q.rows());
    dkv.set_rows(kv.rows());
    dscores.resize(q.rows() * heads * keys, T::ZERO);
    if q.rows() == 0 {
        return;
    }
    let parts = Parts { shape, instances: q.rows() / queries, width };
    dots(
        parts.each(Of::Scores, Of::Queries, Of::Keys),
        parts.scores_mut(dscores),
        parts.queries(dout),
        parts.keys(kv, width),
    );
    vectorize(
        #[inline(always)]
        || {
            let rows = att.as_slice().chunks_exact(keys).zip(dscores.chunks_exact_mut(keys));
            for (a, slopes) in rows {
                // mean = Σ_u A_u a_u, the rank-one term of the softmax Jacobian.
                let mut mean = T::ZERO;
                for t in 0..keys {
                    mean = a[t].mul_add(slopes[t], mean);
                }
                for t in 0..keys {
                    slopes[t] = scale * a[t] * (slopes[t] - mean);
                }
            }
        },
    );
    let slopes = parts.scores(dscores);
    gemm_pieces(
        parts.each(Of::Queries, Of::Scores, Of::Keys),
        parts.queries_mut(dq),
        slopes,
        parts.keys(kv, 0),
    );
    let of_keys = parts.each(Of::Keys, Of::Scores, Of::Queries);
    gemm_pieces(of_keys, parts.keys_mut(dkv, 0), slopes.t(), parts.queries(q));
    gemm_pieces(
        of_keys,
        parts.keys_mut(dkv, width),
        parts.scores(att.as_slice()).t(),
        parts.queries(dout),
    );
}

/// In place: softmax of scale · a, row by row, shifted by the maximum; `hidden` names the column of a row
/// that is left out.
#[inline(always)]
fn softmax<T: Real>(a: &mut [T], keys: usize, scale: T, hidden: impl Fn(usize) -> Option<usize>) {
    for (row, a) in a.chunks_exact_mut(keys).enumerate() {
        for v in a.iter_mut() {
            *v *= scale;
        }
        if let Some(s) = hidden(row) {
            // e^(−∞) is exactly 0, and so is all that the backward pass makes of it.
            a[s] = T::NEG_INFINITY;
        }
        let top = max(a);
        for v in a.iter_mut() {
            *v -= top;
        }
    }
    // All rows in one loop: a row may be as short as two keys, and the sum of a row has an order.
    for v in a.iter_mut() {
        *v = v.exp();
    }
    for a in a.chunks_exact_mut(keys) {
        let mut total = T::ZERO;
        for &mut v in a.iter_mut() {
            total += v;
        }
        let factor = T::ONE / total;
        for v in a.iter_mut() {
            *v *= factor;
        }
    }
}

/// What the rows of a matrix belong to.
#[derive(Clone, Copy)]
enum Of {
    /// B·queries × D.
    Queries,
    /// B·keys × 2D.
    Keys,
    /// B·queries·heads × keys.
    Scores,
}

/// The pieces of one instance and one head.
#[derive(Clone, Copy)]
struct Parts {
    shape: Shape,
    instances: usize,
    width: usize,
}

impl Parts {
    fn head(&self) -> usize {
        self.width / self.shape.heads
    }

    /// All pieces of the product C ← A·B of such matrices.
    fn each(&self, c: Of, a: Of, b: Of) -> Pieces {
        let Shape { heads, keys, queries, .. } = self.shape;
        let steps = |of| match of {
            Of::Queries => [queries * self.width, self.head()],
            Of::Keys => [keys * 2 * self.width, self.head()],
            Of::Scores => [queries * heads * keys, keys],
        };
        Pieces { counts: [self.instances, heads], steps: [c, a, b].map(steps) }
    }

    fn queries<'a, T: Real>(&self, m: &'a Mat<T>) -> View<'a, T> {
        m.view().slice_rows(0, self.shape.queries).columns(0, self.head())
    }

    fn queries_mut<'a, T: Real>(&self, m: &'a mut Mat<T>) -> ViewMut<'a, T> {
        m.view_mut().slice_rows(0, self.shape.queries).columns(0, self.head())
    }

    /// Keys from column 0 on, values from column D on.
    fn keys<'a, T: Real>(&self, m: &'a Mat<T>, from: usize) -> View<'a, T> {
        m.view().slice_rows(0, self.shape.keys).columns(from, from + self.head())
    }

    fn keys_mut<'a, T: Real>(&self, m: &'a mut Mat<T>, from: usize) -> ViewMut<'a, T> {
        m.view_mut().slice_rows(0, self.shape.keys).columns(from, from + self.head())
    }

    fn scores<'a, T: Real>(&self, all: &'a [T]) -> View<'a, T> {
        let Shape { heads, keys, queries, .. } = self.shape;
        let all = View::new(all, self.instances * queries * heads, keys);
        all.slice_rows(0, queries * heads).every(heads)
    }

    fn scores_mut<'a, T: Real>(&self, all: &'a mut [T]) -> ViewMut<'a, T> {
        let Shape { heads, keys, queries, .. } = self.shape;
        let all = ViewMut::new(all, self.instances * queries * heads, keys);
        all.slice_rows(0, queries * heads).every(heads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    fn random(rows: usize, cols: usize, name: &str) -> Mat<f64> {
        let mut r = Streams::new(2).stream(name);
        Mat::from_fn(rows, cols, |_, _| r.normal())
    }

    /// One query of one head at a time, straight from the definition.
    fn slow(q: &Mat<f64>, kv: &Mat<f64>, s: Shape) -> Mat<f64> {
        let head = q.cols() / s.heads;
        Mat::from_fn(q.rows(), q.cols(), |row, c| {
            let h = c / head;
            let score = |t: usize| {
                let k = kv.row(row / s.queries * s.keys + t);
                let dot: f64 = (h * head..(h + 1) * head).map(|j| q[(row, j)] * k[j]).sum();
                Real::exp(dot / (head as f64).sqrt())
            };
            let total: f64 = (0..s.keys).map(score).sum();
            let value = |t: usize| kv[(row / s.queries * s.keys + t, q.cols() + c)];
            (0..s.keys).map(|t| score(t) / total * value(t)).sum()
        })
    }

    #[test]
    fn equals_the_definition() {
        for (heads, keys, queries, head) in [(1, 1, 1, 1), (2, 3, 3, 5), (3, 4, 1, 2), (4, 9, 9, 8)]
        {
            let shape = Shape { heads, keys, queries, others_only: false };
            let q = random(2 * queries, heads * head, "q");
            let kv = random(2 * keys, 2 * heads * head, "kv");
            let (mut out, mut att) = (Mat::zeros(0, q.cols()), Mat::zeros(0, keys));
            forward(&mut out, &mut att, &q, &kv, shape);
            let want = slow(&q, &kv, shape);
            for (a, b) in out.as_slice().iter().zip(want.as_slice()) {
                assert!((a - b).abs() < 1e-13, "{heads} {keys} {queries}");
            }
            for row in att.rows_iter() {
                assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            }
        }
    }

    /// Scores far beyond the range of exp must not overflow.
    #[test]
    fn huge_scores_are_harmless() {
        let shape = Shape { heads: 1, keys: 2, queries: 2, others_only: false };
        let q = Mat::<f32>::from_fn(2, 4, |i, _| 1e4 * (i as f32 - 0.5));
        let kv = Mat::<f32>::from_fn(2, 8, |i, _| 1e4 * (0.5 - i as f32));
        let (mut out, mut att) = (Mat::zeros(0, 4), Mat::zeros(0, 2));
        forward(&mut out, &mut att, &q, &kv, shape);
        assert!(crate::num::all_finite(out.as_slice()));
    }
}
