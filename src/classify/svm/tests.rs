//! Golden problems with known optima, both solvers against each other, bad input.

use super::*;
use crate::data::Labels;

fn triangles() -> (Mat<f64>, Labels) {
    let x = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 2.0, 2.0, 3.0, 2.0, 2.0, 3.0];
    (Mat::from_vec(6, 2, x.to_vec()), Labels::from_fn(6, 1, |i, _| i >= 3))
}

fn tight(loss: Loss, solver: Solver) -> LinearSvm {
    LinearSvm {
        loss,
        solver,
        stop: Stop { gap: 1e-13, max_passes: 100_000 },
        ..LinearSvm::default()
    }
}

#[test]
fn golden_triangles() {
    let (x, y) = triangles();
    let rows = Design::dense(&x, Some(1.0));
    let cases = [
        (Loss::Hinge, [5.0 / 9.0, 5.0 / 9.0, -11.0 / 9.0], 31.0 / 18.0),
        (Loss::Squared, [26.0 / 61.0, 26.0 / 61.0, -62.0 / 61.0], 69.0 / 61.0),
    ];
    for (loss, want, objective) in cases {
        for solver in [Solver::Dual, Solver::Newton] {
            let costs = Costs::new(Targets::Labels(&y), 1.0);
            let found = tight(loss, solver).solve(&rows, &costs, &Streams::new(0));
            for (got, want) in found.weights.row(0).iter().zip(want) {
                assert!((got - want).abs() < 1e-6, "{loss:?} {solver:?}: {found:?}");
            }
            assert!((found.objective[0] - objective).abs() < 1e-9);
            assert!(found.gap[0] >= -1e-12 && found.gap[0] <= 1e-12, "{found:?}");
        }
    }
}

/// Two noisy linear labels and one that never occurs; `sparse` keeps a tenth of the features.
fn noisy(n: usize, d: usize, sparse: bool) -> (Mat<f64>, Labels) {
    let mut r = Streams::new(11).stream("noisy");
    let x = Mat::from_fn(n, d, |_, _| {
        let v = r.normal();
        if sparse && r.bernoulli(0.9) { 0.0 } else { v }
    });
    let y = Labels::from_fn(n, 3, |i, j| {
        let sum: f64 = x.row(i).iter().skip(j).step_by(2).sum();
        j < 2 && sum + r.normal() > 0.5
    });
    (x, y)
}

fn same_weights(a: &Solution, b: &Solution, tolerance: f64, what: &str) {
    for j in 0..a.weights.rows() {
        let (x, y) = (a.weights.row(j), b.weights.row(j));
        let size = y.iter().map(|v| v * v).sum::<f64>().sqrt();
        let apart: f64 = x.iter().zip(y).map(|(p, q)| (p - q) * (p - q)).sum();
        let bound = tolerance * size.max(1e-12);
        assert!(apart.sqrt() <= bound, "{what}, label {j}: {} of {size}", apart.sqrt());
    }
}

#[test]
fn both_solvers_find_the_same_optimum() {
    for (n, d, sparse) in [(120, 9, false), (60, 30, true)] {
        let (x, y) = noisy(n, d, sparse);
        let soft = Mat::from_fn(n, 3, |i, j| {
            let on = f32::from(u8::from(y.get(i, j)));
            if j == 2 { 0.0 } else { 0.1 + 0.7 * on + 0.01 * (i % 7) as f32 }
        });
        for loss in [Loss::Hinge, Loss::Squared] {
            for targets in [Targets::Labels(&y), Targets::Confidence(&soft)] {
                let costs = Costs::new(targets, 0.3);
                let svm = |solver| LinearSvm {
                    stop: Stop { gap: 1e-11, max_passes: 100_000 },
                    ..tight(loss, solver)
                };
                let dual =
                    svm(Solver::Dual).solve(&Design::new(&x, Some(1.0)), &costs, &Streams::new(1));
                let newton = svm(Solver::Newton).solve(
                    &Design::dense(&x, Some(1.0)),
                    &costs,
                    &Streams::new(1),
                );
                same_weights(&dual, &newton, 1e-4, &format!("{loss:?} {n}"));
                for found in [&dual, &newton] {
                    for j in 0..2 {
                        assert!(found.gap[j] <= 1e-11 * found.objective[j], "{found:?}");
                        assert!(found.gap[j] >= -1e-10, "{found:?}");
                    }
                    assert_eq!(found.weights.row(2), vec![0.0; d + 1]);
                }
            }
        }
    }
}

