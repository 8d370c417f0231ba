//! One transformer block: attention and feed-forward, each with a skip connection.
//!
//! ```text
//! pre-norm:   s₁ = h + drop(Attn(LN₁ h))        out = s₁ + drop(FFN(LN₂ s₁))
//! post-norm:  h₁ = LN₁(h + drop(Attn h))        out = LN₂(h₁ + drop(FFN h₁))
//! FFN z = drop(act(z W↑ + b↑)) W↓ + b↓
//! ```
//!
//! With `queries = 1` only the first token of each sequence is carried on: its query, its attention
//! row, its feed-forward. Keys and values still come from all tokens, so the result equals the
//! first row of the full computation, at 0.6 to 0.8 of its cost.

use serde::{Deserialize, Serialize};

use super::activation::Activation;
use super::attention::{self, Shape};
use super::dropout::Dropout;
use super::init::Init;
use super::layernorm::{LayerNorm, NormSaved};
use super::linear::Linear;
use super::params::Layout;
use crate::linalg::{Acc, Mat, View, ViewMut};
use crate::num::{Real, add_assign, mul_assign, vectorize};

/// Where the layer norms stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormPlace {
    /// Before attention and feed-forward, and once at the end of the encoder.
    #[default]
    Pre,
    /// After each skip connection, as in the first transformer.
    Post,
}

/// Where a block's parameters lie, and what it computes.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    place: NormPlace,
    activation: Activation,
    shape: Shape,
    norm1: LayerNorm,
    query: Linear,
    key_value: Linear,
    output: Linear,
    norm2: LayerNorm,
    up: Linear,
    down: Linear,
}

/// What the forward pass keeps. Rows: all tokens for what attention reads, the carried tokens for
/// what comes after it.
#[derive(Clone, Debug)]
pub struct BlockSaved<T> {
    norm1: NormSaved<T>,
    a: Mat<T>,
    q: Mat<T>,
    kv: Mat<T>,
    att: Mat<T>,
    mixed: Mat<T>,
    h1: Mat<T>,
    norm2: NormSaved<T>,
    f: Mat<T>,
    hidden: Mat<T>,
    slope: Mat<T>,
    /// Kept when dropout is off, so that switching it on again allocates nothing.
    pub(crate) masks: Option<Masks<T>>,
    dropping: bool,
}

/// Dropout masks of the three sites of a block.
#[derive(Clone, Debug)]
pub(crate) struct Masks<T> {
    attention: Mat<T>,
    hidden: Mat<T>,
    output: Mat<T>,
}

/// Temporary matrices of the backward pass, shared by blocks that carry the same tokens.
#[derive(Clone, Debug)]
pub struct Scratch<T> {
    ds: Mat<T>,
    dbranch: Mat<T>,
    dhidden: Mat<T>,
    df: Mat<T>,
    dmixed: Mat<T>,
    dq: Mat<T>,
    dkv: Mat<T>,
    da: Mat<T>,
    dscores: Vec<T>,
}

impl<T: Real> Scratch<T> {
    /// Empty; it takes its size from the first batch.
    pub fn new(width: usize, ffn: usize) -> Self {
        let room = |cols| Mat::zeros(0, cols);
        Scratch {
            ds: room(width),
            dbranch: room(width),
            dhidden: room(ffn),
            df: room(width),
            dmixed: room(width),
            dq: room(width),
            dkv: room(2 * width),
            da: room(width),
            dscores: Vec::new(),
        }
    }
}

/// Dropout of a block: the step's dropout, the block's number, the first row's place in the batch.
pub type BlockDropout = (Dropout, usize, usize);

