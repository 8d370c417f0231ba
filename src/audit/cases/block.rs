//! One block alone: both places of the norms, both activations, all queries or the first, with
//! dropout. It covers the feed-forward layer and both skip connections.

use super::{Case, Vars, add, inner, mat};
use crate::audit::Control;
use crate::linalg::Mat;
use crate::nn::attention::Shape;
use crate::nn::block::{Block, Scratch};
use crate::nn::{Activation, Dropout, Layout, NormPlace};

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

fn case(name: &str, norm: NormPlace, activation: Activation, queries: usize) -> Case {
    let mut v = Vars::new(name);
    let mut layout = Layout::default();
    let shape = Shape { heads: 2, keys: KEYS, queries, others_only: false };
    let block = Block::new(&mut layout, "block", (WIDTH, FFN), shape, norm, activation);
    let output = layout.find("block.output.w").expect("a part of every block");
    let p = v.arena(&layout, activation == Activation::Relu);
    let x = v.normal("inp", INSTANCES * KEYS, WIDTH);
    let dout = v.constant(INSTANCES * queries, WIDTH);
    let dropout = Some((Dropout { rate: 0.3, key: 5 }, 0, 0));
    let text = format!("{INSTANCES} instances, {KEYS} tokens, width {WIDTH}, 2 heads, FFN {FFN}");
    v.case(name, text, move |z, gradient| {
        let (inp, pz) = (mat(z, &x, WIDTH), &z[p.clone()]);
        let (mut out, mut saved) = (Mat::zeros(0, WIDTH), block.saved());
        block.forward(&mut out, &mut saved, &inp, pz, dropout);
        if let Some((dz, control)) = gradient {
            if control == Some(Control::DropoutMaskStale) {
                let (other, mut stale) = (Dropout { rate: 0.3, key: 6 }, block.saved());
                let mut unused = out.clone();
                block.forward(&mut unused, &mut stale, &inp, pz, Some((other, 0, 0)));
                saved.masks = stale.masks;
            }
            let (mut dx, mut scratch) = (Mat::zeros(0, WIDTH), Scratch::new(WIDTH, FFN));
            let handed = Control::weights(control, &layout, pz);
            let dp = &mut dz[p.clone()];
            block.backward(&mut dx, dp, &dout, &inp, &handed, &saved, &mut scratch);
            Control::spoil_gradient(control, &layout, dp);
            if control == Some(Control::ResidualDropped) {
                // With an output weight of zero nothing passes the attention: what is left is the
                // gradient of the skip connection around it.
                let mut closed = pz.to_vec();
                output.slice_mut(&mut closed).fill(0.0);
                let (mut skip, mut unused) = (Mat::zeros(0, WIDTH), vec![0.0; closed.len()]);
                let dp = &mut unused;
                block.backward(&mut skip, dp, &dout, &inp, &closed, &saved, &mut scratch);
                dx = Mat::from_fn(dx.rows(), WIDTH, |i, j| dx[(i, j)] - skip[(i, j)]);
            }
            add(dz, &x, &dx);
        }
        inner(&out, &dout)
    })
}
