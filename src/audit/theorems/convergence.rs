//! Theorem 5.3, second half: steps α_t with Σα = ∞, Σα² < ∞ drive ‖∇F‖ to 0, a constant step does not.
//!
//! θ_{t+1} = θ_t − α_t g_t with g_t = ℓ_disc ∇ln π of one observation and one action, as in the theorem. The
//! bias of the head stays 0: Θ is the closed convex set of the other weights.

use rayon::prelude::*;

use super::policy_problem::{LABELS, PolicyProblem, ROWS, norm};
use crate::linalg::Mat;
use crate::method::pomdp_fs::stage1::train::sample;
use crate::rng::Streams;

/// Steps of a run.
pub const STEPS: usize = 200_000;
/// Runs that are averaged.
pub const RUNS: usize = 16;

/// α_t.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// a (1 + t/100)^(−3/4): Σα = ∞ and Σα² < ∞.
    RobbinsMonro(f64),
    /// a.
    Constant(f64),
}

impl Step {
    fn at(self, t: usize) -> f64 {
        match self {
            Step::Constant(a) => a,
            // x^(−3/4) by two roots: no power function is needed.
            Step::RobbinsMonro(a) => {
                let x = 1.0 + t as f64 / 100.0;
                a / (x.sqrt() * x.sqrt().sqrt())
            }
        }
    }
}

/// The mean over the runs at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// t, from 1.
    pub step: usize,
    /// Mean of ‖∇F(θ_t)‖.
    pub norm: f64,
    /// Mean of ‖∇F(θ_t)‖².
    pub square: f64,
}

/// What the runs did.
pub struct Path {
    /// At steps that are evenly spaced on a logarithmic scale.
    pub points: Vec<Point>,
    /// Σ_t α_t E‖∇F(θ_t)‖² over the steps 1 … T, from sums over every tenth step.
    pub weighted: f64,
    /// Σ_t α_t².
    pub squares: f64,
    /// Mean of F(θ) after the last step.
    pub risk: f64,
}

/// Runs from θ = 0.
pub fn run(problem: &PolicyProblem, step: Step, streams: &Streams) -> Path {
    let marks = marks();
    let runs: Vec<(Vec<Point>, f64, f64)> =
        (0..RUNS).into_par_iter().map(|r| one(problem, step, &marks, streams, r)).collect();
    let mut points: Vec<Point> =
        marks.iter().map(|&step| Point { step, ..Point::default() }).collect();
    let (mut weighted, mut risk) = (0.0, 0.0);
    for (run, sum, last) in &runs {
        weighted += sum / RUNS as f64;
        risk += last / RUNS as f64;
        for (mean, p) in points.iter_mut().zip(run) {
            mean.norm += p.norm / RUNS as f64;
            mean.square += p.square / RUNS as f64;
        }
    }
    let squares = (0..STEPS).map(|t| step.at(t) * step.at(t)).sum();
    Path { points, weighted, squares, risk }
}

fn one(
    problem: &PolicyProblem,
    step: Step,
    marks: &[usize],
    streams: &Streams,
    r: usize,
) -> (Vec<Point>, f64, f64) {
    const EVERY: usize = 10;
    let mut rng = streams.stream(&format!("{step:?}/run/{r}"));
    let mut theta = vec![0.0; problem.len];
    let free = problem.head.w.range();
    let (mut points, mut weighted) = (Vec::new(), 0.0);
    let candidates: Vec<_> = (0..ROWS).map(|row| problem.candidates.select_rows(&[row])).collect();
    let mut z = Mat::zeros(0, LABELS);
    let mut scores = Mat::zeros(1, LABELS);
    for t in 0..STEPS {
        let marked = marks.contains(&(t + 1));
        if marked || t % EVERY == 0 {
            let size = norm(&problem.gradient(&theta)[free.clone()]);
            weighted += if t % EVERY == 0 { EVERY as f64 * step.at(t) * size * size } else { 0.0 };
            if marked {
                points.push(Point { step: t + 1, norm: size, square: size * size });
            }
        }
        let row = rng.below(ROWS);
        let phi = problem.phi.select_rows(&[row]);
        problem.head.forward(scores.view_mut(), phi.view(), &theta);
        sample(&mut z, &scores, &candidates[row], &mut rng);
        let reward = -problem.loss(row, z.row(0));
        let advantage = Mat::from_fn(1, LABELS, |_, _| reward);
        let g = problem.policy_gradient(&theta, &[row], &scores, &z, &advantage);
        for k in free.clone() {
            theta[k] -= step.at(t) * g[k];
        }
    }
    (points, weighted, problem.risk(&theta))
}

/// 1, 2, 3, 5, 8, …: about eight in a decade.
fn marks() -> Vec<usize> {
    let mut marks = vec![1];
    while let Some(&last) = marks.last()
        && last < STEPS
    {
        marks.push((last * 4 / 3 + 1).min(STEPS));
    }
    marks
}

/// θ after `steps` exact gradient steps from 0, with or without the bias.
pub fn descend(problem: &PolicyProblem, steps: usize, with_bias: bool) -> Vec<f64> {
    let free = if with_bias { 0..problem.len } else { problem.head.w.range() };
    let mut theta = vec![0.0; problem.len];
    for _ in 0..steps {
        let g = problem.gradient(&theta);
        free.clone().for_each(|k| theta[k] -= 20.0 * g[k]);
    }
    theta
}
