//! Weights equal to LIBLINEAR's on Emotions and Yeast, both losses, C from 0.01 to 100.

use std::path::Path;

use pomdp_fs::classify::Targets;
use pomdp_fs::classify::svm::{Costs, Design, LinearSvm, Loss, Solver, Stop};
use pomdp_fs::data::{Labels, ReadOptions, Scaler, Scaling, load};
use pomdp_fs::linalg::Mat;
use pomdp_fs::rng::Streams;

struct Golden {
    set: String,
    loss: Loss,
    c: f64,
    label: usize,
    weights: Vec<f64>,
}

fn golden() -> Vec<Golden> {
    include_str!("golden/evaluation/liblinear.csv")
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            Golden {
                set: cells[0].to_owned(),
                loss: if cells[1] == "hinge" { Loss::Hinge } else { Loss::Squared },
                c: cells[2].parse().unwrap(),
                label: cells[3].parse().unwrap(),
                weights: cells[4..].iter().map(|w| w.parse().unwrap()).collect(),
            }
        })
        .collect()
}

/// Features with mean 0 and standard deviation 1, and the labels.
fn open(set: &str) -> (Mat<f64>, Labels) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(format!("{set}.arff"));
    let data = load(&path, &ReadOptions::default()).unwrap();
    let rows: Vec<usize> = (0..data.n()).collect();
    let x = Scaler::fit(&data.x, &rows, Scaling::ZScore).apply(&data.x, &rows);
    (x, data.truth.unwrap())
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let norm = |v: f64| v.sqrt();
    let apart: f64 = a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum();
    norm(apart) / norm(b.iter().map(|v| v * v).sum())
}

#[test]
fn weights_within_1e4_of_liblinear() {
    let mut worst = 0.0f64;
    let all = golden();
    for set in ["emotions", "yeast"] {
        let (x, y) = open(set);
        let rows = Design::dense(&x, Some(1.0));
        for loss in [Loss::Hinge, Loss::Squared] {
            for c in [0.01, 1.0, 100.0] {
                let here = |g: &&Golden| g.set == set && g.loss == loss && g.c == c;
                let wanted: Vec<&Golden> = all.iter().filter(here).collect();
                assert_eq!(wanted.len(), y.cols(), "{set} {loss:?} {c}: every label");
                let columns: Vec<usize> = wanted.iter().map(|g| g.label).collect();
                let svm = LinearSvm {
                    c,
                    loss,
                    solver: Solver::Newton,
                    stop: Stop { gap: 1e-13, max_passes: 200 },
                    ..LinearSvm::default()
                };
                let labels = y.select_cols(&columns);
                let costs = Costs::new(Targets::Labels(&labels), c);
                let found = svm.solve(&rows, &costs, &Streams::new(0));
                for (j, g) in wanted.iter().enumerate() {
                    let off = distance(found.weights.row(j), &g.weights);
                    assert!(off <= 1e-4, "{set} {loss:?} C = {c}, label {}: {off}", g.label);
                    assert!(found.gap[j] <= 1e-6 * found.objective[j]);
                    worst = worst.max(off);
                }
            }
        }
    }
    println!("largest relative distance {worst:.1e}");
}

/// Coordinate descent reaches the same weights where it converges.
#[test]
fn coordinate_descent_agrees_where_it_converges() {
    let (x, y) = open("emotions");
    let rows = Design::dense(&x, Some(1.0));
    for g in golden().iter().filter(|g| g.set == "emotions" && g.c == 0.01) {
        let svm = LinearSvm {
            c: g.c,
            loss: g.loss,
            solver: Solver::Dual,
            stop: Stop { gap: 1e-11, max_passes: 20_000 },
            ..LinearSvm::default()
        };
        let label = y.select_cols(&[g.label]);
        let found = svm.solve(&rows, &Costs::new(Targets::Labels(&label), g.c), &Streams::new(0));
        let off = distance(found.weights.row(0), &g.weights);
        assert!(off <= 1e-4, "{:?} label {}: {off}", g.loss, g.label);
    }
}
