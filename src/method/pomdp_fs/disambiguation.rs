//! Stage 1 on one batch: representation, the discriminative loss (7), the policy loss (11).
//!
//! ```text
//! φ = f_enc(O)     U = h_disc(φ)     s = θ(φ [, C]),  p_ij = σ(s_ij) on candidates, 0 elsewhere
//! ℓ_disc = w_bce Σ_ij BCE(U_ij, Z_ij) + w_graph R_graph(U)       → encoder and h_disc
//! ℓ_pol  = −Σ_ij A_ij ln π(Z_ij) over candidates                 → θ alone, φ detached
//! ```
//!
//! The weights say how sums become means: the paper's (7) has w_bce = 1/(B·L). The advantages A are
//! numbers, not functions: no gradient passes through them.

use super::network::Network;
use crate::data::Labels;
use crate::graph::Graph;
use crate::linalg::{Acc, Mat, View};
use crate::nn::policy::bernoulli_log_prob;
use crate::nn::{Batch, Dropout, Fault, loss};
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

/// The network on a batch, with the memory of one step.
pub struct Stage1<T> {
    network: Network,
    batch: Batch<T>,
    /// What the label policy reads: [φ] or [φ, C], B rows.
    policy_input: Mat<T>,
    /// φ, B × D.
    pub phi: Mat<T>,
    /// U, B × L.
    pub logits: Mat<T>,
    /// s, B × L.
    pub scores: Mat<T>,
    dphi: Mat<T>,
    dlogits: Mat<T>,
    dscores: Mat<T>,
    row: Vec<T>,
}

impl<T: Real> Stage1<T> {
    /// Memory grows with the first batch.
    pub fn new(network: Network) -> Self {
        let (width, labels) = network.disc.w.shape();
        let (inputs, _) = network.label_policy.w.shape();
        Stage1 {
            batch: Batch::new(network.encoder.clone(), network.encoder_range().end),
            policy_input: Mat::zeros(0, inputs),
            phi: Mat::zeros(0, width),
            logits: Mat::zeros(0, labels),
            scores: Mat::zeros(0, labels),
            dphi: Mat::zeros(0, width),
            dlogits: Mat::zeros(0, labels),
            dscores: Mat::zeros(0, labels),
            row: vec![T::ZERO; labels],
            network,
        }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    fn fault(&self) -> Fault {
        self.network.encoder.fault
    }

    /// Sets φ, U and s. `c` are the candidates as numbers, B × L.
    pub fn forward(&mut self, x: View<'_, T>, c: View<'_, T>, p: &[T], dropout: Option<Dropout>) {
        let rows = x.rows();
        let token = self.network.config().encoder.candidate_token.then_some(c);
        self.batch.forward(&mut self.phi, x, token, p, dropout);
        self.logits.set_rows(rows);
        self.network.disc.forward(self.logits.view_mut(), self.phi.view(), p);
        self.policy_input.set_rows(rows);
        let (width, inputs) = (self.phi.cols(), self.policy_input.cols());
        for i in 0..rows {
            let input = self.policy_input.row_mut(i);
            input[..width].copy_from_slice(self.phi.row(i));
            if inputs > width {
                input[width..].copy_from_slice(c.row(i));
            }
        }
        self.scores.set_rows(rows);
        let input = self.policy_input.view();
        self.network.label_policy.forward(self.scores.view_mut(), input, p);
    }

    /// ℓ_disc against targets `z` ∈ [0, 1] (B × L), for the U of the last forward pass.
    pub fn disc_loss(
        &mut self,
        z: &Mat<T>,
        graph: &Graph<T>,
        weights: DiscWeights<T>,
    ) -> DiscLoss<T> {
        let fault = self.fault();
        self.dlogits.set_rows(self.logits.rows());
        self.dlogits.fill(T::ZERO);
        let du = self.dlogits.as_mut_slice();
        let bce = loss::bce(du, self.logits.as_slice(), z.as_slice(), weights.bce, fault);
        let graph = graph.penalty(&mut self.dlogits, &self.logits, weights.graph, fault);
        DiscLoss { bce, graph }
    }

    /// Gradients of encoder and h_disc from the last [`Stage1::disc_loss`]; they accumulate.
    pub fn disc_backward(&mut self, dp: &mut [T], (x, c): (View<'_, T>, View<'_, T>), p: &[T]) {
        let fault = self.fault();
        self.dphi.set_rows(x.rows());
        let dphi = Some((Acc::Set, self.dphi.view_mut()));
        let disc = self.network.disc;
        disc.backward(dphi, dp, self.dlogits.view(), self.phi.view(), p, fault);
        let token = self.network.config().encoder.candidate_token.then_some(c);
        self.batch.backward(dp, &self.dphi, x, token, p);
    }

    /// ℓ_pol = −Σ A ln π(z), for the s of the last forward pass.
    pub fn policy_loss(&mut self, z: &Mat<T>, candidates: &Labels, advantage: &Mat<T>) -> T {
        let fault = self.fault();
        self.dscores.set_rows(self.scores.rows());
        self.dscores.fill(T::ZERO);
        let mut total = T::ZERO;
        for i in 0..self.scores.rows() {
            for (w, &a) in self.row.iter_mut().zip(advantage.row(i)) {
                *w = -a;
            }
            let (ds, s) = (self.dscores.row_mut(i), self.scores.row(i));
            total += bernoulli_log_prob(ds, s, z.row(i), candidates.row(i), &self.row, fault);
        }
        total
    }

    /// The gradient of θ from the last [`Stage1::policy_loss`]; it accumulates. φ is detached: the
    /// gradient stops at the head's input.
    pub fn policy_backward(&mut self, dp: &mut [T], batch: (View<'_, T>, View<'_, T>), p: &[T]) {
        let fault = self.fault();
        let (ds, input) = (self.dscores.view(), self.policy_input.view());
        self.network.label_policy.backward(None, dp, ds, input, p, fault);
        if fault == Fault::PolicyNotDetached {
            self.leak(dp, batch, p);
        }
    }

    /// The fault `PolicyNotDetached`: the policy's gradient goes on into the encoder.
    fn leak(&mut self, dp: &mut [T], (x, c): (View<'_, T>, View<'_, T>), p: &[T]) {
        let width = self.phi.cols();
        let mut dinput = Mat::zeros(x.rows(), self.policy_input.cols());
        let w = self.network.label_policy.w.view(p);
        crate::linalg::gemm(Acc::Set, dinput.view_mut(), self.dscores.view(), w.t());
        let dphi = Mat::from_fn(x.rows(), width, |i, j| dinput[(i, j)]);
        let token = self.network.config().encoder.candidate_token.then_some(c);
        self.batch.backward(dp, &dphi, x, token, p);
    }
}
