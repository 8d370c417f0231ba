//! One block alone: both places of the norms, both activations, all queries or the first, with
//! dropout. It covers the feed-forward layer and both skip connections.

use super::{Case, Vars, add, fault_of, inner, mat};
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
    let shape = Shape { heads: 2, keys: KEYS, queries };
    let block = Block::new(&mut layout, "block", (WIDTH, FFN), shape, norm, activation);
    let p = v.arena(&layout, activation == Activation::Relu);
    let x = v.normal("inp", INSTANCES * KEYS, WIDTH);
    let dout = v.constant(INSTANCES * queries, WIDTH);
    let dropout = Some((Dropout { rate: 0.3, key: 5 }, 0, 0));
    let text = format!("{INSTANCES} instances, {KEYS} tokens, width {WIDTH}, 2 heads, FFN {FFN}");
    v.case(name, text, move |z, gradient| {
        let fault = fault_of(&gradient);
        let (inp, pz) = (mat(z, &x, WIDTH), &z[p.clone()]);
        let (mut out, mut saved) = (Mat::zeros(0, WIDTH), block.saved());
        block.forward(&mut out, &mut saved, &inp, pz, dropout, fault);
        if let Some((dz, _)) = gradient {
            let mut dx = Mat::zeros(0, WIDTH);
            let mut scratch = Scratch::new(WIDTH, FFN);
            let dp = &mut dz[p.clone()];
            block.backward(&mut dx, dp, &dout, &inp, pz, &saved, &mut scratch, fault);
            add(dz, &x, &dx);
        }
        inner(&out, &dout)
    })
}
