//! One block alone: both places of the norms, both activations, all queries or the first, with
//! dropout. It covers the feed-forward layer and both skip connections.

use std::ops::Range;

use super::{Case, Function, Vars, Wanted, add, inner, mat};
use crate::audit::Control;
use crate::linalg::Mat;
use crate::nn::attention::Shape;
use crate::nn::block::{Block, Scratch};
use crate::nn::{Activation, Dropout, Layout, NormPlace, Param};
use crate::num::Real;

const INSTANCES: usize = 2;
const KEYS: usize = 3;
const WIDTH: usize = 6;
const FFN: usize = 5;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (place, norm) in [("pre", NormPlace::Pre), ("post", NormPlace::Post)] {
        for (name, activation) in [("gelu", Activation::Gelu), ("relu", Activation::Relu)] {
            for queries in [KEYS, 1] {
                let name = format!("block/{place}/{name}/{queries}-queries");
                cases.push(case(&name, norm, activation, queries));
            }
        }
    }
    cases
}

struct OneBlock {
    block: Block,
    layout: Layout,
    output: Param,
    p: Range<usize>,
    x: Range<usize>,
    dout: Mat<f64>,
}

fn case(name: &str, norm: NormPlace, activation: Activation, queries: usize) -> Case {
    let mut v = Vars::new(name);
    let mut layout = Layout::default();
    let shape = Shape { heads: 2, keys: KEYS, queries, others_only: false };
    let block = Block::new(&mut layout, "block", (WIDTH, FFN), shape, norm, activation);
    let output = layout.find("block.output.w").expect("a part of every block");
    let p = v.arena(&layout, activation == Activation::Relu);
    let x = v.normal("inp", INSTANCES * KEYS, WIDTH);
    let dout = v.constant(INSTANCES * queries, WIDTH);
    let text = format!("{INSTANCES} instances, {KEYS} tokens, width {WIDTH}, 2 heads, FFN {FFN}");
    v.case(name, text, OneBlock { block, layout, output, p, x, dout })
}

impl Function for OneBlock {
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T {
        let (block, dout) = (&self.block, self.dout.cast::<T>());
        let (inp, p) = (mat(z, &self.x, WIDTH), &z[self.p.clone()]);
        let forward = |key: u64| {
            let (mut out, mut saved) = (Mat::zeros(0, WIDTH), block.saved());
            let dropout = Some((Dropout { rate: 0.3, key }, 0, 0));
            block.forward(&mut out, &mut saved, &inp, p, dropout, None);
            (out, saved)
        };
        let (out, mut saved) = forward(5);
        if let Some((dz, control)) = wanted {
            if control == Some(Control::DropoutMaskStale) {
                saved.masks = forward(6).1.masks;
            }
            let (mut dx, mut scratch) = (Mat::zeros(0, WIDTH), Scratch::new(WIDTH, FFN));
            let handed = Control::weights(control, &self.layout, p);
            let dp = &mut dz[self.p.clone()];
            block.backward(&mut dx, dp, &dout, &inp, &handed, &saved, &mut scratch, 1);
            Control::spoil_gradient(control, &self.layout, dp);
            if control == Some(Control::ResidualDropped) {
                // With an output weight of zero nothing passes the attention: what is left is the
                // gradient of the skip connection around it.
                let mut closed = p.to_vec();
                self.output.slice_mut(&mut closed).fill(T::ZERO);
                let (mut skip, mut unused) = (Mat::zeros(0, WIDTH), vec![T::ZERO; closed.len()]);
                let dp = &mut unused;
                block.backward(&mut skip, dp, &dout, &inp, &closed, &saved, &mut scratch, 1);
                dx = Mat::from_fn(dx.rows(), WIDTH, |i, j| dx[(i, j)] - skip[(i, j)]);
            }
            add(dz, &self.x, &dx);
        }
        inner(&out, &dout)
    }
}
