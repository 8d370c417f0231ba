//! Layers alone. Weights are used twice, on two inputs, so that a missing `+=` shows.

use std::ops::Range;

use super::{Case, Function, Vars, Wanted, add, inner, mat};
use crate::audit::Control;
use crate::linalg::{Acc, Mat};
use crate::nn::layernorm::{LayerNorm, NormSaved};
use crate::nn::tokens::Tokens;
use crate::nn::{Activation, Dropout, Layout, Linear};
use crate::num::{Real, mul_assign};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (n, i, o) in [(1, 1, 1), (3, 5, 2), (4, 2, 7)] {
        cases.push(linear(n, i, o));
    }
    cases.push(shared_input());
    for (n, d) in [(3, 5), (2, 8), (4, 2)] {
        cases.push(layernorm(n, d));
    }
    cases.push(activation("gelu", Activation::Gelu));
    cases.push(activation("relu", Activation::Relu));
    cases.push(dropout());
    for (groups, token) in [(1, false), (3, false), (1, true), (3, true)] {
        cases.push(tokens(groups, token));
    }
    cases
}

struct LinearTwice {
    layer: Linear,
    layout: Layout,
    p: Range<usize>,
    inputs: [Range<usize>; 2],
    douts: [Mat<f64>; 2],
}

fn linear(n: usize, i: usize, o: usize) -> Case {
    let name = format!("linear/{n}x{i}x{o}");
    let mut v = Vars::new(&name);
    let mut layout = Layout::default();
    let layer = Linear::new(&mut layout, "linear", i, o);
    let p = v.arena(&layout, false);
    let inputs = [v.normal("inp1", n, i), v.normal("inp2", n, i)];
    let douts = [v.constant(n, o), v.constant(n, o)];
    let shape = format!("two inputs {n}×{i}, W {i}×{o}");
    v.case(&name, shape, LinearTwice { layer, layout, p, inputs, douts })
}

impl Function for LinearTwice {
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T {
        let (i, o) = self.layer.w.shape();
        let (p, douts) = (&z[self.p.clone()], self.douts.each_ref().map(Mat::cast::<T>));
        let xs = self.inputs.each_ref().map(|r| mat(z, r, i));
        let mut total = T::ZERO;
        for (x, dout) in xs.iter().zip(&douts) {
            let mut out = Mat::zeros(x.rows(), o);
            self.layer.forward(out.view_mut(), x.view(), p);
            total += inner(&out, dout);
        }
        if let Some((dz, control)) = wanted {
            let handed = Control::weights(control, &self.layout, p);
            for k in 0..2 {
                let stale = control == Some(Control::LinearInputStale);
                let x = &xs[if stale { 1 - k } else { k }];
                let mut dx = Mat::zeros(x.rows(), i);
                let target = Some((Acc::Set, dx.view_mut()));
                let dp = &mut dz[self.p.clone()];
                if control == Some(Control::LinearWeightOverwrites) {
                    self.layer.w.slice_mut(dp).fill(T::ZERO);
                }
                self.layer.backward(target, dp, douts[k].view(), x.view(), &handed);
                Control::spoil_gradient(control, &self.layout, dp);
                add(dz, &self.inputs[k], &dx);
            }
        }
        total
    }
}

/// One input of two layers, as φ is: the second adds its gradient to the first's.
struct SharedInput {
    layers: [Linear; 2],
    layout: Layout,
    p: Range<usize>,
    input: Range<usize>,
    douts: [Mat<f64>; 2],
}

fn shared_input() -> Case {
    let (name, n, i, o) = ("linear/shared-input", 3, 4, 2);
    let mut v = Vars::new(name);
    let mut layout = Layout::default();
    let layers = ["one", "two"].map(|part| Linear::new(&mut layout, part, i, o));
    let p = v.arena(&layout, false);
    let input = v.normal("inp", n, i);
    let douts = [v.constant(n, o), v.constant(n, o)];
    let shape = format!("one input {n}×{i}, two W {i}×{o}");
    v.case(name, shape, SharedInput { layers, layout, p, input, douts })
}