impl Block {
    /// Lays out the block's parameters under `name`.
    pub fn new(
        layout: &mut Layout,
        name: &str,
        (width, ffn): (usize, usize),
        shape: Shape,
        place: NormPlace,
        activation: Activation,
    ) -> Self {
        let mut attention = |part: &str, outputs, w| {
            let name = format!("{name}.{part}");
            Linear::starting(layout, &name, (width, outputs), w, Init::Zero)
        };
        let query = attention("query", width, Init::Projection(width));
        let key_value = attention("key_value", 2 * width, Init::Projection(width));
        let output = attention("output", width, Init::FanIn(width));
        let up = Linear::new(layout, &format!("{name}.up"), width, ffn);
        let down = Linear::new(layout, &format!("{name}.down"), ffn, width);
        Block {
            place,
            activation,
            shape,
            norm1: LayerNorm::new(layout, &format!("{name}.norm1"), width),
            query,
            key_value,
            output,
            norm2: LayerNorm::new(layout, &format!("{name}.norm2"), width),
            up,
            down,
        }
    }

    /// Empty; it takes its size from the first batch.
    pub fn saved<T: Real>(&self) -> BlockSaved<T> {
        let (width, ffn) = self.up.w.shape();
        let empty = |cols| Mat::zeros(0, cols);
        BlockSaved {
            norm1: NormSaved::new(width),
            a: empty(width),
            q: empty(width),
            kv: empty(2 * width),
            att: empty(self.shape.keys),
            mixed: empty(width),
            h1: empty(width),
            norm2: NormSaved::new(width),
            f: empty(width),
            hidden: empty(ffn),
            slope: empty(ffn),
            masks: None,
            dropping: false,
        }
    }

    /// Tokens that take part in the skip connection: every `step`-th.
    fn step(&self) -> usize {
        self.shape.keys / self.shape.queries
    }

    /// Shows batches `first` … `first + parts − 1` of `rows` instances in what was saved ([`Mat::show`]).
    /// The backward pass of a pre-norm block does not read h₁, which has one place for all batches.
    pub fn show<T: Real>(
        &self,
        saved: &mut BlockSaved<T>,
        first: usize,
        parts: usize,
        rows: usize,
    ) {
        let Shape { heads, keys, queries, .. } = self.shape;
        let pre = self.place == NormPlace::Pre;
        let BlockSaved { norm1, a, q, kv, att, mixed, h1, norm2, f, hidden, slope, .. } = saved;
        // Rows of a batch.
        let (all, carried) = (rows * keys, rows * queries);
        let normed = if pre { all } else { carried };
        norm1.show(first * normed, parts * normed);
        for m in [a, kv] {
            m.show(first * all, parts * all);
        }
        att.show(first * carried * heads, parts * carried * heads);
        norm2.show(first * carried, parts * carried);
        for m in [q, mixed, f, hidden, slope] {
            m.show(first * carried, parts * carried);
        }
        match pre {
            true => h1.show(0, carried),
            false => h1.show(first * carried, parts * carried),
        }
    }

    /// out (B·queries × D) from inp (B·keys × D). `only` is the only token of a sequence that differs
    /// between the instances, if there is one.
    pub fn forward<T: Real>(
        &self,
        out: &mut Mat<T>,
        saved: &mut BlockSaved<T>,
        inp: &Mat<T>,
        p: &[T],
        dropout: Option<BlockDropout>,
        only: Option<usize>,
    ) {
        let step = self.step();
        let carried = inp.rows() / step;
        let pre = self.place == NormPlace::Pre;
        for m in [&mut saved.q, &mut saved.h1, &mut saved.hidden, &mut saved.slope, &mut *out] {
            m.set_rows(carried);
        }
        saved.kv.set_rows(inp.rows());
        saved.draw_masks(dropout, carried);

        if pre {
            self.norm1.forward(&mut saved.a, &mut saved.norm1, inp, p);
        }
        let a = if pre { &saved.a } else { inp };
        let (keys, only_query) = (self.shape.keys, only.filter(|_| step == 1));
        project(&self.query, saved.q.view_mut(), a.view().every(step), p, keys, only_query);
        project(&self.key_value, saved.kv.view_mut(), a.view(), p, keys, only);
        attention::forward(&mut saved.mixed, &mut saved.att, &saved.q, &saved.kv, self.shape);
        let s1 = if pre { &mut saved.h1 } else { &mut *out };
        self.output.forward(s1.view_mut(), saved.mixed.view(), p);
        apply(s1, in_use(&saved.masks, saved.dropping).map(|m| &m.attention));
        add_rows(s1.view_mut(), inp.view().every(step));
        if !pre {
            self.norm1.forward(&mut saved.h1, &mut saved.norm1, out, p);
        }

        if pre {
            self.norm2.forward(&mut saved.f, &mut saved.norm2, &saved.h1, p);
        }
        let f = if pre { &saved.f } else { &saved.h1 };
        self.up.forward(saved.slope.view_mut(), f.view(), p);
        let (hidden, slope) = (saved.hidden.as_mut_slice(), saved.slope.as_mut_slice());
        self.activation.forward(hidden, slope);
        apply(&mut saved.hidden, in_use(&saved.masks, saved.dropping).map(|m| &m.hidden));
        saved.f.set_rows(carried);
        let s2 = if pre { &mut *out } else { &mut saved.f };
        self.down.forward(s2.view_mut(), saved.hidden.view(), p);
        apply(s2, in_use(&saved.masks, saved.dropping).map(|m| &m.output));
        add_assign(s2.as_mut_slice(), saved.h1.as_slice());
        if !pre {
            self.norm2.forward(out, &mut saved.norm2, &saved.f, p);
        }
    }

