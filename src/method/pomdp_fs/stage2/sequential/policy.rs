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

    /// Sees a state: π in it, and the advantage of every open action.
    pub fn observe(&mut self, open: &[usize], values: &[f64]) {
        softmax(&self.scores, open, &mut self.probabilities);
        let spread = deviation(open.iter().map(|&a| values[a]));
        if spread > 0.0 {
            let baseline: f64 = open.iter().map(|&a| self.probabilities[a] * values[a]).sum();
            for &a in open {
                let (sum, states) = &mut self.advantages[a];
                *sum += (values[a] - baseline) / spread;
                *states += 1.0;
            }
        }
    }

    /// Draws the next `count` actions from a state with these open features. π depends on the mask
    /// alone, so the actions can be drawn before their values are known.
    pub fn plan(&self, open: &[usize], count: usize, rng: &mut Rng) -> Vec<usize> {
        let mut open = open.to_vec();
        let mut probabilities = vec![0.0; self.scores.len()];
        let draw = |_| {
            softmax(&self.scores, &open, &mut probabilities);
            let a = rng.categorical(&probabilities);
            open.retain(|&b| b != a);
            a
        };
        (0..count).map(draw).collect()
    }

    /// ψ ← ψ + η·A after a rollout.
    pub fn learn(&mut self, rate: f64) {
        for (score, (sum, states)) in self.scores.iter_mut().zip(&mut self.advantages) {
            *score += rate * *sum / f64::max(*states, 1.0);
            (*sum, *states) = (0.0, 0.0);
        }
    }
}

/// Softmax of the scores over the open features, 0 for the others.
fn softmax(scores: &[f64], open: &[usize], probabilities: &mut [f64]) {
    let top = open.iter().map(|&a| scores[a]).fold(f64::NEG_INFINITY, f64::max);
    probabilities.fill(0.0);
    open.iter().for_each(|&a| probabilities[a] = Real::exp(scores[a] - top));
    let total: f64 = probabilities.iter().sum();
    probabilities.iter_mut().for_each(|p| *p /= total);
}

/// Standard deviation; 0 when the values differ by rounding alone.
fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / n;
    let largest = values.clone().map(f64::abs).fold(0.0, f64::max);
    let deviation = (values.map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt();
    if deviation > 1e-12 * largest { deviation } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    /// F·A = ∇J for J = Σ π(a) q(a), with the Fisher matrix F = diag(π) − ππᵀ and ∇J by differences:
    /// the step is the natural gradient.
    #[test]
    fn the_step_is_the_natural_gradient() {
        let (scores, values, open) = ([0.3, -1.0, 0.8, 5.0], [0.2, 0.9, -0.4, 100.0], [0, 1, 2]);
        let at = |scores: [f64; 4]| {
            let mut policy = Policy::new(4);
            policy.scores.copy_from_slice(&scores);
            policy.observe(&open, &values);
            policy
        };
        let expected =
            |scores| -> f64 { open.iter().map(|&a| at(scores).probabilities[a] * values[a]).sum() };
        let mut policy = at(scores);
        let pi = policy.probabilities.clone();
        assert_eq!(pi[3], 0.0, "a selected feature");
        policy.learn(1.0);
        let spread = deviation(open.iter().map(|&a| values[a]));
        let step: Vec<f64> =
            policy.scores.iter().zip(&scores).map(|(new, old)| (new - old) * spread).collect();
        assert_eq!(step[3], 0.0);
        for a in open {
            let moved = |h: f64| {
                let mut moved = scores;
                moved[a] += h;
                expected(moved)
            };
            let gradient = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            let along: f64 = open.iter().map(|&b| pi[b] * step[b]).sum();
            assert!((pi[a] * (step[a] - along) - gradient).abs() < 1e-9, "feature {a}");
        }
        // A second rollout starts from nothing.
        let before = policy.scores.clone();
        policy.learn(1.0);
        assert_eq!(policy.scores, before);
    }

    #[test]
    fn selected_features_are_never_drawn_and_equal_values_teach_nothing() {
        let mut policy = Policy::new(3);
        let mut rng = Streams::new(1).stream("policy");
        policy.scores[1] = 800.0;
        policy.observe(&[0, 2], &[0.1 + 0.2, 9.0, 0.3]);
        assert!((0..200).map(|_| policy.plan(&[0, 2], 1, &mut rng)[0]).all(|a| a != 1));
        let mut both = policy.plan(&[0, 2], 2, &mut rng);
        both.sort_unstable();
        assert_eq!(both, [0, 2], "each once");
        policy.learn(3.0);
        assert_eq!(policy.scores, [0.0, 800.0, 0.0]);
    }
}