/// A weight of two is the instance written twice; a class weight is a weight of its instances; a
/// confidence of p is a positive of weight p and a negative of weight 1 − p.
#[test]
fn costs_are_copies() {
    let (x, y) = noisy(40, 5, false);
    let svm = tight(Loss::Squared, Solver::Newton);
    let solve = |x: &Mat<f64>, costs: &Costs| {
        svm.solve(&Design::dense(x, Some(1.0)), costs, &Streams::new(0))
    };
    let twice: Vec<usize> = (0..40).chain(0..10).collect();
    let copied =
        solve(&x.select_rows(&twice), &Costs::new(Targets::Labels(&y.select_rows(&twice)), 1.0));
    let weights: Vec<f64> = (0..40).map(|i| if i < 10 { 2.0 } else { 1.0 }).collect();
    let weighted = solve(&x, &Costs::new(Targets::Labels(&y), 1.0).weigh_instances(&weights));
    same_weights(&weighted, &copied, 1e-6, "instance weights");

    let first = y.select_cols(&[0]);
    let by_class = solve(&x, &Costs::new(Targets::Labels(&first), 1.0).weigh_classes(3.0, 0.5));
    let by_hand: Vec<f64> = (0..40).map(|i| if y.get(i, 0) { 3.0 } else { 0.5 }).collect();
    let by_row = solve(&x, &Costs::new(Targets::Labels(&first), 1.0).weigh_instances(&by_hand));
    same_weights(&by_class, &by_row, 1e-6, "class weights");

    let all: Vec<usize> = (0..40).chain(0..40).collect();
    let soft = Mat::from_fn(40, 1, |i, _| 0.25 + 0.5 * f32::from(u8::from(i % 3 == 0)));
    let shared = solve(&x, &Costs::new(Targets::Confidence(&soft), 1.0));
    let both = Labels::from_fn(80, 1, |i, _| i < 40);
    let halves: Vec<f64> = (0..80)
        .map(|i| f64::from(soft[(i % 40, 0)]))
        .enumerate()
        .map(|(i, p)| if i < 40 { p } else { 1.0 - p })
        .collect();
    let costs = Costs::new(Targets::Labels(&both), 1.0).weigh_instances(&halves);
    same_weights(&shared, &solve(&x.select_rows(&all), &costs), 1e-6, "confidences");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (x, _) = noisy(300, 12, false);
    let y = Labels::from_fn(300, 20, |i, j| (i * (j + 3)) % 7 < 2);
    for solver in [Solver::Dual, Solver::Newton] {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let svm = LinearSvm { c: 0.1, solver, ..LinearSvm::default() };
            let costs = Costs::new(Targets::Labels(&y), svm.c);
            pool.install(|| svm.solve(&Design::dense(&x, Some(1.0)), &costs, &Streams::new(0)))
        };
        assert_eq!(run(1), run(4), "{solver:?}");
    }
}

#[test]
fn constant_labels_single_rows_and_bad_input() {
    let x = Mat::from_fn(4, 2, |i, j| (i + j) as f64);
    let y = Labels::from_fn(4, 3, |i, j| j == 0 || (j == 2 && i > 1));
    let fit =
        |svm: LinearSvm, x: &Mat<f64>, y: &Labels| svm.fit(x, Targets::Labels(y), &Streams::new(0));
    for (constant, never) in [(ConstantLabel::Margin, -1.0), (ConstantLabel::SklearnCompat, 0.0)] {
        let svm = LinearSvm { constant, ..LinearSvm::default() };
        let found = fit(svm, &x, &y).unwrap().predict(&x).unwrap();
        for i in 0..4 {
            let scores = found.scores.values().row(i);
            assert_eq!((scores[0], scores[1]), (1.0, never));
            assert_eq!(&found.labels.row(i)[..2], [true, false]);
        }
    }
    let single = fit(LinearSvm::default(), &x.select_rows(&[0]), &y.select_rows(&[0])).unwrap();
    assert_eq!(single.predict(&x).unwrap().labels.row(3), [true, false, false]);

    // The same row as a positive and as a negative: the margin settles in between.
    let same = Mat::from_fn(2, 2, |_, _| 1.0);
    let split = Labels::from_fn(2, 1, |i, _| i == 0);
    for solver in [Solver::Dual, Solver::Newton] {
        let svm = LinearSvm { solver, ..LinearSvm::default() };
        let found = fit(svm, &same, &split).unwrap().predict(&same).unwrap();
        assert!(found.scores.values()[(0, 0)].abs() < 1e-2);
    }

    let text = |r: Result<Box<dyn Model>>| r.err().map(|e| e.to_string()).unwrap_or_default();
    let svm = LinearSvm::default();
    assert!(text(fit(svm.clone(), &x, &y.select_rows(&[0, 1]))).contains("shape 2 × 3"));
    assert!(text(fit(svm.clone(), &Mat::zeros(0, 2), &Labels::none(0, 3))).contains("0 × 3"));
    let nan = Mat::from_fn(4, 2, |_, _| f64::NAN);
    assert!(text(fit(svm.clone(), &nan, &y)).contains("not finite"));
    assert!(text(fit(LinearSvm { c: 0.0, ..svm.clone() }, &x, &y)).contains("found C 0"));
    let model = fit(svm.clone(), &x, &y).unwrap();
    assert!(model.predict(&Mat::zeros(1, 5)).is_err());
    let wild = Mat::from_fn(4, 1, |_, _| 1.5f32);
    let bad = svm.fit(&x, Targets::Confidence(&wild), &Streams::new(0));
    assert!(text(bad).contains("confidence of 1.5"));
}