    /// dinp from dout, read from the bottom of `forward` upwards; parameter gradients accumulate, with the
    /// bits of `parts` passes over as many batches that lie one below the other.
    pub fn backward<T: Real>(
        &self,
        dinp: &mut Mat<T>,
        dp: &mut [T],
        dout: &Mat<T>,
        inp: &Mat<T>,
        p: &[T],
        saved: &BlockSaved<T>,
        scratch: &mut Scratch<T>,
        parts: usize,
    ) {
        let step = self.step();
        let pre = self.place == NormPlace::Pre;
        let masks = in_use(&saved.masks, saved.dropping);
        let w = scratch;
        for m in [&mut w.df, &mut w.dhidden, &mut w.dmixed] {
            m.set_rows(dout.rows());
        }

        // out = s2 (pre) or LN2(s2) (post); s2 = h1 + drop(hidden · W↓ + b↓)
        if !pre {
            self.norm2.backward(&mut w.ds, dp, dout.view(), p, &saved.norm2);
        }
        let ds2 = if pre { dout } else { &w.ds };
        let dbranch = masked(&mut w.dbranch, ds2, masks.map(|m| &m.output));
        let dhidden = Some((Acc::Set, w.dhidden.view_mut()));
        self.down.backward_in_parts(parts, dhidden, dp, dbranch.view(), saved.hidden.view(), p);
        apply(&mut w.dhidden, masks.map(|m| &m.hidden));
        mul_assign(w.dhidden.as_mut_slice(), saved.slope.as_slice());
        // f = LN2(h1) (pre) or h1 (post)
        let f = if pre { &saved.f } else { &saved.h1 };
        let df = Some((Acc::Set, w.df.view_mut()));
        self.up.backward_in_parts(parts, df, dp, w.dhidden.view(), f.view(), p);

        // h1 = s1 (pre) or LN1(s1) (post); s1 = h + drop(mixed · Wₒ + bₒ)
        if pre {
            self.norm2.backward(&mut w.ds, dp, w.df.view(), p, &saved.norm2);
            add_assign(w.ds.as_mut_slice(), dout.as_slice());
        } else {
            add_assign(w.df.as_mut_slice(), w.ds.as_slice());
            self.norm1.backward(&mut w.ds, dp, w.df.view(), p, &saved.norm1);
        }
        let dbranch = masked(&mut w.dbranch, &w.ds, masks.map(|m| &m.attention));
        let dmixed = Some((Acc::Set, w.dmixed.view_mut()));
        self.output.backward_in_parts(parts, dmixed, dp, dbranch.view(), saved.mixed.view(), p);
        let (q, kv, att) = (&saved.q, &saved.kv, &saved.att);
        let (dq, dkv, dscores) = (&mut w.dq, &mut w.dkv, &mut w.dscores);
        attention::backward(dq, dkv, &w.dmixed, q, kv, att, dscores, self.shape);
        let a = if pre { &saved.a } else { inp };
        let da = if pre { &mut w.da } else { &mut *dinp };
        da.set_rows(w.dkv.rows());
        let target = Some((Acc::Set, da.view_mut()));
        self.key_value.backward_in_parts(parts, target, dp, w.dkv.view(), a.view(), p);
        let target = Some((Acc::Add, da.view_mut().every(step)));
        self.query.backward_in_parts(parts, target, dp, w.dq.view(), a.view().every(step), p);
        if pre {
            self.norm1.backward(dinp, dp, w.da.view(), p, &saved.norm1);
        }
        add_rows(dinp.view_mut().every(step), w.ds.view());
    }
}

