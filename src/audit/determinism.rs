//! The same bytes at any thread count: training steps of both stages, hashed after each step.

use serde::Serialize;

use crate::graph::Graph;
use crate::linalg::Mat;
use crate::method::pomdp_fs::Network;
use crate::method::pomdp_fs::stage1::loss::{DiscWeights, disc_loss};
use crate::method::pomdp_fs::stage2::loss::{Advantages, Replay, Stage2Weights};
use crate::method::pomdp_fs::stage2::rollout::{Rollouts, Sampled, Sampling};
use crate::nn::{Adam, AdamConfig, Dropout, EncoderConfig, adam::clip};
use crate::num::{Real, little_endian};
use crate::rng::Streams;
use crate::{Error, Result, checksum};

/// Enough rows for several shards and groups of them, with a last shard that is not full.
const ROWS: usize = 301;
const STEPS: usize = 3;

/// Hashes of all weights after each training step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Threads of the pool.
    pub threads: usize,
    /// Root seed.
    pub seed: u64,
    /// SHA-256 of the arena after each step of Stage 1, then of Stage 2.
    pub hashes: Vec<String>,
}

/// What the check found.
#[derive(Clone, Debug, Serialize)]
pub struct DeterminismReport {
    /// All runs agree, and the control differs.
    pub pass: bool,
    /// One run for each thread count.
    pub runs: Vec<Run>,
    /// The negative control: another seed, which must give other bytes.
    pub control: Run,
}

/// Trains a few steps with each number of threads, and once with another seed.
pub fn check(seed: u64, threads: &[usize]) -> Result<DeterminismReport> {
    let runs = threads.iter().map(|&t| run(seed, t)).collect::<Result<Vec<_>>>()?;
    let control = run(seed.wrapping_add(1), 1)?;
    let same = runs.iter().all(|r| r.hashes == runs[0].hashes);
    let differs = control.hashes.iter().zip(&runs[0].hashes).all(|(a, b)| a != b);
    Ok(DeterminismReport { pass: same && differs, runs, control })
}

fn run(seed: u64, threads: usize) -> Result<Run> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Error::config(format!("cannot start {threads} threads: {e}")))?;
    let hashes = pool.install(|| train(&Streams::new(seed).child("determinism")))?;
    Ok(Run { threads, seed, hashes })
}

fn train(streams: &Streams) -> Result<Vec<String>> {
    let encoder = EncoderConfig { groups: 3, ..EncoderConfig::paper(40, 14) };
    let network = Network::new(encoder)?;
    let mut p: Vec<f32> = network.init(&streams.child("init"));
    let mut rng = streams.stream("data");
    let x = Mat::from_fn(ROWS, encoder.features, |_, _| rng.normal() as f32);
    let z = Mat::from_fn(ROWS, encoder.labels, |_, _| f32::from(u8::from(rng.bernoulli(0.3))));
    let mut adam = Adam::new(p.len(), AdamConfig { decay: 0.01, ..AdamConfig::new(1e-3) });
    let mut dp = vec![0.0; p.len()];
    let mut hashes = Vec::new();

    let mut saved = network.stage1_saved();
    let mut dlogits = Mat::zeros(0, encoder.labels);
    let graph = Graph::new(&x, 5)?;
    let mean = 1.0 / (ROWS * encoder.labels) as f32;
    let weights = DiscWeights { bce: mean, graph: 0.01 * mean };
    for step in 0..STEPS {
        let key = streams.key(&format!("dropout/{step}"));
        dp.fill(0.0);
        let batch = (x.view(), z.view());
        network.forward(&mut saved, batch, &p, Some(Dropout { rate: 0.3, key }));
        disc_loss(&mut dlogits, &saved.logits, &z, &graph, weights);
        network.disc_backward(&mut dp, &dlogits, batch, &p, &mut saved);
        update(&mut adam, &mut p, &mut dp, &mut hashes);
    }

    let mut rollouts = Rollouts::new(network);
    let mut sampled = Sampled::default();
    for step in 0..STEPS {
        let steps = 5;
        let key = streams.key(&format!("actions/{step}"));
        rollouts.sample(&mut sampled, (&x, &z), &p, Sampling { steps, temperature: 1.0, key });
        let losses = &sampled.losses;
        let advantages = Advantages {
            reward: Mat::from_fn(ROWS, steps, |i, t| losses[(i, t)] - losses[(i, t + 1)]),
            baseline: vec![0.0; steps],
            scale: vec![1.0; steps],
        };
        let weights = Stage2Weights {
            supervised: vec![mean; steps + 1],
            policy: 1.0 / ROWS as f32,
            temperature: 1.0,
        };
        dp.fill(0.0);
        let (actions, advantages, weights) = (&sampled.actions, &advantages, &weights);
        let replay = Replay { x: &x, y: &z, actions, advantages, weights };
        rollouts.loss(Some(&mut dp), &replay, 0..ROWS, &p);
        update(&mut adam, &mut p, &mut dp, &mut hashes);
    }
    Ok(hashes)
}

fn update(adam: &mut Adam<f32>, p: &mut [f32], dp: &mut [f32], hashes: &mut Vec<String>) {
    clip(dp, 5.0);
    adam.step(p, dp);
    hashes.push(sha256(p));
}

/// SHA-256 of the values' little-endian bytes, in hexadecimal.
pub fn sha256<T: Real>(values: &[T]) -> String {
    checksum::sha256(&little_endian(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_two_and_four_threads_agree() {
        let report = check(0, &[1, 2, 4]).unwrap();
        assert!(report.pass, "{report:?}");
        assert_eq!(report.runs[0].hashes.len(), 2 * STEPS);
        let mut distinct = report.runs[0].hashes.clone();
        distinct.dedup();
        assert_eq!(distinct.len(), 2 * STEPS, "every step moves the weights");
    }

    #[test]
    fn hash_of_known_bytes() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256::<f32>(&[]), empty);
        assert_ne!(sha256(&[0.0f32]), sha256(&[-0.0f32]));
    }
}
