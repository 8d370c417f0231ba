//! Multi-head attention, the part between the projections.
//!
//! Per instance and head with d_head = D / heads, for query row s and key row t:
//! A_st = softmax_t(q_s · k_t / √d_head), out_s = Σ_t A_st v_t. With G = ∂ℓ/∂out:
//! ∂ℓ/∂v_t = Σ_s A_st G_s; a_st = G_s · v_t; ∂ℓ/∂score_st = A_st (a_st − Σ_u A_su a_su);
//! ∂ℓ/∂q_s = Σ_t ∂ℓ/∂score_st k_t / √d_head, and likewise for k.
//!
//! Sequences are short (CLS, feature groups, candidates), so each (instance, head) is a plain fused
//! loop: at 8 tokens it is several times faster than a batch of tiny GEMMs.

use crate::linalg::Mat;
use crate::num::{Real, axpy, dot, max, vectorize};

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
    out.fill(T::ZERO);
    att.set_rows(q.rows() * heads);
    if others_only && keys == 1 {
        // There are no others: nothing is attended to.
        att.fill(T::ZERO);
        return;
    }
    vectorize(
        #[inline(always)]
        || {
            for row in 0..q.rows() {
                let first_key = row / queries * keys;
                for h in 0..heads {
                    let cols = h * head..(h + 1) * head;
                    let query = &q.row(row)[cols.clone()];
                    let a = att.row_mut(row * heads + h);
                    for t in 0..keys {
                        a[t] = scale * dot(query, &kv.row(first_key + t)[cols.clone()]);
                    }
                    if others_only {
                        // e^(−∞) is exactly 0, and so is all that the backward pass makes of it.
                        a[row % queries] = T::NEG_INFINITY;
                    }
                    softmax(a);
                    let out = &mut out.row_mut(row)[cols];
                    for t in 0..keys {
                        let value = &kv.row(first_key + t)[width + h * head..][..head];
                        axpy(out, a[t], value);
                    }
                }
            }
        },
    );
}

/// dq and dkv from dout and what the forward pass saved in `att`; both are set. `slopes` is room for one
/// number per key.
pub fn backward<T: Real>(
    dq: &mut Mat<T>,
    dkv: &mut Mat<T>,
    dout: &Mat<T>,
    q: &Mat<T>,
    kv: &Mat<T>,
    att: &Mat<T>,
    slopes: &mut Vec<T>,
    shape: Shape,
) {
    let Shape { heads, keys, queries, .. } = shape;
    slopes.resize(keys, T::ZERO);
    let width = q.cols();
    let head = width / heads;
    let scale = shape.scale::<T>(width);
    dq.set_rows(q.rows());
    dq.fill(T::ZERO);
    dkv.set_rows(kv.rows());
    dkv.fill(T::ZERO);
    let slopes = &mut slopes[..keys];
    vectorize(
        #[inline(always)]
        || {
            for row in 0..q.rows() {
                let first_key = row / queries * keys;
                for h in 0..heads {
                    let (from, value_from) = (h * head, width + h * head);
                    let a = att.row(row * heads + h);
                    let g = &dout.row(row)[from..][..head];
                    let query = &q.row(row)[from..][..head];
                    // mean = Σ_u A_u a_u, the rank-one term of the softmax Jacobian.
                    let mut mean = T::ZERO;
                    for t in 0..keys {
                        let value = &kv.row(first_key + t)[value_from..][..head];
                        slopes[t] = dot(g, value);
                        mean = a[t].mul_add(slopes[t], mean);
                    }
                    let dquery = &mut dq.row_mut(row)[from..][..head];
                    for t in 0..keys {
                        let pair = kv.row(first_key + t);
                        let dscore = scale * a[t] * (slopes[t] - mean);
                        axpy(dquery, dscore, &pair[from..][..head]);
                        let dpair = dkv.row_mut(first_key + t);
                        axpy(&mut dpair[from..][..head], dscore, query);
                        axpy(&mut dpair[value_from..][..head], a[t], g);
                    }
                }
            }
        },
    );
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
