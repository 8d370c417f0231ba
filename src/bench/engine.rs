//! Matrix products, the training step, the rollout: what they are, and how many operations they do.

use std::hint::black_box;

use super::timing::{Kind, Work};
use crate::graph::Graph;
use crate::linalg::{Acc, Mat, gemm};
use crate::method::pomdp_fs::Network;
use crate::method::pomdp_fs::stage1::loss::{DiscWeights, Stage1Saved, disc_loss};
use crate::method::pomdp_fs::stage2::loss::{Advantages, Replay, Stage2Loss, Stage2Weights};
use crate::method::pomdp_fs::stage2::rollout::{Rollouts, Sampled, Sampling};
use crate::nn::gradient_sums::shard_rows;
use crate::nn::{Adam, AdamConfig, EncoderConfig};
use crate::rng::Streams;

/// Labels of all cases.
pub const LABELS: usize = 14;
/// Features of the training steps.
pub const FEATURES: usize = 103;
/// Batch and tokens of the training steps.
pub const TRAIN: [(usize, usize); 4] = [(64, 2), (128, 2), (64, 8), (128, 16)];
/// Batch, selections and features of the rollout.
pub const ROLLOUT: (usize, usize, usize) = (64, 50, 500);

/// The products of the network's layers at 64 and 256 rows, and a tall one.
const PRODUCTS: [(usize, usize, usize, &str); 18] = [
    (64, 128, 128, "nn"),
    (64, 128, 256, "nn"),
    (64, 128, 384, "nn"),
    (64, 128, 512, "nn"),
    (64, 512, 128, "nn"),
    (64, 384, 128, "nt"),
    (64, 512, 128, "nt"),
    (64, 128, 512, "nt"),
    (128, 64, 384, "tn"),
    (128, 64, 512, "tn"),
    (512, 64, 128, "tn"),
    (256, 128, 512, "nn"),
    (256, 512, 128, "nn"),
    (256, 512, 128, "nt"),
    (256, 128, 512, "nt"),
    (128, 256, 512, "tn"),
    (512, 256, 128, "tn"),
    (4096, 128, 512, "nn"),
];

fn random(rows: usize, cols: usize, name: &str) -> Mat<f32> {
    let mut rng = Streams::new(0).stream(name);
    Mat::from_fn(rows, cols, |_, _| rng.normal() as f32)
}

fn targets(rows: usize) -> Mat<f32> {
    Mat::from_fn(rows, LABELS, |i, j| f32::from(u8::from((i + j) % 3 == 0)))
}

fn network(features: usize, groups: usize) -> (Network, Vec<f32>) {
    let encoder = EncoderConfig { groups, ..EncoderConfig::paper(features, LABELS) };

    let network = Network::new(encoder).expect("the paper's sizes");
    let p = network.init(&Streams::new(0));
    (network, p)
}

/// All works of the engine that are wanted.
pub fn works(wanted: &dyn Fn(&str) -> bool) -> Vec<Work> {
    let mut works = Vec::new();
    for (m, k, n, name) in PRODUCTS {
        let id = format!("gemm/{m}x{k}x{n}-{name}");
        if wanted(&id) {
            works.push(product(id, (m, k, n), name));
        }
    }
    for (batch, tokens) in TRAIN {
        let id = format!("train_step/{batch}x{tokens}");
        if wanted(&id) {
            let mut step = TrainStep::new(batch, tokens);
            works.push(Work {
                id,
                kind: Kind::Train { batch, tokens },
                amount: step.operations(),
                run: Box::new(move || {
                    black_box(step.run());
                }),
            });
        }
    }
    let (batch, steps, features) = ROLLOUT;
    let id = format!("rollout/{batch}x{steps}x{features}");
    if wanted(&id) {
        let mut rollout = RolloutStep::new();
        works.push(Work {
            id,
            kind: Kind::Rollout { batch, steps, features },
            amount: rollout.operations(),
            run: Box::new(move || {
                black_box(rollout.run());
            }),
        });
    }
    works
}

