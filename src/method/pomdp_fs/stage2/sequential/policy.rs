//! The feature policy π(a | m) and its gradient.
//!
//! π is a softmax of the scores ψ over the open features of the mask m. With the value of *every* open
//! action known, the policy gradient needs no sampled return: the natural gradient of a softmax in a
//! state is the vector of advantages A(a) = q(a) − Σ_b π(b) q(b) itself, so a step is ψ ← ψ + η·A. A
//! rollout visits T states; a feature takes the mean of its advantages over those in which it is open.
//! Values fall from state to state, so each state's are divided by their standard deviation.

use crate::num::Real;
use crate::rng::Rng;

/// Scores of all features, and what the present rollout taught about them.
pub struct Policy {
    /// ψ.
    pub scores: Vec<f64>,
    /// π in the present state; 0 for features that are selected.
    pub probabilities: Vec<f64>,
    /// Σ of the advantages of this rollout, and in how many of its states the feature was open.
    advantages: Vec<(f64, f64)>,
}

impl Policy {
    /// Every feature is as likely as any other.
    pub fn new(features: usize) -> Self {
        Policy {
            scores: vec![0.0; features],
            probabilities: vec![0.0; features],
            advantages: vec![(0.0, 0.0); features],
        }
    }

    /// Sees a state, draws an action, and notes the advantage of every open one.
    pub fn act(&mut self, open: &[usize], values: &[f64], rng: &mut Rng) -> usize {
        let top = open.iter().map(|&a| self.scores[a]).fold(f64::NEG_INFINITY, f64::max);
        self.probabilities.fill(0.0);
        for &a in open {
            self.probabilities[a] = Real::exp(self.scores[a] - top);
        }
        let total: f64 = self.probabilities.iter().sum();
        self.probabilities.iter_mut().for_each(|p| *p /= total);
        let spread = deviation(open.iter().map(|&a| values[a]));
        if spread > 0.0 {
            let baseline: f64 = open.iter().map(|&a| self.probabilities[a] * values[a]).sum();
            for &a in open {
                let (sum, states) = &mut self.advantages[a];
                *sum += (values[a] - baseline) / spread;
                *states += 1.0;
            }
        }
        rng.categorical(&self.probabilities)
    }

    /// ψ ← ψ + η·A after a rollout.
    pub fn learn(&mut self, rate: f64) {
        for (score, (sum, states)) in self.scores.iter_mut().zip(&mut self.advantages) {
            *score += rate * *sum / f64::max(*states, 1.0);
            (*sum, *states) = (0.0, 0.0);
        }
    }
}

/// Standard deviation; 0 when the values differ by rounding alone.
fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / n;
    let largest = values.clone().map(f64::abs).fold(0.0, f64::max);
    let deviation = (values.map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt();
    if deviation > 1e-12 * largest { deviation } else { 0.0 }
}
