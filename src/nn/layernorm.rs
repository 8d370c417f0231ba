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

/// What the forward pass keeps: x̂ (N × D) and 1/√(var + ε) (N × 1).
#[derive(Clone, Debug, Default)]
pub struct NormSaved<T> {
    pub(crate) xhat: Mat<T>,
    pub(crate) rstd: Mat<T>,
}

impl<T: Real> NormSaved<T> {
    /// For rows of `width`; empty until the first batch.
    pub fn new(width: usize) -> Self {
        NormSaved { xhat: Mat::zeros(0, width), rstd: Mat::zeros(0, 1) }
    }

    /// Shows a part of the rows ([`Mat::show`]).
    pub fn show(&mut self, from: usize, rows: usize) {
        self.xhat.show(from, rows);
        self.rstd.show(from, rows);
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
        out.set_rows(inp.rows());
        saved.xhat.set_rows(inp.rows());
        saved.rstd.set_rows(inp.rows());
        let to = [out.as_mut_slice(), saved.xhat.as_mut_slice(), saved.rstd.as_mut_slice()];
        let weights = [self.gain.slice(p), self.shift.slice(p)];
        if !T::NORM_FORWARD(to, inp.as_slice(), weights, T::from_f64(EPSILON)) {
            self.forward_slowly(out, saved, inp, p);
        }
    }

    /// The same bits, on any machine and for any kind of number.
    fn forward_slowly<T: Real>(
        &self,
        out: &mut Mat<T>,
        saved: &mut NormSaved<T>,
        inp: &Mat<T>,
        p: &[T],
    ) {
        let (gain, shift) = (self.gain.slice(p), self.shift.slice(p));
        let scale = T::ONE / T::from_f64(inp.cols() as f64);
        let epsilon = T::from_f64(EPSILON);
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
                    saved.rstd[(i, 0)] = rstd;
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
        dinp.set_rows(dout.rows());
        if let Some(rows) = dout.as_slice() {
            let sums = dp.get_disjoint_mut([self.gain.range(), self.shift.range()]);
            let [dgain, dshift] = sums.expect("gain and shift lie apart");
            let to = [dinp.as_mut_slice(), dgain, dshift];
            let known = [saved.xhat.as_slice(), saved.rstd.as_slice()];
            if T::NORM_BACKWARD(to, rows, self.gain.slice(p), known) {
                return;
            }
        }
        self.backward_slowly(dinp, dp, dout, p, saved);
    }

    /// The same bits, on any machine and for any kind of number.
    fn backward_slowly<T: Real>(
        &self,
        dinp: &mut Mat<T>,
        dp: &mut [T],
        dout: View<'_, T>,
        p: &[T],
        saved: &NormSaved<T>,
    ) {
        let gain = self.gain.slice(p);
        let scale = T::ONE / T::from_f64(gain.len() as f64);
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
                    let rstd = saved.rstd[(i, 0)];
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

    /// Four rows at a time and the rest one by one, widths of whole registers and others.
    #[test]
    fn fast_and_slow_give_the_same_bits() {
        let mut r = crate::rng::Streams::new(6).stream("norm");
        for (rows, width) in [(0, 16), (1, 16), (4, 48), (7, 128), (13, 64), (5, 20), (9, 1)] {
            let mut layout = Layout::default();
            let norm = LayerNorm::new(&mut layout, "n", width);
            let p: Vec<f32> = (0..layout.len()).map(|_| r.normal() as f32).collect();
            let mut random = || Mat::from_fn(rows, width, |_, _| 3.0 * r.normal() as f32 + 1.0);
            let (inp, dout) = (random(), random());
            let (mut out, mut saved) = (Mat::zeros(0, width), NormSaved::new(width));
            norm.forward(&mut out, &mut saved, &inp, &p);
            let (mut want, mut kept) = (out.clone(), saved.clone());
            want.fill(7.0);
            kept.xhat.fill(7.0);
            norm.forward_slowly(&mut want, &mut kept, &inp, &p);
            assert!(out == want && saved.xhat == kept.xhat && saved.rstd == kept.rstd);
            let (mut dinp, mut dp) = (Mat::zeros(0, width), vec![0.5; layout.len()]);
            norm.backward(&mut dinp, &mut dp, dout.view(), &p, &saved);
            let (mut slow, mut sums) = (dinp.clone(), vec![0.5; layout.len()]);
            slow.fill(7.0);
            norm.backward_slowly(&mut slow, &mut sums, dout.view(), &p, &saved);
            assert!(dinp == slow && dp == sums, "{rows} × {width}");
        }
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
