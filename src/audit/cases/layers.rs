//! Each layer alone. Weights are used twice, on two inputs, so that a missing `+=` shows.

use super::{Case, Vars, Wanted, add, inner, mat};
use crate::audit::Control;
use crate::linalg::{Acc, Mat};
use crate::method::observation::likelihood::NoiseRate;
use crate::nn::attention::{self, Shape};
use crate::nn::label_context::LabelContext;
use crate::nn::layernorm::{LayerNorm, NormSaved};
use crate::nn::tokens::Tokens;
use crate::nn::{Activation, Dropout, Layout, Linear};
use crate::num::mul_assign;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (n, i, o) in [(1, 1, 1), (3, 5, 2), (4, 2, 7)] {
        cases.push(linear(n, i, o));
    }
    cases.push(shared_input());
    for (n, d) in [(3, 5), (2, 8), (4, 2)] {
        cases.push(layernorm(n, d));
    }
    for (instances, keys, queries) in [(2, 3, 3), (3, 4, 1), (2, 1, 1)] {
        cases.push(attention(instances, Shape { heads: 2, keys, queries, others_only: false }, 3));
    }
    cases.push(activation("gelu", Activation::Gelu));
    cases.push(activation("relu", Activation::Relu));
    cases.push(dropout());
    for (labels, values) in [(3, 2), (4, 3), (1, 1)] {
        cases.push(label_context(labels, values));
    }
    cases.push(marginal_likelihood());
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
        if let Some((dz, control)) = gradient {
            let handed = Control::weights(control, &layout, &z[p.clone()]);
            for k in 0..2 {
                let stale = control == Some(Control::LinearInputStale);
                let x = &xs[if stale { 1 - k } else { k }];
                let mut dx = Mat::zeros(n, i);
                let target = Some((Acc::Set, dx.view_mut()));
                let dp = &mut dz[p.clone()];
                if control == Some(Control::LinearWeightOverwrites) {
                    layer.w.slice_mut(dp).fill(0.0);
                }
                layer.backward(target, dp, douts[k].view(), x.view(), &handed);
                Control::spoil_gradient(control, &layout, dp);
                add(dz, &inputs[k], &dx);
            }
        }
        total
    })
}

