//! Sequential minimal optimisation with second-order working sets (Fan, Chen & Lin, JMLR 6, 2005).
//!
//! min over α of ½αᵀQα − Σα with 0 ≤ α_t ≤ u_t and Σ s_t α_t = 0, Q_tr = s_t s_r K(x_t, x_r). Each step
//! solves for two variables exactly; it stops when the largest violation of the optimality
//! conditions is at most the tolerance.

use super::kernel::Kernel;

/// Stands in for a curvature that is not positive (two copies of one instance).
const TINY: f64 = 1e-12;

/// One variable: which row of the kernel, which class, how large it may get.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub(super) row: usize,
    pub(super) sign: f64,
    pub(super) upper: f64,
}

/// What was found.
pub(super) struct Machine {
    /// Σ s·α of each row.
    pub(super) coefficients: Vec<f64>,
    /// The decision value is Σ coefficient·K + bias.
    pub(super) bias: f64,
}

struct State<'a> {
    kernel: &'a Kernel,
    variables: &'a [Variable],
    alpha: Vec<f64>,
    /// G = Qα − 1.
    gradient: Vec<f64>,
    rows: [Vec<f32>; 2],
}

/// Solves one label.
pub(super) fn solve(
    kernel: &Kernel,
    variables: &[Variable],
    tolerance: f64,
    max_steps: usize,
) -> Machine {
    let mut state = State {
        kernel,
        variables,
        alpha: vec![0.0; variables.len()],
        gradient: vec![-1.0; variables.len()],
        rows: [Vec::new(), Vec::new()],
    };
    for _ in 0..max_steps {
        let Some((i, j)) = state.working_set(tolerance) else {
            break;
        };
        state.step(i, j);
    }
    let mut coefficients = vec![0.0; kernel.n()];
    for (v, a) in variables.iter().zip(&state.alpha) {
        coefficients[v.row] += v.sign * a;
    }
    Machine { coefficients, bias: state.bias() }
}

impl State<'_> {
    /// −s·G: how much the objective falls when s·α grows.
    fn pull(&self, t: usize) -> f64 {
        -self.variables[t].sign * self.gradient[t]
    }

    /// Can s·α grow?
    fn can_grow(&self, t: usize) -> bool {
        let v = &self.variables[t];
        if v.sign > 0.0 { self.alpha[t] < v.upper } else { self.alpha[t] > 0.0 }
    }

    /// Can s·α fall?
    fn can_fall(&self, t: usize) -> bool {
        let v = &self.variables[t];
        if v.sign > 0.0 { self.alpha[t] > 0.0 } else { self.alpha[t] < v.upper }
    }

    /// The most violating variable that can grow, and the partner with which the objective falls
    /// most; None at the optimum.
    fn working_set(&mut self, tolerance: f64) -> Option<(usize, usize)> {
        let all = 0..self.variables.len();
        let grow = all.clone().filter(|&t| self.can_grow(t));
        let i = grow.reduce(|a, b| if self.pull(b) > self.pull(a) { b } else { a })?;
        let top = self.pull(i);
        let row = self.variables[i].row;
        let mut buffer = std::mem::take(&mut self.rows[0]);
        let k = self.kernel.row(row, &mut buffer);
        let (mut lowest, mut best) = (f64::INFINITY, None);
        let mut gain = 0.0;
        for t in all {
            if !self.can_fall(t) {
                continue;
            }
            let pull = self.pull(t);
            lowest = f64::min(lowest, pull);
            let gap = top - pull;
            if gap > 0.0 {
                // K_ii = K_tt = 1 for the Gaussian kernel.
                let curvature = 2.0 - 2.0 * f64::from(k[self.variables[t].row]);
                let fall = gap * gap / if curvature > 0.0 { curvature } else { TINY };
                if fall > gain {
                    (gain, best) = (fall, Some(t));
                }
            }
        }
        self.rows[0] = buffer;
        best.filter(|_| top - lowest > tolerance).map(|j| (i, j))
    }

    /// Moves s_i α_i up and s_j α_j down by the same amount, as far as the box allows.
    fn step(&mut self, i: usize, j: usize) {
        let (vi, vj) = (self.variables[i], self.variables[j]);
        let [mut first, mut second] = std::mem::take(&mut self.rows);
        let ki = self.kernel.row(vi.row, &mut first);
        let kj = self.kernel.row(vj.row, &mut second);
        let curvature = 2.0 - 2.0 * f64::from(ki[vj.row]);
        let free = (self.pull(i) - self.pull(j)) / if curvature > 0.0 { curvature } else { TINY };
        let room_i = if vi.sign > 0.0 { vi.upper - self.alpha[i] } else { self.alpha[i] };
        let room_j = if vj.sign > 0.0 { self.alpha[j] } else { vj.upper - self.alpha[j] };
        let t = free.min(room_i).min(room_j);
        // Exactly at the bound where the bound stopped it.
        let clamped =
            |v: &Variable, a: f64, change: f64, stopped: bool| match (stopped, change > 0.0) {
                (true, true) => v.upper,
                (true, false) => 0.0,
                _ => a + change,
            };
        self.alpha[i] = clamped(&vi, self.alpha[i], vi.sign * t, t == room_i);
        self.alpha[j] = clamped(&vj, self.alpha[j], -vj.sign * t, t == room_j);
        for (g, v) in self.gradient.iter_mut().zip(self.variables) {
            *g += v.sign * t * (f64::from(ki[v.row]) - f64::from(kj[v.row]));
        }
        self.rows = [first, second];
    }

    /// Mean pull of the free variables; without any, the middle of the admissible interval.
    fn bias(&self) -> f64 {
        let (mut sum, mut free) = (0.0, 0usize);
        let (mut high, mut low) = (f64::INFINITY, f64::NEG_INFINITY);
        for t in 0..self.variables.len() {
            match (self.can_grow(t), self.can_fall(t)) {
                (true, true) => {
                    sum += self.pull(t);
                    free += 1;
                }
                (true, false) => low = low.max(self.pull(t)),
                (false, true) => high = high.min(self.pull(t)),
                (false, false) => {}
            }
        }
        if free > 0 { sum / free as f64 } else { 0.5 * (low + high) }
    }
}
