//! Linear layer: out = inp · W + b.
//!
//! Shapes: inp N × I, W I × O, b O, out N × O. With G = ∂ℓ/∂out:
//! ∂ℓ/∂inp = G Wᵀ, ∂ℓ/∂W = inpᵀ G, ∂ℓ/∂b = column sums of G.

use super::init::Init;
use super::params::{Layout, Param};
use crate::linalg::{Acc, View, ViewMut, add_products, affine, gemm};
use crate::num::{Real, vectorize};

/// Where a linear layer's weights lie.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    /// W, I × O.
    pub w: Param,
    /// b, 1 × O.
    pub b: Param,
}

impl Linear {
    /// Lays out `name.w` and `name.b`, both uniform by the number of inputs at the start.
    pub fn new(layout: &mut Layout, name: &str, inputs: usize, outputs: usize) -> Self {
        let init = Init::FanIn(inputs);
        Linear::starting(layout, name, (inputs, outputs), init, init)
    }

    /// Lays out `name.w` and `name.b` with other initial values.
    pub fn starting(
        layout: &mut Layout,
        name: &str,
        (inputs, outputs): (usize, usize),
        w: Init,
        b: Init,
    ) -> Self {
        Linear {
            w: layout.add(format!("{name}.w"), inputs, outputs, w),
            b: layout.add(format!("{name}.b"), 1, outputs, b),
        }
    }

    /// out = inp · W + b.
    pub fn forward<T: Real>(&self, out: ViewMut<'_, T>, inp: View<'_, T>, p: &[T]) {
        affine(out, self.b.slice(p), inp, self.w.view(p));
    }

    /// dW += inpᵀ · dout, db += Σ dout, and dinp = dout · Wᵀ if asked for (`Acc::Add` adds to it).
    pub fn backward<T: Real>(
        &self,
        dinp: Option<(Acc, ViewMut<'_, T>)>,
        dp: &mut [T],
        dout: View<'_, T>,
        inp: View<'_, T>,
        p: &[T],
    ) {
        self.backward_in_parts(1, dinp, dp, dout, inp, p);
    }

    /// The same for rows that are `parts` batches one below the other: dW has the bits of as many
    /// calls, and its entries are fetched once.
    pub fn backward_in_parts<T: Real>(
        &self,
        parts: usize,
        dinp: Option<(Acc, ViewMut<'_, T>)>,
        dp: &mut [T],
        dout: View<'_, T>,
        inp: View<'_, T>,
        p: &[T],
    ) {
        add_products(self.w.view_mut(dp), inp.t(), dout, parts);
        add_column_sums(self.b.slice_mut(dp), dout);
        if let Some((acc, dinp)) = dinp {
            gemm(acc, dinp, dout, self.w.view(p).t());
        }
    }
}

/// sums += column sums of m, row after row.
pub fn add_column_sums<T: Real>(sums: &mut [T], m: View<'_, T>) {
    assert_eq!(sums.len(), m.cols());
    vectorize(
        #[inline(always)]
        || {
            for i in 0..m.rows() {
                for (s, &v) in sums.iter_mut().zip(m.row(i)) {
                    *s += v;
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Mat;

    #[test]
    fn a_hand_computed_case() {
        let mut layout = Layout::default();
        let layer = Linear::new(&mut layout, "l", 2, 3);
        // W = [1 2 3; 4 5 6], b = [10 20 30]
        let p = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0, 20.0, 30.0];
        let inp = Mat::from_vec(2, 2, vec![1.0, 0.0, 2.0, -1.0]);
        let mut out = Mat::zeros(2, 3);
        layer.forward(out.view_mut(), inp.view(), &p);
        assert_eq!(out.as_slice(), &[11.0, 22.0, 33.0, 8.0, 19.0, 30.0]);
        let dout = Mat::from_vec(2, 3, vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        let mut dp = vec![100.0; 9];
        let mut dinp = Mat::from_vec(2, 2, vec![7.0; 4]);
        let run = |acc, dinp: &mut Mat<f64>, dp: &mut [f64]| {
            let target = Some((acc, dinp.view_mut()));
            layer.backward(target, dp, dout.view(), inp.view(), &p);
        };
        run(Acc::Set, &mut dinp, &mut dp);
        assert_eq!(dinp.as_slice(), &[1.0, 4.0, 2.0, 5.0]);
        // dW = inpᵀ dout = [1 2 0; 0 -1 0], db = [1 1 0], on top of the 100 that was there.
        let want = [101.0, 102.0, 100.0, 100.0, 99.0, 100.0, 101.0, 101.0, 100.0];
        assert_eq!(dp, want);
        run(Acc::Add, &mut dinp, &mut dp);
        assert_eq!(dinp.as_slice(), &[2.0, 8.0, 4.0, 10.0]);
    }
}
