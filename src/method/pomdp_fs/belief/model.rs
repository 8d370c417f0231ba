//! The belief about rows that were not there when it was learned.

use super::network::{BeliefNetwork, Observed};
use crate::linalg::Mat;
use crate::method::observation::LinearModel;
use crate::method::observation::likelihood::NoiseRate;
use crate::num::Real;

/// Rows that pass the networks together.
const ROWS: usize = 1024;

/// Linear belief and networks, ready for new rows. The networks' sizes follow from the settings.
#[derive(Clone, Debug, PartialEq)]
pub struct BeliefModel {
    /// ρ of each label.
    pub rho: Vec<f64>,
    /// The wide part.
    pub linear: LinearModel,
    /// Weights of the deep part, one set per part of cross-fitting; none when the linear belief was
    /// better alone.
    pub parts: Vec<Vec<f32>>,
}

impl BeliefModel {
    /// p of new rows with candidates C (as numbers): the mean score of all parts' policies.
    pub fn confidence(&self, network: &BeliefNetwork, x: &Mat<f32>, c: &Mat<f64>) -> Mat<f32> {
        let noise: Vec<NoiseRate<f64>> = self.rho.iter().map(|&r| NoiseRate::new(r)).collect();
        let base = self.linear.base(x);
        let linear = self.linear.logits(&base, c, &noise);
        let mut scores =
            Mat::from_fn(x.rows(), c.cols(), |i, j| (linear[(i, j)] - noise[j].ln_rho) as f32);
        if !self.parts.is_empty() {
            self.network_scores(&mut scores, network, x, [&base, &linear, c]);
        }
        Mat::from_fn(x.rows(), c.cols(), |i, j| {
            if c[(i, j)] > 0.5 { scores[(i, j)].sigmoid() } else { 0.0 }
        })
    }

    fn network_scores(
        &self,
        scores: &mut Mat<f32>,
        network: &BeliefNetwork,
        x: &Mat<f32>,
        seen: [&Mat<f64>; 3],
    ) {
        let [base, linear, c] = seen.map(Mat::cast::<f32>);
        let noise: Vec<NoiseRate<f32>> =
            self.rho.iter().map(|&r| NoiseRate::new(r as f32)).collect();
        let with_context = self.linear.context.is_some();
        let share = 1.0 / self.parts.len() as f32;
        scores.fill(0.0);
        let mut saved = network.saved();
        let all: Vec<usize> = (0..x.rows()).collect();
        for rows in all.chunks(ROWS) {
            let [x, base, linear, c] = [x, &base, &linear, &c].map(|m| m.select_rows(rows));
            let seen = Observed { x: x.view(), base: &base, linear: &linear, c: &c };
            for p in &self.parts {
                network.forward(&mut saved, seen, &noise, with_context, p, None);
                for (r, &i) in rows.iter().enumerate() {
                    let found = saved.scores.row(r);
                    scores.row_mut(i).iter_mut().zip(found).for_each(|(s, f)| *s += share * f);
                }
            }
        }
    }

    /// σ(u): the probability of each label from the features alone.
    pub fn prior(&self, x: &Mat<f32>) -> Mat<f32> {
        let base = self.linear.base(x);
        Mat::from_fn(base.rows(), base.cols(), |i, j| base[(i, j)].sigmoid() as f32)
    }
}
