//! Jumps: the exact optimum in the plane of two directions, after every few passes of descent.
//!
//! On the variables that are free at the optimum coordinate descent is a Gauss-Seidel iteration: its
//! steps shrink by the same factor again and again, the slower the worse the conditioning. Along the
//! way since the last jump (p) and the way between the last two (q) the dual objective is a
//! quadratic whose Gram matrix needs inner products of w alone, since w is linear in α. Its maximum
//! costs half a pass, most of it for the new w, and as in conjugate gradients saves half of the passes
//! and more. What leaves the box is put back, and a jump that does not raise the dual objective is
//! not made.

use super::lanes::{LANES, Lanes, Term, spread};
use super::rows::Rows;
use crate::num::vectorize;

/// Two directions with a cosine closer to ±1 than this count as one.
const PARALLEL: f64 = 1e-10;

/// Where the last jump of each label ended, and the way from the one before: α for each term, then w.
pub(super) struct Jump {
    start: [Vec<Lanes>; 2],
    trend: [Vec<Lanes>; 2],
}

/// Gram matrix of p and q, and minus the gradient along them.
#[derive(Default)]
struct Plane {
    pp: Lanes,
    pq: Lanes,
    qq: Lanes,
    p: Lanes,
    q: Lanes,
}

impl Jump {
    pub(super) fn new(terms: usize, width: usize) -> Self {
        let zeros = || [vec![Lanes::ZERO; terms], vec![Lanes::ZERO; width]];
        Jump { start: zeros(), trend: zeros() }
    }

    /// Lane l starts again at α = 0.
    pub(super) fn reset(&mut self, l: usize) {
        for values in self.start.iter_mut().chain(&mut self.trend) {
            values.iter_mut().for_each(|v| v[l] = 0.0);
        }
    }

    /// Jumps in the lanes that are ready and remembers where all of them are.
    pub(super) fn jump(
        &mut self,
        rows: &Rows,
        terms: &mut [Term],
        w: &mut [Lanes],
        ready: [bool; LANES],
    ) {
        vectorize(
            #[inline(always)]
            || {
                let plane = self.plane(terms, w);
                let mut steps = [Lanes::ZERO; 2];
                for l in (0..LANES).filter(|&l| ready[l]) {
                    [steps[0][l], steps[1][l]] = plane.optimum(l);
                }
                let (to_alpha, to_w) = self.landing(rows, terms, &steps);
                let here = objective(|i| &terms[i].alpha, terms, w);
                let there = objective(|i| &to_alpha[i], terms, &to_w);
                let better: [bool; LANES] = std::array::from_fn(|l| there[l] > here[l]);
                let alpha = terms.iter_mut().map(|t| &mut t.alpha);
                self.land(0, alpha, &to_alpha, &better);
                self.land(1, w.iter_mut(), &to_w, &better);
            },
        );
    }

    #[inline(always)]
    fn plane(&self, terms: &[Term], w: &[Lanes]) -> Plane {
        let mut sum = Plane::default();
        for (i, term) in terms.iter().enumerate() {
            for l in 0..LANES {
                let (a, d) = (term.alpha[l], term.diagonal[l]);
                let (p, q) = (a - self.start[0][i][l], self.trend[0][i][l]);
                sum.add(l, p, q, d, 1.0 - d * a);
            }
        }
        for (c, w) in w.iter().enumerate() {
            for l in 0..LANES {
                let (p, q) = (w[l] - self.start[1][c][l], self.trend[1][c][l]);
                sum.add(l, p, q, 1.0, -w[l]);
            }
        }
        sum
    }

    /// α at the end of the steps, put back into its box, and its w. That is summed anew: carried
    /// along, the roundings of w would grow with every long step.
    #[inline(always)]
    fn landing(&self, rows: &Rows, terms: &[Term], steps: &[Lanes; 2]) -> (Vec<Lanes>, Vec<Lanes>) {
        let mut alpha = vec![Lanes::ZERO; terms.len()];
        let mut w = vec![Lanes::ZERO; rows.width()];
        let per_row = terms.len() / rows.n().max(1);
        for i in 0..rows.n() {
            let mut sum = Lanes::ZERO;
            for t in per_row * i..per_row * (i + 1) {
                alpha[t] = terms[t].inside(&self.far(t, &terms[t].alpha, steps));
                let signed = terms[t].signed(&alpha[t]);
                (0..LANES).for_each(|l| sum[l] += signed[l]);
            }
            if sum != Lanes::ZERO {
                match rows {
                    Rows::Dense(x) => spread(&mut w, x.row(i).iter().copied().enumerate(), &sum),
                    Rows::Sparse(s) => spread(&mut w, s.entries(i), &sum),
                }
            }
        }
        (alpha, w)
    }

    /// α of a term at the end of the steps, wherever that is.
    #[inline(always)]
    fn far(&self, t: usize, now: &Lanes, steps: &[Lanes; 2]) -> Lanes {
        Lanes::from_fn(|l| {
            let (p, q) = (now[l] - self.start[0][t][l], self.trend[0][t][l]);
            steps[0][l].mul_add(p, steps[1][l].mul_add(q, now[l]))
        })
    }

