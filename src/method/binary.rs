//! Many binary linear SVMs on parts of the same rows: the base learners of PAMB and PARTICLE.

use rayon::prelude::*;

use super::Context;
use crate::classify::Targets;
use crate::classify::svm::{Costs, Design, LinearSvm};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::rng::Streams;
use crate::{Error, Result};

/// Problems between two reports of progress: fixed, so that nothing depends on the threads.
const PROBLEMS_PER_REPORT: usize = 32;
/// Design whose margins are held at a time.
const ROWS_PER_BLOCK: usize = 256;

/// Design of the two classes; a row may be in neither.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Problem {
    pub positive: Vec<usize>,
    pub negative: Vec<usize>,
}

/// One linear classifier per problem.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Machines {
    /// Weights, problems × (d + 1), the bias last; zeros for a problem without one of its classes.
    pub weights: Mat<f64>,
    /// Share of its own rows that each gets right; 0 without one of the classes.
    pub accuracy: Vec<f64>,
}

impl Machines {
    /// Trains all problems on rows of `x`, in parallel.
    pub fn train(
        x: &Mat<f64>,
        problems: &[Problem],
        svm: &LinearSvm,
        streams: &Streams,
        context: &mut Context<'_>,
    ) -> Result<Self> {
        let mut weights = Mat::zeros(problems.len(), x.cols() + 1);
        let mut accuracy = vec![0.0; problems.len()];
        for from in (0..problems.len()).step_by(PROBLEMS_PER_REPORT) {
            if !context.observer.progress("binary problems", from, problems.len()) {
                return Err(Error::cancelled());
            }
            let to = problems.len().min(from + PROBLEMS_PER_REPORT);
            let solved: Vec<Option<(Vec<f64>, f64)>> = (from..to)
                .into_par_iter()
                .map(|k| train_one(x, &problems[k], svm, &streams.child(&k.to_string())))
                .collect();
            for (k, found) in (from..to).zip(solved) {
                if let Some((w, right)) = found {
                    weights.row_mut(k).copy_from_slice(&w);
                    accuracy[k] = right;
                }
            }
        }
        Ok(Machines { weights, accuracy })
    }

    /// Hands the margins of each row of `x`, one per problem, to `receive`.
    pub fn for_each_margin(&self, x: &Mat<f64>, mut receive: impl FnMut(usize, &[f64])) {
        for from in (0..x.rows()).step_by(ROWS_PER_BLOCK) {
            let block: Vec<usize> = (from..x.rows().min(from + ROWS_PER_BLOCK)).collect();
            let margins = Design::new(&x.select_rows(&block), BIAS).margins(&self.weights);
            for (row, &i) in block.iter().enumerate() {
                receive(i, margins.row(row));
            }
        }
    }
}

/// The constant feature.
const BIAS: Option<f64> = Some(1.0);

/// Weights and accuracy, or None when one of the classes is empty.
fn train_one(
    x: &Mat<f64>,
    problem: &Problem,
    svm: &LinearSvm,
    streams: &Streams,
) -> Option<(Vec<f64>, f64)> {
    let positives = problem.positive.len();
    if positives == 0 || problem.negative.is_empty() {
        return None;
    }
    let used: Vec<usize> = problem.positive.iter().chain(&problem.negative).copied().collect();
    let rows = Design::new(&x.select_rows(&used), BIAS);
    let labels = Labels::from_fn(used.len(), 1, |i, _| i < positives);
    let costs = Costs::new(Targets::Labels(&labels), svm.c);
    let weights = svm.solve(&rows, &costs, streams).weights;
    let margins = rows.margins(&weights);
    let right = (0..used.len()).filter(|&i| match i < positives {
        true => margins[(i, 0)] > 0.0,
        false => margins[(i, 0)] < 0.0,
    });
    Some((weights.row(0).to_vec(), right.count() as f64 / used.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{Observer, Silent};

    /// Design −3, −2, 2, 3 on a line.
    fn line() -> Mat<f64> {
        Mat::from_vec(4, 1, vec![-3.0, -2.0, 2.0, 3.0])
    }

    fn train(problems: &[Problem], observer: &mut dyn Observer) -> Result<Machines> {
        let mut context = Context { streams: Streams::new(0), budget: 1, observer };
        Machines::train(&line(), problems, &LinearSvm::default(), &Streams::new(0), &mut context)
    }

    #[test]
    fn learns_each_problem_from_its_own_rows() {
        let up = Problem { positive: vec![3], negative: vec![1] };
        let down = Problem { positive: vec![0, 1], negative: vec![2, 3] };
        let empty = Problem { positive: vec![0], negative: vec![] };
        let machines = train(&[up, down, empty], &mut Silent).unwrap();
        assert_eq!(machines.accuracy, [1.0, 1.0, 0.0]);
        assert_eq!(machines.weights.row(2), [0.0, 0.0]);
        let mut margins = Mat::zeros(4, 3);
        machines.for_each_margin(&line(), |i, m| margins.row_mut(i).copy_from_slice(m));
        assert!(margins[(0, 0)] < 0.0 && margins[(3, 0)] > 0.0);
        assert!(margins[(0, 1)] > 0.0 && margins[(3, 1)] < 0.0);
        // A row in the wrong class is counted.
        let noisy = Problem { positive: vec![2, 3, 0], negative: vec![1] };
        assert!(train(&[noisy], &mut Silent).unwrap().accuracy[0] < 1.0);
    }

    #[test]
    fn stops_on_request() {
        struct Never;
        impl Observer for Never {
            fn progress(&mut self, _: &str, _: usize, _: usize) -> bool {
                false
            }
        }
        let problem = Problem { positive: vec![3], negative: vec![1] };
        let e = train(&[problem], &mut Never).unwrap_err();
        assert_eq!(e.kind(), crate::ErrorKind::Cancelled);
    }
}
