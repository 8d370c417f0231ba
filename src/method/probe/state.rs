//! The probe's state, updated as features are selected one after the other.
//!
//! Let G = ZᵀZ + λI. Selecting S eliminates its rows from the normal equations (Gaussian elimination
//! without a choice of pivot), which leaves for the open features
//!
//! * R_b = z̃_bᵀB, with z̃_b = z_b − Z_S (G_SS)⁻¹ G_Sb: the part of b that S does not explain;
//! * v_b = G_bb − G_bS (G_SS)⁻¹ G_Sb.
//!
//! Selecting a lowers the objective by exactly ‖R_a‖²/v_a. Then c_b = (G_ab − Σ_s v_s c_sa c_sb)/v_a
//! over the features s selected before, R_b ← R_b − c_b R_a, v_b ← v_b − v_a c_b², and c is kept. (With
//! q = c √v_a this is the column of a Cholesky factorisation.) Cost: d·(t + L) at step t, and the
//! column of ZᵀZ that the caller brings.
//!
//! Whoever knows the next features in advance can have the sum over s done for all of them at once, as
//! a product of matrices ([`Probe::reduce`]): a panel, as in a blocked Cholesky factorisation.

use crate::linalg::{Acc, Mat, View, gemm};
use crate::num::{axpy, dot, vectorize};

/// The normal equations after the elimination of the selected features.
pub struct Probe {
    lambda: f64,
    /// ‖B − Z_S W‖² + λ‖W‖² at its minimum.
    objective: f64,
    /// R, d × L.
    pub(super) r: Mat<f64>,
    /// v.
    pub(super) v: Vec<f64>,
    /// c of each selected feature, row after row, and v at the time of its selection.
    pub(super) c: Vec<f64>,
    pivots: Vec<f64>,
}

impl Probe {
    /// Nothing is selected: R = ZᵀB, the squares of the columns of Z, ‖B‖² (all centred).
    pub fn new(r: Mat<f64>, squares: Vec<f64>, square: f64, lambda: f64) -> Self {
        let v = squares.into_iter().map(|s| s.max(0.0) + lambda).collect();
        Probe { lambda, objective: square, r, v, c: Vec::new(), pivots: Vec::new() }
    }

    /// The objective with the selected features.
    pub fn objective(&self) -> f64 {
        self.objective
    }

    /// How much the objective falls when a is selected.
    pub fn gain(&self, a: usize) -> f64 {
        dot(self.r.row(a), self.r.row(a)) / self.v[a]
    }

    /// Number of selected features.
    pub fn selected(&self) -> usize {
        self.pivots.len()
    }

    /// c of the s-th selected feature.
    pub(super) fn c(&self, s: usize) -> &[f64] {
        row(&self.c, s, self.v.len())
    }

    /// Takes the part of the features that are selected now out of the columns Zᵀz_a (rows of
    /// `products`) of features that will be.
    pub(super) fn reduce(&self, features: &[usize], products: &mut Mat<f64>) {
        let shares = Mat::from_fn(features.len(), self.selected(), |i, s| {
            -self.pivots[s] * self.c(s)[features[i]]
        });
        gemm(
            Acc::Add,
            products.view_mut(),
            shares.view(),
            rows(&self.c, self.selected(), self.v.len()),
        );
    }

    /// Selects a; `products` is its column Zᵀz_a of centred products, from which the first `reduced`
    /// selected features are taken out already.
    pub fn select(&mut self, a: usize, reduced: usize, mut products: Vec<f64>) {
        self.objective -= self.gain(a);
        let pivot = self.v[a];
        let of_a: Vec<f64> = self.r.row(a).to_vec();
        vectorize(
            #[inline(always)]
            || {
                for s in reduced..self.selected() {
                    let c = row(&self.c, s, products.len());
                    axpy(&mut products, -self.pivots[s] * c[a], c);
                }
                for (b, c) in products.iter_mut().enumerate() {
                    *c /= pivot;
                    axpy(self.r.row_mut(b), -*c, &of_a);
                    // Exactly, v never falls below λ; rounding must not take it there.
                    self.v[b] = (self.v[b] - pivot * *c * *c).max(self.lambda);
                }
            },
        );
        products[a] = 1.0;
        self.c.extend(products);
        self.pivots.push(pivot);
    }
}

/// Row s of rows of d numbers.
pub(super) fn row(all: &[f64], s: usize, d: usize) -> &[f64] {
    &all[s * d..(s + 1) * d]
}

/// The first `count` rows of d numbers as a matrix.
pub(super) fn rows(all: &[f64], count: usize, d: usize) -> View<'_, f64> {
    View::new(&all[..count * d], count, d)
}
