//! Plane search: the exact optimum in the plane of two directions, after every few passes of descent.
//!
//! On the variables that are free at the optimum coordinate descent is a Gauss-Seidel iteration: its
//! steps shrink by the same factor again and again, the slower the worse the conditioning. Along the
//! way since the last search (p) and the way between the last two (q) the dual objective is a
//! quadratic whose Gram matrix needs inner products of w alone, since w is linear in α. Its maximum
//! costs half a pass, most of it for the new w, and as in conjugate gradients saves half of the passes
//! and more. What leaves the box is put back, and a step that does not raise the dual objective is
//! not taken.

use super::design::Design;
use super::slots::{PerSlot, SLOTS, Term, add_scaled};
use crate::num::vectorize;

/// Two directions with a cosine closer to ±1 than this count as one.
const PARALLEL: f64 = 1e-10;

/// Where the last search of each label ended, and the way from the one before: α per term, then w.
pub(super) struct PlaneSearch {
    start: [Vec<PerSlot>; 2],
    previous: [Vec<PerSlot>; 2],
}

/// Gram matrix of p and q, and minus the gradient along them.
#[derive(Default)]
struct Plane {
    pp: PerSlot,
    pq: PerSlot,
    qq: PerSlot,
    p: PerSlot,
    q: PerSlot,
}

impl PlaneSearch {
    pub(super) fn new(terms: usize, width: usize) -> Self {
        let zeros = || [vec![PerSlot::ZERO; terms], vec![PerSlot::ZERO; width]];
        PlaneSearch { start: zeros(), previous: zeros() }
    }

    /// Slot l starts again at α = 0.
    pub(super) fn reset(&mut self, l: usize) {
        for values in self.start.iter_mut().chain(&mut self.previous) {
            values.iter_mut().for_each(|v| v[l] = 0.0);
        }
    }

    /// Moves the slots that are ready to the optimum and remembers where all of them are.
    pub(super) fn run(
        &mut self,
        rows: &Design,
        terms: &mut [Term],
        w: &mut [PerSlot],
        ready: [bool; SLOTS],
    ) {
        vectorize(
            #[inline(always)]
            || {
                let plane = self.plane(terms, w);
                let mut steps = [PerSlot::ZERO; 2];
                for l in (0..SLOTS).filter(|&l| ready[l]) {
                    [steps[0][l], steps[1][l]] = plane.optimum(l);
                }
                let (to_alpha, to_w) = self.candidate(rows, terms, &steps);
                let here = objective(|i| &terms[i].alpha, terms, w);
                let there = objective(|i| &to_alpha[i], terms, &to_w);
                let better: [bool; SLOTS] = std::array::from_fn(|l| there[l] > here[l]);
                let alpha = terms.iter_mut().map(|t| &mut t.alpha);
                self.accept(0, alpha, &to_alpha, &better);
                self.accept(1, w.iter_mut(), &to_w, &better);
            },
        );
    }

    #[inline(always)]
    fn plane(&self, terms: &[Term], w: &[PerSlot]) -> Plane {
        let mut sum = Plane::default();
        for (i, term) in terms.iter().enumerate() {
            for l in 0..SLOTS {
                let (a, d) = (term.alpha[l], term.diagonal[l]);
                let (p, q) = (a - self.start[0][i][l], self.previous[0][i][l]);
                sum.add(l, p, q, d, 1.0 - d * a);
            }
        }
        for (c, w) in w.iter().enumerate() {
            for l in 0..SLOTS {
                let (p, q) = (w[l] - self.start[1][c][l], self.previous[1][c][l]);
                sum.add(l, p, q, 1.0, -w[l]);
            }
        }
        sum
    }

