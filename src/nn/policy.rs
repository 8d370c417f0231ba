//! Log-probabilities and entropies of the two policies, with their gradients.
//!
//! Bernoulli (Stage 1, (9)): label j of a candidate set C is kept with probability σ(s_j), labels
//! outside C never. ln π(z_j) = z_j s_j − softplus(s_j), derivative z_j − σ(s_j); entropy
//! H_j = softplus(s_j) − s_j σ(s_j), derivative −s_j σ(s_j)(1 − σ(s_j)).
//!
//! Categorical (Stage 2, (15)): feature a among those not yet selected with probability
//! softmax(s/τ)_a. ln π(a) = s_a/τ − ln Σ_{open} e^(s_j/τ), derivative (1[j = a] − π_j)/τ; entropy
//! H = −Σ π_j ln π_j, derivative −π_j (ln π_j + H)/τ. Selected features are left out of the sums:
//! their probability is exactly zero, not e^(−10⁹).

use super::fault::Fault;
use super::loss::bce_value;
use crate::num::{Real, log_sum_exp, vectorize};

/// Σ weight_j ln π(z_j) over the candidates of one instance; its gradient is added to `ds`.
/// `open[j]` says whether j ∈ C; z_j ∈ {0, 1}.
pub fn bernoulli_log_prob<T: Real>(
    ds: &mut [T],
    s: &[T],
    z: &[T],
    open: &[bool],
    weight: &[T],
    fault: Fault,
) -> T {
    assert!(ds.len() == s.len() && z.len() == s.len());
    assert!(open.len() == s.len() && weight.len() == s.len());
    let mut total = T::ZERO;
    for j in 0..s.len() {
        if open[j] {
            total -= weight[j] * bce_value(s[j], z[j]);
        }
        if open[j] || fault == Fault::BernoulliMaskLeak {
            ds[j] += weight[j] * (z[j] - s[j].sigmoid());
        }
    }
    total
}

