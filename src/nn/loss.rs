//! Binary cross-entropy with logits, the paper's ℓ_BCE (7) and (14).
//!
//! BCE(u, z) = softplus(u) − z·u for a target z ∈ [0, 1], written as
//! max(u, 0) − z·u + ln(1 + e^(−|u|)), which neither overflows nor cancels. ∂BCE/∂u = σ(u) − z.

use crate::num::{Real, vectorize};

/// Returns Σ weight·BCE(u, z) and adds its gradient to `du`.
pub fn bce<T: Real>(du: &mut [T], u: &[T], z: &[T], weight: T) -> T {
    assert!(du.len() == u.len() && z.len() == u.len());
    let mut total = T::ZERO;
    vectorize(
        #[inline(always)]
        || {
            for ((d, &u), &z) in du.iter_mut().zip(u).zip(z) {
                total += bce_value(u, z);
                *d += weight * (u.sigmoid() - z);
            }
        },
    );
    weight * total
}

/// Σ BCE(u, z).
pub fn bce_sum<T: Real>(u: &[T], z: &[T]) -> T {
    vectorize(
        #[inline(always)]
        || {
            // A loop: `Iterator::sum` is not inlined, so it would not be compiled for the vector unit.
            let mut total = T::ZERO;
            for (&u, &z) in u.iter().zip(z) {
                total += bce_value(u, z);
            }
            total
        },
    )
}

/// BCE of one logit.
#[inline(always)]
pub fn bce_value<T: Real>(u: T, z: T) -> T {
    (u.maximum(T::ZERO) - z * u) + (-u.abs()).softplus()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_and_gradients() {
        let (u, z) = ([0.0, 2.0, -3.0, 0.7f64], [1.0, 0.0, 1.0, 0.25]);
        let mut du = [10.0; 4];
        let value = bce(&mut du, &u, &z, 0.5);
        let direct = |u: f64, z: f64| libm::log(1.0 + libm::exp(u)) - z * u;
        let want: f64 = (0..4).map(|i| direct(u[i], z[i])).sum();
        assert!((value - 0.5 * want).abs() < 1e-14, "{value}");
        for i in 0..4 {
            let slope = 1.0 / (1.0 + libm::exp(-u[i])) - z[i];
            assert!((du[i] - 10.0 - 0.5 * slope).abs() < 1e-14);
        }
    }

    #[test]
    fn the_sum_without_a_gradient_is_the_same() {
        let (u, z) = ([0.0, 2.0, -3.0, 0.7f64], [1.0, 0.0, 1.0, 0.25]);
        let with_gradient = bce(&mut [0.0; 4], &u, &z, 1.0);
        assert!((bce_sum(&u, &z) - with_gradient).abs() < 1e-15);
    }

    #[test]
    fn saturated_logits_stay_finite_and_exact() {
        for (u, z, want) in
            [(1e4f32, 1.0, 0.0), (-1e4, 0.0, 0.0), (1e4, 0.0, 1e4), (-1e4, 1.0, 1e4)]
        {
            assert_eq!(bce_value(u, z), want);
        }
        assert!(bce_value(60.0f64, 1.0) > 0.0, "no cancellation");
        assert!(bce_value(f64::NAN, 1.0).is_nan());
    }
}
