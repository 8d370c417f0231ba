//! The solver against small steps away from its solution.

use super::*;
use crate::rng::Streams;

fn data(n: usize, labels: usize) -> (Features<'static>, Mat<f64>) {
    let mut r = Streams::new(9).stream("solver");
    let x = Mat::from_fn(n, 4, |_, _| r.normal() as f32);
    let c = Mat::from_fn(n, labels, |i, j| {
        let on = x[(i, j % 4)] > 0.3 || r.bernoulli(0.2);
        f64::from(u8::from(on))
    });
    (Features::Dense(x.cast()), c)
}

fn solve(x: &Features, c: &Mat<f64>, rho: f64, used: &[bool]) -> (Solution, Vec<f64>) {
    let noise = vec![NoiseRate::new(rho); c.cols()];
    let problem =
        Problem { x, c, noise: &noise, used, offset: None, l2: 0.1, penalised: &[1.0; 4] };
    let found = problem.minimise(problem.start());
    let (cells, all) = (Cells::new(c, &noise, used), Vec::from_iter(0..c.cols()));
    let value = |at: &Solution| problem.values(&cells, &all, &at.logits, None, &at.weights);
    let values = value(&found);
    // The slow twin: no weight can be moved to lower the objective.
    for f in 0..5 {
        for j in 0..c.cols() {
            for step in [-1e-2, 1e-2] {
                let mut other = found.clone();
                other.weights[(f, j)] += step;
                problem.logits(&mut other.logits, &other.weights);
                let there = value(&other)[j];
                assert!(there > values[j] - 1e-6, "weight {f} of label {j}: {there} {}", values[j]);
            }
        }
    }
    (found, values)
}

#[test]
fn no_step_lowers_the_objective_and_labels_do_not_disturb_each_other() {
    let (x, c) = data(150, 3);
    let used = vec![true; 150];
    for rho in [1e-9, 0.2] {
        let (together, _) = solve(&x, &c, rho, &used);
        for j in 0..3 {
            let (alone, _) = solve(&x, &c.select_cols(&[j]), rho, &used);
            for f in 0..5 {
                let gap = (alone.weights[(f, 0)] - together.weights[(f, j)]).abs();
                assert!(gap < 0.02, "weight {f} of label {j}: {gap}");
            }
        }
    }
}

#[test]
fn rows_that_do_not_count_change_nothing() {
    let (x, mut c) = data(80, 2);
    let used: Vec<bool> = (0..80).map(|i| i < 60).collect();
    let (before, _) = solve(&x, &c, 0.2, &used);
    for i in 60..80 {
        c.row_mut(i).fill(1.0);
    }
    let (after, _) = solve(&x, &c, 0.2, &used);
    assert_eq!(before.weights, after.weights);
}
