//! Stage 1 on one batch: representation, the discriminative loss (7), the policy loss (11).
//!
//! ```text
//! φ = f_enc(O)     U = h_disc(φ)     s = θ(φ),  p_ij = σ(s_ij) on candidates, 0 elsewhere
//! ℓ_disc = w_bce Σ_ij BCE(U_ij, Z_ij) + w_graph R_graph(U)       → encoder and h_disc
//! ℓ_pol  = −Σ_ij A_ij ln π(Z_ij) over candidates                 → θ alone, φ detached
//! ```
//!
//! The weights say how sums become means: the paper's (7) has w_bce = 1/(B·L). The advantages A are
//! numbers, not functions: no gradient passes through them.

use crate::data::Labels;
use crate::graph::Graph;
use crate::linalg::{Acc, Mat, View};
use crate::method::pomdp_fs::Network;
use crate::nn::policy::bernoulli_loss;
use crate::nn::{BatchSaved, Dropout, loss};
use crate::num::Real;

/// Weights of the two terms of ℓ_disc.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscWeights<T> {
    /// Of each BCE.
    pub bce: T,
    /// Of R_graph.
    pub graph: T,
}

/// The two terms of ℓ_disc, weighted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscLoss<T> {
    /// w_bce Σ BCE.
    pub bce: T,
    /// w_graph R_graph.
    pub graph: T,
}

/// The outputs of the forward pass on a batch, and what it keeps for the backward passes. It takes
/// its size from the first batch and is used again for the next one.
pub struct Stage1Saved<T> {
    /// φ, B × D.
    pub phi: Mat<T>,
    /// U, B × L.
    pub logits: Mat<T>,
    /// s, B × L.
    pub scores: Mat<T>,
    encoder: BatchSaved<T>,
    /// ∂ℓ_disc/∂φ, room for the backward pass.
    dphi: Mat<T>,
}

impl Network {
    /// Room for what [`Network::forward`] keeps; empty until the first batch.
    pub fn stage1_saved<T: Real>(&self) -> Stage1Saved<T> {
        let (width, labels) = self.disc.w.shape();
        Stage1Saved {
            phi: Mat::zeros(0, width),
            logits: Mat::zeros(0, labels),
            scores: Mat::zeros(0, labels),
            encoder: BatchSaved::new(&self.layout, self.encoder_range().end),
            dphi: Mat::zeros(0, width),
        }
    }

    /// φ, U and s of a batch: features `x` (B × d) and candidates as numbers `c` (B × L).
    pub fn forward<T: Real>(
        &self,
        saved: &mut Stage1Saved<T>,
        (x, c): (View<'_, T>, View<'_, T>),
        p: &[T],
        dropout: Option<Dropout>,
    ) {
        let rows = x.rows();
        let token = self.config().candidate_token.then_some(c);
        self.encoder.forward_batch(&mut saved.phi, &mut saved.encoder, x, token, p, dropout);
        saved.logits.set_rows(rows);
        self.disc.forward(saved.logits.view_mut(), saved.phi.view(), p);
        saved.scores.set_rows(rows);
        self.label_policy.forward(saved.scores.view_mut(), saved.phi.view(), p);
    }

    /// Gradients of encoder and h_disc from dU; they accumulate.
    pub fn disc_backward<T: Real>(
        &self,
        dp: &mut [T],
        dlogits: &Mat<T>,
        (x, c): (View<'_, T>, View<'_, T>),
        p: &[T],
        saved: &mut Stage1Saved<T>,
    ) {
        saved.dphi.set_rows(x.rows());
        let dphi = Some((Acc::Set, saved.dphi.view_mut()));
        self.disc.backward(dphi, dp, dlogits.view(), saved.phi.view(), p);
        let token = self.config().candidate_token.then_some(c);
        self.encoder.backward_batch(dp, &saved.dphi, x, token, p, &mut saved.encoder);
    }

    /// The gradient of θ from ds; it accumulates. φ is detached: the gradient stops at the input of
    /// the policy.
    pub fn policy_backward<T: Real>(
        &self,
        dp: &mut [T],
        dscores: &Mat<T>,
        p: &[T],
        saved: &Stage1Saved<T>,
    ) {
        self.label_policy.backward(None, dp, dscores.view(), saved.phi.view(), p);
    }
}

/// ℓ_disc of the logits U against targets `z` ∈ [0, 1], both B × L; sets dU.
pub fn disc_loss<T: Real>(
    dlogits: &mut Mat<T>,
    logits: &Mat<T>,
    z: &Mat<T>,
    graph: &Graph<T>,
    weights: DiscWeights<T>,
) -> DiscLoss<T> {
    dlogits.set_rows(logits.rows());
    dlogits.fill(T::ZERO);
    let du = dlogits.as_mut_slice();
    let bce = loss::bce(du, logits.as_slice(), z.as_slice(), weights.bce);
    let graph = graph.penalty(dlogits, logits, weights.graph);
    DiscLoss { bce, graph }
}

/// ℓ_pol = −Σ A ln π(z) of the scores s, all B × L; sets ds.
pub fn policy_loss<T: Real>(
    dscores: &mut Mat<T>,
    scores: &Mat<T>,
    z: &Mat<T>,
    candidates: &Labels,
    advantage: &Mat<T>,
) -> T {
    dscores.set_rows(scores.rows());
    dscores.fill(T::ZERO);
    let mut total = T::ZERO;
    for i in 0..scores.rows() {
        let (ds, open) = (dscores.row_mut(i), candidates.row(i));
        total += bernoulli_loss(ds, scores.row(i), z.row(i), open, advantage.row(i));
    }
    total
}
