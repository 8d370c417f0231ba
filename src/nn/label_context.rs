//! Label context: what the other labels of an instance say about a label, by attention.
//!
//! Label k of an instance is a token with M values t_k (what is believed of it). Keys and values are
//! affine in t_k with weights of the label's own, queries are learned per label:
//!
//! ```text
//! [key_k, value_k] = E_k0 + Σ_m t_km E_km        a_jk = softmax over k ≠ j of (query_j · key_k / √d_head)
//! out_j = Σ_{k ≠ j} a_jk value_k                 context_j = out_j · o_j
//! ```
//!
//! Own weights per label make the map from t_k to context_j any matrix of rank D. Query j never
//! attends to token j: nothing of t_j reaches context_j. o starts at zero, so the context starts at
//! nothing. t is a number, not a function: no gradient passes through it.

use super::attention::{self, Shape};
use super::init::Init;
use super::params::{Layout, Param};
use crate::linalg::Mat;
use crate::num::{Real, add_assign, axpy, dot, vectorize};

/// Where the parameters lie.
#[derive(Clone, Copy, Debug)]
pub struct LabelContext {
    labels: usize,
    values: usize,
    heads: usize,
    width: usize,
    /// E: for label k the rows k(M + 1) (the constant) … k(M + 1) + M, each keys then values, 2D.
    pub token: Param,
    /// Queries, L × D.
    pub query: Param,
    /// o, L × D.
    pub output: Param,
}

/// What the forward pass saves.
#[derive(Clone, Debug)]
pub struct ContextSaved<T> {
    q: Mat<T>,
    kv: Mat<T>,
    att: Mat<T>,
    out: Mat<T>,
}

/// Memory of the backward pass.
#[derive(Clone, Debug)]
pub struct ContextScratch<T> {
    dout: Mat<T>,
    dq: Mat<T>,
    dkv: Mat<T>,
    dscores: Vec<T>,
}

impl LabelContext {
    /// L labels with M values each; `width` D is a multiple of `heads`.
    pub fn new(
        layout: &mut Layout,
        name: &str,
        labels: usize,
        values: usize,
        (width, heads): (usize, usize),
    ) -> Self {
        assert!(width.is_multiple_of(heads));
        LabelContext {
            labels,
            values,
            heads,
            width,
            token: layout.add(
                format!("{name}.token"),
                labels * (values + 1),
                2 * width,
                Init::FanIn(values + 1),
            ),
            query: layout.add(format!("{name}.query"), labels, width, Init::FanIn(width)),
            output: layout.add(format!("{name}.output"), labels, width, Init::Zero),
        }
    }

    /// Empty; it takes its size from the first batch.
    pub fn saved<T: Real>(&self) -> ContextSaved<T> {
        let empty = |cols| Mat::zeros(0, cols);
        ContextSaved {
            q: empty(self.width),
            kv: empty(2 * self.width),
            att: empty(self.labels),
            out: empty(self.width),
        }
    }

    /// Empty; it takes its size from the first batch.
    pub fn scratch<T: Real>(&self) -> ContextScratch<T> {
        let empty = |cols| Mat::zeros(0, cols);
        ContextScratch {
            dout: empty(self.width),
            dq: empty(self.width),
            dkv: empty(2 * self.width),
            dscores: Vec::new(),
        }
    }

    fn shape(&self) -> Shape {
        Shape { heads: self.heads, keys: self.labels, queries: self.labels, others_only: true }
    }

    /// Adds the context to `out` (B × L), from t (B·L × M).
    pub fn forward<T: Real>(
        &self,
        out: &mut Mat<T>,
        saved: &mut ContextSaved<T>,
        t: &Mat<T>,
        p: &[T],
    ) {
        let (token, query) = (self.token.view(p), self.query.view(p));
        saved.kv.set_rows(t.rows());
        saved.q.set_rows(t.rows());
        vectorize(
            #[inline(always)]
            || {
                for i in 0..t.rows() {
                    let label = i % self.labels;
                    let first = label * (self.values + 1);
                    let kv = saved.kv.row_mut(i);
                    kv.copy_from_slice(token.row(first));
                    for (m, &value) in t.row(i).iter().enumerate() {
                        axpy(kv, value, token.row(first + 1 + m));
                    }
                    saved.q.row_mut(i).copy_from_slice(query.row(label));
                }
            },
        );
        attention::forward(&mut saved.out, &mut saved.att, &saved.q, &saved.kv, self.shape());
        let output = self.output.view(p);
        vectorize(
            #[inline(always)]
            || {
                for (i, c) in out.as_mut_slice().iter_mut().enumerate() {
                    *c += dot(saved.out.row(i), output.row(i % self.labels));
                }
            },
        );
    }

