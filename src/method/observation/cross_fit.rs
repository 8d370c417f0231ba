//! Cross-fitted logistic regression: every row is judged by a model that never saw it.
//!
//! The paper's Assumption D.1 asks for it, and it is not optional on sparse text: a model that has seen
//! a row has memorised its candidates, the noise too.

use rayon::prelude::*;

use super::features::Features;
use super::likelihood::NoiseRate;
use super::solver::{Problem, Solution};
use crate::linalg::Mat;
use crate::num::vectorize;
use crate::rng::Streams;

/// λ of the path, from stiff to loose; features have unit mean square.
const GRID: [f64; 11] = [30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4];
/// The path ends when the held-out likelihood gained less than this, so often in a row.
const NO_GAIN: f64 = 1e-4;
const WORSE_IN_A_ROW: usize = 2;

/// Which part each row belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    of_row: Vec<usize>,
    count: usize,
}

impl Parts {
    /// `count` parts of n rows, of nearly equal size.
    pub fn new(n: usize, count: usize, streams: &Streams) -> Self {
        let count = count.min(n).max(1);
        let mut of_row = vec![0; n];
        for (k, i) in streams.stream("parts").permutation(n).into_iter().enumerate() {
            of_row[i] = k % count;
        }
        Parts { of_row, count }
    }

    /// Number of parts.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The part of a row.
    pub fn of(&self, row: usize) -> usize {
        self.of_row[row]
    }

    /// The rows of part k.
    pub fn rows(&self, k: usize) -> Vec<usize> {
        (0..self.of_row.len()).filter(|&i| self.of_row[i] == k).collect()
    }

    /// Which rows train the model that judges part k: all others; all rows when there is one part.
    pub fn training(&self, k: usize) -> Vec<bool> {
        self.of_row.iter().map(|&p| p != k || self.count == 1).collect()
    }
}

/// Prior logits of rows that their models never saw.
#[derive(Clone, Debug)]
pub struct CrossFitted {
    /// u, n × L.
    pub logits: Mat<f64>,
    /// Mean −ln P(C) of a held-out cell.
    pub loss: f64,
    /// λ that was chosen.
    pub l2: f64,
    /// The model of each part.
    pub models: Vec<Mat<f64>>,
}

impl CrossFitted {
    /// The mean of the models, for rows that none of them saw.
    pub fn mean_weights(&self) -> Mat<f64> {
        let (first, count) = (&self.models[0], self.models.len() as f64);
        Mat::from_fn(first.rows(), first.cols(), |f, j| {
            self.models.iter().map(|m| m[(f, j)]).sum::<f64>() / count
        })
    }
}

/// λ by the held-out likelihood, shared by all labels.
pub fn cross_fit(
    x: &Features,
    c: &Mat<f64>,
    noise: &[NoiseRate<f64>],
    offset: Option<&Mat<f64>>,
    penalised: &[f64],
    parts: &Parts,
) -> CrossFitted {
    let used: Vec<Vec<bool>> = (0..parts.count()).map(|k| parts.training(k)).collect();
    let mut current: Vec<Option<Solution>> = vec![None; parts.count()];
    let mut best: Option<CrossFitted> = None;
    let mut worse = 0;
    for l2 in GRID {
        current.par_iter_mut().zip(&used).for_each(|(solution, used)| {
            let problem = Problem { x, c, noise, used, offset, l2, penalised };
            let start = solution.take().unwrap_or_else(|| problem.start());
            *solution = Some(problem.minimise(start));
        });
        let solutions: Vec<&Solution> = current.iter().flatten().collect();
        let logits = Mat::from_fn(c.rows(), c.cols(), |i, j| solutions[parts.of(i)].logits[(i, j)]);
        let loss = mean_loss(&logits, c, noise);
        let gain = best.as_ref().map_or(f64::INFINITY, |b| b.loss - loss);
        if gain > 0.0 {
            let models = solutions.iter().map(|s| s.weights.clone()).collect();
            best = Some(CrossFitted { logits, loss, l2, models });
        }
        worse = if gain > NO_GAIN { 0 } else { worse + 1 };
        if worse == WORSE_IN_A_ROW {
            break;
        }
    }
    best.expect("the grid is not empty")
}

/// Mean −ln P(C) over all cells.
pub fn mean_loss(logits: &Mat<f64>, c: &Mat<f64>, noise: &[NoiseRate<f64>]) -> f64 {
    let mut total = 0.0;
    vectorize(
        #[inline(always)]
        || {
            for (u, c) in logits.rows_iter().zip(c.rows_iter()) {
                for (j, noise) in noise.iter().enumerate() {
                    total += noise.negative_log_likelihood(u[j], c[j]);
                }
            }
        },
    );
    total / (logits.rows() * logits.cols()).max(1) as f64
}
