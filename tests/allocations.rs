//! A training step allocates nothing after warm-up, except one packing buffer in each matrix
//! product: matrixmultiply allocates exactly one a call, and its size never grows with time.
//!
//! So the number of allocations of a step must equal the number of products, which follows from the
//! network. Per shard, with L layers, F feature groups and c = 1 with a candidate token, else 0:
//!
//! ```text
//! forward    F + c tokens, and 5 a layer: query, key_value, output, up, down
//! backward   F + c tokens (dW only, nobody needs dX), and 10 a layer: dW and dinp of each
//! ```
//!
//! Stage 1 has this once a shard and 5 for the heads on the whole batch: both forward, dW and dφ of
//! h_disc, dW of θ (φ is detached). Stage 2 has it T + 1 times a shard without the token products
//! (tokens are updated one feature at a time), and 3 for each head in each state that uses it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pomdp_fs::data::Labels;
use pomdp_fs::graph::Graph;
use pomdp_fs::linalg::{Acc, Mat, gemm};
use pomdp_fs::method::pomdp_fs::{
    DiscWeights, Network, NetworkConfig, Rollouts, Stage1, Stage2Weights, Trajectories,
};
use pomdp_fs::nn::adam::clip;
use pomdp_fs::nn::lanes::shard_rows;
use pomdp_fs::nn::{Adam, AdamConfig, Dropout, EncoderConfig};
use pomdp_fs::rng::Streams;

