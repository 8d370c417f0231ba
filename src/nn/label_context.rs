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
use crate::num::{Real, axpy, dot};

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
        attention::forward(&mut saved.out, &mut saved.att, &saved.q, &saved.kv, self.shape());
        let output = self.output.view(p);
        for (i, c) in out.as_mut_slice().iter_mut().enumerate() {
            *c += dot(saved.out.row(i), output.row(i % self.labels));
        }
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
        for (i, &d) in dout.as_slice().iter().enumerate() {
            let label = i % self.labels;
            // context_j = out_j · o_j
            axpy(doutput.row_mut(label), d, saved.out.row(i));
            let row = scratch.dout.row_mut(i);
            row.fill(T::ZERO);
            axpy(row, d, output.row(label));
        }
        let ContextScratch { dout, dq, dkv } = scratch;
        attention::backward(dq, dkv, dout, &saved.q, &saved.kv, &saved.att, self.shape());
        let mut dquery = self.query.view_mut(dp);
        for i in 0..t.rows() {
            axpy(dquery.row_mut(i % self.labels), T::ONE, dq.row(i));
        }
        let mut dtoken = self.token.view_mut(dp);
        for i in 0..t.rows() {
            let first = i % self.labels * (self.values + 1);
            // [key, value] = E_0 + Σ t_m E_m
            axpy(dtoken.row_mut(first), T::ONE, dkv.row(i));
            for (m, &value) in t.row(i).iter().enumerate() {
                axpy(dtoken.row_mut(first + 1 + m), value, dkv.row(i));
            }
        }
    }
}