/// weight · Σ_{j ∈ C} H_j for one instance; its gradient is added to `ds`.
pub fn bernoulli_entropy<T: Real>(
    ds: &mut [T],
    s: &[T],
    open: &[bool],
    weight: T,
    fault: Fault,
) -> T {
    assert!(ds.len() == s.len() && open.len() == s.len());
    let sign = if fault == Fault::EntropySign { -T::ONE } else { T::ONE };
    let mut total = T::ZERO;
    for j in 0..s.len() {
        if open[j] {
            let p = s[j].sigmoid();
            // softplus(s) − s·p, in the form that does not cancel for large |s|.
            total += bce_value(s[j], p);
            ds[j] -= sign * weight * s[j] * p * (-s[j]).sigmoid();
        }
    }
    weight * total
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
    pub fn probabilities(&self, probs: &mut [T], fault: Fault) -> T {
        assert!(probs.len() == self.scores.len() && self.open.len() == probs.len());
        let inverse = T::ONE / self.temperature;
        let stale = fault == Fault::CategoricalMaskStale;
        for (j, p) in probs.iter_mut().enumerate() {
            *p = if self.open[j] || stale { self.scores[j] * inverse } else { T::NEG_INFINITY };
        }
        vectorize(
            #[inline(always)]
            || {
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
    pub fn log_prob(&self, ds: &mut [T], probs: &mut [T], a: usize, weight: T, fault: Fault) -> T {
        assert!(self.open[a], "feature {a} was selected before");
        let norm = self.probabilities(probs, Fault::None);
        let value = self.scores[a] / self.temperature - norm;
        if fault == Fault::CategoricalMaskStale {
            self.probabilities(probs, fault);
        }
        let factor = weight / self.backward_temperature(fault);
        for (d, &p) in ds.iter_mut().zip(probs.iter()) {
            *d -= factor * p;
        }
        ds[a] += factor;
        weight * value
    }

    /// weight · H(π); its gradient is added to `ds`. `probs` is overwritten with π.
    pub fn entropy(&self, ds: &mut [T], probs: &mut [T], weight: T, fault: Fault) -> T {
        let norm = self.probabilities(probs, Fault::None);
        let log_p = |j: usize| self.scores[j] / self.temperature - norm;
        let mut entropy = T::ZERO;
        for j in 0..probs.len() {
            if self.open[j] {
                entropy -= probs[j] * log_p(j);
            }
        }
        let sign = if fault == Fault::EntropySign { -T::ONE } else { T::ONE };
        let factor = sign * weight / self.backward_temperature(fault);
        for j in 0..probs.len() {
            if self.open[j] {
                ds[j] -= factor * probs[j] * (log_p(j) + entropy);
            }
        }
        weight * entropy
    }

    fn backward_temperature(&self, fault: Fault) -> T {
        let missing = fault == Fault::TemperatureMissing;
        if missing { T::ONE } else { self.temperature }
    }
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
        let weight = [2.0, 3.0, 5.0];
        let got = bernoulli_log_prob(&mut ds, &s, &z, &open, &weight, Fault::None);
        assert!((got - (2.0 * ln(p[0]) + 3.0 * ln(1.0 - p[1]))).abs() < 1e-14);
        assert!((ds[0] - 1.0 - 2.0 * (1.0 - p[0])).abs() < 1e-14);
        assert!((ds[1] - 1.0 + 3.0 * p[1]).abs() < 1e-14);
        assert_eq!(ds[2], 1.0, "outside the candidate set nothing moves");
        let mut ds = [0.0; 3];
        let h = bernoulli_entropy(&mut ds, &s, &open, 0.5, Fault::None);
        let h_of = |p: f64| -p * ln(p) - (1.0 - p) * ln(1.0 - p);
        assert!((h - 0.5 * (h_of(p[0]) + h_of(p[1]))).abs() < 1e-14);
        assert_eq!(ds[2], 0.0);
        assert!((ds[0] + 0.5 * s[0] * p[0] * (1.0 - p[0])).abs() < 1e-15);
    }

    #[test]
    fn an_empty_candidate_set_is_worth_nothing() {
        let mut ds = [0.0; 2];
        let none = [false; 2];
        let value =
            bernoulli_log_prob(&mut ds, &[1.0, 2.0], &[0.0; 2], &none, &[1.0; 2], Fault::None);
        assert_eq!((value, ds), (0.0, [0.0; 2]));
        assert_eq!(bernoulli_entropy(&mut ds, &[1.0, 2.0], &none, 1.0, Fault::None), 0.0);
    }

    #[test]
    fn categorical_by_hand() {
        let scores = [1.0, 5.0, -0.5, 0.25];
        let open = [true, false, true, true];
        let c = Categorical { scores: &scores, open: &open, temperature: 2.0 };
        let mut probs = [0.0; 4];
        c.probabilities(&mut probs, Fault::None);
        let e: Vec<f64> = [0.5, -0.25, 0.125].iter().map(|&v| libm::exp(v)).collect();
        let total: f64 = e.iter().sum();
        assert_eq!(probs[1], 0.0, "exactly");
        assert!((probs[0] - e[0] / total).abs() < 1e-15);
        assert!((probs.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        let mut ds = [0.0; 4];
        let value = c.log_prob(&mut ds, &mut probs, 2, 3.0, Fault::None);
        assert!((value - 3.0 * ln(e[1] / total)).abs() < 1e-14);
        assert!((ds[2] - 1.5 * (1.0 - e[1] / total)).abs() < 1e-15);
        assert_eq!(ds[1], 0.0);
        let mut ds = [0.0; 4];
        let h = c.entropy(&mut ds, &mut probs, 1.0, Fault::None);
        let want: f64 = e.iter().map(|v| -v / total * ln(v / total)).sum();
        assert!((h - want).abs() < 1e-14);
        assert!(ds.iter().sum::<f64>().abs() < 1e-15 && ds[1] == 0.0);
    }

    #[test]
    fn gradients_of_the_entropies_by_differences() {
        let (open, h, weight) = ([true, false, true, true], 1e-5, 0.7);
        type Entropy<'a> = &'a dyn Fn(&[f64; 4], &mut [f64; 4], Fault) -> f64;
        let categorical: Entropy = &|s, ds, fault| {
            let c = Categorical { scores: s, open: &open, temperature: 2.0 };
            c.entropy(ds, &mut [0.0; 4], weight, fault)
        };
        let bernoulli: Entropy = &|s, ds, fault| bernoulli_entropy(ds, s, &open, weight, fault);
        for entropy in [categorical, bernoulli] {
            let s = [1.0, 5.0, -0.5, 0.25];
            let (mut ds, mut wrong) = ([0.3; 4], [0.0; 4]);
            entropy(&s, &mut ds, Fault::None);
            entropy(&s, &mut wrong, Fault::EntropySign);
            for j in 0..4 {
                let at = |d: f64| {
                    let mut moved = s;
                    moved[j] += d;
                    entropy(&moved, &mut [0.0; 4], Fault::None)
                };
                let slope = (at(h) - at(-h)) / (2.0 * h);
                assert!((ds[j] - 0.3 - slope).abs() < 1e-9, "{j}: {} {slope}", ds[j] - 0.3);
                assert!((wrong[j] + slope).abs() < 1e-9, "the fault turns the sign");
            }
        }
    }

    #[test]
    fn faults_do_what_they_say() {
        let (scores, open) = ([1.0, 5.0, -0.5, 0.25], [true, false, true, true]);
        let c = Categorical { scores: &scores, open: &open, temperature: 2.0 };
        let gradient = |fault| {
            let (mut ds, mut probs) = ([0.0; 4], [0.0; 4]);
            let value = c.log_prob(&mut ds, &mut probs, 2, 1.0, fault);
            (value, ds)
        };
        let (value, right) = gradient(Fault::None);
        let (same, hot) = gradient(Fault::TemperatureMissing);
        assert_eq!(value, same, "faults spoil the backward pass alone");
        assert!((0..4).all(|j| (hot[j] - 2.0 * right[j]).abs() < 1e-15));
        let (same, stale) = gradient(Fault::CategoricalMaskStale);
        assert!(value == same && stale[1] < 0.0, "a closed feature gets a gradient");
    }

    #[test]
    fn the_last_open_feature_is_certain() {
        let c = Categorical { scores: &[1e30f32, -7.0], open: &[false, true], temperature: 1.0 };
        let (mut ds, mut probs) = ([0.0; 2], [0.0; 2]);
        assert_eq!(c.log_prob(&mut ds, &mut probs, 1, 1.0, Fault::None), 0.0);
        assert_eq!((probs, ds), ([0.0, 1.0], [0.0, 0.0]));
        assert_eq!(c.entropy(&mut ds, &mut probs, 1.0, Fault::None), 0.0);
    }

    #[test]
    #[should_panic(expected = "feature 0 was selected before")]
    fn a_closed_feature_cannot_be_an_action() {
        let c = Categorical { scores: &[0.0, 0.0], open: &[false, true], temperature: 1.0 };
        c.log_prob(&mut [0.0; 2], &mut [0.0; 2], 0, 1.0, Fault::None);
    }
}