    /// α at the end of the steps, put back into its box, and its w. That is summed anew: carried
    /// along, the roundings of w would grow with every long step.
    #[inline(always)]
    fn candidate(
        &self,
        rows: &Design,
        terms: &[Term],
        steps: &[PerSlot; 2],
    ) -> (Vec<PerSlot>, Vec<PerSlot>) {
        let mut alpha = vec![PerSlot::ZERO; terms.len()];
        let mut w = vec![PerSlot::ZERO; rows.width()];
        let per_row = terms.len() / rows.n().max(1);
        for i in 0..rows.n() {
            let mut sum = PerSlot::ZERO;
            for t in per_row * i..per_row * (i + 1) {
                alpha[t] = terms[t].inside(&self.moved(t, &terms[t].alpha, steps));
                let signed = terms[t].signed(&alpha[t]);
                (0..SLOTS).for_each(|l| sum[l] += signed[l]);
            }
            if sum != PerSlot::ZERO {
                match rows {
                    Design::Dense(x) => {
                        add_scaled(&mut w, x.row(i).iter().copied().enumerate(), &sum)
                    }
                    Design::Sparse(s) => add_scaled(&mut w, s.entries(i), &sum),
                }
            }
        }
        (alpha, w)
    }

    /// α of a term at the end of the steps, wherever that is.
    #[inline(always)]
    fn moved(&self, t: usize, now: &PerSlot, steps: &[PerSlot; 2]) -> PerSlot {
        PerSlot::from_fn(|l| {
            let (p, q) = (now[l] - self.start[0][t][l], self.previous[0][t][l]);
            steps[0][l].mul_add(p, steps[1][l].mul_add(q, now[l]))
        })
    }

    /// Takes over the better values and remembers them as the new start.
    #[inline(always)]
    fn accept<'v>(
        &mut self,
        kind: usize,
        values: impl Iterator<Item = &'v mut PerSlot>,
        to: &[PerSlot],
        better: &[bool; SLOTS],
    ) {
        for (i, value) in values.enumerate() {
            for l in 0..SLOTS {
                value[l] = if better[l] { to[i][l] } else { value[l] };
                self.previous[kind][i][l] = value[l] - self.start[kind][i][l];
                self.start[kind][i][l] = value[l];
            }
        }
    }
}

impl Plane {
    #[inline(always)]
    fn add(&mut self, l: usize, p: f64, q: f64, curvature: f64, ascent: f64) {
        self.pp[l] = (curvature * p).mul_add(p, self.pp[l]);
        self.pq[l] = (curvature * p).mul_add(q, self.pq[l]);
        self.qq[l] = (curvature * q).mul_add(q, self.qq[l]);
        self.p[l] = ascent.mul_add(p, self.p[l]);
        self.q[l] = ascent.mul_add(q, self.q[l]);
    }

    /// The steps along p and q, or none.
    fn optimum(&self, l: usize) -> [f64; 2] {
        let (pp, pq, qq) = (self.pp[l], self.pq[l], self.qq[l]);
        let determinant = pp * qq - pq * pq;
        let steps = if determinant > PARALLEL * pp * qq {
            let along = |a: f64, b: f64| a / determinant - b / determinant;
            [along(qq * self.p[l], pq * self.q[l]), along(pp * self.q[l], pq * self.p[l])]
        } else {
            [self.p[l] / pp, 0.0]
        };
        // Not finite where a label has not moved.
        if steps.iter().all(|s| s.is_finite()) { steps } else { [0.0; 2] }
    }
}

