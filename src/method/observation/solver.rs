//! Logistic regression under the observation model, all labels at once.
//!
//! ```text
//! min over w_j, b_j   (1/m) Σ_i v_i · −ln P(C_ij | u_ij, ρ_j)  −  (1/m) ln σ(b_j)  +  (λ/2) Σ_f κ_f w_fj²
//! with                u_ij = o_ij + w_j·x_i + b_j,     m = Σ_i v_i
//! ```
//!
//! v are 0 or 1 (0: held out), o an offset, κ says which weights are penalised. The term −ln σ(b_j) is
//! one pseudo-positive per label: a label does not vanish because ρ alone explains its candidates.
//! The problem is not convex where P(C) saturates, so the start matters: from the large λ of a path
//! to the small ones.
//!
//! L-BFGS with one memory per label. Labels share the two products with X, which are nearly all of
//! the work; the line search needs none, because u is linear along a direction.

use super::cells::Cells;
use super::features::Features;
use super::likelihood::NoiseRate;
use crate::linalg::Mat;
use crate::num::Real;

/// Pairs that L-BFGS remembers.
const MEMORY: usize = 8;
/// A label is done when an iteration lowers its mean loss by less.
const TOLERANCE: f64 = 3e-6;
const MAX_ITERATIONS: usize = 40;
/// Sufficient decrease of the line search.
const ARMIJO: f64 = 1e-4;

/// What is minimised.
pub struct Problem<'a> {
    /// Features.
    pub x: &'a Features<'a>,
    /// Candidates as 0 and 1, n × L.
    pub c: &'a Mat<f64>,
    /// ρ of each label.
    pub noise: &'a [NoiseRate<f64>],
    /// v: which rows count.
    pub used: &'a [bool],
    /// o, n × L, if there is one.
    pub offset: Option<&'a Mat<f64>>,
    /// λ.
    pub l2: f64,
    /// κ of each feature.
    pub penalised: &'a [f64],
}

/// Weights of all labels, d + 1 rows (the last is the bias) × L, and the logits that they give.
#[derive(Clone, Debug)]
pub struct Solution {
    /// W above b.
    pub weights: Mat<f64>,
    /// u of all rows, held-out ones too.
    pub logits: Mat<f64>,
}