impl Function for SharedInput {
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T {
        let (i, o) = self.layers[0].w.shape();
        let (x, p) = (mat(z, &self.input, i), &z[self.p.clone()]);
        let douts = self.douts.each_ref().map(Mat::cast::<T>);
        let mut total = T::ZERO;
        for (layer, dout) in self.layers.iter().zip(&douts) {
            let mut out = Mat::zeros(x.rows(), o);
            layer.forward(out.view_mut(), x.view(), p);
            total += inner(&out, dout);
        }
        if let Some((dz, control)) = wanted {
            let handed = Control::weights(control, &self.layout, p);
            let (mut dx, dp) = (Mat::zeros(x.rows(), i), &mut dz[self.p.clone()]);
            for ((layer, dout), acc) in self.layers.iter().zip(&douts).zip([Acc::Set, Acc::Add]) {
                let target = Some((acc, dx.view_mut()));
                layer.backward(target, dp, dout.view(), x.view(), &handed);
            }
            Control::spoil_gradient(control, &self.layout, dp);
            add(dz, &self.input, &dx);
        }
        total
    }
}

struct NormTwice {
    layer: LayerNorm,
    layout: Layout,
    p: Range<usize>,
    inputs: [Range<usize>; 2],
    douts: [Mat<f64>; 2],
}

fn layernorm(n: usize, d: usize) -> Case {
    let name = format!("layernorm/{n}x{d}");
    let mut v = Vars::new(&name);
    let mut layout = Layout::default();
    let layer = LayerNorm::new(&mut layout, "norm", d);
    let p = v.arena(&layout, false);
    let inputs = [v.normal("inp1", n, d), v.normal("inp2", n, d)];
    let douts = [v.constant(n, d), v.constant(n, d)];
    let shape = format!("two inputs {n}×{d}");
    v.case(&name, shape, NormTwice { layer, layout, p, inputs, douts })
}

impl Function for NormTwice {
    fn run<T: Real>(&self, z: &[T], mut wanted: Wanted<'_, T>) -> T {
        let (_, d) = self.layer.gain.shape();
        let p = &z[self.p.clone()];
        let xs = self.inputs.each_ref().map(|r| mat(z, r, d));
        let forward = |k: usize| {
            let (mut out, mut saved) = (Mat::zeros(xs[k].rows(), d), NormSaved::new(d));
            self.layer.forward(&mut out, &mut saved, &xs[k], p);
            (out, saved)
        };
        let mut total = T::ZERO;
        for k in 0..2 {
            let (out, mut saved) = forward(k);
            let (x, dout) = (&xs[k], self.douts[k].cast::<T>());
            total += inner(&out, &dout);
            if let Some((dz, control)) = &mut wanted {
                match control {
                    Some(Control::NormRowsStale) => saved.xhat = forward(1 - k).1.xhat,
                    Some(Control::NormNotCentred) => {
                        let rstd = &saved.rstd;
                        saved.xhat = Mat::from_fn(x.rows(), d, |i, j| x[(i, j)] * rstd[(i, 0)]);
                    }
                    Some(Control::NormDeviationMissing) => saved.rstd.fill(T::ONE),
                    Some(Control::NormProjectionDropped) => saved.xhat.fill(T::ZERO),
                    _ => {}
                }
                let handed = Control::weights(*control, &self.layout, p);
                let (mut dx, dp) = (Mat::zeros(x.rows(), d), &mut dz[self.p.clone()]);
                self.layer.backward(&mut dx, dp, dout.view(), &handed, &saved);
                Control::spoil_gradient(*control, &self.layout, dp);
                add(dz, &self.inputs[k], &dx);
            }
        }
        total
    }
}

struct Activate {
    f: Activation,
    x: Range<usize>,
    dout: Mat<f64>,
}

fn activation(name: &str, f: Activation) -> Case {
    let name = format!("activation/{name}");
    let mut v = Vars::new(&name);
    // At least 0.3 from ReLU's kink.
    let away = (0..23).map(|i| {
        let size = 0.3 + 0.2 * f64::from(i);
        if i % 2 == 0 { size } else { -size }
    });
    let x = v.block("inp", away.collect());
    let dout = v.constant(1, 23);
    v.case(&name, "23 values".into(), Activate { f, x, dout })
}

