//! The setting of Theorem 5.3: representation and logits are fixed, only the policy head learns.
//!
//! Six observations with φ ∈ ℝ² and three labels; F(θ) = E[ℓ_disc] is enumerated. The rows lie in pairs on
//! rays, and the near and the far one of a pair want opposite actions, so F has a minimum at a finite θ
//! whose policy is still random. (With a bias of its own the head can separate the pairs, and its
//! weights grow without end: `grows`.) Losses, log-probabilities and their gradients are those of the
//! code that trains.

use crate::data::Labels;
use crate::graph::Graph;
use crate::linalg::Mat;
use crate::method::pomdp_fs::stage1::loss::{DiscWeights, disc_loss, policy_loss};
use crate::nn::policy::bernoulli_loss;
use crate::nn::{Layout, Linear};
use crate::num::Real;
use crate::rng::Rng;

use super::world::{holds, subsets};

/// Number of labels L.
pub const LABELS: usize = 3;
/// Number of observations.
pub const ROWS: usize = 6;
const WIDTH: usize = 2;
const PHI: [[f64; WIDTH]; ROWS] =
    [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [2.0, 2.0]];
const LOGITS: [[f64; LABELS]; ROWS] = [
    [-2.0, 2.4, -1.8],
    [2.4, -2.0, 2.0],
    [-1.8, 2.0, 2.2],
    [2.2, -2.2, -2.2],
    [-1.0, 1.2, -0.6],
    [1.2, -1.0, 0.8],
];
/// ln ρ of the observation model.
const LN_RHO: f64 = -1.6;

/// Everything but θ.
pub struct PolicyProblem {
    /// φ, one row per observation.
    pub phi: Mat<f64>,
    /// U.
    pub logits: Mat<f64>,
    /// C; one label of one row is no candidate.
    pub candidates: Labels,
    /// The policy head.
    pub head: Linear,
    /// Number of parameters; the bias comes last.
    pub len: usize,
    /// R_graph's share of the loss: it does not depend on Z.
    pub structure: f64,
    /// BCE(U_ij, z)/L for z = 0 and z = 1, by the loss that trains.
    cells: [Mat<f64>; 2],
}

impl PolicyProblem {
    /// The one problem.
    pub fn new() -> Self {
        let mut layout = Layout::default();
        let head = Linear::new(&mut layout, "policy", WIDTH, LABELS);
        let weights = DiscWeights { bce: 1.0 / LABELS as f64, graph: 0.0 };
        let cell = |u: f64, z: f64| {
            let (u, z) = (Mat::from_vec(1, 1, vec![u]), Mat::from_vec(1, 1, vec![z]));
            disc_loss(&mut Mat::zeros(1, 1), &u, &z, &Graph::default(), weights).bce
        };
        PolicyProblem {
            phi: Mat::from_fn(ROWS, WIDTH, |i, k| PHI[i][k]),
            logits: Mat::from_fn(ROWS, LABELS, |i, j| LOGITS[i][j]),
            cells: [0.0, 1.0].map(|z| Mat::from_fn(ROWS, LABELS, |i, j| cell(LOGITS[i][j], z))),
            candidates: Labels::from_fn(ROWS, LABELS, |i, j| (i, j) != (4, 1)),
            head,
            len: layout.len(),
            structure: 0.05,
        }
    }

    /// A random θ.
    pub fn random_theta(&self, size: f64, rng: &mut Rng) -> Vec<f64> {
        (0..self.len).map(|_| size * rng.normal()).collect()
    }

    /// Scores of the observations.
    pub fn scores(&self, theta: &[f64]) -> Mat<f64> {
        let mut scores = Mat::zeros(ROWS, LABELS);
        self.head.forward(scores.view_mut(), self.phi.view(), theta);
        scores
    }

    /// BCE(U_ij, z)/L of one cell.
    pub fn label_loss(&self, row: usize, j: usize, z: f64) -> f64 {
        self.cells[usize::from(z == 1.0)][(row, j)]
    }

