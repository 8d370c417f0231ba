//! Log-probabilities of the two policies, with their gradients.
//!
//! Bernoulli (Stage 1, (9)): label j of a candidate set C is kept with probability σ(s_j), labels
//! outside C never. ln π(z_j) = z_j s_j − softplus(s_j), derivative z_j − σ(s_j).
//!
//! Categorical (Stage 2, (15)): feature a among those not yet selected with probability
//! softmax(s/τ)_a. ln π(a) = s_a/τ − ln Σ_{open} e^(s_j/τ), derivative (1[j = a] − π_j)/τ. Selected
//! features are left out of the sum: their probability is exactly zero, not e^(−10⁹).

use super::loss::bce_value;
use crate::num::{Real, log_sum_exp, vectorize};

/// −Σ A_j ln π(z_j) over the candidates of one instance; its gradient is added to `ds`.
/// `open[j]` says whether j ∈ C; z_j ∈ {0, 1}. The advantages of other labels are not read.
pub fn bernoulli_loss<T: Real>(
    ds: &mut [T],
    s: &[T],
    z: &[T],
    open: &[bool],
    advantage: &[T],
) -> T {
    assert!(ds.len() == s.len() && z.len() == s.len());
    assert!(open.len() == s.len() && advantage.len() == s.len());
    let mut total = T::ZERO;
    for j in 0..s.len() {
        if open[j] {
            total += advantage[j] * bce_value(s[j], z[j]);
            ds[j] -= advantage[j] * (z[j] - s[j].sigmoid());
        }
    }
    total
}

/// ln π(a) and π from scores s; `open[j]` says whether feature j may still be selected.
#[derive(Clone, Copy, Debug)]
pub struct Categorical<'a, T> {
    /// Scores of all features.
    pub scores: &'a [T],
    /// Which features are still open; at least one.
    pub open: &'a [bool],
    /// Softmax temperature τ > 0.
    pub temperature: T,
}

impl<T: Real> Categorical<'_, T> {
    /// Fills `probs` (0 for closed features) and returns ln Σ_{open} e^(s/τ).
    pub fn probabilities(&self, probs: &mut [T]) -> T {
        assert!(probs.len() == self.scores.len() && self.open.len() == probs.len());
        let inverse = T::ONE / self.temperature;
        vectorize(
            #[inline(always)]
            || {
                for ((p, &s), &open) in probs.iter_mut().zip(self.scores).zip(self.open) {
                    // Not inside the choice, where it would be a gather.
                    let scaled = s * inverse;
                    *p = if open { scaled } else { T::NEG_INFINITY };
                }
                let norm = log_sum_exp(probs);
                for p in probs.iter_mut() {
                    // exp(−∞) is exactly 0.
                    *p = (*p - norm).exp();
                }
                norm
            },
        )
    }

    /// weight · ln π(a); its gradient is added to `ds`. `probs` is overwritten with π.
    pub fn log_prob(&self, ds: &mut [T], probs: &mut [T], a: usize, weight: T) -> T {
        assert!(self.open[a], "feature {a} was selected before");
        let norm = self.probabilities(probs);
        known_log_prob(ds, probs, a, weight, self.temperature, self.log_of(a, norm))
    }

    /// ln π(a), with what [`Categorical::probabilities`] returned.
    pub fn log_of(&self, a: usize, norm: T) -> T {
        self.scores[a] / self.temperature - norm
    }
}

/// [`Categorical::log_prob`] where π and `log` = ln π(a) are known.
pub fn known_log_prob<T: Real>(
    ds: &mut [T],
    probs: &[T],
    a: usize,
    weight: T,
    temperature: T,
    log: T,
) -> T {
    let factor = weight / temperature;
    vectorize(
        #[inline(always)]
        || {
            for (d, &p) in ds.iter_mut().zip(probs) {
                *d -= factor * p;
            }
        },
    );
    ds[a] += factor;
    weight * log
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ln(x: f64) -> f64 {
        libm::log(x)
    }

    #[test]
    fn bernoulli_by_hand() {
        let (s, z) = ([0.4, -1.2, 2.0], [1.0, 0.0, 1.0]);
        let p: Vec<f64> = s.iter().map(|v| 1.0 / (1.0 + libm::exp(-v))).collect();
        let open = [true, true, false];
        let mut ds = [1.0; 3];
        let advantage = [2.0, 3.0, f64::NAN];
        let got = bernoulli_loss(&mut ds, &s, &z, &open, &advantage);
        assert!((got + 2.0 * ln(p[0]) + 3.0 * ln(1.0 - p[1])).abs() < 1e-14);
        assert!((ds[0] - 1.0 + 2.0 * (1.0 - p[0])).abs() < 1e-14);
        assert!((ds[1] - 1.0 - 3.0 * p[1]).abs() < 1e-14);
        assert_eq!(ds[2], 1.0, "outside the candidate set nothing moves");
    }

    #[test]
    fn an_empty_candidate_set_is_worth_nothing() {
        let mut ds = [0.0; 2];
        let none = [false; 2];
        let value = bernoulli_loss(&mut ds, &[1.0, 2.0], &[0.0; 2], &none, &[1.0; 2]);
        assert_eq!((value, ds), (0.0, [0.0; 2]));
    }

    #[test]
    fn categorical_by_hand() {
        let scores = [1.0, 5.0, -0.5, 0.25];
        let open = [true, false, true, true];
        let c = Categorical { scores: &scores, open: &open, temperature: 2.0 };
        let mut probs = [0.0; 4];
        c.probabilities(&mut probs);
        let e: Vec<f64> = [0.5, -0.25, 0.125].iter().map(|&v| libm::exp(v)).collect();
        let total: f64 = e.iter().sum();
        assert_eq!(probs[1], 0.0, "exactly");
        assert!((probs[0] - e[0] / total).abs() < 1e-15);
        assert!((probs.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        let mut ds = [0.0; 4];
        let value = c.log_prob(&mut ds, &mut probs, 2, 3.0);
        assert!((value - 3.0 * ln(e[1] / total)).abs() < 1e-14);
        assert!((ds[2] - 1.5 * (1.0 - e[1] / total)).abs() < 1e-15);
        assert_eq!(ds[1], 0.0);
    }

    #[test]
    fn the_last_open_feature_is_certain() {
        let c = Categorical { scores: &[1e30f32, -7.0], open: &[false, true], temperature: 1.0 };
        let (mut ds, mut probs) = ([0.0; 2], [0.0; 2]);
        assert_eq!(c.log_prob(&mut ds, &mut probs, 1, 1.0), 0.0);
        assert_eq!((probs, ds), ([0.0, 1.0], [0.0, 0.0]));
    }

    #[test]
    #[should_panic(expected = "feature 0 was selected before")]
    fn a_closed_feature_cannot_be_an_action() {
        let c = Categorical { scores: &[0.0, 0.0], open: &[false, true], temperature: 1.0 };
        c.log_prob(&mut [0.0; 2], &mut [0.0; 2], 0, 1.0);
    }
}