fn product(id: String, (m, k, n): (usize, usize, usize), name: &'static str) -> Work {
    let a = if name == "tn" { random(k, m, "a") } else { random(m, k, "a") };
    let b = if name == "nt" { random(n, k, "b") } else { random(k, n, "b") };
    let mut c = Mat::zeros(m, n);
    Work {
        id,
        kind: Kind::Product { name, shape: [m, k, n] },
        amount: (2 * m * k * n) as f64,
        run: Box::new(move || {
            let a = if name == "tn" { a.view().t() } else { a.view() };
            let b = if name == "nt" { b.view().t() } else { b.view() };
            gemm(Acc::Set, c.view_mut(), black_box(a), b);
        }),
    }
}

/// Operations that a forward pass saves because only one token of a sequence differs between the
/// instances: the first block projects the others once in each shard.
fn saved_operations(network: &Network, batch: usize, shard: usize) -> usize {
    let (width, tokens) = (network.config().width, network.encoder.tokens.count());
    let alike = network.encoder.tokens.only_group().map_or(0, |_| tokens - 1);
    2 * (batch - batch.div_ceil(shard)) * alike * 3 * width * width
}

/// Operations of a forward pass of the blocks over `batch` instances, none of them saved; a backward
/// pass has twice as many.
fn forward_operations(network: &Network, batch: usize) -> usize {
    let EncoderConfig { width, ffn, layers, .. } = network.config();
    let tokens = network.encoder.tokens.count();
    let of_block = |carried: usize| {
        let projections = 2 * batch * carried * 2 * width * width;
        let keys_and_values = 2 * batch * tokens * 2 * width * width;
        let attention = 2 * 2 * batch * carried * tokens * width;
        let feed_forward = 2 * batch * carried * 2 * width * ffn;
        projections + keys_and_values + attention + feed_forward
    };
    // Only the CLS row of the last block is computed.
    (layers - 1) * of_block(tokens) + of_block(1)
}

/// Forward, cross-entropy, backward, Adam on one batch; no dropout, no graph.
pub struct TrainStep {
    pub network: Network,
    pub p: Vec<f32>,
    pub x: Mat<f32>,
    pub z: Mat<f32>,
    saved: Stage1Saved<f32>,
    dlogits: Mat<f32>,
    dp: Vec<f32>,
    adam: Adam<f32>,
    graph: Graph<f32>,
}

impl TrainStep {
    pub fn new(batch: usize, tokens: usize) -> Self {
        let (network, p) = network(FEATURES, tokens - 1);
        TrainStep {
            saved: network.stage1_saved(),
            dlogits: Mat::zeros(batch, LABELS),
            dp: vec![0.0; p.len()],
            adam: Adam::new(network.disc_range().len(), AdamConfig::new(1e-3)),
            graph: Graph::default(),
            x: random(batch, FEATURES, "x"),
            z: targets(batch),
            network,
            p,
        }
    }

    /// One step; returns the loss before it.
    pub fn run(&mut self) -> f32 {
        let TrainStep { network, p, x, z, saved, dlogits, dp, adam, graph } = self;
        dp.fill(0.0);
        let weights = DiscWeights { bce: 1.0 / z.as_slice().len() as f32, graph: 0.0 };
        let batch = (x.view(), z.view());
        network.forward(saved, batch, p, None);
        let loss = disc_loss(dlogits, &saved.logits, z, graph, weights);
        network.disc_backward(dp, dlogits, batch, p, saved);
        let range = network.disc_range();
        adam.step(&mut p[range.clone()], &dp[range]);
        loss.bce
    }

    /// Operations of a step: tokens (no gradient of X), blocks, both heads forward, one backward.
    pub fn operations(&self) -> f64 {
        let (batch, width) = (self.x.rows(), self.network.config().width);
        let tokens = 2 * 2 * batch * FEATURES * width;
        let heads = (2 + 2) * 2 * batch * width * LABELS;
        let shard = shard_rows(batch, self.network.encoder.tokens.count());
        let saved = saved_operations(&self.network, batch, shard);
        (tokens + heads + 3 * forward_operations(&self.network, batch) - saved) as f64
    }
}

