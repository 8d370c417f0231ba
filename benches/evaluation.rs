//! Speed of the evaluation: linear SVM on dense and on sparse data, ML-kNN, the metrics.
//!
//! `cargo bench --bench evaluation`; `RAYON_NUM_THREADS=1` for one thread. The comparison with
//! LIBLINEAR, scikit-multilearn and scikit-learn is in `docs/evaluation.md`.

use std::hint::black_box;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use pomdp_fs::classify::mlknn::MlKnn;
use pomdp_fs::classify::svm::{Costs, Design, LinearSvm, Loss};
use pomdp_fs::classify::{Model, Targets};
use pomdp_fs::data::Labels;
use pomdp_fs::linalg::Mat;
use pomdp_fs::measure::{self, Comparison, Convention, CoverageForm, Scores};
use pomdp_fs::rng::Streams;

const LABELS: usize = 14;

/// n × d normal values of which a share is kept, and labels that depend on them and on noise.
fn problem(n: usize, d: usize, filled: f64) -> (Mat<f64>, Labels) {
    let mut rng = Streams::new(0).stream("evaluation");
    let x = Mat::from_fn(n, d, |_, _| if rng.bernoulli(filled) { rng.normal() } else { 0.0 });
    let noise = 0.5 * (filled * d as f64 / LABELS as f64).sqrt();
    let y = Labels::from_fn(n, LABELS, |i, j| {
        let sum: f64 = x.row(i).iter().skip(j).step_by(LABELS).sum();
        sum + noise * rng.normal() > 2.0 * noise
    });
    (x, y)
}

/// All labels at C = 1 with the solver that `auto` picks: Newton on the dense set, coordinate
/// descent on the sparse one.
fn svm(c: &mut Criterion) {
    let mut group = c.benchmark_group("svm");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for (name, n, d, filled) in [("dense", 2000, 200, 1.0), ("sparse", 2000, 1836, 0.04)] {
        let (x, y) = problem(n, d, filled);
        for loss in [Loss::Squared, Loss::Hinge] {
            let svm = LinearSvm { loss, ..LinearSvm::default() };
            group.bench_function(format!("{name}-{n}x{d}-{loss:?}"), |bench| {
                bench.iter(|| {
                    let rows = Design::new(black_box(&x), svm.bias);
                    let costs = Costs::new(Targets::Labels(&y), svm.c);
                    svm.solve(&rows, &costs, &Streams::new(0))
                });
            });
        }
    }
    group.finish();
}

/// Fit on all rows, prediction of a tenth.
fn mlknn(c: &mut Criterion) {
    let mut group = c.benchmark_group("mlknn");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for (n, d) in [(2000, 200), (8000, 120)] {
        let (x, y) = problem(n, d, 1.0);
        let new = x.select_rows(&(0..n / 10).collect::<Vec<_>>());
        group.bench_function(format!("{n}x{d}"), |bench| {
            bench.iter(|| {
                let model = MlKnn::default().learn(black_box(&x), Targets::Labels(&y));
                model.and_then(|m| m.predict(&new)).expect("good data")
            });
        });
    }
    group.finish();
}

/// One metric of each kind: over pairs of labels, over ranks, over cells.
fn metrics(c: &mut Criterion) {
    let (x, y) = problem(8000, LABELS, 1.0);
    let predictions = Labels::from_fn(x.rows(), x.cols(), |i, j| x[(i, j)] > 0.0);
    let scores = Scores::new(x);
    let compared = Comparison::new(&y, &scores, &predictions).expect("matching shapes");
    let s = Convention::ScikitLearn;
    let mut group = c.benchmark_group("metrics-8000-rows");
    group.bench_function("ranking-loss", |b| b.iter(|| measure::ranking_loss(&compared, s)));
    group.bench_function("coverage", |b| {
        b.iter(|| measure::coverage(&compared, s, CoverageForm::Native));
    });
    group.bench_function("average-precision", |b| {
        b.iter(|| measure::average_precision(&compared, s))
    });
    group.bench_function("macro-f1", |b| b.iter(|| measure::macro_f1(&compared, s)));
    group.finish();
}

criterion_group!(benches, svm, mlknn, metrics);
criterion_main!(benches);
