//! Attention alone, between the projections.

use std::ops::Range;

use super::{Case, Function, Vars, Wanted, add, inner, mat};
use crate::audit::Control;
use crate::linalg::Mat;
use crate::nn::attention::{self, Shape};
use crate::num::Real;

pub(super) fn cases() -> Vec<Case> {
    let shapes = [(2, 3, 3), (3, 4, 1), (2, 1, 1)];
    let case = |(instances, keys, queries)| {
        attend(instances, Shape { heads: 2, keys, queries, others_only: false }, 3)
    };
    shapes.into_iter().map(case).collect()
}

struct Attend {
    shape: Shape,
    q: Range<usize>,
    kv: Range<usize>,
    dout: Mat<f64>,
}

fn attend(instances: usize, shape: Shape, head: usize) -> Case {
    let Shape { heads, keys, queries, .. } = shape;
    let name = format!("attention/{keys}-keys-{queries}-queries");
    let width = heads * head;
    let mut v = Vars::new(&name);
    let q = v.normal("q", instances * queries, width);
    let kv = v.normal("kv", instances * keys, 2 * width);
    let dout = v.constant(instances * queries, width);
    let text =
        format!("{instances} instances, {heads} heads of {head}, {keys} keys, {queries} queries");
    let mut case = v.case(&name, text, Attend { shape, q, kv, dout });
    if keys == 1 {
        // Softmax over one key is 1, whatever the query.
        case.detached.push("q".into());
    }
    case
}

impl Function for Attend {
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T {
        let (width, dout) = (self.dout.cols(), self.dout.cast::<T>());
        let (q, kv) = (mat(z, &self.q, width), mat(z, &self.kv, 2 * width));
        let (mut out, mut att) = (Mat::zeros(0, width), Mat::zeros(0, self.shape.keys));
        attention::forward(&mut out, &mut att, &q, &kv, self.shape);
        if let Some((dz, control)) = wanted {
            let (dq, dkv) = backward(&dout, (&q, &kv), &att, self.shape, control);
            add(dz, &self.q, &dq);
            add(dz, &self.kv, &dkv);
        }
        inner(&out, &dout)
    }
}

/// dq and dkv, spoilt by the control.
fn backward<T: Real>(
    dout: &Mat<T>,
    (q, kv): (&Mat<T>, &Mat<T>),
    att: &Mat<T>,
    shape: Shape,
    control: Option<Control>,
) -> (Mat<T>, Mat<T>) {
    let width = q.cols();
    let backward = |q: &Mat<T>, kv: &Mat<T>, att: &Mat<T>| {
        let (mut dq, mut dkv) = (Mat::zeros(0, width), Mat::zeros(0, 2 * width));
        attention::backward(&mut dq, &mut dkv, dout, q, kv, att, &mut Vec::new(), shape);
        (dq, dkv)
    };
    let times = |m: &Mat<T>, factor: f64, columns: usize| {
        let part = |j: usize| if j < columns { T::from_f64(factor) } else { T::ONE };
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
            let (two, half) = (T::from_f64(2.0), T::from_f64(0.5));
            let linear = |a: &Mat<T>, b: &Mat<T>| {
                Mat::from_fn(a.rows(), a.cols(), |i, j| two * a[(i, j)] - half * b[(i, j)])
            };
            (linear(&once.0, &twice.0), linear(&once.1, &twice.1))
        }
        Some(Control::AttentionValueDropped) => {
            let (dq, dkv) = backward(q, kv, att);
            let keys_only = |i, j| if j < width { dkv[(i, j)] } else { T::ZERO };
            (dq, Mat::from_fn(dkv.rows(), 2 * width, keys_only))
        }
        _ => backward(q, kv, att),
    }
}