    /// ℓ_disc of one observation and action.
    pub fn loss(&self, row: usize, z: &[f64]) -> f64 {
        let of = |j: usize| self.label_loss(row, j, z[j]);
        (0..LABELS).map(of).sum::<f64>() + self.structure
    }

    /// Reward of keeping and of dropping candidate j under the observation model, with its entropy, at
    /// probability p of keeping it.
    pub fn observed_reward(&self, row: usize, j: usize, p: f64) -> [f64; 2] {
        let u = self.logits[(row, j)];
        [(-u).log_sigmoid() + LN_RHO - Real::ln(1.0 - p), u.log_sigmoid() - Real::ln(p)]
    }

    /// The gradient that training would use for advantages A: that of −Σ A ln π(z), in θ.
    pub fn policy_gradient(
        &self,
        theta: &[f64],
        rows: &[usize],
        scores: &Mat<f64>,
        z: &Mat<f64>,
        advantage: &Mat<f64>,
    ) -> Vec<f64> {
        let open = self.candidates.select_rows(rows);
        let mut dscores = Mat::zeros(rows.len(), LABELS);
        policy_loss(&mut dscores, scores, z, &open, advantage);
        let mut dp = vec![0.0; self.len];
        let phi = self.phi.select_rows(rows);
        self.head.backward(None, &mut dp, dscores.view(), phi.view(), theta);
        dp
    }

    /// Every observation and admissible action: row, z, P(o) π(z | o).
    pub fn atoms(&self, theta: &[f64]) -> Vec<(usize, [f64; LABELS], f64)> {
        let scores = self.scores(theta);
        let mut atoms = Vec::new();
        for row in 0..ROWS {
            let c = (0..LABELS).filter(|&j| self.candidates.get(row, j)).map(|j| 1 << j).sum();
            for set in subsets(c) {
                let mut pi = 1.0 / ROWS as f64;
                for j in (0..LABELS).filter(|&j| holds(c, j)) {
                    let p = scores[(row, j)].sigmoid();
                    pi *= if holds(set, j) { p } else { 1.0 - p };
                }
                let z = std::array::from_fn(|j| f64::from(u8::from(holds(set, j))));
                atoms.push((row, z, pi));
            }
        }
        atoms
    }

    /// F(θ), enumerated, with the head and the log-probability of training in any number type.
    pub fn risk<T: Real>(&self, theta: &[T]) -> T {
        let mut scores = Mat::zeros(ROWS, LABELS);
        self.head.forward(scores.view_mut(), self.phi.cast().view(), theta);
        let ones = [T::ONE; LABELS];
        let mut total = T::ZERO;
        for (row, z, _) in self.atoms(&vec![0.0; self.len]) {
            let (open, action) = (self.candidates.row(row), z.map(T::from_f64));
            let minus_log =
                bernoulli_loss(&mut [T::ZERO; LABELS], scores.row(row), &action, open, &ones);
            total += (-minus_log).exp() * T::from_f64(self.loss(row, &z) / ROWS as f64);
        }
        total
    }

    /// J(θ) of the observation model with entropy, enumerated.
    pub fn observed_return(&self, theta: &[f64]) -> f64 {
        let scores = self.scores(theta);
        let cells = (0..ROWS).flat_map(|i| (0..LABELS).map(move |j| (i, j)));
        let open = cells.filter(|&(i, j)| self.candidates.get(i, j));
        open.map(|(i, j)| {
            let p = scores[(i, j)].sigmoid();
            let [drop, keep] = self.observed_reward(i, j, p);
            (p * keep + (1.0 - p) * drop) / ROWS as f64
        })
        .sum()
    }

