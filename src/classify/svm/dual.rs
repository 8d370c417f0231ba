//! Dual coordinate descent with shrinking (Hsieh et al., ICML 2008, algorithm 3), eight labels at
//! once.
//!
//! min over 0 ≤ α ≤ U of ½ αᵀ(Q + D)α − Σα,  Q_ij = s_i s_j x_iᵀx_j; hinge: D = 0, U = cost;
//! squared hinge: D = 1/(2·cost), U = ∞. One coordinate has gradient G = s·wᵀx − 1 + Dα and optimum
//! clamp(α − G/(‖x‖² + D), 0, U).
//!
//! Every label runs LIBLINEAR's algorithm with its own bounds and shrinking; the labels of a group
//! only share the order of the instances, so that a row is read once for all of them and the
//! arithmetic fills the vector unit. A label is finished when its duality gap is small, and the next one
//! gets its slot; the violations of a pass only decide when shrunk terms are updated again.
//! [`super::plane_search`] speeds up the last digits.

use rayon::prelude::*;

use super::design::Design;
use super::plane_search::PlaneSearch;
use super::slots::{GradientRange, PerSlot, SLOTS, Term, add_scaled, margin};
use super::{Costs, Loss, Solution, Stop};
use crate::linalg::Mat;
use crate::num::vectorize;
use crate::rng::{Rng, Streams};

/// Labels that are solved in turn by one group of slots: fixed, so that results do not depend on the threads.
const LABELS_PER_GROUP: usize = 2 * SLOTS;
/// Largest violation at which a label's shrunk terms are updated again, at first …
const FIRST_TOLERANCE: f64 = 0.1;
/// … and how it falls each time all of its terms pass.
const TIGHTEN: f64 = 0.1;
/// Passes between two computations of the duality gaps, which cost about half a pass.
const MEASURE_EVERY: usize = 5;

/// Passes of a label before its first plane search: until then the set of free variables still changes …
const FIRST_SEARCH: usize = 10;
/// … and between two of them.
const SEARCH_EVERY: usize = 3;

/// Solves the given labels; the others keep weights 0.
pub(super) fn solve(
    rows: &Design,
    costs: &Costs,
    labels: &[usize],
    loss: Loss,
    stop: Stop,
    streams: &Streams,
) -> Solution {
    let groups: Vec<&[usize]> = labels.chunks(LABELS_PER_GROUP).collect();
    let solved: Vec<Vec<Solved>> = groups
        .into_par_iter()
        .map(|labels| {
            let rng = streams.stream(&format!("dual/{}", labels[0]));
            Group::new(rows, costs, labels, loss, stop).run(rng)
        })
        .collect();
    let mut all = Solution::zeros(costs.labels(), rows.width());
    for found in solved.into_iter().flatten() {
        let j = found.label;
        all.weights.row_mut(j).copy_from_slice(&found.weights);
        (all.gap[j], all.objective[j]) = (found.gap, found.objective);
        all.passes[j] = found.passes;
    }
    all
}

/// A label's result.
struct Solved {
    label: usize,
    weights: Vec<f64>,
    gap: f64,
    objective: f64,
    passes: usize,
}

/// A label being solved.
#[derive(Clone, Copy)]
struct Slot {
    label: usize,
    tolerance: f64,
    passes: usize,
}

struct Group<'a> {
    rows: &'a Design,
    costs: &'a Costs,
    loss: Loss,
    stop: Stop,
    norms: Vec<f64>,
    waiting: std::slice::Iter<'a, usize>,
    slots: [Option<Slot>; SLOTS],
    /// One term per instance for hard labels, two otherwise: `per_row · i ..`.
    terms: Vec<Term>,
    per_row: usize,
    w: Vec<PerSlot>,
    range: GradientRange,
    search: PlaneSearch,
}

impl<'a> Group<'a> {
    fn new(
        rows: &'a Design,
        costs: &'a Costs,
        labels: &'a [usize],
        loss: Loss,
        stop: Stop,
    ) -> Self {
        let hard = labels.iter().all(|&j| costs.is_hard(j));
        let per_row = if hard { 1 } else { 2 };
        let mut group = Group {
            rows,
            costs,
            loss,
            stop,
            norms: rows.squared_norms(),
            waiting: labels.iter(),
            slots: [None; SLOTS],
            terms: vec![Term::default(); per_row * rows.n()],
            per_row,
            w: vec![PerSlot::ZERO; rows.width()],
            range: GradientRange::unlimited(),
            search: PlaneSearch::new(per_row * rows.n(), rows.width()),
        };
        (0..SLOTS).for_each(|l| group.fill(l));
        group
    }

    /// Puts the next waiting label into slot l, or leaves the slot empty.
    fn fill(&mut self, l: usize) {
        self.w.iter_mut().for_each(|w| w[l] = 0.0);
        self.range.end_pass(l, true);
        self.search.reset(l);
        self.slots[l] =
            self.waiting.next().map(|&label| Slot { label, tolerance: FIRST_TOLERANCE, passes: 0 });
        let Some(Slot { label: j, .. }) = self.slots[l] else {
            self.terms.iter_mut().for_each(|t| t.active[l] = 0.0);
            return;
        };
        for i in 0..self.rows.n() {
            let (p, q) = (self.costs.positive[(j, i)], self.costs.negative[(j, i)]);
            let terms = &mut self.terms[self.per_row * i..][..self.per_row];
            match terms {
                [both] if p > 0.0 => both.start(l, 1.0, p, self.norms[i], self.loss),
                [both] => both.start(l, -1.0, q, self.norms[i], self.loss),
                [positive, negative, ..] => {
                    positive.start(l, 1.0, p, self.norms[i], self.loss);
                    negative.start(l, -1.0, q, self.norms[i], self.loss);
                }
                [] => {}
            }
        }
    }

