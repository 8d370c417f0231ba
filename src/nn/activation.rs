//! Activations of the feed-forward layer: GELU(x) = x Φ(x), exact by erf, and ReLU(x) = max(x, 0).
//!
//! The forward pass computes value and slope together, because Φ and the density φ share their
//! exponential in spirit and the backward pass is then one product:
//! GELU′(x) = Φ(x) + x φ(x); ReLU′(x) = 1 for x > 0, else 0 (0 at the kink, as in PyTorch).

use serde::{Deserialize, Serialize};

use crate::num::{Real, vectorize};

/// Which activation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// x Φ(x), with the exact normal distribution function.
    #[default]
    Gelu,
    /// max(x, 0).
    Relu,
}

impl Activation {
    /// out = f(x) and x ← f′(x); the backward pass is the product dout ∘ f′(x).
    pub fn forward<T: Real>(self, out: &mut [T], x: &mut [T]) {
        assert_eq!(out.len(), x.len());
        match self {
            Activation::Gelu => gelu(out, x),
            Activation::Relu => vectorize(
                #[inline(always)]
                || {
                    for (o, x) in out.iter_mut().zip(x) {
                        // Multiplying keeps a NaN alive; a comparison alone would hide it.
                        let slope = if *x > T::ZERO { T::ONE } else { T::ZERO };
                        *o = *x * slope;
                        *x = slope;
                    }
                },
            ),
        }
    }
}

fn gelu<T: Real>(out: &mut [T], x: &mut [T]) {
    let half = T::from_f64(0.5);
    let sqrt_half = T::from_f64(std::f64::consts::FRAC_1_SQRT_2);
    let density_at_zero = T::from_f64(0.398_942_280_401_432_7); // 1/√(2π)
    vectorize(
        #[inline(always)]
        || {
            for (o, x) in out.iter_mut().zip(x) {
                let v = *x;
                let cdf = half.mul_add((v * sqrt_half).erf(), half);
                let density = density_at_zero * (-half * v * v).exp();
                *o = v * cdf;
                *x = v * density + cdf;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(f: Activation, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut out, mut slope) = (vec![0.0; x.len()], x.to_vec());
        f.forward(&mut out, &mut slope);
        (out, slope)
    }

    #[test]
    fn known_values() {
        let (out, slope) = run(Activation::Gelu, &[0.0, 1.0, -1.0, 30.0, -30.0]);
        // Φ(1) = 0.841344746068543, φ(1) = 0.241970724519143
        let want = [0.0, 0.841344746068543, -0.158655253931457, 30.0, 0.0];
        let want_slope = [0.5, 1.083315470587686, -0.083315470587686, 1.0, 0.0];
        for i in 0..5 {
            assert!((out[i] - want[i]).abs() < 1e-14, "{}", out[i]);
            assert!((slope[i] - want_slope[i]).abs() < 1e-14, "{}", slope[i]);
        }
        let (out, slope) = run(Activation::Relu, &[-2.0, 0.0, 3.0]);
        assert_eq!((out, slope), (vec![0.0, 0.0, 3.0], vec![0.0, 0.0, 1.0]));
    }

    #[test]
    fn a_nan_stays_visible() {
        for f in [Activation::Gelu, Activation::Relu] {
            assert!(run(f, &[f64::NAN]).0[0].is_nan());
        }
    }
}