    /// g of one atom: ℓ ∇ln π through the loss and backward pass of training.
    pub fn atom_gradient(&self, theta: &[f64], row: usize, z: &[f64], weight: f64) -> Vec<f64> {
        let scores = self.scores(theta).select_rows(&[row]);
        let z = Mat::from_vec(1, LABELS, z.to_vec());
        let advantage = Mat::from_fn(1, LABELS, |_, _| -weight);
        self.policy_gradient(theta, &[row], &scores, &z, &advantage)
    }

    /// ∇F as the sum over all atoms of P(o) π(z | o) ℓ ∇ln π.
    pub fn gradient_by_enumeration(&self, theta: &[f64]) -> Vec<f64> {
        let mut total = vec![0.0; self.len];
        for (row, z, pi) in self.atoms(theta) {
            let g = self.atom_gradient(theta, row, &z, pi * self.loss(row, &z));
            total.iter_mut().zip(g).for_each(|(t, g)| *t += g);
        }
        total
    }

    /// ∇F from ∂F/∂s = P(o) p(1 − p) (ℓ(1) − ℓ(0)) and ℓ(1) − ℓ(0) = −U/L: another formula.
    pub fn gradient(&self, theta: &[f64]) -> Vec<f64> {
        self.chain(theta, |i, j, _| -self.logits[(i, j)] / LABELS as f64)
    }

    /// −∇J of the observation model.
    pub fn observed_gradient(&self, theta: &[f64]) -> Vec<f64> {
        self.chain(theta, |i, j, p| {
            let [drop, keep] = self.observed_reward(i, j, p);
            drop - keep
        })
    }

    fn chain(&self, theta: &[f64], slope: impl Fn(usize, usize, f64) -> f64) -> Vec<f64> {
        let scores = self.scores(theta);
        let mut g = vec![0.0; self.len];
        for i in 0..ROWS {
            for j in (0..LABELS).filter(|&j| self.candidates.get(i, j)) {
                let p = scores[(i, j)].sigmoid();
                let ds = slope(i, j, p) * p * (1.0 - p) / ROWS as f64;
                for k in 0..WIDTH {
                    g[k * LABELS + j] += ds * PHI[i][k];
                }
                g[WIDTH * LABELS + j] += ds;
            }
        }
        g
    }

    /// L_π: ‖∇ln π(z | o)‖ ≤ √(Σ_{j ∈ C} (‖φ‖² + 1)) for every θ, because |z − p| ≤ 1.
    pub fn score_bound(&self) -> f64 {
        let of = |i: usize| {
            let size = 1.0 + self.phi.row(i).iter().map(|v| v * v).sum::<f64>();
            let open = (0..LABELS).filter(|&j| self.candidates.get(i, j)).count() as f64;
            (open * size).sqrt()
        };
        (0..ROWS).map(of).fold(0.0, f64::max)
    }

    /// M: the largest loss of an observation and action.
    pub fn loss_bound(&self) -> f64 {
        let atoms = self.atoms(&vec![0.0; self.len]);
        atoms.iter().map(|(row, z, _)| self.loss(*row, z)).fold(0.0, f64::max)
    }

    /// A Lipschitz constant of ∇F: |σ″| ≤ 1/(6√3), so the Hessian, which has a block per label, is at most
    /// max_j E[|U_j|/L · (‖φ‖² + 1)]/(6√3).
    pub fn lipschitz_bound(&self) -> f64 {
        let of = |j: usize| -> f64 {
            let rows = (0..ROWS).filter(|&i| self.candidates.get(i, j));
            let one = |i: usize| {
                let size = 1.0 + self.phi.row(i).iter().map(|v| v * v).sum::<f64>();
                self.logits[(i, j)].abs() / LABELS as f64 * size / ROWS as f64
            };
            rows.map(one).sum()
        };
        (0..LABELS).map(of).fold(0.0, f64::max) / (6.0 * 3f64.sqrt())
    }
}

/// ‖v‖.
pub fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Largest |a − b| over the largest |b|.
pub fn relative_gap(a: &[f64], b: &[f64]) -> f64 {
    let largest = b.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    a.iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs())) / largest
}
