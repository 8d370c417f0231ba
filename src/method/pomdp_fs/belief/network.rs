//! The network of Stage 1 under the observation model: the belief U about the labels given the whole
//! observation (X, C), and the policy that reads it.
//!
//! ```text
//! φ   = f_enc(x)
//! v   = u + h_disc(φ)                                        what the features say
//! w_j = v_j + context_j({σ(v_k), p(v_k), C_k : k ≠ j})       and what the other labels add
//! U   = (u′ + w) / 2
//! s_j = a_j U_j + b_j,   p_j = σ(s_j) on candidates, 0 elsewhere
//! ```
//!
//! u and u′ are the cross-fitted logits of the linear belief without and with context: the wide part
//! beside the deep one. h_disc and the context's output start at zero, so w starts at u. The mean of
//! the two beliefs is better than either. The policy reads the detached U: its optimum is a = 1,
//! b = ln 1/ρ, so REINFORCE has a slope and an offset to learn, not a second network.

use std::ops::Range;

use crate::Result;
use crate::data::Labels;
use crate::linalg::{Acc, Mat, View};
use crate::method::observation::likelihood::NoiseRate;
use crate::nn::init::init;
use crate::nn::label_context::{ContextSaved, ContextScratch, LabelContext};
use crate::nn::policy::bernoulli_loss;
use crate::nn::{BatchSaved, Dropout, Encoder, EncoderConfig, Init, Layout, Linear, Param};
use crate::num::Real;
use crate::rng::Streams;

/// Values of a label's token: prior, posterior, candidate.
const TOKEN_VALUES: usize = 3;

/// Where all parameters lie.
#[derive(Clone, Debug)]
pub struct BeliefNetwork {
    /// Names and places.
    pub layout: Layout,
    encoder: Encoder,
    disc: Linear,
    context: LabelContext,
    /// a, 1 × L.
    slope: Param,
    /// b, 1 × L.
    offset: Param,
    encoder_len: usize,
}

/// Sizes of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeliefConfig {
    /// The encoder; it sees x alone.
    pub encoder: EncoderConfig,
    /// Width and heads of the label context.
    pub context: (usize, usize),
}

/// A batch of observations.
#[derive(Clone, Copy)]
pub struct Observed<'a, T> {
    /// X, B × d.
    pub x: View<'a, T>,
    /// u, B × L.
    pub base: &'a Mat<T>,
    /// u′, B × L.
    pub linear: &'a Mat<T>,
    /// C as numbers, B × L.
    pub c: &'a Mat<T>,
}

/// The outputs of the forward pass, and what it keeps for the backward pass. It takes its size from
/// the first batch and is used again for the next one.
pub struct BeliefSaved<T> {
    phi: Mat<T>,
    encoder: BatchSaved<T>,
    /// What the label context is shown, B·L rows.
    pub tokens: Mat<T>,
    context: ContextSaved<T>,
    scratch: ContextScratch<T>,
    dphi: Mat<T>,
    /// w, B × L: what the network believes by itself.
    pub own: Mat<T>,
    /// U, B × L.
    pub logits: Mat<T>,
    /// s, B × L.
    pub scores: Mat<T>,
}

impl BeliefNetwork {
    /// Lays out the parameters; refuses impossible sizes.
    pub fn new(config: BeliefConfig) -> Result<Self> {
        let mut layout = Layout::default();
        let encoder = Encoder::new(&mut layout, config.encoder)?;
        let encoder_len = layout.len();
        let EncoderConfig { width, labels, .. } = config.encoder;
        let disc = Linear::new(&mut layout, "disc", width, labels);
        let context =
            LabelContext::new(&mut layout, "context", labels, TOKEN_VALUES, config.context);
        let slope = layout.add("policy.slope", 1, labels, Init::One);
        let offset = layout.add("policy.offset", 1, labels, Init::Zero);
        Ok(BeliefNetwork { layout, encoder, disc, context, slope, offset, encoder_len })
    }

    /// Encoder and h_disc in the arena.
    pub fn deep_range(&self) -> Range<usize> {
        0..self.disc.b.range().end
    }

    /// The label context in the arena.
    pub fn context_range(&self) -> Range<usize> {
        self.context.token.range().start..self.context.output.range().end
    }

    /// The policy in the arena.
    pub fn policy_range(&self) -> Range<usize> {
        self.slope.range().start..self.offset.range().end
    }

    /// Initial weights: w = u, the policy at the posterior.
    pub fn init<T: Real>(&self, noise: &[NoiseRate<T>], streams: &Streams) -> Vec<T> {
        let mut p = init(&self.layout, streams);
        p[self.disc.w.range()].fill(T::ZERO);
        p[self.disc.b.range()].fill(T::ZERO);
        for (b, noise) in self.offset.slice_mut(&mut p).iter_mut().zip(noise) {
            *b = -noise.ln_rho;
        }
        p
    }

