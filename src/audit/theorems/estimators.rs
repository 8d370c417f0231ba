//! Theorem 5.3, first half: what the REINFORCE estimators estimate, and how noisily.
//!
//! A batch of B observations is drawn, Z is sampled, and the gradient −Σ A ∇ln π is taken by the code that trains;
//! the forms differ in the advantage A_ij alone. With ℓ_i the loss of row i:
//!
//! ```text
//! batch      A_ij = −(1/B) Σ_k ℓ_k / B      mean ∇F / B    the printed form, (10) and (11)
//! instance   A_ij = −ℓ_i / B                mean ∇F
//! label      A_ij = −ℓ_ij / B               mean ∇F
//! ```
//!
//! In the batch form each row is weighted by the losses of all rows. Those of the others are independent of its
//! action: they add nothing to the mean, only noise. So the mean falls as 1/B while the noise falls as
//! 1/√B, and larger batches make the signal *weaker*.

use rayon::prelude::*;

use super::policy_problem::{LABELS, PolicyProblem, ROWS, norm};
use crate::linalg::Mat;
use crate::method::pomdp_fs::stage1::train::sample;
use crate::num::Real;
use crate::rng::{Rng, Streams};

/// How an advantage is made from losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credit {
    /// One reward for the whole batch: the printed form.
    Batch,
    /// The same minus its expectation.
    BatchBaseline,
    /// Each row its own reward.
    Instance,
    /// The same minus its expectation.
    InstanceBaseline,
    /// Each label its own reward.
    Label,
    /// The same minus its exact expectation under the policy.
    LabelBaseline,
    /// The reward of the observation model with entropy, per label, minus its exact expectation: the
    /// default preset.
    Observation,
    /// A mistake: the baseline is the mean of the batch, the row's own reward included.
    OwnRewardInBaseline,
}

impl Credit {
    /// All of them.
    pub const ALL: [Credit; 8] = [
        Credit::Batch,
        Credit::BatchBaseline,
        Credit::Instance,
        Credit::InstanceBaseline,
        Credit::Label,
        Credit::LabelBaseline,
        Credit::Observation,
        Credit::OwnRewardInBaseline,
    ];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Credit::Batch => "batch (printed)",
            Credit::BatchBaseline => "batch, baseline",
            Credit::Instance => "instance",
            Credit::InstanceBaseline => "instance, baseline",
            Credit::Label => "label",
            Credit::LabelBaseline => "label, exact baseline",
            Credit::Observation => "observation model",
            Credit::OwnRewardInBaseline => "own reward in the baseline",
        }
    }

    /// What the estimator must have as its mean.
    pub fn target(self, problem: &PolicyProblem, theta: &[f64], batch: usize) -> Vec<f64> {
        let scaled = |g: Vec<f64>, by: f64| g.into_iter().map(|g| g * by).collect();
        match self {
            Credit::Batch | Credit::BatchBaseline => {
                scaled(problem.gradient_by_enumeration(theta), 1.0 / batch as f64)
            }
            Credit::Observation => problem.observed_gradient(theta),
            _ => problem.gradient_by_enumeration(theta),
        }
    }

    fn advantages(self, problem: &PolicyProblem, sampled: &Sampled) -> Mat<f64> {
        let Sampled { rows, scores, z, losses, mean_loss } = sampled;
        let share = 1.0 / rows.len() as f64;
        let batch = share * losses.iter().sum::<f64>();
        Mat::from_fn(rows.len(), LABELS, |i, j| {
            let label = |z: f64| problem.label_loss(rows[i], j, z);
            let p = scores[(i, j)].sigmoid();
            let reward = match self {
                Credit::Batch => -batch,
                Credit::BatchBaseline => mean_loss - batch,
                Credit::Instance => -losses[i],
                Credit::InstanceBaseline => mean_loss - losses[i],
                Credit::Label => -label(z[(i, j)]),
                Credit::LabelBaseline => p * label(1.0) + (1.0 - p) * label(0.0) - label(z[(i, j)]),
                Credit::Observation => {
                    let [drop, keep] = problem.observed_reward(rows[i], j, p);
                    let own = if z[(i, j)] == 1.0 { keep } else { drop };
                    own - (p * keep + (1.0 - p) * drop)
                }
                Credit::OwnRewardInBaseline => batch - losses[i],
            };
            share * reward
        })
    }
}