    /// Takes the better values over and turns the page.
    #[inline(always)]
    fn land<'v>(
        &mut self,
        kind: usize,
        values: impl Iterator<Item = &'v mut Lanes>,
        to: &[Lanes],
        better: &[bool; LANES],
    ) {
        for (i, value) in values.enumerate() {
            for l in 0..LANES {
                value[l] = if better[l] { to[i][l] } else { value[l] };
                self.trend[kind][i][l] = value[l] - self.start[kind][i][l];
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

/// The dual objective Σα − ½αᵀDα − ½‖w‖² of each lane.
#[inline(always)]
fn objective<'a>(alpha: impl Fn(usize) -> &'a Lanes, terms: &[Term], w: &[Lanes]) -> Lanes {
    let mut sum = Lanes::ZERO;
    for (i, term) in terms.iter().enumerate() {
        let a = alpha(i);
        for l in 0..LANES {
            sum[l] += a[l] * (-0.5 * term.diagonal[l]).mul_add(a[l], 1.0);
        }
    }
    for w in w {
        for l in 0..LANES {
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

    /// Random α in the box for all lanes, and the w that belongs to them.
    fn problem(loss: Loss) -> (Rows, Vec<Term>, Vec<Lanes>) {
        let mut r = Streams::new(7).stream("jump");
        let rows = Rows::dense(&Mat::from_fn(30, 6, |_, _| r.normal()), Some(1.0));
        let mut terms = vec![Term::default(); 30];
        for (term, norm) in terms.iter_mut().zip(rows.squared_norms()) {
            for l in 0..LANES {
                let sign = if r.bernoulli(0.4) { 1.0 } else { -1.0 };
                term.seat(l, sign, 1.0, norm, loss);
                term.alpha[l] = r.range(0.3, 0.7);
            }
        }
        let w = weights(&rows, &terms);
        (rows, terms, w)
    }

    /// Σ s·α·x, slowly.
    fn weights(rows: &Rows, terms: &[Term]) -> Vec<Lanes> {
        let Rows::Dense(x) = rows else { panic!("dense rows") };
        let mut w = vec![Lanes::ZERO; rows.width()];
        for (i, term) in terms.iter().enumerate() {
            let step = term.signed(&term.alpha);
            spread(&mut w, x.row(i).iter().copied().enumerate(), &step);
        }
        w
    }

    fn dual(terms: &[Term], w: &[Lanes]) -> Lanes {
        objective(|i| &terms[i].alpha, terms, w)
    }

    /// Moves every α a little, each lane its own way.
    fn wander(terms: &mut [Term], size: f64, name: &str) {
        let mut r = Streams::new(8).stream(name);
        for term in terms {
            let moved = Lanes::from_fn(|l| term.alpha[l] + size * r.normal());
            term.alpha = term.inside(&moved);
        }
    }

    #[test]
    fn never_down_inside_the_box_and_w_follows() {
        for (loss, size) in [(Loss::Hinge, 0.3), (Loss::Squared, 0.3), (Loss::Hinge, 0.01)] {
            let (rows, mut terms, mut w) = problem(loss);
            let mut jump = Jump::new(terms.len(), w.len());
            let mut raised = 0;
            for round in 0..6 {
                wander(&mut terms, size, &format!("{round}"));
                w = weights(&rows, &terms);
                let before = dual(&terms, &w);
                let mut ready = [true; LANES];
                ready[3] = false;
                jump.jump(&rows, &mut terms, &mut w, ready);
                let after = dual(&terms, &w);
                for l in 0..LANES {
                    assert!(after[l] >= before[l] && (l != 3 || after[l] == before[l]));
                    raised += usize::from(after[l] > before[l]);
                }
                for term in &terms {
                    assert_eq!(term.inside(&term.alpha), term.alpha);
                }
                assert!(weights(&rows, &terms) == w, "w is not that of α");
            }
            assert!(raised > 10, "{loss:?}: {raised} jumps");
        }
    }

    /// The steps against a search of the plane, with nothing at a bound.
    #[test]
    fn no_point_of_the_plane_is_higher() {
        let (rows, mut terms, w) = problem(Loss::Squared);
        let mut jump = Jump::new(terms.len(), w.len());
        for round in 0..2 {
            let mut w = weights(&rows, &terms);
            jump.jump(&rows, &mut terms, &mut w, [false; LANES]);
            wander(&mut terms, 0.05, &format!("{round}"));
        }
        let w = weights(&rows, &terms);
        let plane = jump.plane(&terms, &w);
        let value = |l: usize, steps: [f64; 2]| {
            let mut along = [Lanes::ZERO; 2];
            (along[0][l], along[1][l]) = (steps[0], steps[1]);
            let mut moved = terms.clone();
            for (i, term) in moved.iter_mut().enumerate() {
                term.alpha = jump.far(i, &term.alpha, &along);
            }
            dual(&moved, &weights(&rows, &moved))[l]
        };
        for l in 0..LANES {
            let best = plane.optimum(l);
            assert!(best != [0.0; 2]);
            for (a, b) in [(0.1, 0.0), (-0.1, 0.0), (0.0, 0.1), (0.0, -0.1), (0.1, -0.1)] {
                assert!(value(l, best) > value(l, [best[0] + a, best[1] + b]), "lane {l}");
            }
        }
    }
}