thread_local! {
    /// Allocations of this thread. Constant and without a destructor: reading it allocates nothing.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting. Each thread has its own count, so the test harness, which
/// works at the same time, is not seen.
struct Counting;

// SAFETY: every call is passed on unchanged to `System`, which keeps the contract of `GlobalAlloc`;
// the counter is a plain thread-local integer that never allocates. Code outside `src/num/raw.rs`
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

const FEATURES: usize = 19;
const LABELS: usize = 6;
const GROUPS: usize = 3;

fn network(candidate_token: bool) -> Network {
    let encoder = EncoderConfig {
        width: 16,
        heads: 2,
        ffn: 24,
        groups: GROUPS,
        candidate_token,
        ..EncoderConfig::paper(FEATURES, LABELS)
    };
    Network::new(NetworkConfig { encoder, policy_sees_candidates: true }).unwrap()
}

/// Shards of a batch.
fn shards(network: &Network, rows: usize) -> usize {
    rows.div_ceil(shard_rows(network.encoder.tokens.count()))
}

#[test]
fn the_counter_counts_and_a_product_allocates_once() {
    assert_eq!(count(|| drop(vec![1u8; 10])), 1, "the negative control");
    assert_eq!(count(|| drop(vec![0u8; 10])), 1, "zeroed memory, too");
    for (m, k, n) in [(1, 1, 1), (7, 3, 5), (64, 128, 384), (300, 17, 9)] {
        let (a, b, mut c) = (Mat::<f32>::zeros(m, k), Mat::zeros(k, n), Mat::zeros(m, n));
        let got = count(|| gemm(Acc::Add, c.view_mut(), a.view(), b.view()));
        assert_eq!(got, 1, "{m} × {k} × {n}");
    }
}

/// Everything a step of Stage 1 touches.
struct Step {
    stage: Stage1<f32>,
    p: Vec<f32>,
    dp: Vec<f32>,
    adam: Adam<f32>,
    key: u64,
}

/// A batch of Stage 1. Making it allocates (the graph above all); it is no part of the step.
struct Data {
    x: Mat<f32>,
    c: Mat<f32>,
    candidates: Labels,
    advantage: Mat<f32>,
    graph: Graph<f32>,
}

fn data(rows: usize) -> Data {
    let mut rng = Streams::new(1).stream("data");
    let x = Mat::from_fn(rows, FEATURES, |_, _| rng.normal() as f32);
    let candidates = Labels::from_fn(rows, LABELS, |_, _| rng.bernoulli(0.5));
    let number = |i, j| f32::from(u8::from(candidates.get(i, j)));
    Data {
        graph: Graph::new(&x, 5).unwrap(),
        c: Mat::from_fn(rows, LABELS, number),
        advantage: Mat::from_fn(rows, LABELS, |_, _| rng.normal() as f32),
        x,
        candidates,
    }
}

impl Step {
    fn new(network: Network) -> Self {
        let p: Vec<f32> = network.init(&Streams::new(0));
        let adam = Adam::new(p.len(), AdamConfig::new(1e-3));
        Step { stage: Stage1::new(network), dp: vec![0.0; p.len()], p, adam, key: 0 }
    }

    fn run(&mut self, data: &Data, rate: Option<f64>) {
        self.key += 1;
        self.dp.fill(0.0);
        let batch = (data.x.view(), data.c.view());
        let dropout = rate.map(|rate| Dropout { rate, key: self.key });
        self.stage.forward(batch.0, batch.1, &self.p, dropout);
        let weights = DiscWeights { bce: 0.01, graph: 0.001 };
        self.stage.disc_loss(&data.c, &data.graph, weights);
        self.stage.disc_backward(&mut self.dp, batch, &self.p);
        self.stage.policy_loss(&data.c, &data.candidates, &data.advantage);
        self.stage.policy_backward(&mut self.dp, batch, &self.p);
        clip(&mut self.dp, 1.0);
        self.adam.step(&mut self.p, &self.dp);
    }
}

#[test]
fn a_step_of_stage_1_allocates_only_packing_buffers() {
    let (small, large) = (data(5), data(77));
    for candidate_token in [false, true] {
        let network = network(candidate_token);
        let layers = network.config().encoder.layers;
        let products = |rows: usize| {
            let tokens = GROUPS + usize::from(candidate_token);
            shards(&network, rows) * (2 * tokens + 15 * layers) + 5
        };
        assert!(shards(&network, 77) > 1, "several shards");
        let mut step = Step::new(network.clone());
        on_one_thread(|| {
            step.run(&large, Some(0.3));
            // Same size, a smaller batch, dropout off and on again: nothing new is needed.
            for (data, rate) in [
                (&large, Some(0.3)),
                (&small, Some(0.3)),
                (&large, None),
                (&small, None),
                (&large, Some(0.1)),
            ] {
                let got = count(|| step.run(data, rate));
                assert_eq!(got, products(data.x.rows()), "{} rows, {rate:?}", data.x.rows());
            }
        });
        assert!(step.p.iter().all(|v| v.is_finite()));
    }
}

#[test]
fn a_step_of_stage_2_allocates_only_packing_buffers() {
    const ROWS: usize = 50;
    const STEPS: usize = 4;
    let network = network(false);
    let p: Vec<f32> = network.init(&Streams::new(0));
    let mut dp = vec![0.0; p.len()];
    let Data { x, c: y, .. } = data(ROWS);
    let mut rollouts = Rollouts::new(network.clone());
    let actions = rollouts.sample(&x, &y, &p, STEPS, 1.0, 7).actions;
    let trajectories = Trajectories {
        actions,
        reward: Mat::from_fn(ROWS, STEPS, |i, t| (i + t) as f32 / 50.0),
        baseline: vec![0.5; STEPS],
        scale: vec![1.0; STEPS],
    };
    let layers = network.config().encoder.layers;
    for supervised in [vec![0.1; STEPS + 1], vec![0.0, 0.0, 0.0, 0.0, 1.0]] {
        let supervised_states = supervised.iter().filter(|&&w| w != 0.0).count();
        let weights = Stage2Weights { supervised, policy: 0.1, temperature: 1.0 };
        // A state is a forward and a backward pass; without gradients a third of the products.
        let products = (STEPS + 1) * 15 * layers + 3 * supervised_states + 3 * STEPS;
        on_one_thread(|| {
            rollouts.loss(Some(&mut dp), &x, &y, &p, &trajectories, &weights);
            let step = || {
                rollouts.loss(Some(&mut dp), &x, &y, &p, &trajectories, &weights);
            };
            assert_eq!(count(step), shards(&network, ROWS) * products);
            let value = || {
                rollouts.loss(None, &x, &y, &p, &trajectories, &weights);
            };
            assert_eq!(count(value), shards(&network, ROWS) * products / 3);
        });
    }
}
