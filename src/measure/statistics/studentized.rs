//! The studentised range for infinitely many degrees of freedom: the range of k standard normals.
//!
//! P(range ≤ q) = k ∫ φ(z) [Φ(z) − Φ(z − q)]^(k−1) dz. The integrand and all its derivatives vanish
//! at both ends, so the trapezoidal rule converges faster than any power of the step.

use crate::num::Real;

const STEP: f64 = 1.0 / 32.0;
/// φ(9) is below 1e-18.
const END: f64 = 9.0;

/// P(range of k independent standard normals ≤ q).
pub(super) fn cdf(q: f64, k: usize) -> f64 {
    let steps = (2.0 * END / STEP) as i32;
    let sum: f64 = (0..=steps)
        .map(|i| {
            let z = -END + STEP * f64::from(i);
            density(z) * (normal_cdf(z) - normal_cdf(z - q)).powi(k as i32 - 1)
        })
        .sum();
    k as f64 * STEP * sum
}

/// The q with P(range ≤ q) = p, by bisection to the last bits.
pub(super) fn quantile(p: f64, k: usize) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        if cdf(middle, k) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

fn density(z: f64) -> f64 {
    Real::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt()
}

fn normal_cdf(z: f64) -> f64 {
    0.5 * (1.0 + Real::erf(z * std::f64::consts::FRAC_1_SQRT_2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_normals_have_a_closed_form() {
        // The difference of two normals has variance 2.
        for q in [0.1, 1.0, 2.772, 5.0] {
            let want = 2.0 * normal_cdf(q / 2f64.sqrt()) - 1.0;
            assert!((cdf(q, 2) - want).abs() < 1e-14, "q = {q}");
        }
    }

    #[test]
    fn quantiles_invert_the_distribution() {
        for (k, p) in [(2, 0.95), (9, 0.95), (20, 0.9), (100, 0.99)] {
            assert!((cdf(quantile(p, k), k) - p).abs() < 1e-13, "k = {k}");
        }
    }
}