/// Rollouts of a batch: sampling, joint loss, backward, Adam.
pub struct RolloutStep {
    pub rollouts: Rollouts<f32>,
    pub p: Vec<f32>,
    pub x: Mat<f32>,
    pub y: Mat<f32>,
    pub sampled: Sampled<f32>,
    pub weights: Stage2Weights<f32>,
    pub advantages: Advantages<f32>,
    pub dp: Vec<f32>,
    adam: Adam<f32>,
    key: u64,
}

impl RolloutStep {
    pub fn new() -> Self {
        let (batch, steps, features) = ROLLOUT;
        let (network, p) = network(features, 1);
        let mut supervised = vec![0.0; steps];
        supervised.push(1.0 / (batch * LABELS) as f32);
        let policy = 1.0 / batch as f32;
        RolloutStep {
            rollouts: Rollouts::new(network),
            dp: vec![0.0; p.len()],
            adam: Adam::new(p.len(), AdamConfig::new(1e-3)),
            x: random(batch, features, "x"),
            y: targets(batch),
            sampled: Sampled::default(),
            weights: Stage2Weights { supervised, policy, temperature: 1.0 },
            advantages: Advantages {
                reward: Mat::zeros(batch, steps),
                baseline: vec![-0.7; steps],
                scale: vec![1.0; steps],
            },
            p,
            key: 0,
        }
    }

    /// Rollouts and the gradient of their joint loss, in `dp`.
    pub fn gradient(&mut self) -> Stage2Loss<f32> {
        let RolloutStep { rollouts, p, x, y, sampled, weights, advantages, dp, key, .. } = self;
        let (batch, steps, _) = ROLLOUT;
        *key += 1;
        let how = Sampling { steps, temperature: 1.0, key: *key };
        rollouts.sample_and_keep(sampled, (x, y), p, how);
        for i in 0..batch {
            advantages.reward.row_mut(i).fill(-sampled.losses[(i, steps)]);
        }
        let actions = &sampled.actions;
        let replay = Replay { x, y, actions, advantages, weights };
        dp.fill(0.0);
        rollouts.loss_of_kept(dp, &replay, p)
    }

    /// One step; returns the joint loss before it.
    pub fn run(&mut self) -> f32 {
        let loss = self.gradient();
        self.adam.step(&mut self.p, &self.dp);
        loss.supervised + loss.policy
    }

    /// Operations of a step: a forward and a backward pass in T + 1 states. h_disc is asked in every
    /// state when sampling, once more in the last one for its gradient; ψ in all but the last, forward
    /// and backward.
    pub fn operations(&self) -> f64 {
        let (batch, steps, features) = ROLLOUT;
        let width = self.rollouts.network().config().width;
        let states = steps + 1;
        let network = self.rollouts.network();
        let shard = shard_rows(1, network.encoder.tokens.count());
        let saved = states * saved_operations(network, batch, shard);
        let blocks = 3 * states * forward_operations(network, batch) - saved;
        let disc = (states + 3) * 2 * batch * width * LABELS;
        let policy = 3 * steps * 2 * batch * width * features;
        let tokens = 2 * 2 * steps * batch * width;
        (blocks + disc + policy + tokens) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand for 64 instances of 2 tokens: width 128, feed-forward 512, 2 layers.
    #[test]
    fn operations_by_hand() {
        let step = TrainStep::new(64, 2);
        let block0 = 128 * (4 * 128 * 128 + 2 * 128 * 512) + 2 * 64 * 2 * 2 * 128;
        let block1 = 128 * 2 * 128 * 128 + 64 * (2 * 128 * 128 + 2 * 128 * 512) + 2 * 64 * 2 * 128;
        let rest = 2 * 64 * 103 * 128 + 4 * 64 * 128 * 14;
        // CLS is projected once in each of two shards.
        let saved = (64 - 2) * 3 * 128 * 128;
        assert_eq!(step.operations(), 2.0 * f64::from(3 * (block0 + block1) + rest - saved));
    }

    #[test]
    fn a_step_learns() {
        let mut step = TrainStep::new(8, 3);
        let first = step.run();
        let last = (0..20).map(|_| step.run()).last();
        assert!(last.is_some_and(|l| l < 0.9 * first));
    }
}