/// One batch with its sampled actions.
struct Sampled {
    rows: Vec<usize>,
    scores: Mat<f64>,
    z: Mat<f64>,
    losses: Vec<f64>,
    /// F(θ), known exactly: the baseline that a moving average approaches.
    mean_loss: f64,
}

/// Mean of an estimator and of its square, coordinate by coordinate.
#[derive(Clone, Debug)]
pub struct Moments {
    /// Number of batches.
    pub count: f64,
    /// Σ g.
    sum: Vec<f64>,
    /// Σ g².
    squares: Vec<f64>,
}

impl Moments {
    fn new(len: usize) -> Self {
        Moments { count: 0.0, sum: vec![0.0; len], squares: vec![0.0; len] }
    }

    fn add(&mut self, g: &[f64]) {
        self.count += 1.0;
        for (k, g) in g.iter().enumerate() {
            self.sum[k] += g;
            self.squares[k] += g * g;
        }
    }

    fn merge(mut self, other: &Moments) -> Self {
        self.count += other.count;
        crate::num::add_assign(&mut self.sum, &other.sum);
        crate::num::add_assign(&mut self.squares, &other.squares);
        self
    }

    /// Variance of each coordinate.
    fn variances(&self) -> impl Iterator<Item = f64> {
        self.sum.iter().zip(&self.squares).map(|(s, q)| {
            let mean = s / self.count;
            (q / self.count - mean * mean).max(0.0)
        })
    }

    /// Largest distance of the mean from `target`, in standard errors.
    pub fn standard_errors(&self, target: &[f64]) -> f64 {
        let cells = self.sum.iter().zip(target).zip(self.variances());
        cells
            .map(|((s, t), v)| (s / self.count - t).abs() / (v / self.count).sqrt())
            .fold(0.0, f64::max)
    }

    /// ‖target‖ over the standard deviation of one batch's estimate.
    pub fn signal_to_noise(&self, target: &[f64]) -> f64 {
        norm(target) / self.variances().sum::<f64>().sqrt()
    }
}

/// Batches of one size, all forms of credit on the same samples. Chunks have streams of their own and are added in order.
pub fn estimate(
    problem: &PolicyProblem,
    theta: &[f64],
    batch: usize,
    batches: usize,
    credits: &[Credit],
    streams: &Streams,
) -> Vec<Moments> {
    const CHUNK: usize = 2500;
    let scores = problem.scores(theta);
    let mean_loss = problem.risk(theta);
    let chunks: Vec<Vec<Moments>> = (0..batches.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let mut rng = streams.stream(&format!("batch-size/{batch}/chunk/{chunk}"));
            let mut moments = vec![Moments::new(problem.len); credits.len()];
            for _ in 0..CHUNK.min(batches - chunk * CHUNK) {
                let sampled = draw(problem, &scores, mean_loss, batch, &mut rng);
                for (moments, credit) in moments.iter_mut().zip(credits) {
                    let advantage = credit.advantages(problem, &sampled);
                    let Sampled { rows, scores, z, .. } = &sampled;
                    moments.add(&problem.policy_gradient(theta, rows, scores, z, &advantage));
                }
            }
            moments
        })
        .collect();
    let start = vec![Moments::new(problem.len); credits.len()];
    chunks.iter().fold(start, |total, chunk| {
        total.into_iter().zip(chunk).map(|(total, part)| total.merge(part)).collect()
    })
}

fn draw(
    problem: &PolicyProblem,
    all: &Mat<f64>,
    mean_loss: f64,
    batch: usize,
    rng: &mut Rng,
) -> Sampled {
    let rows: Vec<usize> = (0..batch).map(|_| rng.below(ROWS)).collect();
    let scores = all.select_rows(&rows);
    let mut z = Mat::zeros(0, LABELS);
    sample(&mut z, &scores, &problem.candidates.select_rows(&rows), rng);
    let losses = rows.iter().enumerate().map(|(i, &row)| problem.loss(row, z.row(i))).collect();
    Sampled { rows, scores, z, losses, mean_loss }
}
