//! Eight labels at once, one per slot: the arithmetic of dual coordinate descent on one row of X.

use std::ops::{Index, IndexMut};

use super::Loss;

/// Labels that share a pass over the rows: as many as fill two vector registers.
pub(super) const SLOTS: usize = 8;
/// One value for each of them, in one line of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(super) struct PerSlot([f64; SLOTS]);

impl PerSlot {
    pub(super) const ZERO: PerSlot = PerSlot([0.0; SLOTS]);

    #[inline(always)]
    pub(super) fn from_fn(f: impl FnMut(usize) -> f64) -> Self {
        PerSlot(std::array::from_fn(f))
    }
}

impl Index<usize> for PerSlot {
    type Output = f64;
    #[inline(always)]
    fn index(&self, l: usize) -> &f64 {
        &self.0[l]
    }
}

impl IndexMut<usize> for PerSlot {
    #[inline(always)]
    fn index_mut(&mut self, l: usize) -> &mut f64 {
        &mut self.0[l]
    }
}

/// One term of one instance, for each label. The default is a term that is in no problem.
#[derive(Clone, Copy, Default)]
pub(super) struct Term {
    pub(super) alpha: PerSlot,
    sign: PerSlot,
    /// D: 1/(2·cost) for the squared hinge, 0 for the hinge.
    pub(super) diagonal: PerSlot,
    /// U: the cost for the hinge, ∞ for the squared hinge.
    upper: PerSlot,
    /// 1 / (‖x‖² + D).
    inverse: PerSlot,
    /// 1 where the label still updates this term, 0 where it is shrunk.
    pub(super) active: PerSlot,
}

impl Term {
    /// Puts a label's term at α = 0 into slot l.
    pub(super) fn start(&mut self, l: usize, sign: f64, cost: f64, norm: f64, loss: Loss) {
        let (diagonal, upper) = match loss {
            Loss::Hinge => (0.0, cost),
            // Without a cost the variable is fixed at 0.
            Loss::Squared if cost == 0.0 => (0.0, 0.0),
            Loss::Squared => (0.5 / cost, f64::INFINITY),
        };
        self.alpha[l] = 0.0;
        self.sign[l] = sign;
        self.diagonal[l] = diagonal;
        self.upper[l] = upper;
        // An empty row moves nothing: its variable goes to the bound at once.
        self.inverse[l] = 1.0 / (norm + diagonal).max(f64::MIN_POSITIVE);
        self.active[l] = 1.0;
    }

    /// One coordinate step for each label; returns the signed changes s·Δα.
    #[inline(always)]
    pub(super) fn update(&mut self, margin: &PerSlot, range: &mut GradientRange) -> PerSlot {
        let mut delta = PerSlot::ZERO;
        for l in 0..SLOTS {
            let (a, u) = (self.alpha[l], self.upper[l]);
            let g = self.sign[l].mul_add(margin[l], self.diagonal[l].mul_add(a, -1.0));
            // A variable with U = 0 counts as one at its lower bound.
            let at_zero = a == 0.0;
            let at_upper = (a == u) & !at_zero;
            let shrink =
                (at_zero & (g > range.shrink_above[l])) | (at_upper & (g < range.shrink_below[l]));
            let active = if shrink { 0.0 } else { self.active[l] };
            self.active[l] = active;
            let at_bound = (at_zero & (g > 0.0)) | (at_upper & (g < 0.0)) | (u == 0.0);
            let projected = if at_bound { 0.0 } else { g };
            let on = active > 0.0;
            range.largest[l] =
                select(on & (projected > range.largest[l]), projected, range.largest[l]);
            range.smallest[l] =
                select(on & (projected < range.smallest[l]), projected, range.smallest[l]);
            let free = (-g).mul_add(self.inverse[l], a);
            let free = select(free > 0.0, free, 0.0);
            let new = select(free < u, free, u);
            let new = select(on & (projected.abs() > 1e-12), new, a);
            self.alpha[l] = new;
            delta[l] = self.sign[l] * (new - a);
        }
        delta
    }

    /// The nearest values in the box 0 ≤ α ≤ U.
    #[inline(always)]
    pub(super) fn inside(&self, alpha: &PerSlot) -> PerSlot {
        PerSlot::from_fn(|l| {
            let positive = select(alpha[l] > 0.0, alpha[l], 0.0);
            select(positive < self.upper[l], positive, self.upper[l])
        })
    }

    /// s·α.
    #[inline(always)]
    pub(super) fn signed(&self, alpha: &PerSlot) -> PerSlot {
        PerSlot::from_fn(|l| self.sign[l] * alpha[l])
    }

    /// The margins after a step: wᵀx + s·Δα·‖x‖².
    #[inline(always)]
    pub(super) fn shift(&self, margin: &mut PerSlot, delta: &PerSlot) {
        for l in 0..SLOTS {
            let norm = 1.0 / self.inverse[l] - self.diagonal[l];
            let moved = delta[l].mul_add(norm, margin[l]);
            margin[l] = select(delta[l] == 0.0, margin[l], moved);
        }
    }
}

#[inline(always)]
fn select(first: bool, a: f64, b: f64) -> f64 {
    if first { a } else { b }
}

/// Projected gradients of the last pass (as limits for shrinking) and of the running one.
#[derive(Clone, Copy)]
pub(super) struct GradientRange {
    pub(super) shrink_above: PerSlot,
    pub(super) shrink_below: PerSlot,
    pub(super) largest: PerSlot,
    pub(super) smallest: PerSlot,
}

impl GradientRange {
    /// Nothing is shrunk.
    pub(super) fn unlimited() -> Self {
        GradientRange {
            shrink_above: PerSlot([f64::INFINITY; SLOTS]),
            shrink_below: PerSlot([f64::NEG_INFINITY; SLOTS]),
            largest: PerSlot([f64::NEG_INFINITY; SLOTS]),
            smallest: PerSlot([f64::INFINITY; SLOTS]),
        }
    }

    /// Ends a pass of slot l; with `reopen` nothing is shrunk in the next one.
    pub(super) fn end_pass(&mut self, l: usize, reopen: bool) {
        let (high, low) = (self.largest[l], self.smallest[l]);
        self.shrink_above[l] = select(reopen || high <= 0.0, f64::INFINITY, high);
        self.shrink_below[l] = select(reopen || low >= 0.0, f64::NEG_INFINITY, low);
        self.largest[l] = f64::NEG_INFINITY;
        self.smallest[l] = f64::INFINITY;
    }
}

/// wᵀx for all labels.
#[inline(always)]
pub(super) fn margin(w: &[PerSlot], mut row: impl Iterator<Item = (usize, f64)>) -> PerSlot {
    // Two independent sums hide the latency of the additions.
    let (mut even, mut odd) = (PerSlot::ZERO, PerSlot::ZERO);
    while let Some((c, v)) = row.next() {
        for l in 0..SLOTS {
            even[l] = v.mul_add(w[c][l], even[l]);
        }
        let Some((c, v)) = row.next() else { break };
        for l in 0..SLOTS {
            odd[l] = v.mul_add(w[c][l], odd[l]);
        }
    }
    PerSlot::from_fn(|l| even[l] + odd[l])
}

/// w += x·step for all labels.
#[inline(always)]
pub(super) fn add_scaled(
    w: &mut [PerSlot],
    row: impl Iterator<Item = (usize, f64)>,
    step: &PerSlot,
) {
    for (c, v) in row {
        for l in 0..SLOTS {
            w[c][l] = v.mul_add(step[l], w[c][l]);
        }
    }
}