impl<T: Real> BlockSaved<T> {
    fn draw_masks(&mut self, dropout: Option<BlockDropout>, rows: usize) {
        self.dropping = dropout.is_some();
        let Some((dropout, block, first_row)) = dropout else {
            return;
        };
        let (width, ffn) = (self.h1.cols(), self.hidden.cols());
        let masks = self.masks.get_or_insert_with(|| Masks {
            attention: Mat::zeros(rows, width),
            hidden: Mat::zeros(rows, ffn),
            output: Mat::zeros(rows, width),
        });
        let all = [&mut masks.attention, &mut masks.hidden, &mut masks.output];
        for (site, mask) in all.into_iter().enumerate() {
            mask.set_rows(rows);
            for i in 0..rows {
                dropout.mask_row(mask.row_mut(i), (3 * block + site) as u64, first_row + i);
            }
        }
    }

    /// Queries, and keys with values, of the last forward pass.
    #[cfg(test)]
    pub(super) fn projections(&self) -> [&Mat<T>; 2] {
        [&self.q, &self.kv]
    }

    /// The three dropout masks of the last forward pass, by site name.
    pub fn masks(&self) -> Option<[(&'static str, &Mat<T>); 3]> {
        let m = in_use(&self.masks, self.dropping)?;
        Some([("attention", &m.attention), ("hidden", &m.hidden), ("output", &m.output)])
    }
}

fn in_use<T>(masks: &Option<Masks<T>>, dropping: bool) -> Option<&Masks<T>> {
    masks.as_ref().filter(|_| dropping)
}

/// `d` under the mask, in `room`; without a mask `d` itself.
fn masked<'a, T: Real>(room: &'a mut Mat<T>, d: &'a Mat<T>, mask: Option<&Mat<T>>) -> &'a Mat<T> {
    if mask.is_none() {
        return d;
    }
    room.set_rows(d.rows());
    room.as_mut_slice().copy_from_slice(d.as_slice());
    apply(room, mask);
    room
}

/// `layer` on the tokens of sequences of length `keys`. Tokens that are the same in all instances are
/// computed for the first one: a row's bits do not depend on the rows beside it.
fn project<T: Real>(
    layer: &Linear,
    mut out: ViewMut<'_, T>,
    inp: View<'_, T>,
    p: &[T],
    keys: usize,
    only: Option<usize>,
) {
    let rows = inp.rows();
    let Some(place) = only.filter(|_| rows > keys) else {
        return layer.forward(out, inp, p);
    };
    layer.forward(out.reborrow().slice_rows(0, keys), inp.slice_rows(0, keys), p);
    let others = keys + place;
    let target = out.reborrow().skip_rows(others).every(keys);
    layer.forward(target, inp.skip_rows(others).every(keys), p);
    for row in (keys..rows).filter(|row| row % keys != place) {
        out.copy_row(row % keys, row);
    }
}

/// y ← y + x, row by row.
fn add_rows<T: Real>(mut y: ViewMut<'_, T>, x: View<'_, T>) {
    vectorize(
        #[inline(always)]
        || {
            for i in 0..x.rows() {
                for (y, &x) in y.row_mut(i).iter_mut().zip(x.row(i)) {
                    *y += x;
                }
            }
        },
    );
}

fn apply<T: Real>(x: &mut Mat<T>, mask: Option<&Mat<T>>) {
    if let Some(mask) = mask {
        mul_assign(x.as_mut_slice(), mask.as_slice());
    }
}