    fn run(mut self, mut rng: Rng) -> Vec<Solved> {
        let mut found = Vec::new();
        let mut order: Vec<usize> = (0..self.rows.n()).collect();
        for pass in 1.. {
            rng.shuffle(&mut order);
            self.pass(&mut order);
            let mut all_again = self.check_violations();
            if pass % SEARCH_EVERY == 0 {
                let ready = self.slots.map(|slot| slot.is_some_and(|s| s.passes >= FIRST_SEARCH));
                self.search.run(self.rows, &mut self.terms, &mut self.w, ready);
            }
            if pass % MEASURE_EVERY == 0 {
                all_again |= self.finish(&mut found);
            }
            if self.slots.iter().all(Option::is_none) {
                break;
            }
            if all_again {
                order = (0..self.rows.n()).collect();
            }
        }
        found
    }

    /// Visits the instances in order and drops those that no label updates any more.
    fn pass(&mut self, order: &mut Vec<usize>) {
        let kept = vectorize(
            #[inline(always)]
            || {
                let mut kept = 0;
                for k in 0..order.len() {
                    let i = order[k];
                    if self.visit(i) {
                        order[kept] = i;
                        kept += 1;
                    }
                }
                kept
            },
        );
        order.truncate(kept);
    }

    /// Moves the coordinates of instance i; false when no label updates it any more.
    #[inline(always)]
    fn visit(&mut self, i: usize) -> bool {
        let mut margin = self.margin(i);
        let mut step = PerSlot::ZERO;
        let (mut moved, mut seen) = (false, false);
        for k in 0..self.per_row {
            let term = &mut self.terms[i * self.per_row + k];
            let delta = term.update(&margin, &mut self.range);
            for l in 0..SLOTS {
                step[l] += delta[l];
                moved |= delta[l] != 0.0;
                seen |= term.active[l] != 0.0;
            }
            if k + 1 < self.per_row {
                term.shift(&mut margin, &delta);
            }
        }
        if moved {
            match self.rows {
                Design::Dense(x) => {
                    add_scaled(&mut self.w, x.row(i).iter().copied().enumerate(), &step)
                }
                Design::Sparse(s) => add_scaled(&mut self.w, s.entries(i), &step),
            }
        }
        seen
    }

    /// wᵀx of instance i for each label.
    #[inline(always)]
    fn margin(&self, i: usize) -> PerSlot {
        match self.rows {
            Design::Dense(x) => margin(&self.w, x.row(i).iter().copied().enumerate()),
            Design::Sparse(s) => margin(&self.w, s.entries(i)),
        }
    }

    /// LIBLINEAR's test after a pass: a label whose violations are small on the terms that are left
    /// updates all of them again; if it did already, the violations have to fall. True if any.
    fn check_violations(&mut self) -> bool {
        let mut any = false;
        for (l, slot) in self.slots.iter_mut().enumerate() {
            let Some(slot) = slot else { continue };
            slot.passes += 1;
            let (high, low) = (self.range.largest[l], self.range.smallest[l]);
            let small = high - low <= slot.tolerance
                && high.abs() <= slot.tolerance
                && low.abs() <= slot.tolerance;
            // When everything is shrunk, the infinities of the start are still there.
            let again = small || high < low;
            self.range.end_pass(l, again);
            if again {
                if self.terms.iter().all(|t| t.active[l] > 0.0) {
                    slot.tolerance *= TIGHTEN;
                }
                self.terms.iter_mut().for_each(|t| t.active[l] = 1.0);
                any = true;
            }
        }
        any
    }

    /// Labels with a small duality gap, or out of passes, are finished and others get their slots. True if
    /// any did.
    fn finish(&mut self, found: &mut Vec<Solved>) -> bool {
        let margins = self.margins();
        let mut any = false;
        for l in 0..SLOTS {
            let Some(slot) = self.slots[l] else { continue };
            let weights: Vec<f64> = self.w.iter().map(|w| w[l]).collect();
            let objective = self.costs.objective(slot.label, &weights, margins.row(l), self.loss);
            let gap = objective - self.dual_objective(l, &weights);
            if gap <= self.stop.gap * objective || slot.passes >= self.stop.max_passes {
                found.push(Solved {
                    label: slot.label,
                    weights,
                    gap,
                    objective,
                    passes: slot.passes,
                });
                self.fill(l);
                any = true;
            }
        }
        any
    }

    fn margins(&self) -> Mat<f64> {
        let mut margins = Mat::zeros(SLOTS, self.rows.n());
        vectorize(
            #[inline(always)]
            || {
                for i in 0..self.rows.n() {
                    let row = self.margin(i);
                    for l in 0..SLOTS {
                        margins[(l, i)] = row[l];
                    }
                }
            },
        );
        margins
    }

    /// Σα − ½αᵀ(Q + D)α, and ½αᵀQα = ½‖w‖².
    fn dual_objective(&self, l: usize, weights: &[f64]) -> f64 {
        let square: f64 = weights.iter().map(|v| v * v).sum();
        let terms = self.terms.iter().map(|t| {
            let a = t.alpha[l];
            a - 0.5 * t.diagonal[l] * a * a
        });
        terms.sum::<f64>() - 0.5 * square
    }
}
