//! Tokens: how an instance becomes a sequence.
//!
//! The sequence is [CLS, feature group 1 … F, (candidates)]. CLS is a learned vector; group f holds
//! a contiguous block of the features and is projected by the matching rows of W; the candidate
//! token is the projected candidate vector C. Rows of instance i: i·S + 0 … i·S + S − 1.

use super::init::Init;
use super::linear::{Linear, add_column_sums};
use super::params::{Layout, Param};
use crate::linalg::{Acc, View, ViewMut, gemm};
use crate::num::Real;

/// Where the token builder's parameters lie.
#[derive(Clone, Copy, Debug)]
pub struct Tokens {
    features: usize,
    groups: usize,
    /// The CLS token, 1 × D.
    pub cls: Param,
    /// Projection of the features, d × D; group f owns a block of rows.
    pub w: Param,
    /// One bias per group, F × D.
    pub b: Param,
    candidates: Option<Linear>,
}

impl Tokens {
    /// Lays out the parameters. `labels` is the width of the candidate token, if there is one.
    pub fn new(
        layout: &mut Layout,
        features: usize,
        groups: usize,
        labels: Option<usize>,
        width: usize,
    ) -> Self {
        // The groups are parts of one layer over all features.
        let init = Init::FanIn(features);
        Tokens {
            features,
            groups,
            cls: layout.add("tokens.cls", 1, width, Init::SmallNormal),
            w: layout.add("tokens.features.w", features, width, init),
            b: layout.add("tokens.features.b", groups, width, init),
            candidates: labels.map(|l| Linear::new(layout, "tokens.candidates", l, width)),
        }
    }

    /// Length S of the sequence.
    pub fn count(&self) -> usize {
        1 + self.groups + usize::from(self.candidates.is_some())
    }

    /// Columns of feature group f: blocks as even as possible.
    pub fn columns(&self, f: usize) -> std::ops::Range<usize> {
        f * self.features / self.groups..(f + 1) * self.features / self.groups
    }

    /// The group of feature a.
    pub fn group_of(&self, a: usize) -> usize {
        (0..self.groups).find(|&f| self.columns(f).contains(&a)).expect("a < d")
    }

    /// The place of the only token that differs between instances whose candidates are alike; None if
    /// there are several.
    pub fn only_group(&self) -> Option<usize> {
        (self.groups == 1).then_some(1)
    }

    /// out (B·S × D) from x (B × d) and the candidates (B × L).
    pub fn forward<T: Real>(
        &self,
        mut out: ViewMut<'_, T>,
        x: View<'_, T>,
        candidates: Option<View<'_, T>>,
        p: &[T],
    ) {
        self.start(out.reborrow(), candidates, p);
        for f in 0..self.groups {
            let columns = self.columns(f);
            let w = self.w.view(p).slice_rows(columns.start, columns.end);
            let token = out.reborrow().skip_rows(1 + f).every(self.count());
            gemm(Acc::Add, token, x.columns(columns.start, columns.end), w);
        }
    }

    /// Everything but the features: CLS, biases, candidate token. Stage 2 adds features one by one.
    pub fn start<T: Real>(
        &self,
        mut out: ViewMut<'_, T>,
        candidates: Option<View<'_, T>>,
        p: &[T],
    ) {
        let (s, b) = (self.count(), self.b.view(p));
        for i in (0..out.rows()).step_by(s) {
            out.row_mut(i).copy_from_slice(self.cls.slice(p));
            for f in 0..self.groups {
                out.row_mut(i + 1 + f).copy_from_slice(b.row(f));
            }
        }
        if let Some(layer) = &self.candidates {
            let c = candidates.expect("an encoder with a candidate token needs the candidates");
            layer.forward(out.skip_rows(s - 1).every(s), c, p);
        }
    }

    /// Accumulates the parameters' gradients; sets dx (B × d) if asked for.
    pub fn backward<T: Real>(
        &self,
        dx: Option<ViewMut<'_, T>>,
        dp: &mut [T],
        dout: View<'_, T>,
        x: View<'_, T>,
        candidates: Option<View<'_, T>>,
        p: &[T],
    ) {
        let mut dx = dx;
        self.start_backward(dp, dout, candidates, p);
        for f in 0..self.groups {
            let columns = self.columns(f);
            let token = self.group_token(dout, f);
            let dw = self.w.view_mut(dp).slice_rows(columns.start, columns.end);
            gemm(Acc::Add, dw, x.columns(columns.start, columns.end).t(), token);
            if let Some(dx) = &mut dx {
                let w = self.w.view(p).slice_rows(columns.start, columns.end);
                let target = dx.reborrow().columns(columns.start, columns.end);
                gemm(Acc::Set, target, token, w.t());
            }
        }
    }

    /// The mirror of [`Tokens::start`].
    pub fn start_backward<T: Real>(
        &self,
        dp: &mut [T],
        dout: View<'_, T>,
        candidates: Option<View<'_, T>>,
        p: &[T],
    ) {
        let s = self.count();
        add_column_sums(self.cls.slice_mut(dp), dout.every(s));
        for f in 0..self.groups {
            let token = self.group_token(dout, f);
            add_column_sums(self.b.view_mut(dp).row_mut(f), token);
        }
        if let (Some(layer), Some(c)) = (&self.candidates, candidates) {
            layer.backward(None, dp, dout.skip_rows(s - 1).every(s), c, p);
        }
    }

    /// The rows of group f's token.
    fn group_token<'a, T: Real>(&self, dout: View<'a, T>, f: usize) -> View<'a, T> {
        dout.skip_rows(1 + f).every(self.count())
    }
}
