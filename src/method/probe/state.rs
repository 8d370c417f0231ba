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

use crate::linalg::Mat;
use crate::num::{axpy, dot, vectorize};

/// The normal equations after the elimination of the selected features.
pub struct Probe {
    lambda: f64,
    /// R, d × L.
    r: Mat<f64>,
    /// v.
    v: Vec<f64>,
    /// c and v of each selected feature, at the time of its selection.
    selected: Vec<(Vec<f64>, f64)>,
}

impl Probe {
    /// Nothing is selected: R = ZᵀB, and the squares of the columns of Z (all centred).
    pub fn new(r: Mat<f64>, squares: Vec<f64>, lambda: f64) -> Self {
        let v = squares.into_iter().map(|s| s.max(0.0) + lambda).collect();
        Probe { lambda, r, v, selected: Vec::new() }
    }

    /// How much the objective falls when a is selected.
    pub fn gain(&self, a: usize) -> f64 {
        dot(self.r.row(a), self.r.row(a)) / self.v[a]
    }

    /// Selects a; `products` is its column Zᵀz_a of centred products.
    pub fn select(&mut self, a: usize, mut products: Vec<f64>) {
        vectorize(
            #[inline(always)]
            || {
                for (c, v) in &self.selected {
                    axpy(&mut products, -v * c[a], c);
                }
            },
        );
        self.eliminate(a, products);
    }

    /// Selects a; of its products those with the features selected before are taken away.
    fn eliminate(&mut self, a: usize, mut c: Vec<f64>) {
        let pivot = self.v[a];
        let of_a: Vec<f64> = self.r.row(a).to_vec();
        vectorize(
            #[inline(always)]
            || {
                for (b, c) in c.iter_mut().enumerate() {
                    *c /= pivot;
                    axpy(self.r.row_mut(b), -*c, &of_a);
                    // Exactly, v never falls below λ; rounding must not take it there.
                    self.v[b] = (self.v[b] - pivot * *c * *c).max(self.lambda);
                }
            },
        );
        c[a] = 1.0;
        self.selected.push((c, pivot));
    }
}

/// The same features on rows that the probe does not learn from: how much their squared error falls.
///
/// Selecting a moves the predictions by z̃_a w, with w = R_a/v_a of the probe. With R' = z̃ᵀE (E: the
/// errors of the held-out rows) and v' = ‖z̃‖² the error falls by 2 w·R'_a − v'_a ‖w‖². All of z̃_bᵀz̃_a
/// follows from the columns ZᵀZ of the selected features alone, as the sums u and k below.
pub struct HeldOut {
    /// R', d × L.
    r: Mat<f64>,
    /// v'.
    v: Vec<f64>,
    /// u_s = Zᵀz̃_s for each selected s.
    u: Vec<Vec<f64>>,
    /// k_ss' = z̃_sᵀz̃_s'.
    k: Vec<Vec<f64>>,
    /// ‖E‖².
    error: f64,
}

impl HeldOut {
    /// Nothing is selected: R' = ZᵀE, the squares of the columns, ‖E‖²; centred as the probe's are.
    pub fn new(r: Mat<f64>, v: Vec<f64>, error: f64) -> Self {
        HeldOut { r, v, u: Vec::new(), k: Vec::new(), error }
    }

    /// The squared error of the held-out rows.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// How much that error falls when a is selected; negative when it rises.
    pub fn gain(&self, probe: &Probe, a: usize) -> f64 {
        let (r, v) = (probe.r.row(a), probe.v[a]);
        (2.0 * dot(r, self.r.row(a)) - self.v[a] * dot(r, r) / v) / v
    }

    /// Selects a, in the probe too. `products` and `held_out` are its columns Zᵀz_a on the rows of the
    /// probe and on the held-out ones.
    pub fn select(
        &mut self,
        probe: &mut Probe,
        a: usize,
        mut products: Vec<f64>,
        held_out: Vec<f64>,
    ) {
        self.error -= self.gain(probe, a);
        let w: Vec<f64> = probe.r.row(a).iter().map(|r| r / probe.v[a]).collect();
        let mut u = held_out;
        let mut of_a: Vec<f64> = self.u.iter().map(|u| u[a]).collect();
        vectorize(
            #[inline(always)]
            || {
                for (((c, _), earlier), k) in probe.selected.iter().zip(&self.u).zip(&self.k) {
                    axpy(&mut u, -c[a], earlier);
                    axpy(&mut of_a, -c[a], k);
                }
            },
        );
        // h_b = z̃_bᵀz̃_a.
        let mut h = u.clone();
        vectorize(
            #[inline(always)]
            || {
                // Both at once: to read every c is what a step costs.
                for ((c, v), k) in probe.selected.iter().zip(&of_a) {
                    axpy(&mut h, -k, c);
                    axpy(&mut products, -v * c[a], c);
                }
            },
        );
        h[a] = self.v[a];
        probe.eliminate(a, products);
        let (c, own) = (&probe.selected[probe.selected.len() - 1].0, h[a]);
        let errors: Vec<f64> = self.r.row(a).to_vec();
        vectorize(
            #[inline(always)]
            || {
                for (b, (c, h)) in c.iter().zip(&h).enumerate() {
                    axpy(self.r.row_mut(b), -c, &errors);
                    axpy(self.r.row_mut(b), c * own - h, &w);
                    self.v[b] += c * (c * own - 2.0 * h);
                }
            },
        );
        self.k.iter_mut().zip(&of_a).for_each(|(row, k)| row.push(*k));
        of_a.push(own);
        self.k.push(of_a);
        self.u.push(u);
    }
}
