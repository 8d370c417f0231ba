//! Each layer alone. Weights are used twice, on two inputs, so that a missing `+=` shows.

use super::{Case, Vars, add, fault_of, inner, mat};
use crate::linalg::{Acc, Mat};
use crate::nn::attention::{self, Shape};
use crate::nn::layernorm::{LayerNorm, NormSaved};
use crate::nn::tokens::Tokens;
use crate::nn::{Activation, Dropout, Fault, Layout, Linear};
use crate::num::mul_assign;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (n, i, o) in [(1, 1, 1), (3, 5, 2), (4, 2, 7)] {
        cases.push(linear(n, i, o));
    }
    for (n, d) in [(3, 5), (2, 8), (4, 2)] {
        cases.push(layernorm(n, d));
    }
    for (instances, keys, queries) in [(2, 3, 3), (3, 4, 1), (2, 1, 1)] {
        cases.push(attention(instances, Shape { heads: 2, keys, queries }, 3));
    }
    cases.push(activation("gelu", Activation::Gelu));
    cases.push(activation("relu", Activation::Relu));
    cases.push(dropout());
    for (groups, token) in [(1, false), (3, false), (1, true), (3, true)] {
        cases.push(tokens(groups, token));
    }
    cases
}

fn linear(n: usize, i: usize, o: usize) -> Case {
    let name = format!("linear/{n}x{i}x{o}");
    let mut v = Vars::new(&name);
    let mut layout = Layout::default();
    let layer = Linear::new(&mut layout, "linear", i, o);
    let p = v.arena(&layout, false);
    let inputs = [v.normal("inp1", n, i), v.normal("inp2", n, i)];
    let douts = [v.constant(n, o), v.constant(n, o)];
    v.case(&name, format!("two inputs {n}×{i}, W {i}×{o}"), move |z, gradient| {
        let mut total = 0.0;
        let xs: Vec<_> = inputs.iter().map(|r| mat(z, r, i)).collect();
        for (x, dout) in xs.iter().zip(&douts) {
            let mut out = Mat::zeros(n, o);
            layer.forward(out.view_mut(), x.view(), &z[p.clone()]);
            total += inner(&out, dout);
        }
        if let Some((dz, fault)) = gradient {
            for k in 0..2 {
                let mut dx = Mat::zeros(n, i);
                let target = Some((Acc::Set, dx.view_mut()));
                let (dp, p) = (&mut dz[p.clone()], &z[p.clone()]);
                layer.backward(target, dp, douts[k].view(), xs[k].view(), p, fault);
                add(dz, &inputs[k], &dx);
            }
        }
        total
    })
}

fn layernorm(n: usize, d: usize) -> Case {
    let name = format!("layernorm/{n}x{d}");
    let mut v = Vars::new(&name);
    let mut layout = Layout::default();
    let layer = LayerNorm::new(&mut layout, "norm", d);
    let p = v.arena(&layout, false);
    let inputs = [v.normal("inp1", n, d), v.normal("inp2", n, d)];
    let douts = [v.constant(n, d), v.constant(n, d)];
    v.case(&name, format!("two inputs {n}×{d}"), move |z, mut gradient| {
        let mut total = 0.0;
        for k in 0..2 {
            let (mut out, mut saved) = (Mat::zeros(n, d), NormSaved::new(d));
            layer.forward(&mut out, &mut saved, &mat(z, &inputs[k], d), &z[p.clone()]);
            total += inner(&out, &douts[k]);
            if let Some((dz, fault)) = &mut gradient {
                let mut dx = Mat::zeros(n, d);
                let (dp, p) = (&mut dz[p.clone()], &z[p.clone()]);
                layer.backward(&mut dx, dp, douts[k].view(), p, &saved, *fault);
                add(dz, &inputs[k], &dx);
            }
        }
        total
    })
}

fn attention(instances: usize, shape: Shape, head: usize) -> Case {
    let Shape { heads, keys, queries } = shape;
    let name = format!("attention/{keys}-keys-{queries}-queries");
    let width = heads * head;
    let mut v = Vars::new(&name);
    let q = v.normal("q", instances * queries, width);
    let kv = v.normal("kv", instances * keys, 2 * width);
    let dout = v.constant(instances * queries, width);
    let text =
        format!("{instances} instances, {heads} heads of {head}, {keys} keys, {queries} queries");
    let mut case = v.case(&name, text, move |z, gradient| {
        let (qm, kvm) = (mat(z, &q, width), mat(z, &kv, 2 * width));
        let (mut out, mut att) = (Mat::zeros(0, width), Mat::zeros(0, keys));
        attention::forward(&mut out, &mut att, &qm, &kvm, shape);
        if let Some((dz, fault)) = gradient {
            let (mut dq, mut dkv) = (Mat::zeros(0, width), Mat::zeros(0, 2 * width));
            attention::backward(&mut dq, &mut dkv, &dout, &qm, &kvm, &att, shape, fault);
            add(dz, &q, &dq);
            add(dz, &kv, &dkv);
        }
        inner(&out, &dout)
    });
    if keys == 1 {
        // Softmax over one key is 1, whatever the query.
        case.detached.push("q".into());
    }
    case
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
    let run = move |z: &[f64], gradient: Option<(&mut [f64], Fault)>| {
        let mut slope = z[x.clone()].to_vec();
        let mut out = Mat::zeros(1, slope.len());
        let fault = fault_of(&gradient);
        f.forward(out.as_mut_slice(), &mut slope, fault);
        if let Some((dz, _)) = gradient {
            let mut dx = dout.clone();
            Activation::backward(dx.as_mut_slice(), &slope);
            add(dz, &x, &dx);
        }
        inner(&out, &dout)
    };
    v.case(&name, "23 values".into(), run)
}

/// The square of a dropped-out input: the backward pass must use the same mask.
fn dropout() -> Case {
    let name = "dropout";
    let mut v = Vars::new(name);
    let x = v.normal("inp", 3, 9);
    let dout = v.constant(3, 9);
    let mut mask = Mat::zeros(3, 9);
    for i in 0..3 {
        Dropout { rate: 0.4, key: 11 }.mask_row(mask.row_mut(i), 0, i);
    }
    v.case(name, "3×9, rate 0.4, fixed mask".into(), move |z, gradient| {
        let mut out = mat(z, &x, 9);
        // Squared, so that the gradient depends on the input as well.
        mul_assign(out.as_mut_slice(), mask.as_slice());
        let squared = Mat::from_fn(3, 9, |i, j| out[(i, j)] * out[(i, j)]);
        if let Some((dz, fault)) = gradient {
            let mut dx = Mat::from_fn(3, 9, |i, j| 2.0 * dout[(i, j)] * out[(i, j)]);
            for i in 0..3 {
                let stale = fault == Fault::DropoutMaskStale;
                mul_assign(dx.row_mut(i), mask.row(if stale { 2 - i } else { i }));
            }
            add(dz, &x, &dx);
        }
        inner(&squared, &dout)
    })
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
    v.case(&name, shape, move |z, gradient| {
        let (xm, pz) = (mat(z, &x, d), &z[p.clone()]);
        let c = token.then(|| c.view());
        let mut out = Mat::zeros(rows * layer.count(), width);
        layer.forward(out.view_mut(), xm.view(), c, pz);
        if let Some((dz, fault)) = gradient {
            let mut dx = Mat::zeros(rows, d);
            let (target, dp) = (Some(dx.view_mut()), &mut dz[p.clone()]);
            layer.backward(target, dp, dout.view(), xm.view(), c, pz, fault);
            add(dz, &x, &dx);
        }
        inner(&out, &dout)
    })
}
