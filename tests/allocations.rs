//! A training step allocates nothing after warm-up, except what its matrix products allocate: nothing
//! in the crate's own, exactly one packing buffer a call in matrixmultiply's.
//!
//! So the number of allocations of a step is a multiple of the number of products, which follows from
//! the network. Per shard, with L layers, F feature groups and c = 1 with a candidate token, else 0:
//!
//! ```text
//! forward    F + c tokens, and 5 a layer: query, key_value, output, up, down
//! backward   F + c tokens (dW only, nobody needs dX), and 10 a layer: dW and dinp of each
//! ```
//!
//! Stage 1 has this once per shard and 5 for the heads on the whole batch: both forward, dW and dφ of
//! h_disc, dW of θ (φ is detached). Stage 2 samples (a third of the products in each state: no
//! gradients), keeps the activations, and then has a backward pass in each of its T + 1 states, per shard,
//! without the token products (tokens are updated one feature at a time).
//!
//! The steps are those of the real trainers: gathering the batch, the neighbour graph, sampling,
//! rewards, losses, gradients, clipping, Adam.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pomdp_fs::data::Labels;
use pomdp_fs::linalg::{Acc, Mat, gemm};
use pomdp_fs::method::Training;
use pomdp_fs::method::observation::likelihood::NoiseRate;
use pomdp_fs::method::pomdp_fs::belief::train::{PartTrainer, Shared};
use pomdp_fs::method::pomdp_fs::stage1::train::{Epoch1, StepRandom, Trainer1};
use pomdp_fs::method::pomdp_fs::stage2::train::{Epoch2, Trainer2};
use pomdp_fs::method::pomdp_fs::{Config, Fit, Network, Preset};
use pomdp_fs::nn::gradient_sums::shard_rows;
use pomdp_fs::num::{Class, class};
use pomdp_fs::rng::Streams;

