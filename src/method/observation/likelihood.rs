//! The marginal likelihood of the candidates, with the true labels summed out.
//!
//! A true label is always a candidate; a label that is not true becomes one with probability ρ. With
//! the prior q = σ(u) of the label,
//!
//! ```text
//! P(C = 1) = q + (1 − q)ρ        −ln P(C = 1) = softplus(u) − ln(e^u + ρ)
//! P(C = 0) = (1 − q)(1 − ρ)      −ln P(C = 0) = softplus(u) − ln(1 − ρ)
//! ```
//!
//! and the derivative in u is q − p·C, where p = σ(u − ln ρ) = P(Y = 1 | C = 1) is the posterior. EM
//! has the same derivative after its E step, so both climb the same hill.

use crate::num::Real;

/// The noise rate of a label, as the likelihood needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseRate<T> {
    /// ln ρ.
    pub ln_rho: T,
    /// ln(1 − ρ).
    pub ln_rest: T,
}

impl<T: Real> NoiseRate<T> {
    /// Of rate ρ in (0, 1).
    pub fn new(rho: T) -> Self {
        NoiseRate { ln_rho: rho.ln(), ln_rest: (T::ONE - rho).ln() }
    }

    /// −ln P(C | u, ρ) of one cell; `c` is 1 for a candidate, else 0.
    #[inline(always)]
    pub fn negative_log_likelihood(self, u: T, c: T) -> T {
        // ln(e^u + ρ) = ln ρ + softplus(u − ln ρ). No branch: loops over cells are vectorised.
        let candidate = self.ln_rho + (u - self.ln_rho).softplus();
        u.softplus() - (c * candidate + (T::ONE - c) * self.ln_rest)
    }

    /// Its derivative in u: q − p·C.
    #[inline(always)]
    pub fn slope(self, u: T, c: T) -> T {
        u.sigmoid() - c * self.posterior(u)
    }

    /// P(Y = 1 | C = 1) under the prior logit u.
    #[inline(always)]
    pub fn posterior(self, u: T) -> T {
        (u - self.ln_rho).sigmoid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E[p | x] = q: what is believed after a candidate was heard, or was not, is on the mean what was believed
    /// before. With another rate than that of the noise it is not.
    #[test]
    fn the_posterior_keeps_the_mean_of_the_prior() {
        for rho in [0.05, 0.2, 0.6] {
            for u in [-4.0, -1.0, 0.0, 2.0] {
                let q = f64::sigmoid(u);
                let heard = q + (1.0 - q) * rho;
                let mean = |rate: f64| heard * NoiseRate::new(rate).posterior(u);
                assert!((mean(rho) - q).abs() < 1e-12, "{rho} {u}");
                assert!((mean(0.5 * rho) - q).abs() > 1e-4, "{rho} {u}");
            }
        }
    }

    #[test]
    fn the_likelihood_is_that_of_the_model_and_its_slope_is_the_derivative() {
        for rho in [1e-3, 0.2, 0.6] {
            let noise = NoiseRate::new(rho);
            for u in [-30.0, -2.0, -0.1, 0.0, 1.3, 40.0] {
                let q: f64 = Real::sigmoid(u);
                let one = q + (1.0 - q) * rho;
                let likelihood = |u: f64, c: f64| noise.negative_log_likelihood(u, c);
                assert!((likelihood(u, 1.0) + Real::ln(one)).abs() < 1e-12, "{u} {rho}");
                let total = Real::exp(-likelihood(u, 1.0)) + Real::exp(-likelihood(u, 0.0));
                assert!((total - 1.0).abs() < 1e-12, "the two cases exhaust the world: {total}");
                for c in [1.0, 0.0] {
                    let h = 1e-5;
                    let numeric = (likelihood(u + h, c) - likelihood(u - h, c)) / (2.0 * h);
                    assert!((noise.slope(u, c) - numeric).abs() < 1e-8, "{u} {rho} {c}");
                }
                assert!((noise.posterior(u) - q / one).abs() < 1e-12);
            }
        }
    }
}