/// One input of two layers, as φ is: the second adds its gradient to the first's.
fn shared_input() -> Case {
    let (name, n, i, o) = ("linear/shared-input", 3, 4, 2);
    let mut v = Vars::new(name);
    let mut layout = Layout::default();
    let layers = ["one", "two"].map(|part| Linear::new(&mut layout, part, i, o));
    let p = v.arena(&layout, false);
    let input = v.normal("inp", n, i);
    let douts = [v.constant(n, o), v.constant(n, o)];
    v.case(name, format!("one input {n}×{i}, two W {i}×{o}"), move |z, gradient| {
        let (x, pz) = (mat(z, &input, i), &z[p.clone()]);
        let mut total = 0.0;
        for (layer, dout) in layers.iter().zip(&douts) {
            let mut out = Mat::zeros(n, o);
            layer.forward(out.view_mut(), x.view(), pz);
            total += inner(&out, dout);
        }
        if let Some((dz, control)) = gradient {
            let handed = Control::weights(control, &layout, pz);
            let (mut dx, dp) = (Mat::zeros(n, i), &mut dz[p.clone()]);
            for ((layer, dout), acc) in layers.iter().zip(&douts).zip([Acc::Set, Acc::Add]) {
                let target = Some((acc, dx.view_mut()));
                layer.backward(target, dp, dout.view(), x.view(), &handed);
            }
            Control::spoil_gradient(control, &layout, dp);
            add(dz, &input, &dx);
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
        let forward = |k: usize| {
            let (mut out, mut saved) = (Mat::zeros(n, d), NormSaved::new(d));
            layer.forward(&mut out, &mut saved, &mat(z, &inputs[k], d), &z[p.clone()]);
            (out, saved)
        };
        for k in 0..2 {
            let (out, mut saved) = forward(k);
            total += inner(&out, &douts[k]);
            if let Some((dz, control)) = &mut gradient {
                match control {
                    Some(Control::NormRowsStale) => saved.xhat = forward(1 - k).1.xhat,
                    Some(Control::NormNotCentred) => {
                        let (x, rstd) = (mat(z, &inputs[k], d), &saved.rstd);
                        saved.xhat = Mat::from_fn(n, d, |i, j| x[(i, j)] * rstd[i]);
                    }
                    Some(Control::NormDeviationMissing) => saved.rstd.fill(1.0),
                    Some(Control::NormProjectionDropped) => saved.xhat.fill(0.0),
                    _ => {}
                }
                let handed = Control::weights(*control, &layout, &z[p.clone()]);
                let (mut dx, dp) = (Mat::zeros(n, d), &mut dz[p.clone()]);
                layer.backward(&mut dx, dp, douts[k].view(), &handed, &saved);
                Control::spoil_gradient(*control, &layout, dp);
                add(dz, &inputs[k], &dx);
            }
        }
        total
    })
}

fn attention(instances: usize, shape: Shape, head: usize) -> Case {
    let Shape { heads, keys, queries, .. } = shape;
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
        if let Some((dz, control)) = gradient {
            let (dq, dkv) = attention_backward(&dout, (&qm, &kvm), &att, shape, control);
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

/// dq and dkv, spoilt by the control.
fn attention_backward(
    dout: &Mat<f64>,
    (q, kv): (&Mat<f64>, &Mat<f64>),
    att: &Mat<f64>,
    shape: Shape,
    control: Option<Control>,
) -> (Mat<f64>, Mat<f64>) {
    let width = q.cols();
    let backward = |q: &Mat<f64>, kv: &Mat<f64>, att: &Mat<f64>| {
        let (mut dq, mut dkv) = (Mat::zeros(0, width), Mat::zeros(0, 2 * width));
        attention::backward(&mut dq, &mut dkv, dout, q, kv, att, &mut Vec::new(), shape);
        (dq, dkv)
    };
    let times = |m: &Mat<f64>, factor: f64, columns: usize| {
        let part = |j: usize| if j < columns { factor } else { 1.0 };
        Mat::from_fn(m.rows(), m.cols(), |i, j| part(j) * m[(i, j)])
    };
    match control {
        // The scores are not made again, so √d_head times q and k cancels the factor.
        Some(Control::AttentionScaleMissing) => {
            let root = ((width / shape.heads) as f64).sqrt();
            backward(&times(q, root, width), &times(kv, root, width), att)
        }
        Some(Control::AttentionNotNormalised) => backward(q, kv, &times(att, 1.7, shape.keys)),
        // The pass has a linear part in A and, from the rank-one term, a quadratic one:
        // 2·pass(A) − pass(2A)/2 is the linear part alone.
        Some(Control::SoftmaxRankOneMissing) => {
            let (once, twice) =
                (backward(q, kv, att), backward(q, kv, &times(att, 2.0, shape.keys)));
            let linear = |a: &Mat<f64>, b: &Mat<f64>| {
                Mat::from_fn(a.rows(), a.cols(), |i, j| 2.0 * a[(i, j)] - 0.5 * b[(i, j)])
            };
            (linear(&once.0, &twice.0), linear(&once.1, &twice.1))
        }
        Some(Control::AttentionValueDropped) => {
            let (dq, dkv) = backward(q, kv, att);
            let keys_only = |i, j| if j < width { dkv[(i, j)] } else { 0.0 };
            (dq, Mat::from_fn(dkv.rows(), 2 * width, keys_only))
        }
        _ => backward(q, kv, att),
    }
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
    let run = move |z: &[f64], gradient: Wanted<'_>| {
        let inp = &z[x.clone()];
        let (mut out, mut slope) = (Mat::zeros(1, inp.len()), inp.to_vec());
        f.forward(out.as_mut_slice(), &mut slope);
        if let Some((dz, control)) = gradient {
            if control == Some(Control::GeluDensityMissing) {
                // GELU(x)/x = Φ(x), the slope without x times the density.
                slope = out.as_slice().iter().zip(inp).map(|(y, x)| y / x).collect();
            }
            let mut dx = dout.clone();
            mul_assign(dx.as_mut_slice(), &slope);
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
    let mask = |key: u64| {
        let mut mask = Mat::zeros(3, 9);
        for i in 0..3 {
            Dropout { rate: 0.4, key }.mask_row(mask.row_mut(i), 0, i);
        }
        mask
    };
    let (mask, stale) = (mask(11), mask(12));
    v.case(name, "3×9, rate 0.4, fixed mask".into(), move |z, gradient| {
        let mut out = mat(z, &x, 9);
        // Squared, so that the gradient depends on the input as well.
        mul_assign(out.as_mut_slice(), mask.as_slice());
        let squared = Mat::from_fn(3, 9, |i, j| out[(i, j)] * out[(i, j)]);
        if let Some((dz, control)) = gradient {
            let mut dx = Mat::from_fn(3, 9, |i, j| 2.0 * dout[(i, j)] * out[(i, j)]);
            let spoilt = control == Some(Control::DropoutMaskStale);
            mul_assign(dx.as_mut_slice(), if spoilt { &stale } else { &mask }.as_slice());
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
    // Each token's gradient in the place of the one before it.
    let count = layer.count();
    let next = |i: usize| i / count * count + (i + 1) % count;
    let shifted = Mat::from_fn(dout.rows(), width, |i, j| dout[(next(i), j)]);
    let shape = format!("{rows} instances, {d} features, width {width}");
    v.case(&name, shape, move |z, gradient| {
        let (xm, pz) = (mat(z, &x, d), &z[p.clone()]);
        let mut c = token.then(|| c.view());
        let mut out = Mat::zeros(rows * layer.count(), width);
        layer.forward(out.view_mut(), xm.view(), c, pz);
        if let Some((dz, control)) = gradient {
            if control == Some(Control::CandidateTokenDropped) {
                c = None;
            }
            let moved = control == Some(Control::TokenGroupShifted);
            let handed = if moved { &shifted } else { &dout };
            let mut dx = Mat::zeros(rows, d);
            let (target, dp) = (Some(dx.view_mut()), &mut dz[p.clone()]);
            layer.backward(target, dp, handed.view(), xm.view(), c, pz);
            add(dz, &x, &dx);
        }
        inner(&out, &dout)
    })
}

/// Two batches through one layer, so that a missing `+=` shows. A single label has no context: its
/// weights must get nothing.
fn label_context(labels: usize, values: usize) -> Case {
    const ROWS: usize = 2;
    let name = format!("label-context/{labels}-labels");
    let mut v = Vars::new(&name);
    let mut layout = Layout::default();
    let layer = LabelContext::new(&mut layout, "context", labels, values, (4, 2));
    let p = v.arena(&layout, false);
    let tokens = [v.constant(ROWS * labels, values), v.constant(ROWS * labels, values)];
    let douts = [v.constant(ROWS, labels), v.constant(ROWS, labels)];
    let text =
        format!("two batches of {ROWS}, {labels} labels of {values} values, width 4, 2 heads");
    let mut case = v.case(&name, text, move |z, mut gradient| {
        let mut total = 0.0;
        for k in 0..2 {
            let (mut out, mut saved) = (Mat::zeros(ROWS, labels), layer.saved());
            layer.forward(&mut out, &mut saved, &tokens[k], &z[p.clone()]);
            total += inner(&out, &douts[k]);
            if let Some((dz, control)) = &mut gradient {
                let stale = *control == Some(Control::ContextTokensStale);
                let t = &tokens[if stale { 1 - k } else { k }];
                let (dp, p) = (&mut dz[p.clone()], &z[p.clone()]);
                layer.backward(dp, &mut layer.scratch(), &douts[k], t, p, &saved);
                if *control == Some(Control::ContextOutputDropped) {
                    layer.output.slice_mut(dp).fill(0.0);
                }
            }
        }
        total
    });
    if labels == 1 {
        case.detached = case.blocks.iter().map(|(name, _)| name.clone()).collect();
    }
    case
}

/// −ln P(C | u, ρ) of candidates and other cells, by the logits.
fn marginal_likelihood() -> Case {
    let name = "marginal-likelihood";
    let mut v = Vars::new(name);
    let logits = v.normal("logits", 4, 3);
    let noise = [0.05, 0.2, 0.6].map(NoiseRate::new);
    v.case(name, "4×3 cells, three noise rates".into(), move |z, gradient| {
        let mut total = 0.0;
        let u = mat(z, &logits, 3);
        let candidate = |k: usize| f64::from(u8::from(k.is_multiple_of(2)));
        for (k, &u) in u.as_slice().iter().enumerate() {
            total += noise[k % 3].negative_log_likelihood(u, candidate(k));
        }
        if let Some((dz, control)) = gradient {
            let forgotten = control == Some(Control::PosteriorForgotten);
            for (k, &u) in u.as_slice().iter().enumerate() {
                let c = if forgotten { 0.0 } else { candidate(k) };
                dz[logits.start + k] += noise[k % 3].slope(u, c);
            }
        }
        total
    })
}