    /// Room for what the forward pass keeps; empty until the first batch.
    pub fn saved<T: Real>(&self) -> BeliefSaved<T> {
        let (width, labels) = self.disc.w.shape();
        let empty = |cols| Mat::zeros(0, cols);
        BeliefSaved {
            phi: empty(width),
            encoder: BatchSaved::new(&self.layout, self.encoder_len),
            tokens: empty(TOKEN_VALUES),
            context: self.context.saved(),
            scratch: self.context.scratch(),
            dphi: empty(width),
            own: empty(labels),
            logits: empty(labels),
            scores: empty(labels),
        }
    }

    /// w, U and s of a batch.
    pub fn forward<T: Real>(
        &self,
        saved: &mut BeliefSaved<T>,
        seen: Observed<'_, T>,
        noise: &[NoiseRate<T>],
        with_context: bool,
        p: &[T],
        dropout: Option<Dropout>,
    ) {
        self.prior(saved, seen, p, dropout);
        self.tokens(saved, seen, noise);
        self.belief(saved, seen, with_context, p);
    }

    /// v = u + h_disc(φ(x)), a function of X alone, into `own`.
    pub fn prior<T: Real>(
        &self,
        saved: &mut BeliefSaved<T>,
        seen: Observed<'_, T>,
        p: &[T],
        dropout: Option<Dropout>,
    ) {
        self.encoder.forward_batch(&mut saved.phi, &mut saved.encoder, seen.x, None, p, dropout);
        saved.own.set_rows(seen.x.rows());
        self.disc.forward(saved.own.view_mut(), saved.phi.view(), p);
        for (v, &u) in saved.own.as_mut_slice().iter_mut().zip(seen.base.as_slice()) {
            *v += u;
        }
    }

    /// The tokens (σ(v_k), p(v_k), C_k) of the label context from v. They are numbers to the
    /// context: no gradient passes through them.
    pub fn tokens<T: Real>(
        &self,
        saved: &mut BeliefSaved<T>,
        seen: Observed<'_, T>,
        noise: &[NoiseRate<T>],
    ) {
        let labels = noise.len();
        saved.tokens.set_rows(seen.x.rows() * labels);
        let cells = saved.own.as_slice().iter().zip(seen.c.as_slice());
        for (i, (v, &c)) in cells.enumerate() {
            let token = [v.sigmoid(), c * noise[i % labels].posterior(*v), c];
            saved.tokens.row_mut(i).copy_from_slice(&token);
        }
    }

    /// w = v + context, U = (u′ + w)/2 and the policy's scores s = a U + b.
    pub fn belief<T: Real>(
        &self,
        saved: &mut BeliefSaved<T>,
        seen: Observed<'_, T>,
        with_context: bool,
        p: &[T],
    ) {
        let (rows, labels) = (seen.x.rows(), saved.own.cols());
        if with_context {
            self.context.forward(&mut saved.own, &mut saved.context, &saved.tokens, p);
        }
        saved.logits.set_rows(rows);
        saved.scores.set_rows(rows);
        let (a, b) = (self.slope.slice(p), self.offset.slice(p));
        let half = T::from_f64(0.5);
        for i in 0..rows {
            let (linear, own) = (seen.linear.row(i), saved.own.row(i));
            let (logits, scores) = (saved.logits.row_mut(i), saved.scores.row_mut(i));
            for j in 0..labels {
                logits[j] = half * (linear[j] + own[j]);
                scores[j] = a[j] * logits[j] + b[j];
            }
        }
    }

    /// Gradients of encoder, h_disc and context from dw; they accumulate.
    pub fn backward<T: Real>(
        &self,
        dp: &mut [T],
        down: &Mat<T>,
        x: View<'_, T>,
        with_context: bool,
        p: &[T],
        saved: &mut BeliefSaved<T>,
    ) {
        if with_context {
            let BeliefSaved { scratch, tokens, context, .. } = saved;
            self.context.backward(dp, scratch, down, tokens, p, context);
        }
        saved.dphi.set_rows(x.rows());
        let dphi = Some((Acc::Set, saved.dphi.view_mut()));
        self.disc.backward(dphi, dp, down.view(), saved.phi.view(), p);
        self.encoder.backward_batch(dp, &saved.dphi, x, None, p, &mut saved.encoder);
    }

    /// ℓ_pol = −Σ A ln π(z) over candidates; its gradient in a and b accumulates, U is detached.
    /// `ds` is room for one row.
    pub fn policy_loss<T: Real>(
        &self,
        dp: &mut [T],
        ds: &mut [T],
        z: &Mat<T>,
        candidates: &Labels,
        advantage: &Mat<T>,
        saved: &BeliefSaved<T>,
    ) -> T {
        let mut total = T::ZERO;
        for i in 0..z.rows() {
            ds.fill(T::ZERO);
            let (s, open) = (saved.scores.row(i), candidates.row(i));
            total += bernoulli_loss(ds, s, z.row(i), open, advantage.row(i));
            // s = a U + b
            let u = saved.logits.row(i);
            for (j, &d) in ds.iter().enumerate() {
                self.slope.slice_mut(dp)[j] += d * u[j];
                self.offset.slice_mut(dp)[j] += d;
            }
        }
        total
    }
}
