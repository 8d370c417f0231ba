//! The probe against its slow twin: a ridge regression solved anew for every feature.

use super::all_rows::AllRows;
use super::columns::Columns;
use super::folds::{Folds, partition};
use super::penalty::{choose_factor, ridge};
use crate::linalg::Mat;
use crate::rng::Streams;

/// Features with correlations, some of them sparse, and targets that depend on them.
fn problem(density: f64) -> (Mat<f32>, Mat<f64>) {
    let mut r = Streams::new(5).stream("probe");
    let mut x =
        Mat::from_fn(60, 9, |_, _| if r.bernoulli(density) { r.normal() as f32 } else { 0.0 });
    for i in 0..60 {
        x[(i, 4)] = 0.8 * x[(i, 1)] + 0.2 * x[(i, 4)] - 2.0;
        x[(i, 7)] = 3.0;
    }
    let b = Mat::from_fn(60, 2, |i, j| f64::from(x[(i, 1 + j)] - x[(i, 5)]) + r.normal() + 4.0);
    (x, b)
}

/// ‖B − Z W − intercept‖² + λ‖W‖² at its minimum over the rows that learn, and the squared error of
/// the others: the intercept is a column of ones without penalty, the solver is nalgebra's.
fn direct(
    (x, b): (&Mat<f32>, &Mat<f64>),
    selected: &[usize],
    held_out: &[usize],
    factor: f64,
) -> (f64, f64) {
    let learns: Vec<usize> = (0..x.rows()).filter(|i| !held_out.contains(i)).collect();
    let lambda = factor * learns.len() as f64;
    let k = selected.len();
    let design = |rows: &[usize]| {
        nalgebra::DMatrix::from_fn(rows.len(), k + 1, |i, a| match selected.get(a) {
            Some(&f) => f64::from(x[(rows[i], f)]),
            None => 1.0,
        })
    };
    let targets =
        |rows: &[usize]| nalgebra::DMatrix::from_fn(rows.len(), b.cols(), |i, j| b[(rows[i], j)]);
    let (z, t) = (design(&learns), targets(&learns));
    let mut normal = z.transpose() * &z;
    (0..k).for_each(|a| normal[(a, a)] += lambda);
    let w = normal.lu().solve(&(z.transpose() * &t)).unwrap();
    let penalty = lambda * w.rows(0, k).norm_squared();
    let objective = (t - z * &w).norm_squared() + penalty;
    (objective, (targets(held_out) - design(held_out) * w).norm_squared())
}

#[test]
fn gains_are_those_of_a_ridge_solved_anew() {
    // Feature by feature, and in panels of features that are announced.
    for (density, panel) in [(1.0, 1), (0.15, 1), (1.0, 2), (1.0, 4), (0.15, 3)] {
        let (x, b) = problem(density);
        let (columns, factor) = (Columns::new(&x), 0.05);
        let parts = partition(60, 5, &mut Streams::new(2).stream("parts"));
        let mut folds = Folds::new(&columns, &b, &parts, factor);
        let mut probe = AllRows::new(&columns, &b, factor);
        let mut selected = Vec::new();
        let objective = |s: &[usize]| direct((&x, &b), s, &[], factor).0;
        let error = |s: &[usize]| -> f64 {
            let half = |p: &Vec<usize>| {
                let (objective, held_out) = direct((&x, &b), s, p, factor);
                0.5 * (held_out + objective * p.len() as f64 / (60 - p.len()) as f64)
            };
            parts.iter().map(half).sum::<f64>() / 60.0
        };
        let order = [4, 1, 7, 0, 5, 8];
        for (step, next) in order.into_iter().enumerate() {
            if panel > 1 && step % panel == 0 {
                folds.announce(&order[step..order.len().min(step + panel)]);
            }
            let mut gains = [0.0; 9];
            folds.gains(&mut gains);
            let (o, e) = (objective(&selected), error(&selected));
            assert!((folds.error() - e).abs() < 1e-9 * e, "{} {e}", folds.error());
            for a in (0..9).filter(|a| !selected.contains(a)) {
                let with: Vec<usize> = selected.iter().copied().chain([a]).collect();
                let (fall, both) = (o - objective(&with), e - error(&with));
                assert!((probe.gain(a) - fall).abs() < 1e-8 * o, "{a} after {selected:?}");
                assert!((gains[a] - both).abs() < 1e-8 * e, "{a} after {selected:?}, folds");
            }
            folds.select(next);
            probe.select(next);
            selected.push(next);
        }
        // The constant column 7 was selected among them: it changed nothing.
        assert!((error(&[4, 1]) - error(&[4, 1, 7])).abs() < 1e-9);
    }
}

