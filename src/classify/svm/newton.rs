//! Newton's method in the primal for n ≫ d, all labels together: they share X.
//!
//! The smooth problem of a label (see [`super::penalty`]) has gradient g = w − Xᵀf and Hessian
//! I + σ·XᵀDX. Products with X serve all labels at once; XᵀDX is kept and changed only by the rows
//! whose curvature D_i changed, which after the first steps are few; the first step is the same for
//! all labels. An exact line search makes every step a descent, and since the pieces are quadratic
//! the iteration ends after finitely many of them (Keerthi & DeCoste, JMLR 6, 2005).
//!
//! The squared hinge is one such problem, with duality gap ½‖g‖². The plain hinge is a sequence of
//! them: the augmented Lagrangian's multipliers are moved and σ raised until the gap is closed.

use rayon::prelude::*;

use super::penalty::Penalty;
use super::rows::Rows;
use super::{Costs, Loss, Solution, Stop};
use crate::linalg::cholesky::{cholesky, solve as solve_factored};
use crate::linalg::{Acc, Mat, gemm};
use crate::num::dot;

/// Newton steps of one smooth problem are counted against this.
const MAX_STEPS: usize = 500;
/// σ grows by this factor with each move of the multipliers.
const GROWTH: f64 = 4.0;
/// Columns of XᵀDX computed together; blocks above the diagonal are skipped.
const COLUMNS: usize = 64;
/// Rows gathered at a time.
const GATHER: usize = 512;

/// What is known about one label during the iteration.
struct LabelState {
    label: usize,
    penalty: Penalty,
    w: Vec<f64>,
    margins: Vec<f64>,
    force: Vec<f64>,
    curvature: Vec<f64>,
    /// XᵀDX (lower triangle) and the D it belongs to.
    gram: Mat<f64>,
    gram_curvature: Vec<f64>,
    direction: Vec<f64>,
    gap: f64,
    objective: f64,
    steps: usize,
    done: bool,
}

/// Solves the given labels; the others keep weights 0.
pub(super) fn solve(
    x: Rows<'_>,
    costs: &Costs,
    labels: &[usize],
    loss: Loss,
    stop: Stop,
) -> Solution {
    let mut states: Vec<LabelState> =
        labels.par_iter().map(|&j| LabelState::new(x, costs, j, loss)).collect();
    let base = SharedStart::new(x, &states);
    for _ in 0..MAX_STEPS {
        let mut live: Vec<&mut LabelState> = states.iter_mut().filter(|t| !t.done).collect();
        if live.is_empty() {
            break;
        }
        let products = products(x, &live);
        live.par_iter_mut().enumerate().for_each(|(k, state)| {
            let gradient: Vec<f64> =
                state.w.iter().zip(products.row(k)).map(|(w, f)| w - f).collect();
            state.choose_direction(x, costs, loss, stop, gradient, base.as_ref());
        });
        let along = {
            let rows: Vec<f64> = live.iter().flat_map(|t| t.direction.clone()).collect();
            x.margins(&Mat::from_vec(live.len(), x.width(), rows)).transposed()
        };
        live.par_iter_mut().enumerate().for_each(|(k, state)| state.step(along.row(k)));
    }
    collect(states, costs, x.width())
}

/// fᵀX for each live label.
fn products(x: Rows<'_>, live: &[&mut LabelState]) -> Mat<f64> {
    let mut products = Mat::zeros(live.len(), x.width());
    let mut buffer = Mat::default();
    for from in (0..x.n()).step_by(x.chunk()) {
        let to = x.n().min(from + x.chunk());
        let forces: Vec<f64> = live.iter().flat_map(|t| &t.force[from..to]).copied().collect();
        let forces = Mat::from_vec(live.len(), to - from, forces);
        let acc = if from == 0 { Acc::Set } else { Acc::Add };
        gemm(acc, products.view_mut(), forces.view(), x.view(from, to, &mut buffer));
    }
    products
}

/// Gram matrix and factor at w = 0, which most labels share.
struct SharedStart {
    curvature: Vec<f64>,
    sigma: f64,
    gram: Mat<f64>,
    factor: Mat<f64>,
}

impl SharedStart {
    fn new(x: Rows<'_>, states: &[LabelState]) -> Option<Self> {
        let first = states.first()?;
        let mut gram = Mat::zeros(x.width(), x.width());
        add_rows(&mut gram, x, &changes(&[], &first.curvature));
        let factor = factorise(&gram, first.penalty.sigma)?;
        Some(SharedStart {
            curvature: first.curvature.clone(),
            sigma: first.penalty.sigma,
            gram,
            factor,
        })
    }
}

impl LabelState {
    fn new(x: Rows<'_>, costs: &Costs, label: usize, loss: Loss) -> Self {
        let (n, d) = (x.n(), x.width());
        let penalty = Penalty::new(costs, label, loss);
        let margins = vec![0.0; n];
        let (mut force, mut curvature) = (vec![0.0; n], vec![0.0; n]);
        penalty.forces(&margins, &mut force, &mut curvature);
        LabelState {
            label,
            penalty,
            w: vec![0.0; d],
            margins,
            force,
            curvature,
            gram: Mat::default(),
            gram_curvature: Vec::new(),
            direction: vec![0.0; d],
            gap: f64::INFINITY,
            objective: f64::INFINITY,
            steps: 0,
            done: false,
        }
    }