impl Problem<'_> {
    /// All weights zero, the bias at the prevalence that the candidates imply.
    pub fn start(&self) -> Solution {
        let (n, d, labels) = (self.x.rows(), self.x.cols(), self.c.cols());
        let mut weights = Mat::zeros(d + 1, labels);
        let m = self.rows_used();
        for j in 0..labels {
            if self.offset.is_none() {
                let count = (0..n).filter(|&i| self.used[i] && self.c[(i, j)] > 0.5).count();
                let rho = Real::exp(self.noise[j].ln_rho);
                let prevalence = ((count as f64 / m - rho) / (1.0 - rho)).clamp(0.01, 0.99);
                weights[(d, j)] = Real::ln(prevalence / (1.0 - prevalence));
            }
        }
        let mut logits = Mat::zeros(n, labels);
        self.logits(&mut logits, &weights);
        Solution { weights, logits }
    }

    fn rows_used(&self) -> f64 {
        self.used.iter().filter(|u| **u).count().max(1) as f64
    }

    fn logits(&self, out: &mut Mat<f64>, weights: &Mat<f64>) {
        self.x.times(out, weights);
        let bias = weights.row(self.x.cols());
        for i in 0..out.rows() {
            for (j, u) in out.row_mut(i).iter_mut().enumerate() {
                *u += bias[j] + self.offset.map_or(0.0, |o| o[(i, j)]);
            }
        }
    }

    /// The objective of each label asked for at `weights`, whose logits are `logits + steps · along`.
    /// They are not kept: n × L numbers for each part that is solved at the time.
    fn values(
        &self,
        cells: &Cells<'_>,
        labels: &[usize],
        logits: &Mat<f64>,
        along: Option<(&Mat<f64>, &[f64])>,
        weights: &Mat<f64>,
    ) -> Vec<f64> {
        let (d, m) = (self.x.cols(), self.rows_used());
        let mut squares = vec![0.0; weights.cols()];
        for f in 0..d {
            for (s, w) in squares.iter_mut().zip(weights.row(f)) {
                *s += self.penalised[f] * w * w;
            }
        }
        let losses = cells.losses(labels, logits, along);
        let value = |(&j, loss): (&usize, f64)| {
            (loss + (-weights[(d, j)]).softplus()) / m + 0.5 * self.l2 * squares[j]
        };
        labels.iter().zip(losses).map(value).collect()
    }

    /// Of the labels asked for; that of the others has no meaning.
    fn gradient(&self, out: &mut Mat<f64>, cells: &Cells<'_>, labels: &[usize], at: &Solution) {
        let (d, m) = (self.x.cols(), self.rows_used());
        let mut bias: Vec<f64> = at.weights.row(d).iter().map(|&b| -(-b).sigmoid() / m).collect();
        self.x.transposed_times(out, |rows, du| {
            let count = rows.len();
            cells.slopes(du, labels, &at.logits, rows, 1.0 / m);
            for r in 0..count {
                for (bias, slope) in bias.iter_mut().zip(du.row(r)) {
                    *bias += slope;
                }
            }
        });
        out.row_mut(d).copy_from_slice(&bias);
        for f in 0..d {
            for (g, w) in out.row_mut(f).iter_mut().zip(at.weights.row(f)) {
                *g += self.l2 * self.penalised[f] * w;
            }
        }
    }

    /// Goes down from `at` until every label is done.
    pub fn minimise(&self, mut at: Solution) -> Solution {
        let (n, rows, labels) = (self.x.rows(), self.x.cols() + 1, self.c.cols());
        let mut gradient = Mat::zeros(rows, labels);
        let mut memory = Memory::default();
        let cells = Cells::new(self.c, self.noise, self.used);
        let all: Vec<usize> = (0..labels).collect();
        let mut values = self.values(&cells, &all, &at.logits, None, &at.weights);
        let mut open = vec![true; labels];
        self.gradient(&mut gradient, &cells, &all, &at);
        let mut along = Mat::zeros(n, labels);
        for _ in 0..MAX_ITERATIONS {
            let mut direction = memory.direction(&gradient);
            let mut descent = column_dots(&direction, &gradient);
            for j in 0..labels {
                if !open[j] {
                    set_column(&mut direction, j, |_| 0.0);
                    descent[j] = 0.0;
                } else if descent[j] >= 0.0 {
                    // Curvature that is not positive: the steepest way down.
                    set_column(&mut direction, j, |f| -gradient[(f, j)]);
                    descent[j] =
                        -(0..rows).map(|f| gradient[(f, j)] * gradient[(f, j)]).sum::<f64>();
                }
            }
            self.x.times(&mut along, &direction);
            for i in 0..n {
                for (a, b) in along.row_mut(i).iter_mut().zip(direction.row(rows - 1)) {
                    *a += b;
                }
            }
            let way = Way { direction: &direction, along: &along, descent: &descent };
            let steps = self.line_search(&mut at, &mut values, &mut open, &cells, &way);
            let left: Vec<usize> = (0..labels).filter(|&j| open[j]).collect();
            if left.is_empty() {
                break;
            }
            let before = gradient.clone();
            self.gradient(&mut gradient, &cells, &left, &at);
            memory.push(&direction, &steps, &before, &gradient);
        }
        at
    }

    /// Moves each open label along its direction; returns the lengths of the steps. A label that
    /// gains too little is closed.
    fn line_search(
        &self,
        at: &mut Solution,
        values: &mut [f64],
        open: &mut [bool],
        cells: &Cells<'_>,
        &Way { direction, along, descent }: &Way<'_>,
    ) -> Vec<f64> {
        let labels = values.len();
        let mut steps: Vec<f64> = open.iter().map(|&o| if o { 1.0 } else { 0.0 }).collect();
        let mut unsettled: Vec<usize> = (0..labels).filter(|&j| open[j]).collect();
        let mut weights = at.weights.clone();
        for _ in 0..30 {
            weights.as_mut_slice().copy_from_slice(at.weights.as_slice());
            go(&mut weights, direction, &steps);
            let way = Some((along, &steps[..]));
            let new = self.values(cells, &unsettled, &at.logits, way, &weights);
            let mut again = Vec::new();
            for (&j, &new) in unsettled.iter().zip(&new) {
                if new <= values[j] + ARMIJO * steps[j] * descent[j] {
                    open[j] = values[j] - new > TOLERANCE;
                    values[j] = new;
                } else {
                    steps[j] *= 0.4;
                    again.push(j);
                }
            }
            unsettled = again;
            if unsettled.is_empty() {
                break;
            }
        }
        for j in unsettled {
            // A step too small to be measured: stay.
            (steps[j], open[j]) = (0.0, false);
        }
        go(&mut at.weights, direction, &steps);
        go(&mut at.logits, along, &steps);
        steps
    }
}