#[test]
#[should_panic(expected = "the feature that was announced")]
fn another_feature_than_the_announced_one_is_refused() {
    let (x, b) = problem(1.0);
    let parts = partition(60, 5, &mut Streams::new(2).stream("parts"));
    let columns = Columns::new(&x);
    let mut folds = Folds::new(&columns, &b, &parts, 0.05);
    folds.announce(&[4, 1]);
    folds.select(4);
    folds.select(0);
}

/// A copy of a selected feature with Σ z² = s keeps λ/(2s + λ) of its gain: two copies share one
/// penalty. With λ near 0 it is worthless, with a large λ hardly worth less than before.
#[test]
fn what_is_left_of_a_copy() {
    let (mut x, b) = problem(1.0);
    (0..60).for_each(|i| x[(i, 7)] = x[(i, 1)]);
    let columns = Columns::new(&x);
    let mean = (0..60).map(|i| f64::from(x[(i, 1)])).sum::<f64>() / 60.0;
    let s: f64 =
        (0..60).map(|i| (f64::from(x[(i, 1)]) - mean) * (f64::from(x[(i, 1)]) - mean)).sum();
    for factor in [0.003, 0.1, 10.0] {
        let mut probe = AllRows::new(&columns, &b, factor);
        let before = probe.gain(7);
        assert!((before - probe.gain(1)).abs() < 1e-9 * before);
        probe.select(1);
        let lambda = 60.0 * factor;
        let share = lambda / (2.0 * s + lambda);
        assert!((probe.gain(7) / before - share).abs() < 1e-9, "λ = {lambda}");
    }
}

#[test]
fn ridge_on_all_features_and_its_penalty() {
    let (x, b) = problem(1.0);
    let columns = Columns::new(&x);
    let w = ridge(&columns, &b, 0.1);
    // At the minimum the gradient −2 Zᵀ(B − ZW) + 2λW is 0; centre by hand.
    let mean = |v: &dyn Fn(usize) -> f64| (0..60).map(v).sum::<f64>() / 60.0;
    for a in 0..9 {
        let z = |i: usize, a: usize| f64::from(x[(i, a)]);
        let ma = mean(&|i| z(i, a));
        for j in 0..2 {
            let residual = |i: usize| b[(i, j)] - (0..9).map(|a| z(i, a) * w[(a, j)]).sum::<f64>();
            let mr = mean(&residual);
            let slope: f64 = (0..60).map(|i| (z(i, a) - ma) * (residual(i) - mr)).sum();
            assert!((slope - 0.1 * 60.0 * w[(a, j)]).abs() < 1e-9, "{a} {j}");
        }
    }
    // Pure noise wants the largest λ, targets without noise the smallest.
    let streams = Streams::new(1);
    let mut r = streams.stream("noise");
    let noise = Mat::from_fn(60, 2, |_, _| r.normal());
    assert!(choose_factor(&x, &noise, &streams) >= 1.0);
    let clear = Mat::from_fn(60, 1, |i, _| f64::from(x[(i, 0)] + x[(i, 2)]));
    assert_eq!(choose_factor(&x, &clear, &streams), 0.003);
}

#[test]
fn partitions_hold_every_row_once() {
    let mut rng = Streams::new(1).stream("p");
    for (n, count, want) in [(11, 5, 5), (3, 5, 3), (1, 5, 1), (0, 5, 0)] {
        let parts = partition(n, count, &mut rng);
        assert_eq!(parts.len(), want);
        let mut all = parts.concat();
        all.sort_unstable();
        assert_eq!(all, (0..n).collect::<Vec<_>>());
        let sizes = || parts.iter().map(Vec::len);
        assert!(n == 0 || sizes().max().unwrap() - sizes().min().unwrap() <= 1);
    }
}