    /// Checks for the end and finds the next direction.
    fn choose_direction(
        &mut self,
        x: Rows<'_>,
        costs: &Costs,
        loss: Loss,
        stop: Stop,
        gradient: Vec<f64>,
        base: Option<&SharedStart>,
    ) {
        self.direction.fill(0.0);
        self.objective = costs.objective(self.label, &self.w, &self.margins, loss);
        let smooth_gap = 0.5 * dot(&gradient, &gradient);
        match loss {
            Loss::Squared => {
                self.gap = smooth_gap;
                self.done = self.gap <= stop.gap * self.objective;
            }
            // The smooth problem must be solved well before its multipliers mean something.
            Loss::Hinge if smooth_gap <= 0.1 * stop.gap * self.objective => {
                let forces = self.penalty.advance(&self.margins);
                let pull: f64 = self.w.iter().zip(&gradient).map(|(w, g)| (w - g) * (w - g)).sum();
                self.gap = self.objective - (forces - 0.5 * pull);
                self.done = self.gap <= stop.gap * self.objective;
                self.penalty.sigma *= GROWTH;
                return;
            }
            Loss::Hinge => {}
        }
        self.done |= self.steps >= stop.max_passes;
        if !self.done {
            self.steps += 1;
            self.direction = gradient;
            self.newton(x, base);
        }
    }

    /// Turns the gradient in `direction` into the Newton direction.
    fn newton(&mut self, x: Rows<'_>, base: Option<&SharedStart>) {
        let shared = base.filter(|b| {
            self.gram_curvature.is_empty()
                && b.curvature == self.curvature
                && b.sigma == self.penalty.sigma
        });
        if let Some(base) = shared {
            solve_factored(&base.factor, &mut self.direction);
        } else {
            self.update_gram(x, base);
            // I + σXᵀDX is positive definite; should rounding deny it, the gradient is still a
            // descent direction.
            if let Some(factor) = factorise(&self.gram, self.penalty.sigma) {
                solve_factored(&factor, &mut self.direction);
            }
        }
        self.direction.iter_mut().for_each(|v| *v = -*v);
    }

    fn update_gram(&mut self, x: Rows<'_>, base: Option<&SharedStart>) {
        if self.gram_curvature.is_empty() {
            if let Some(base) = base {
                self.gram = base.gram.clone();
                self.gram_curvature = base.curvature.clone();
            } else {
                self.gram = Mat::zeros(x.width(), x.width());
            }
        }
        let mut rows = changes(&self.gram_curvature, &self.curvature);
        let present = self.curvature.iter().filter(|&&c| c != 0.0).count();
        if rows.len() > present {
            self.gram.fill(0.0);
            rows = changes(&[], &self.curvature);
        }
        add_rows(&mut self.gram, x, &rows);
        self.gram_curvature.clone_from(&self.curvature);
    }

    fn step(&mut self, along: &[f64]) {
        if self.direction.iter().any(|&v| v != 0.0) {
            let t = self.penalty.line_search(&self.margins, along, &self.w, &self.direction);
            add_scaled(&mut self.w, t, &self.direction);
            add_scaled(&mut self.margins, t, along);
        }
        self.penalty.forces(&self.margins, &mut self.force, &mut self.curvature);
    }
}

fn add_scaled(y: &mut [f64], t: f64, x: &[f64]) {
    for (a, &b) in y.iter_mut().zip(x) {
        *a = t.mul_add(b, *a);
    }
}

/// Rows whose weight differs, with the difference; an empty `old` stands for zeros.
fn changes(old: &[f64], new: &[f64]) -> Vec<(usize, f64)> {
    (0..new.len())
        .map(|i| (i, new[i] - old.get(i).copied().unwrap_or(0.0)))
        .filter(|(_, change)| *change != 0.0)
        .collect()
}

/// gram += Σ c·x_i x_iᵀ over the given (i, c), lower triangle by blocks of columns.
fn add_rows(gram: &mut Mat<f64>, x: Rows<'_>, rows: &[(usize, f64)]) {
    let d = x.width();
    for part in rows.chunks(GATHER) {
        let plain: Vec<usize> = part.iter().map(|(i, _)| *i).collect();
        let plain = x.select(&plain);
        let mut scaled = plain.clone();
        for (k, (_, c)) in part.iter().enumerate() {
            scaled.row_mut(k).iter_mut().for_each(|v| *v *= c);
        }
        for left in (0..d).step_by(COLUMNS) {
            let right = d.min(left + COLUMNS);
            let rows_below = plain.view().columns(left, d).t();
            let columns = scaled.view().columns(left, right);
            let target = &mut gram.as_mut_slice()[left * d..];
            let target = crate::linalg::ViewMut::new(target, d - left, d).columns(left, right);
            gemm(Acc::Add, target, rows_below, columns);
        }
    }
}

/// Cholesky factor of I + σ·gram.
fn factorise(gram: &Mat<f64>, sigma: f64) -> Option<Mat<f64>> {
    let mut factor = gram.clone();
    for i in 0..factor.rows() {
        factor.row_mut(i)[..=i].iter_mut().for_each(|v| *v *= sigma);
        factor[(i, i)] += 1.0;
    }
    cholesky(&mut factor).then_some(factor)
}

fn collect(states: Vec<LabelState>, costs: &Costs, width: usize) -> Solution {
    let mut solution = Solution::zeros(costs.labels(), width);
    for state in states {
        let j = state.label;
        solution.weights.row_mut(j).copy_from_slice(&state.w);
        solution.gap[j] = state.gap;
        solution.objective[j] = state.objective;
        solution.passes[j] = state.steps;
    }
    solution
}
