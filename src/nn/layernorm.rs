//! Layer norm: out = γ ∘ x̂ + β with x̂ = (x − mean x) / √(var x + ε), row by row.
//!
//! With g = γ ∘ ∂ℓ/∂out and means over the row's D entries:
//! ∂ℓ/∂x = (g − mean g − x̂ · mean(g ∘ x̂)) / √(var x + ε); ∂ℓ/∂γ = Σ ∂ℓ/∂out ∘ x̂; ∂ℓ/∂β = Σ ∂ℓ/∂out.
//! The variance is the population's; ε = 10⁻⁵ as in PyTorch.

use super::init::Init;
use super::linear::add_column_sums;
use super::params::{Layout, Param};
use crate::linalg::{Mat, View};
use crate::num::{Real, dot, sum, vectorize};

const EPSILON: f64 = 1e-5;

/// Where a layer norm's gain and shift lie.
#[derive(Clone, Copy, Debug)]
pub struct LayerNorm {
    /// γ, 1 × D.
    pub gain: Param,
    /// β, 1 × D.
    pub shift: Param,
}

/// What the forward pass keeps: x̂ (N × D) and 1/√(var + ε) (N).
#[derive(Clone, Debug, Default)]
pub struct NormSaved<T> {
    pub(crate) xhat: Mat<T>,
    pub(crate) rstd: Vec<T>,
}

impl<T: Real> NormSaved<T> {
    /// For rows of `width`; empty until the first batch.
    pub fn new(width: usize) -> Self {
        NormSaved { xhat: Mat::zeros(0, width), rstd: Vec::new() }
    }
}

impl LayerNorm {
    /// Lays out `name.gain` and `name.shift`.
    pub fn new(layout: &mut Layout, name: &str, width: usize) -> Self {
        LayerNorm {
            gain: layout.add(format!("{name}.gain"), 1, width, Init::One),
            shift: layout.add(format!("{name}.shift"), 1, width, Init::Zero),
        }
    }

    /// out = γ ∘ x̂ + β; `out` takes the number of rows of `inp`.
    pub fn forward<T: Real>(
        &self,
        out: &mut Mat<T>,
        saved: &mut NormSaved<T>,
        inp: &Mat<T>,
        p: &[T],
    ) {
        let (gain, shift) = (self.gain.slice(p), self.shift.slice(p));
        let scale = T::ONE / T::from_f64(inp.cols() as f64);
        let epsilon = T::from_f64(EPSILON);
        out.set_rows(inp.rows());
        saved.xhat.set_rows(inp.rows());
        saved.rstd.resize(inp.rows(), T::ZERO);
        vectorize(
            #[inline(always)]
            || {
                for i in 0..inp.rows() {
                    let (x, xhat, out) = (inp.row(i), saved.xhat.row_mut(i), out.row_mut(i));
                    let mean = sum(x) * scale;
                    for (h, &v) in xhat.iter_mut().zip(x) {
                        *h = v - mean;
                    }
                    let rstd = T::ONE / (dot(xhat, xhat) * scale + epsilon).sqrt();
                    for j in 0..x.len() {
                        xhat[j] *= rstd;
                        out[j] = xhat[j].mul_add(gain[j], shift[j]);
                    }
                    saved.rstd[i] = rstd;
                }
            },
        );
    }

    /// dinp = ∂ℓ/∂x; dγ and dβ accumulate.
    pub fn backward<T: Real>(
        &self,
        dinp: &mut Mat<T>,
        dp: &mut [T],
        dout: View<'_, T>,
        p: &[T],
        saved: &NormSaved<T>,
    ) {
        let gain = self.gain.slice(p);
        let scale = T::ONE / T::from_f64(gain.len() as f64);
        dinp.set_rows(dout.rows());
        let dgain = self.gain.slice_mut(dp);
        vectorize(
            #[inline(always)]
            || {
                for i in 0..dout.rows() {
                    let (xhat, dout, g) = (saved.xhat.row(i), dout.row(i), dinp.row_mut(i));
                    for j in 0..gain.len() {
                        g[j] = dout[j] * gain[j];
                        dgain[j] += dout[j] * xhat[j];
                    }
                    let mean = sum(g) * scale;
                    let projection = dot(g, xhat) * scale;
                    let rstd = saved.rstd[i];
                    for (g, &h) in g.iter_mut().zip(xhat) {
                        *g = (*g - mean - h * projection) * rstd;
                    }
                }
            },
        );
        add_column_sums(self.shift.slice_mut(dp), dout);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(width: usize) -> (LayerNorm, Vec<f64>) {
        let mut layout = Layout::default();
        let norm = LayerNorm::new(&mut layout, "n", width);
        let mut p = vec![1.0; layout.len()];
        norm.shift.slice_mut(&mut p).fill(0.5);
        (norm, p)
    }

    #[test]
    fn rows_get_mean_and_deviation() {
        let (norm, mut p) = layer(3);
        p[1] = 2.0;
        let inp = Mat::from_vec(2, 3, vec![1.0, 2.0, 3.0, 5.0, 5.0, 5.0]);
        let (mut out, mut saved) = (Mat::zeros(0, 3), NormSaved::new(3));
        norm.forward(&mut out, &mut saved, &inp, &p);
        // Row 0: mean 2, variance 2/3.
        let z = 1.0 / (2.0f64 / 3.0 + 1e-5).sqrt();
        let want = [-z + 0.5, 0.5, z + 0.5];
        for (got, want) in out.row(0).iter().zip(want) {
            assert!((got - want).abs() < 1e-15);
        }
        // A constant row is all shift: ε keeps the division finite.
        assert_eq!(out.row(1), &[0.5; 3]);
    }

    #[test]
    fn width_one_has_no_gradient_to_give() {
        let (norm, p) = layer(1);
        let inp = Mat::from_vec(2, 1, vec![3.0, -7.0]);
        let (mut out, mut saved) = (Mat::zeros(0, 1), NormSaved::new(1));
        norm.forward(&mut out, &mut saved, &inp, &p);
        assert_eq!(out.as_slice(), &[0.5, 0.5]);
        let (mut dinp, mut dp) = (Mat::zeros(0, 1), vec![0.0; 2]);
        norm.backward(&mut dinp, &mut dp, inp.view(), &p, &saved);
        assert_eq!(dinp.as_slice(), &[0.0, 0.0]);
        assert_eq!(dp, [0.0, -4.0]);
    }
}