impl Function for Activate {
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T {
        let inp = &z[self.x.clone()];
        let (mut out, mut slope) = (Mat::zeros(1, inp.len()), inp.to_vec());
        self.f.forward(out.as_mut_slice(), &mut slope);
        let dout = self.dout.cast::<T>();
        if let Some((dz, control)) = wanted {
            if control == Some(Control::GeluDensityMissing) {
                // GELU(x)/x = Φ(x), the slope without x times the density.
                slope = out.as_slice().iter().zip(inp).map(|(&y, &x)| y / x).collect();
            }
            let mut dx = dout.clone();
            mul_assign(dx.as_mut_slice(), &slope);
            add(dz, &self.x, &dx);
        }
        inner(&out, &dout)
    }
}

/// The square of a dropped-out input: the backward pass must use the same mask.
struct Dropped {
    x: Range<usize>,
    dout: Mat<f64>,
}

fn dropout() -> Case {
    let name = "dropout";
    let mut v = Vars::new(name);
    let x = v.normal("inp", 3, 9);
    let dout = v.constant(3, 9);
    v.case(name, "3×9, rate 0.4, fixed mask".into(), Dropped { x, dout })
}

impl Function for Dropped {
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T {
        let mask = |key: u64| {
            let mut mask = Mat::<T>::zeros(3, 9);
            for i in 0..3 {
                Dropout { rate: 0.4, key }.mask_row(mask.row_mut(i), 0, i);
            }
            mask
        };
        let (mut out, dout) = (mat(z, &self.x, 9), self.dout.cast::<T>());
        // Squared, so that the gradient depends on the input as well.
        mul_assign(out.as_mut_slice(), mask(11).as_slice());
        let squared = Mat::from_fn(3, 9, |i, j| out[(i, j)] * out[(i, j)]);
        if let Some((dz, control)) = wanted {
            let two = T::from_f64(2.0);
            let mut dx = Mat::from_fn(3, 9, |i, j| two * dout[(i, j)] * out[(i, j)]);
            let stale = control == Some(Control::DropoutMaskStale);
            mul_assign(dx.as_mut_slice(), mask(if stale { 12 } else { 11 }).as_slice());
            add(dz, &self.x, &dx);
        }
        inner(&squared, &dout)
    }
}

struct Tokenise {
    layer: Tokens,
    p: Range<usize>,
    x: Range<usize>,
    c: Option<Mat<f64>>,
    dout: Mat<f64>,
}

fn tokens(groups: usize, token: bool) -> Case {
    let name = format!("tokens/{groups}-groups{}", if token { "-candidates" } else { "" });
    let (rows, d, labels, width) = (3, 7, 4, 5);
    let mut v = Vars::new(&name);
    let mut layout = Layout::default();
    let layer = Tokens::new(&mut layout, d, groups, token.then_some(labels), width);
    let p = v.arena(&layout, false);
    let x = v.normal("x", rows, d);
    let c = v.constant(rows, labels);
    let dout = v.constant(rows * layer.count(), width);
    let shape = format!("{rows} instances, {d} features, width {width}");
    v.case(&name, shape, Tokenise { layer, p, x, c: token.then_some(c), dout })
}

impl Function for Tokenise {
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T {
        let (d, width) = self.layer.w.shape();
        let (x, p) = (mat(z, &self.x, d), &z[self.p.clone()]);
        let (c, dout) = (self.c.as_ref().map(Mat::cast::<T>), self.dout.cast::<T>());
        let mut c = c.as_ref().map(Mat::view);
        let mut out = Mat::zeros(dout.rows(), width);
        self.layer.forward(out.view_mut(), x.view(), c, p);
        if let Some((dz, control)) = wanted {
            if control == Some(Control::CandidateTokenDropped) {
                c = None;
            }
            let mut handed = dout.clone();
            if control == Some(Control::TokenGroupShifted) {
                // Each token's gradient in the place of the one before it.
                let count = self.layer.count();
                let next = |i: usize| i / count * count + (i + 1) % count;
                handed = Mat::from_fn(dout.rows(), width, |i, j| dout[(next(i), j)]);
            }
            let mut dx = Mat::zeros(x.rows(), d);
            let (target, dp) = (Some(dx.view_mut()), &mut dz[self.p.clone()]);
            self.layer.backward(target, dp, handed.view(), x.view(), c, p);
            add(dz, &self.x, &dx);
        }
        inner(&out, &dout)
    }
}
