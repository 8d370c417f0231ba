//! The probe's features on rows that it does not learn from: how much their squared error falls.
//!
//! Selecting a moves the predictions by z̃_a w, with w = R_a/v_a of the probe. With R' = z̃ᵀE (E: the
//! errors of the held-out rows) and v' = ‖z̃‖² the error falls by 2 w·R'_a − v'_a ‖w‖². All of z̃_bᵀz̃_a
//! follows from the columns ZᵀZ of the selected features alone:
//!
//! * u_s = Zᵀz̃_s and k_ss' = z̃_sᵀz̃_s' of the selected features;
//! * for a panel of features that are selected next, with y_b the part of b that those selected *before
//!   the panel* do not explain: κ_sa = z̃_sᵀy_a = u_s[a] − Σ_s' c_s'[a] k_ss', and
//!   y_bᵀy_a = z_bᵀz_a − Σ_s c_s[a] u_s[b] − Σ_s κ_sa c_s[b]: products of matrices, done once ([`Panel`]);
//! * inside the panel the same relations with y in the place of z, feature by feature.

use super::state::{Probe, row, rows};
use crate::linalg::{Acc, Mat, gemm};
use crate::num::{axpy, dot, vectorize};

/// What is known of the held-out rows.
pub struct HeldOut {
    /// R', d × L.
    r: Mat<f64>,
    /// v'.
    v: Vec<f64>,
    /// u of each selected feature, row after row.
    u: Vec<f64>,
    /// k of each pair of selected features.
    k: Vec<Vec<f64>>,
    /// ‖E‖².
    error: f64,
}

/// Features that are selected next, with what the features selected before it leave of their products.
pub struct Panel {
    features: Vec<usize>,
    /// Number of features that were selected before the panel, and of the panel's own.
    before: usize,
    done: usize,
    /// What is left of Zᵀz_a on the rows of the probe.
    products: Mat<f64>,
    /// Zᵀy_a and Yᵀy_a on the held-out rows.
    zy: Mat<f64>,
    yy: Mat<f64>,
    /// κ_sa, a row for each feature of the panel.
    kappa: Mat<f64>,
    /// Yᵀz̃_s of the panel's features that are selected, row after row.
    u: Vec<f64>,
}

impl Panel {
    /// Which feature is next, if one is left.
    pub fn next(&self) -> Option<usize> {
        self.features.get(self.done).copied()
    }
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

    /// A panel of features that will be selected in this order. `products` and `held_out` hold a row
    /// per feature: its column Zᵀz_a on the rows of the probe and on the held-out ones.
    pub fn panel(
        &self,
        probe: &Probe,
        features: &[usize],
        mut products: Mat<f64>,
        held_out: Mat<f64>,
    ) -> Panel {
        let (t, d) = (probe.selected(), self.v.len());
        probe.reduce(features, &mut products);
        let shares = Mat::from_fn(features.len(), t, |i, s| -probe.c(s)[features[i]]);
        let mut zy = held_out;
        gemm(Acc::Add, zy.view_mut(), shares.view(), rows(&self.u, t, d));
        let k = Mat::from_fn(t, t, |s, s2| self.k[s][s2]);
        let mut kappa = Mat::from_fn(features.len(), t, |i, s| row(&self.u, s, d)[features[i]]);
        gemm(Acc::Add, kappa.view_mut(), shares.view(), k.view());
        let mut yy = zy.clone();
        let minus = Mat::from_fn(features.len(), t, |i, s| -kappa[(i, s)]);
        gemm(Acc::Add, yy.view_mut(), minus.view(), rows(&probe.c, t, d));
        let features = features.to_vec();
        Panel { features, before: t, done: 0, products, zy, yy, kappa, u: Vec::new() }
    }

    /// Selects the panel's next feature, in the probe too.
    pub fn select(&mut self, probe: &mut Probe, panel: &mut Panel) {
        let i = panel.done;
        let (a, d, before) = (panel.features[i], self.v.len(), panel.before);
        self.error -= self.gain(probe, a);
        let w: Vec<f64> = probe.r.row(a).iter().map(|r| r / probe.v[a]).collect();
        // c_s[a] for the features of the panel that are selected.
        let shares: Vec<f64> = (0..i).map(|s| probe.c(before + s)[a]).collect();
        let (mut u, mut uy) = (panel.zy.row(i).to_vec(), panel.yy.row(i).to_vec());
        let mut k = panel.kappa.row(i).to_vec();
        k.extend((0..i).map(|s| row(&panel.u, s, d)[a]));
        vectorize(
            #[inline(always)]
            || {
                for (s, share) in shares.iter().enumerate() {
                    axpy(&mut u, -share, row(&self.u, before + s, d));
                    axpy(&mut uy, -share, row(&panel.u, s, d));
                    axpy(&mut k, -share, &self.k[before + s]);
                }
            },
        );
        // h_b = z̃_bᵀz̃_a.
        let mut h = uy.clone();
        vectorize(
            #[inline(always)]
            || (0..i).for_each(|s| axpy(&mut h, -k[before + s], probe.c(before + s))),
        );
        h[a] = self.v[a];
        let own = h[a];
        probe.select(a, before, panel.products.row(i).to_vec());
        let c = probe.c(before + i);
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
        self.k.iter_mut().zip(&k).for_each(|(row, k)| row.push(*k));
        k.push(own);
        self.k.push(k);
        self.u.extend(u);
        panel.u.extend(uy);
        panel.done += 1;
    }
}