/// The dual objective Σα − ½αᵀDα − ½‖w‖² of each slot.
#[inline(always)]
fn objective<'a>(alpha: impl Fn(usize) -> &'a PerSlot, terms: &[Term], w: &[PerSlot]) -> PerSlot {
    let mut sum = PerSlot::ZERO;
    for (i, term) in terms.iter().enumerate() {
        let a = alpha(i);
        for l in 0..SLOTS {
            sum[l] += a[l] * (-0.5 * term.diagonal[l]).mul_add(a[l], 1.0);
        }
    }
    for w in w {
        for l in 0..SLOTS {
            sum[l] = (-0.5 * w[l]).mul_add(w[l], sum[l]);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::svm::Loss;
    use crate::linalg::Mat;
    use crate::rng::Streams;

    /// Random α in the box for all slots, and the w that belongs to them.
    fn problem(loss: Loss) -> (Design, Vec<Term>, Vec<PerSlot>) {
        let mut r = Streams::new(7).stream("plane-search");
        let rows = Design::dense(&Mat::from_fn(30, 6, |_, _| r.normal()), Some(1.0));
        let mut terms = vec![Term::default(); 30];
        for (term, norm) in terms.iter_mut().zip(rows.squared_norms()) {
            for l in 0..SLOTS {
                let sign = if r.bernoulli(0.4) { 1.0 } else { -1.0 };
                term.start(l, sign, 1.0, norm, loss);
                term.alpha[l] = r.range(0.3, 0.7);
            }
        }
        let w = weights(&rows, &terms);
        (rows, terms, w)
    }

    /// Σ s·α·x, slowly.
    fn weights(rows: &Design, terms: &[Term]) -> Vec<PerSlot> {
        let Design::Dense(x) = rows else { panic!("dense rows") };
        let mut w = vec![PerSlot::ZERO; rows.width()];
        for (i, term) in terms.iter().enumerate() {
            let step = term.signed(&term.alpha);
            add_scaled(&mut w, x.row(i).iter().copied().enumerate(), &step);
        }
        w
    }

    fn dual(terms: &[Term], w: &[PerSlot]) -> PerSlot {
        objective(|i| &terms[i].alpha, terms, w)
    }

    /// Moves every α a little, each slot differently.
    fn perturb(terms: &mut [Term], size: f64, name: &str) {
        let mut r = Streams::new(8).stream(name);
        for term in terms {
            let moved = PerSlot::from_fn(|l| term.alpha[l] + size * r.normal());
            term.alpha = term.inside(&moved);
        }
    }

    #[test]
    fn never_down_inside_the_box_and_w_follows() {
        for (loss, size) in [(Loss::Hinge, 0.3), (Loss::Squared, 0.3), (Loss::Hinge, 0.01)] {
            let (rows, mut terms, mut w) = problem(loss);
            let mut search = PlaneSearch::new(terms.len(), w.len());
            let mut raised = 0;
            for round in 0..6 {
                perturb(&mut terms, size, &format!("{round}"));
                w = weights(&rows, &terms);
                let before = dual(&terms, &w);
                let mut ready = [true; SLOTS];
                ready[3] = false;
                search.run(&rows, &mut terms, &mut w, ready);
                let after = dual(&terms, &w);
                for l in 0..SLOTS {
                    assert!(after[l] >= before[l] && (l != 3 || after[l] == before[l]));
                    raised += usize::from(after[l] > before[l]);
                }
                for term in &terms {
                    assert_eq!(term.inside(&term.alpha), term.alpha);
                }
                assert!(weights(&rows, &terms) == w, "w is not that of α");
            }
            assert!(raised > 10, "{loss:?}: {raised} steps");
        }
    }

    /// The steps against a search of the plane, with nothing at a bound.
    #[test]
    fn no_point_of_the_plane_is_higher() {
        let (rows, mut terms, w) = problem(Loss::Squared);
        let mut search = PlaneSearch::new(terms.len(), w.len());
        for round in 0..2 {
            let mut w = weights(&rows, &terms);
            search.run(&rows, &mut terms, &mut w, [false; SLOTS]);
            perturb(&mut terms, 0.05, &format!("{round}"));
        }
        let w = weights(&rows, &terms);
        let plane = search.plane(&terms, &w);
        let value = |l: usize, steps: [f64; 2]| {
            let mut along = [PerSlot::ZERO; 2];
            (along[0][l], along[1][l]) = (steps[0], steps[1]);
            let mut moved = terms.clone();
            for (i, term) in moved.iter_mut().enumerate() {
                term.alpha = search.moved(i, &term.alpha, &along);
            }
            dual(&moved, &weights(&rows, &moved))[l]
        };
        for l in 0..SLOTS {
            let best = plane.optimum(l);
            assert!(best != [0.0; 2]);
            for (a, b) in [(0.1, 0.0), (-0.1, 0.0), (0.0, 0.1), (0.0, -0.1), (0.1, -0.1)] {
                assert!(value(l, best) > value(l, [best[0] + a, best[1] + b]), "slot {l}");
            }
        }
    }
}