/// A direction in the weights, what it does to the logits, and the slope of the objective along it.
struct Way<'a> {
    direction: &'a Mat<f64>,
    along: &'a Mat<f64>,
    descent: &'a [f64],
}

/// m ← m + steps · way, a step for each column.
fn go(m: &mut Mat<f64>, way: &Mat<f64>, steps: &[f64]) {
    for i in 0..m.rows() {
        let way = way.row(i);
        for (j, m) in m.row_mut(i).iter_mut().enumerate() {
            *m += steps[j] * way[j];
        }
    }
}

/// The last steps and changes of the gradient, with 1/(s·y) of each label (0: the pair is not used).
#[derive(Default)]
struct Memory {
    pairs: Vec<(Mat<f64>, Mat<f64>, Vec<f64>)>,
}

impl Memory {
    fn push(&mut self, direction: &Mat<f64>, steps: &[f64], before: &Mat<f64>, after: &Mat<f64>) {
        let (rows, labels) = (direction.rows(), direction.cols());
        let s = Mat::from_fn(rows, labels, |f, j| steps[j] * direction[(f, j)]);
        let y = Mat::from_fn(rows, labels, |f, j| after[(f, j)] - before[(f, j)]);
        let curvature = column_dots(&s, &y);
        let inverse = curvature.iter().map(|&c| if c > 1e-14 { 1.0 / c } else { 0.0 }).collect();
        if self.pairs.len() == MEMORY {
            self.pairs.remove(0);
        }
        self.pairs.push((s, y, inverse));
    }

    /// −H⁻¹·g by the two loops of L-BFGS.
    fn direction(&self, gradient: &Mat<f64>) -> Mat<f64> {
        let (rows, labels) = (gradient.rows(), gradient.cols());
        let mut q = Mat::from_fn(rows, labels, |f, j| -gradient[(f, j)]);
        let mut alphas = Vec::new();
        for (s, y, inverse) in self.pairs.iter().rev() {
            let alpha: Vec<f64> =
                column_dots(s, &q).iter().zip(inverse).map(|(d, i)| d * i).collect();
            subtract(&mut q, y, &alpha);
            alphas.push(alpha);
        }
        let scale: Vec<f64> = (0..labels).map(|j| self.scale(gradient, j)).collect();
        for f in 0..rows {
            for (v, s) in q.row_mut(f).iter_mut().zip(&scale) {
                *v *= s;
            }
        }
        for ((s, y, inverse), alpha) in self.pairs.iter().zip(alphas.iter().rev()) {
            let beta = column_dots(y, &q);
            let change: Vec<f64> = (0..labels).map(|j| beta[j] * inverse[j] - alpha[j]).collect();
            subtract(&mut q, s, &change);
        }
        q
    }

    /// s·y / y·y of the last pair; before the first, a step of length at most 1.
    fn scale(&self, gradient: &Mat<f64>, j: usize) -> f64 {
        let last = self.pairs.iter().rev().find(|(_, _, inverse)| inverse[j] > 0.0);
        match last {
            Some((_, y, inverse)) => {
                let squares: f64 = (0..y.rows()).map(|f| y[(f, j)] * y[(f, j)]).sum();
                1.0 / (inverse[j] * squares)
            }
            None => {
                let squares: f64 =
                    (0..gradient.rows()).map(|f| gradient[(f, j)] * gradient[(f, j)]).sum();
                1.0 / squares.sqrt().max(1.0)
            }
        }
    }
}

/// Σ_f a_fj b_fj for each j.
fn column_dots(a: &Mat<f64>, b: &Mat<f64>) -> Vec<f64> {
    let mut total = vec![0.0; a.cols()];
    for (a, b) in a.rows_iter().zip(b.rows_iter()) {
        for (t, (a, b)) in total.iter_mut().zip(a.iter().zip(b)) {
            *t += a * b;
        }
    }
    total
}

/// q_fj −= factor_j · v_fj.
fn subtract(q: &mut Mat<f64>, v: &Mat<f64>, factor: &[f64]) {
    for f in 0..q.rows() {
        let v = v.row(f);
        for (j, q) in q.row_mut(f).iter_mut().enumerate() {
            *q -= factor[j] * v[j];
        }
    }
}

fn set_column(m: &mut Mat<f64>, j: usize, value: impl Fn(usize) -> f64) {
    for f in 0..m.rows() {
        m[(f, j)] = value(f);
    }
}

#[cfg(test)]
#[path = "solver_tests.rs"]
mod tests;