thread_local! {
    /// Allocations of this thread. Constant and without a destructor: reading it allocates nothing.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting. Each thread has its own count, so the test harness, which
/// works at the same time, is not seen.
struct Counting;

// SAFETY: every call is passed on unchanged to `System`, which keeps the contract of `GlobalAlloc`;
// the counter is a plain thread-local integer that never allocates. Code outside `src/num/raw/`
// does not use `unsafe`; this test cannot do without, because the trait itself is unsafe.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        unsafe { System.dealloc(p, layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        unsafe { System.realloc(p, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread while `f` runs.
fn count(f: impl FnOnce()) -> usize {
    let before = COUNT.get();
    f();
    COUNT.get() - before
}

/// Runs `f` where all parallel loops stay on one thread.
fn on_one_thread(f: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(f);
}

const ROWS: usize = 90;
const FEATURES: usize = 19;
const LABELS: usize = 6;
const GROUPS: usize = 3;

fn config(preset: Preset) -> Config {
    let small =
        Config { width: 16, heads: 2, ffn_factor: 2, groups: GROUPS, ..Config::new(preset) };
    Config { dropout: 0.3, batch: 77, ..small }
}

fn network(config: &Config) -> Network {
    Network::new(config.network(FEATURES, LABELS)).unwrap()
}

fn data() -> (Mat<f32>, Labels) {
    let mut rng = Streams::new(1).stream("data");
    let x = Mat::from_fn(ROWS, FEATURES, |_, _| rng.normal() as f32);
    let candidates = Labels::from_fn(ROWS, LABELS, |_, _| rng.bernoulli(0.5));
    (x, candidates)
}

/// Shards of a batch.
fn shards(network: &Network, rows: usize) -> usize {
    rows.div_ceil(shard_rows(rows, network.encoder.tokens.count()))
}

/// Allocations of one product on this machine.
fn per_product() -> usize {
    if class() == Class::Portable { 1 } else { 0 }
}

/// Shards of a batch of rollouts: of the smallest size.
fn rollout_shards(network: &Network, rows: usize) -> usize {
    rows.div_ceil(shard_rows(1, network.encoder.tokens.count()))
}

#[test]
fn the_counter_counts_and_a_product_allocates_at_most_once() {
    assert_eq!(count(|| drop(vec![1u8; 10])), 1, "the negative control");
    assert_eq!(count(|| drop(vec![0u8; 10])), 1, "zeroed memory, too");
    for (m, k, n) in [(1, 1, 1), (7, 3, 5), (64, 128, 384), (300, 17, 9)] {
        let (a, b, mut c) = (Mat::<f32>::zeros(m, k), Mat::zeros(k, n), Mat::zeros(m, n));
        let got = count(|| gemm(Acc::Add, c.view_mut(), a.view(), b.view()));
        assert_eq!(got, per_product(), "{m} × {k} × {n}");
        let (a, b, mut c) = (a.cast::<f64>(), b.cast(), c.cast());
        let got = count(|| gemm(Acc::Add, c.view_mut(), a.view(), b.view()));
        assert_eq!(got, 1, "{m} × {k} × {n} in f64");
    }
}

#[test]
fn a_step_of_stage_1_allocates_only_packing_buffers() {
    let (x, candidates) = data();
    let training = Training { x: &x, candidates: &candidates };
    {
        let config = config(Preset::Paper);
        let network = network(&config);
        let encoder = network.config();
        let products = |rows: usize| {
            let tokens = GROUPS + usize::from(encoder.candidate_token);
            per_product() * (shards(&network, rows) * (2 * tokens + 15 * encoder.layers) + 5)
        };
        assert!(shards(&network, 77) > 1, "several shards");
        let streams = Streams::new(0);
        let all: Vec<usize> = (0..ROWS).collect();
        let mut trainer =
            Trainer1::new(&config, network.clone(), training, all.clone(), streams.clone());
        let (mut state, mut record) = (trainer.start(), Epoch1::default());
        on_one_thread(|| {
            // The first batch sizes the memory; after it a batch of the same size or a smaller one,
            // of whatever rows, needs nothing new. Edges differ from batch to batch, so a few come
            // first.
            for (k, range) in
                [0..77, 13..90, 5..82, 0..77, 13..90, 40..45, 1..2, 5..82].into_iter().enumerate()
            {
                let random = StepRandom {
                    dropout: k as u64,
                    actions: streams.stream(&format!("actions/{k}")),
                };
                let rows = &all[range];
                let step = || trainer.step(&mut state, rows, random, &mut record).unwrap();
                let got = count(step);
                if k >= 3 {
                    assert_eq!(got, products(rows.len()), "step {k}");
                }
            }
        });
        assert!(state.p.iter().all(|v| v.is_finite()) && record.bce > 0.0);
    }
}

/// Per shard: tokens and 5 products per layer forward, tokens and 10 backward; on the whole batch 3 for
/// h_disc. The label context has no matrix product.
#[test]
fn a_step_of_the_beliefs_allocates_only_packing_buffers() {
    let (x, candidates) = data();
    let config = config(Preset::Observation);
    let network = config.belief_network(FEATURES, LABELS).unwrap();
    let zeros = Mat::zeros(ROWS, LABELS);
    let shared = Shared {
        config: &config,
        x: &x,
        candidates: &candidates,
        base: zeros.clone(),
        linear: zeros,
        noise: vec![NoiseRate::new(0.2); LABELS],
        with_context: true,
    };
    let all: Vec<usize> = (0..ROWS).collect();
    let mut part = PartTrainer::new(network, all.clone(), Vec::new(), &shared);
    let streams = Streams::new(0);
    let (mut state, mut record) = (part.start(&shared, &streams), Epoch1::default());
    let shards = |rows: usize| rows.div_ceil(shard_rows(rows, 1 + GROUPS));
    on_one_thread(|| {
        for (k, range) in [0..77, 13..90, 40..45, 1..2, 5..82].into_iter().enumerate() {
            let rows = &all[range];
            let mut actions = streams.stream(&format!("actions/{k}"));
            let step = || {
                part.step(&mut state, &shared, rows, k as u64, &mut actions, &mut record).unwrap();
            };
            let got = count(step);
            if k >= 2 {
                let products = shards(rows.len()) * (2 * GROUPS + 15 * config.layers) + 3;
                assert_eq!(got, per_product() * products, "step {k}");
            }
        }
    });
    assert!(state.p.iter().all(|v| v.is_finite()) && record.bce > 0.0);
}

#[test]
fn a_step_of_stage_2_allocates_only_packing_buffers() {
    const STEPS: usize = 4;
    let (x, candidates) = data();
    {
        let config = Config { rollout: Some(STEPS), ..config(Preset::Paper) };
        let network = network(&config);
        let layers = network.config().layers;
        let candidate_token = usize::from(network.config().candidate_token);
        let products = |rows: usize| {
            // Sampling: h_disc in every state, ψ in all but the last.
            let sampling = (STEPS + 1) * (5 * layers + 1) + STEPS + candidate_token;
            let replay =
                (STEPS + 1) * (10 * layers + candidate_token) + candidate_token + 3 + 3 * STEPS;
            per_product() * rollout_shards(&network, rows) * (sampling + replay)
        };
        let mut trainer = Trainer2::new(
            &config,
            network.clone(),
            &x,
            candidates.to_mat(),
            FEATURES,
            Streams::new(0),
        );
        let mut state = trainer.start(network.init(&Streams::new(0)));
        let (mut record, all) = (Epoch2::default(), (0..ROWS).collect::<Vec<usize>>());
        on_one_thread(|| {
            for (k, range) in [0..77, 0..77, 13..90, 40..45, 1..2].into_iter().enumerate() {
                let rows = &all[range];
                let step = || trainer.step(&mut state, rows, k as u64, &mut record).unwrap();
                let got = count(step);
                if k >= 1 {
                    assert_eq!(got, products(rows.len()), "step {k}");
                }
            }
        });
        assert!(state.p.iter().all(|v| v.is_finite()) && record.loss_end > 0.0);
    }
}

/// A fit keeps its trainers: an epoch allocates a little besides its products (the order of the rows,
/// names of random streams, the confidences), far less than the memory of a trainer.
#[test]
fn later_epochs_of_a_fit_use_the_memory_of_the_first() {
    let (x, candidates) = data();
    let config = Config { epochs1: 4, epochs2: 4, rollout: Some(2), ..config(Preset::Paper) };
    let training = Training { x: &x, candidates: &candidates };
    let mut fit = Fit::new(&config, training, 2, Streams::new(0)).unwrap();
    let mut counts = Vec::new();
    on_one_thread(|| {
        while counts.len() < 8 {
            counts.push(count(|| assert!(fit.advance().unwrap())));
        }
    });
    let layers = config.layers;
    let batches: [usize; 2] = [77, 13];
    let shards = |rows| shards(fit.network(), rows);
    let step1 = |rows| shards(rows) * (2 * (GROUPS + 1) + 15 * layers) + 5;
    let confidence = shards(ROWS) * (GROUPS + 1 + 5 * layers) + 2;
    let stage1 = batches.map(step1).iter().sum::<usize>() + confidence;
    let rollout_shards = |rows| rollout_shards(fit.network(), rows);
    let step2 =
        |rows| rollout_shards(rows) * (3 * (5 * layers + 1) + 3 + 3 * (10 * layers + 1) + 1 + 9);
    let stage2 = batches.map(step2).iter().sum::<usize>();
    for (epoch, products) in [(1, stage1), (2, stage1), (5, stage2), (6, stage2)] {
        let buffers = per_product() * products;
        let other = counts[epoch].checked_sub(buffers).expect("every product has its buffer");
        assert!(other <= 30, "epoch {epoch}: {other} allocations besides {products} products");
    }
    assert!(
        counts[0] > counts[1] + 100 && counts[4] > counts[5] + 100,
        "the first pays: {counts:?}"
    );
}