    /// Accumulates the gradients of the parameters from `dout` (B × L).
    pub fn backward<T: Real>(
        &self,
        dp: &mut [T],
        scratch: &mut ContextScratch<T>,
        dout: &Mat<T>,
        t: &Mat<T>,
        p: &[T],
        saved: &ContextSaved<T>,
    ) {
        scratch.dout.set_rows(t.rows());
        let output = self.output.view(p);
        let mut doutput = self.output.view_mut(dp);
        vectorize(
            #[inline(always)]
            || {
                for (i, &d) in dout.as_slice().iter().enumerate() {
                    let label = i % self.labels;
                    // context_j = out_j · o_j
                    axpy(doutput.row_mut(label), d, saved.out.row(i));
                    let row = scratch.dout.row_mut(i);
                    row.fill(T::ZERO);
                    axpy(row, d, output.row(label));
                }
            },
        );
        let ContextScratch { dout, dq, dkv, dscores } = scratch;
        let ContextSaved { q, kv, att, .. } = saved;
        attention::backward(dq, dkv, dout, q, kv, att, dscores, self.shape());
        let mut dquery = self.query.view_mut(dp);
        for i in 0..t.rows() {
            add_assign(dquery.row_mut(i % self.labels), dq.row(i));
        }
        let mut dtoken = self.token.view_mut(dp);
        vectorize(
            #[inline(always)]
            || {
                for i in 0..t.rows() {
                    let first = i % self.labels * (self.values + 1);
                    // [key, value] = E_0 + Σ t_m E_m
                    axpy(dtoken.row_mut(first), T::ONE, dkv.row(i));
                    for (m, &value) in t.row(i).iter().enumerate() {
                        axpy(dtoken.row_mut(first + 1 + m), value, dkv.row(i));
                    }
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::Dual;
    use crate::rng::Streams;

    fn layer(labels: usize) -> (LabelContext, Vec<f64>) {
        let mut layout = Layout::default();
        let context = LabelContext::new(&mut layout, "context", labels, 3, (4, 2));
        let mut r = Streams::new(5).stream("weights");
        (context, (0..layout.len()).map(|_| r.normal()).collect())
    }

    fn run(context: &LabelContext, p: &[f64], t: &Mat<f64>, labels: usize) -> Mat<f64> {
        let mut out = Mat::zeros(t.rows() / labels, labels);
        context.forward(&mut out, &mut context.saved(), t, p);
        out
    }

    fn tokens(rows: usize) -> Mat<f64> {
        let mut r = Streams::new(6).stream("tokens");
        Mat::from_fn(rows, 3, |_, _| r.normal())
    }

    /// Straight from the formulas, one label at a time.
    #[test]
    fn equals_the_definition() {
        let (labels, (context, p)) = (3, layer(3));
        let t = tokens(2 * labels);
        let out = run(&context, &p, &t, labels);
        let (token, query, output) =
            (context.token.view(&p), context.query.view(&p), context.output.view(&p));
        let affine = |i: usize, c: usize| {
            let first = i % labels * 4;
            token.get(first, c)
                + (0..3).map(|m| t[(i, m)] * token.get(first + 1 + m, c)).sum::<f64>()
        };
        for (i, &found) in out.as_slice().iter().enumerate() {
            let (instance, j) = (i / labels, i % labels);
            let mut want = 0.0;
            for head in 0..2 {
                let columns = 2 * head..2 * head + 2;
                let weight = |k: usize| {
                    let key = |c| affine(instance * labels + k, c);
                    let score: f64 = columns.clone().map(|c| query.get(j, c) * key(c)).sum();
                    Real::exp(score / 2f64.sqrt())
                };
                let others = || (0..labels).filter(|&k| k != j);
                let total: f64 = others().map(weight).sum();
                for c in columns.clone() {
                    let mean: f64 = others()
                        .map(|k| weight(k) / total * affine(instance * labels + k, 4 + c))
                        .sum();
                    want += mean * output.get(j, c);
                }
            }
            assert!((found - want).abs() < 1e-12, "{i}: {found} {want}");
        }
    }

    /// Every weight against forward mode, on top of what was there.
    #[test]
    fn gradients_are_those_of_forward_mode() {
        type Number = Dual<f64, 1>;
        let (labels, (context, p)) = (3, layer(3));
        let t = tokens(2 * labels);
        let mut r = Streams::new(7).stream("down");
        let down = Mat::from_fn(2, labels, |_, _| r.normal());
        let (mut saved, mut dp) = (context.saved(), vec![1.0; p.len()]);
        context.forward(&mut Mat::zeros(2, labels), &mut saved, &t, &p);
        context.backward(&mut dp, &mut context.scratch(), &down, &t, &p, &saved);
        for k in 0..p.len() {
            let mut at: Vec<Number> = p.iter().map(|&w| Number::from_f64(w)).collect();
            at[k].tangent[0] = 1.0;
            let mut out = Mat::zeros(2, labels);
            context.forward(&mut out, &mut context.saved(), &t.cast(), &at);
            let pairs = out.as_slice().iter().zip(down.as_slice());
            let want: f64 = pairs.map(|(out, down)| out.tangent[0] * down).sum();
            assert!((dp[k] - 1.0 - want).abs() < 1e-12, "{k}: {} {want}", dp[k] - 1.0);
        }
    }

    #[test]
    fn a_label_never_sees_itself() {
        let (labels, (context, p)) = (4, layer(4));
        let t = tokens(labels);
        let before = run(&context, &p, &t, labels);
        for j in 0..labels {
            let mut changed = t.clone();
            changed.row_mut(j).fill(9.0);
            let after = run(&context, &p, &changed, labels);
            assert_eq!(after[(0, j)], before[(0, j)]);
            assert!((0..labels).all(|k| k == j || after[(0, k)] != before[(0, k)]));
        }
        // A single label has no others.
        let (alone, p) = layer(1);
        assert_eq!(run(&alone, &p, &tokens(2), 1).as_slice(), [0.0, 0.0]);
    }
}
