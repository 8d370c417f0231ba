//! Speed of the engine: matrix products, a training step of Stage 1, a rollout of Stage 2.
//!
//! `cargo bench --bench engine`; results never depend on the number of threads, times do
//! (`RAYON_NUM_THREADS=1`). `docs/performance.md` has what was measured, beside PyTorch.

use std::hint::black_box;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use pomdp_fs::graph::Graph;
use pomdp_fs::linalg::{Acc, Mat, gemm};
use pomdp_fs::method::pomdp_fs::Network;
use pomdp_fs::method::pomdp_fs::stage1::loss::{DiscWeights, disc_loss};
use pomdp_fs::method::pomdp_fs::stage2::loss::{Advantages, Replay, Stage2Weights};
use pomdp_fs::method::pomdp_fs::stage2::rollout::{Rollouts, Sampled, Sampling};
use pomdp_fs::nn::{Adam, AdamConfig, EncoderConfig};
use pomdp_fs::rng::Streams;

const LABELS: usize = 14;

fn random(rows: usize, cols: usize, name: &str) -> Mat<f32> {
    let mut rng = Streams::new(0).stream(name);
    Mat::from_fn(rows, cols, |_, _| rng.normal() as f32)
}

fn targets(rows: usize) -> Mat<f32> {
    Mat::from_fn(rows, LABELS, |i, j| f32::from(u8::from((i + j) % 3 == 0)))
}

fn network(features: usize, groups: usize) -> (Network, Vec<f32>) {
    let encoder = EncoderConfig { groups, ..EncoderConfig::paper(features, LABELS) };
    let network = Network::new(encoder).unwrap();
    let p = network.init(&Streams::new(0));
    (network, p)
}

/// The three products of a linear layer, and a tall one. Throughput in multiply-adds.
fn products(c: &mut Criterion) {
    let mut group = c.benchmark_group("gemm");
    for (m, k, n, form) in
        [(64, 128, 384, "nn"), (64, 384, 128, "nt"), (128, 64, 384, "tn"), (4096, 128, 512, "nn")]
    {
        let (a, b) = match form {
            "nt" => (random(m, k, "a"), random(n, k, "b")),
            "tn" => (random(k, m, "a"), random(k, n, "b")),
            _ => (random(m, k, "a"), random(k, n, "b")),
        };
        let mut out = Mat::zeros(m, n);
        group.throughput(Throughput::Elements((m * k * n) as u64));
        group.bench_function(format!("{m}x{k}x{n}-{form}"), |bench| {
            bench.iter(|| {
                let (a, b) = match form {
                    "nt" => (a.view(), b.view().t()),
                    "tn" => (a.view().t(), b.view()),
                    _ => (a.view(), b.view()),
                };
                gemm(Acc::Set, out.view_mut(), black_box(a), b);
            });
        });
    }
    group.finish();
}

/// Forward, BCE, backward, Adam on a batch; no dropout, no graph, as in the PyTorch program.
fn train_step(c: &mut Criterion) {
    let mut group = c.benchmark_group("train_step");
    group.sample_size(100).sampling_mode(SamplingMode::Flat);
    for (rows, groups) in [(64, 1), (128, 1), (64, 7), (128, 15)] {
        let (network, mut p) = network(103, groups);
        let range = network.disc_range();
        let (x, z) = (random(rows, 103, "x"), targets(rows));
        let mut saved = network.stage1_saved();
        let mut dlogits = Mat::zeros(rows, LABELS);
        let mut adam = Adam::new(range.len(), AdamConfig::new(1e-3));
        let mut dp = vec![0.0; p.len()];
        let weights = DiscWeights { bce: 1.0 / (rows * LABELS) as f32, graph: 0.0 };
        let graph = Graph::default();
        group.bench_function(format!("{rows}-rows-{}-tokens", groups + 1), |bench| {
            bench.iter(|| {
                dp.fill(0.0);
                let batch = (x.view(), z.view());
                network.forward(&mut saved, batch, &p, None);
                black_box(disc_loss(&mut dlogits, &saved.logits, &z, &graph, weights));
                network.disc_backward(&mut dp, &dlogits, batch, &p, &mut saved);
                adam.step(&mut p[range.clone()], &dp[range.clone()]);
            });
        });
    }
    group.finish();
}

/// 64 rollouts of 50 selections among 500 features: sampling, joint loss, backward, Adam.
fn rollout(c: &mut Criterion) {
    let (rows, steps) = (64, 50);
    let (network, mut p) = network(500, 1);
    let (x, y) = (random(rows, 500, "x"), targets(rows));
    let mut adam = Adam::new(p.len(), AdamConfig::new(1e-3));
    let mut dp = vec![0.0; p.len()];
    let mut rollouts = Rollouts::new(network);
    let mut supervised = vec![0.0; steps];
    supervised.push(1.0 / (rows * LABELS) as f32);
    let weights = Stage2Weights { supervised, policy: 1.0 / rows as f32, temperature: 1.0 };
    let (mut sampled, mut key) = (Sampled::default(), 0);
    let mut advantages = Advantages {
        reward: Mat::zeros(rows, steps),
        baseline: vec![-0.7; steps],
        scale: vec![1.0; steps],
    };
    let mut group = c.benchmark_group("rollout");
    group.sample_size(20).sampling_mode(SamplingMode::Flat);
    group.bench_function("64-rows-50-steps", |bench| {
        bench.iter(|| {
            key += 1;
            let how = Sampling { steps, temperature: 1.0, key };
            rollouts.sample(&mut sampled, (&x, &y), &p, how);
            for i in 0..rows {
                advantages.reward.row_mut(i).fill(-sampled.losses[(i, steps)]);
            }
            let replay = Replay {
                x: &x,
                y: &y,
                actions: &sampled.actions,
                advantages: &advantages,
                weights: &weights,
            };
            dp.fill(0.0);
            black_box(rollouts.loss(Some(&mut dp), &replay, 0..rows, &p));
            adam.step(&mut p, &dp);
        });
    });
    group.finish();
}

criterion_group!(benches, products, train_step, rollout);
criterion_main!(benches);
