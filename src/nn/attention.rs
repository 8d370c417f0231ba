//! Multi-head attention, the part between the projections.
//!
//! Per instance and head with d_head = D / heads, for query row s and key row t:
//! A_st = softmax_t(q_s · k_t / √d_head), out_s = Σ_t A_st v_t. With G = ∂ℓ/∂out:
//! ∂ℓ/∂v_t = Σ_s A_st G_s; a_st = G_s · v_t; ∂ℓ/∂score_st = A_st (a_st − Σ_u A_su a_su);
//! ∂ℓ/∂q_s = Σ_t ∂ℓ/∂score_st k_t / √d_head, and likewise for k.
//!
//! Scores and slopes are products of rows, the other four sums small matrix products, each head by itself.

use std::ops::Range;

use crate::linalg::{Acc, Mat, View, ViewMut, dots, gemm};
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

/// out and A from q (B·queries × D) and kv (B·keys × 2D, keys then values).
/// A is stored with one row per (query row, head): B·queries·heads × keys.
pub fn forward<T: Real>(out: &mut Mat<T>, att: &mut Mat<T>, q: &Mat<T>, kv: &Mat<T>, shape: Shape) {
    let Shape { heads, keys, queries, others_only } = shape;
    assert!(!others_only || queries == keys, "each key has a query of its own");
    let width = q.cols();
    let head = width / heads;
    let scale = shape.scale::<T>(width);
    out.set_rows(q.rows());
    att.set_rows(q.rows() * heads);
    if others_only && keys == 1 {
        // There are no others: nothing is attended to.
        out.fill(T::ZERO);
        att.fill(T::ZERO);
        return;
    }
    for instance in 0..q.rows() / queries {
        let (queries_of, keys_of) = (piece(instance, queries), piece(instance, keys));
        for h in 0..heads {
            let (of_head, values) = (piece(h, head), piece(heads + h, head));
            let scores =
                att.view_mut().slice_rows(queries_of.start * heads + h, queries_of.end * heads);
            let mut scores = scores.every(heads);
            let query = part(q, &queries_of, &of_head);
            dots(scores.reborrow(), query, part(kv, &keys_of, &of_head));
            vectorize(
                #[inline(always)]
                || {
                    for s in 0..queries {
                        let a = scores.row_mut(s);
                        for v in a.iter_mut() {
                            *v *= scale;
                        }
                        if others_only {
                            // e^(−∞) is exactly 0, and so is all that the backward pass makes of it.
                            a[s] = T::NEG_INFINITY;
                        }
                        softmax(a);
                    }
                },
            );
            let out = out.view_mut().slice_rows(queries_of.start, queries_of.end);
            let out = out.columns(of_head.start, of_head.end);
            gemm(Acc::Set, out, scores.view(), part(kv, &keys_of, &values));
        }
    }
}

/// dq and dkv from dout and what the forward pass saved in `att`; both are set. `dscores` is room for the
/// slopes of one head of one instance.
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
    let head = width / heads;
    let scale = shape.scale::<T>(width);
    dq.set_rows(q.rows());
    dkv.set_rows(kv.rows());
    dscores.resize(queries * keys, T::ZERO);
    for instance in 0..q.rows() / queries {
        let (queries_of, keys_of) = (piece(instance, queries), piece(instance, keys));
        for h in 0..heads {
            let (of_head, values) = (piece(h, head), piece(heads + h, head));
            let a = att.view().slice_rows(queries_of.start * heads + h, queries_of.end * heads);
            let a = a.every(heads);
            let g = part(dout, &queries_of, &of_head);
            let mut slopes = ViewMut::new(dscores, queries, keys);
            dots(slopes.reborrow(), g, part(kv, &keys_of, &values));
            vectorize(
                #[inline(always)]
                || {
                    for s in 0..queries {
                        let (a, slopes) = (a.row(s), slopes.row_mut(s));
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
            let slopes = slopes.view();
            let dquery = dq.view_mut().slice_rows(queries_of.start, queries_of.end);
            let dquery = dquery.columns(of_head.start, of_head.end);
            gemm(Acc::Set, dquery, slopes, part(kv, &keys_of, &of_head));
            let mut dpair = dkv.view_mut().slice_rows(keys_of.start, keys_of.end);
            let dkey = dpair.reborrow().columns(of_head.start, of_head.end);
            gemm(Acc::Set, dkey, slopes.t(), part(q, &queries_of, &of_head));
            let dvalue = dpair.columns(values.start, values.end);
            gemm(Acc::Set, dvalue, a.t(), g);
        }
    }
}

/// Piece number `k` of pieces of `size`.
fn piece(k: usize, size: usize) -> Range<usize> {
    k * size..(k + 1) * size
}

/// The rows of one instance and the columns of one head.
fn part<'a, T: Real>(m: &'a Mat<T>, rows: &Range<usize>, columns: &Range<usize>) -> View<'a, T> {
    m.view().slice_rows(rows.start, rows.end).columns(columns.start, columns.end)
}

/// In place, shifted by the maximum.
#[inline(always)]
fn softmax<T: Real>(a: &mut [T]) {
    let top = max(a);
    // Two loops: the exponentials are independent, the sum has an order.
    for v in a.iter_mut() {
        *v = (*v - top).exp();
    }
    let mut total = T::ZERO;
    for &mut v in a.iter_mut() {
        total += v;
    }
    let factor = T::ONE / total;
    for v in a.iter_mut() {
        *v *= factor;
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
