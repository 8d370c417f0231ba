//! The smooth piece of one label's problem: Σ_t φ_t(m) with margins m = w·x.
//!
//! Each term has sign s, slope σ, shift a and cap u; its force (dual variable) at margin m is
//!
//! α(m) = clamp(a + σ(1 − s·m), 0, u),   φ′(m) = −s·α(m),   φ″(m) = σ where 0 < a + σ(1 − s·m) < u.
//!
//! With a = 0, σ = 2·cost, u = ∞ this is the squared hinge. With u = cost it is the augmented
//! Lagrangian of the plain hinge: at multipliers a that no longer move, α are the SVM's own.

use super::{Costs, Loss};
use crate::num::{dot, vectorize};

/// The terms of one label; term t belongs to instance t mod n.
pub(super) struct Penalty {
    sign: Vec<f64>,
    /// σ_t = `sigma` · `relative[t]`.
    relative: Vec<f64>,
    /// Empty for the squared hinge, whose a is 0 and whose u is ∞.
    shift: Vec<f64>,
    cap: Vec<f64>,
    pub(super) sigma: f64,
}

impl Penalty {
    /// The penalty of label j, at multipliers 0.
    pub(super) fn new(costs: &Costs, j: usize, loss: Loss) -> Self {
        let (sign, cost) = costs.terms(j);
        let largest = cost.iter().copied().fold(0.0, f64::max);
        let terms = sign.len();
        let (relative, shift, cap, sigma) = match loss {
            Loss::Squared => {
                let relative = cost.iter().map(|c| c / largest).collect();
                (relative, Vec::new(), Vec::new(), 2.0 * largest)
            }
            // Half the cost: at w = 0 every term lies inside its linear piece.
            Loss::Hinge => (vec![1.0; terms], vec![0.0; terms], cost, 0.5 * largest),
        };
        Penalty { sign, relative, shift, cap, sigma }
    }

    fn is_capped(&self) -> bool {
        !self.cap.is_empty()
    }

    #[inline(always)]
    fn cap<const CAPPED: bool>(&self, t: usize) -> f64 {
        if CAPPED { self.cap[t] } else { f64::INFINITY }
    }

    /// Forces Σ s·α and curvatures Σ σ/sigma of each instance.
    pub(super) fn forces(&self, margins: &[f64], force: &mut [f64], curvature: &mut [f64]) {
        match self.is_capped() {
            true => self.forces_of::<true>(margins, force, curvature),
            false => self.forces_of::<false>(margins, force, curvature),
        }
    }

    fn forces_of<const CAPPED: bool>(
        &self,
        margins: &[f64],
        force: &mut [f64],
        curvature: &mut [f64],
    ) {
        force.fill(0.0);
        curvature.fill(0.0);
        let n = margins.len();
        vectorize(
            #[inline(always)]
            || {
                for from in (0..self.sign.len()).step_by(n) {
                    for i in 0..n {
                        let t = from + i;
                        let (v, cap) =
                            (self.argument::<CAPPED>(t, margins[i]), self.cap::<CAPPED>(t));
                        force[i] += self.sign[t] * clamp(v, cap);
                        let inside = v > 0.0 && v < cap;
                        curvature[i] += if inside { self.relative[t] } else { 0.0 };
                    }
                }
            },
        );
    }

    /// a + σ(1 − s·m).
    #[inline(always)]
    fn argument<const CAPPED: bool>(&self, t: usize, margin: f64) -> f64 {
        let shift = if CAPPED { self.shift[t] } else { 0.0 };
        (self.sigma * self.relative[t]).mul_add(1.0 - self.sign[t] * margin, shift)
    }

    /// Hinge only: moves the multipliers to the forces at these margins; returns Σ_t α_t.
    pub(super) fn advance(&mut self, margins: &[f64]) -> f64 {
        let n = margins.len();
        let mut sum = 0.0;
        for t in 0..self.sign.len() {
            let force = clamp(self.argument::<true>(t, margins[t % n]), self.cap[t]);
            self.shift[t] = force;
            sum += force;
        }
        sum
    }

    /// Step length along a direction whose margins are `along`: the zero of the derivative of
    /// ½‖w + t·s‖² + Σ φ(m + t·along), which is increasing and piecewise linear in t.
    pub(super) fn line_search(&self, margins: &[f64], along: &[f64], w: &[f64], s: &[f64]) -> f64 {
        match self.is_capped() {
            true => self.line_search_of::<true>(margins, along, w, s),
            false => self.line_search_of::<false>(margins, along, w, s),
        }
    }

    fn line_search_of<const CAPPED: bool>(
        &self,
        margins: &[f64],
        along: &[f64],
        w: &[f64],
        s: &[f64],
    ) -> f64 {
        vectorize(
            #[inline(always)]
            || {
                let (ws, ss) = (dot(w, s), dot(s, s));
                let (mut low, mut high) = (0.0, f64::INFINITY);
                let (start, _) = self.slope::<CAPPED>(margins, along, 0.0);
                let limit = LINE_SEARCH * (ws + start).abs();
                let mut t = 1.0;
                for _ in 0..MAX_LINE_STEPS {
                    let (first, second) = self.slope::<CAPPED>(margins, along, t);
                    let (first, second) = (first + ws + t * ss, second + ss);
                    if first.abs() <= limit {
                        break;
                    }
                    if first > 0.0 {
                        high = t;
                    } else {
                        low = t;
                    }
                    let newton = t - first / second;
                    t = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
                }
                t
            },
        )
    }

    /// First and second derivative of Σ φ along the direction, at step t.
    #[inline(always)]
    fn slope<const CAPPED: bool>(&self, margins: &[f64], along: &[f64], step: f64) -> (f64, f64) {
        let n = margins.len();
        let (mut first, mut second) = ([0.0; PARTIAL_SUMS], [0.0; PARTIAL_SUMS]);
        for from in (0..self.sign.len()).step_by(n) {
            for i in 0..n {
                let t = from + i;
                let delta = along[i];
                let v = self.argument::<CAPPED>(t, step.mul_add(delta, margins[i]));
                let (k, cap) = (i % PARTIAL_SUMS, self.cap::<CAPPED>(t));
                first[k] -= self.sign[t] * clamp(v, cap) * delta;
                let inside = v > 0.0 && v < cap;
                let curvature = if inside { self.relative[t] } else { 0.0 };
                second[k] = (curvature * delta).mul_add(delta, second[k]);
            }
        }
        let sum = |sums: [f64; PARTIAL_SUMS]| sums.iter().sum::<f64>();
        (sum(first), self.sigma * sum(second))
    }
}

/// The derivative has to fall to this share of its start.
const LINE_SEARCH: f64 = 1e-3;
const MAX_LINE_STEPS: usize = 30;
/// Independent sums, so that the order of additions leaves room for vectors.
const PARTIAL_SUMS: usize = 8;

#[inline(always)]
fn clamp(v: f64, cap: f64) -> f64 {
    let v = if v > 0.0 { v } else { 0.0 };
    if v < cap { v } else { cap }
}
