//! Eight labels side by side: the arithmetic of dual coordinate descent on one row of X.

use std::ops::{Index, IndexMut};

use super::Loss;

/// Labels that share a pass over the rows.
pub(super) const LANES: usize = 8;
/// One value for each of them, in one line of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(super) struct Lanes([f64; LANES]);

impl Lanes {
    pub(super) const ZERO: Lanes = Lanes([0.0; LANES]);

    #[inline(always)]
    pub(super) fn from_fn(f: impl FnMut(usize) -> f64) -> Self {
        Lanes(std::array::from_fn(f))
    }
}

impl Index<usize> for Lanes {
    type Output = f64;
    #[inline(always)]
    fn index(&self, l: usize) -> &f64 {
        &self.0[l]
    }
}

impl IndexMut<usize> for Lanes {
    #[inline(always)]
    fn index_mut(&mut self, l: usize) -> &mut f64 {
        &mut self.0[l]
    }
}

/// One term of one instance, for each label. The default is a term that nobody looks at.
#[derive(Clone, Copy, Default)]
pub(super) struct Term {
    pub(super) alpha: Lanes,
    sign: Lanes,
    /// D: 1/(2·cost) for the squared hinge, 0 for the hinge.
    pub(super) diagonal: Lanes,
    /// U: the cost for the hinge, ∞ for the squared hinge.
    upper: Lanes,
    /// 1 / (‖x‖² + D).
    inverse: Lanes,
    /// 1 where the label still looks at this term, 0 where it is shrunk.
    pub(super) active: Lanes,
}

impl Term {
    /// Puts a label's term at α = 0 into lane l.
    pub(super) fn seat(&mut self, l: usize, sign: f64, cost: f64, norm: f64, loss: Loss) {
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
    pub(super) fn update(&mut self, margin: &Lanes, bounds: &mut Bounds) -> Lanes {
        let mut delta = Lanes::ZERO;
        for l in 0..LANES {
            let (a, u) = (self.alpha[l], self.upper[l]);
            let g = self.sign[l].mul_add(margin[l], self.diagonal[l].mul_add(a, -1.0));
            // A variable without room counts as one at its lower bound.
            let at_zero = a == 0.0;
            let at_upper = (a == u) & !at_zero;
            let shrink = (at_zero & (g > bounds.shrink_above[l]))
                | (at_upper & (g < bounds.shrink_below[l]));
            let active = if shrink { 0.0 } else { self.active[l] };
            self.active[l] = active;
            let held = (at_zero & (g > 0.0)) | (at_upper & (g < 0.0)) | (u == 0.0);
            let projected = if held { 0.0 } else { g };
            let on = active > 0.0;
            bounds.largest[l] =
                select(on & (projected > bounds.largest[l]), projected, bounds.largest[l]);
            bounds.smallest[l] =
                select(on & (projected < bounds.smallest[l]), projected, bounds.smallest[l]);
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
    pub(super) fn inside(&self, alpha: &Lanes) -> Lanes {
        Lanes::from_fn(|l| {
            let positive = select(alpha[l] > 0.0, alpha[l], 0.0);
            select(positive < self.upper[l], positive, self.upper[l])
        })
    }

    /// s·α.
    #[inline(always)]
    pub(super) fn signed(&self, alpha: &Lanes) -> Lanes {
        Lanes::from_fn(|l| self.sign[l] * alpha[l])
    }

    /// The margins after a step: wᵀx + s·Δα·‖x‖².
    #[inline(always)]
    pub(super) fn shift(&self, margin: &mut Lanes, delta: &Lanes) {
        for l in 0..LANES {
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
pub(super) struct Bounds {
    pub(super) shrink_above: Lanes,
    pub(super) shrink_below: Lanes,
    pub(super) largest: Lanes,
    pub(super) smallest: Lanes,
}

impl Bounds {
    /// Nothing is shrunk.
    pub(super) fn open() -> Self {
        Bounds {
            shrink_above: Lanes([f64::INFINITY; LANES]),
            shrink_below: Lanes([f64::NEG_INFINITY; LANES]),
            largest: Lanes([f64::NEG_INFINITY; LANES]),
            smallest: Lanes([f64::INFINITY; LANES]),
        }
    }

    /// Ends a pass of lane l; with `reopen` nothing is shrunk in the next one.
    pub(super) fn turn(&mut self, l: usize, reopen: bool) {
        let (high, low) = (self.largest[l], self.smallest[l]);
        self.shrink_above[l] = select(reopen || high <= 0.0, f64::INFINITY, high);
        self.shrink_below[l] = select(reopen || low >= 0.0, f64::NEG_INFINITY, low);
        self.largest[l] = f64::NEG_INFINITY;
        self.smallest[l] = f64::INFINITY;
    }
}

/// wᵀx for all labels.
#[inline(always)]
pub(super) fn gather(w: &[Lanes], mut row: impl Iterator<Item = (usize, f64)>) -> Lanes {
    // Two chains hide the latency of the additions.
    let (mut even, mut odd) = (Lanes::ZERO, Lanes::ZERO);
    while let Some((c, v)) = row.next() {
        for l in 0..LANES {
            even[l] = v.mul_add(w[c][l], even[l]);
        }
        let Some((c, v)) = row.next() else { break };
        for l in 0..LANES {
            odd[l] = v.mul_add(w[c][l], odd[l]);
        }
    }
    Lanes::from_fn(|l| even[l] + odd[l])
}

/// w += x·step for all labels.
#[inline(always)]
pub(super) fn spread(w: &mut [Lanes], row: impl Iterator<Item = (usize, f64)>, step: &Lanes) {
    for (c, v) in row {
        for l in 0..LANES {
            w[c][l] = v.mul_add(step[l], w[c][l]);
        }
    }
}
