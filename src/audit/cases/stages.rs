//! The losses of both stages with respect to the whole arena, small and at full size.

use super::{Case, Vars, fault_of};
use crate::data::Labels;
use crate::graph::Graph;
use crate::linalg::Mat;
use crate::method::pomdp_fs::{
    DiscWeights, Network, NetworkConfig, Rollouts, Stage1, Stage2Weights, Trajectories,
};
use crate::nn::{Dropout, EncoderConfig, Fault};
use crate::rng::Rng;

/// Coordinates compared at full size; a tenth of them through the steps of Stage 2.
const SAMPLE: usize = 4000;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        disc_loss("stage1/disc-loss/paper", small(1, true), false, 9),
        disc_loss("stage1/disc-loss/observation", small(3, false), true, 9),
        policy_loss("stage1/policy-loss/paper", small(1, true), false),
        policy_loss("stage1/policy-loss/observation", small(1, false), true),
        stage2("stage2/paper", small(1, false), 5, 3, Credit::Batch),
        stage2("stage2/shaped", small(3, false), 5, 4, Credit::Steps),
        disc_loss("full-size/stage1", EncoderConfig::paper(23, 14), false, 2),
        stage2("full-size/stage2", EncoderConfig::paper(23, 14), 2, 2, Credit::Steps),
    ];
    for case in &mut cases {
        case.sample = match case.name.as_str() {
            "full-size/stage1" => Some(SAMPLE),
            "full-size/stage2" => Some(SAMPLE / 10),
            _ => None,
        };
    }
    cases
}

fn small(groups: usize, candidate_token: bool) -> EncoderConfig {
    EncoderConfig {
        width: 6,
        heads: 2,
        ffn: 7,
        groups,
        candidate_token,
        ..EncoderConfig::paper(5, 3)
    }
}

fn shape(e: &EncoderConfig, rows: usize) -> String {
    format!(
        "{rows} instances, {} features, {} labels, width {}, {} heads, {} layers, FFN {}",
        e.features, e.labels, e.width, e.heads, e.layers, e.ffn
    )
}

/// A network with its vector and a random batch.
struct Setting {
    network: Network,
    vars: Vars,
    x: Mat<f64>,
    candidates: Labels,
    c: Mat<f64>,
    /// Sampled actions Z ⊆ C.
    z: Mat<f64>,
}

fn setting(name: &str, encoder: EncoderConfig, sees: bool, rows: usize) -> Setting {
    let config = NetworkConfig { encoder, policy_sees_candidates: sees };
    let network = Network::new(config).expect("a valid configuration");
    let mut vars = Vars::new(name);
    vars.arena(&network.layout, false);
    let x = vars.constant(rows, encoder.features);
    let coin = |rng: &mut Rng, p: f64| rng.bernoulli(p);
    let candidates = Labels::from_fn(rows, encoder.labels, |_, _| coin(&mut vars.rng, 0.6));
    let c = number(&candidates);
    let z = Mat::from_fn(rows, encoder.labels, |i, j| {
        f64::from(u8::from(candidates.get(i, j) && coin(&mut vars.rng, 0.5)))
    });
    Setting { network, vars, x, candidates, c, z }
}

fn number(labels: &Labels) -> Mat<f64> {
    Mat::from_fn(labels.rows(), labels.cols(), |i, j| f64::from(u8::from(labels.get(i, j))))
}

/// The same network with a fault switched on.
fn faulty(network: &Network, fault: Fault) -> Network {
    let mut network = network.clone();
    network.encoder.fault = fault;
    network
}

/// ℓ_disc (7) with the graph term and dropout; the two policies must get nothing.
fn disc_loss(name: &str, encoder: EncoderConfig, sees: bool, rows: usize) -> Case {
    let Setting { network, vars, x, c, z, .. } = setting(name, encoder, sees, rows);
    let graph = Graph::new(&x, 2).expect("finite");
    let mean = 1.0 / (rows * encoder.labels) as f64;
    let weights = DiscWeights { bce: mean, graph: 0.5 * mean };
    let dropout = Some(Dropout { rate: 0.2, key: 3 });
    let mut case = vars.case(name, shape(&encoder, rows), move |p, gradient| {
        let mut stage = Stage1::new(faulty(&network, fault_of(&gradient)));
        stage.forward(x.view(), c.view(), p, dropout);
        let loss = stage.disc_loss(&z, &graph, weights);
        if let Some((dp, _)) = gradient {
            stage.disc_backward(dp, (x.view(), c.view()), p);
        }
        loss.bce + loss.graph
    });
    case.detached = blocks(&case, &["label_policy", "feature_policy"]);
    case
}

/// ℓ_pol (11) with φ detached: the numeric side holds φ at its value, so every parameter of the
/// encoder must get exactly zero.
fn policy_loss(name: &str, encoder: EncoderConfig, sees: bool) -> Case {
    const ROWS: usize = 4;
    let Setting { network, mut vars, x, candidates, c, z } = setting(name, encoder, sees, ROWS);
    let advantage = vars.constant(ROWS, encoder.labels);
    let frozen = vars.start.clone();
    let theta = network.label_policy_range();
    let mut case = vars.case(name, shape(&encoder, ROWS), move |p, gradient| {
        // Everything but θ stays at the starting point: that is what "detached" means.
        let mut held = frozen.clone();
        held[theta.clone()].copy_from_slice(&p[theta.clone()]);
        let mut stage = Stage1::new(faulty(&network, fault_of(&gradient)));
        stage.forward(x.view(), c.view(), &held, None);
        let loss = stage.policy_loss(&z, &candidates, &advantage);
        if let Some((dp, _)) = gradient {
            stage.policy_backward(dp, (x.view(), c.view()), &held);
        }
        loss
    });
    case.detached = blocks(&case, &["tokens", "block", "last_norm", "disc", "feature_policy"]);
    case
}

enum Credit {
    /// One advantage for the whole batch, as printed.
    Batch,
    /// One for each step, with losses along the way.
    Steps,
}

/// The joint loss (18) through T steps, with masks and baseline; the actions are held fixed.
fn stage2(name: &str, encoder: EncoderConfig, rows: usize, steps: usize, credit: Credit) -> Case {
    let Setting { network, mut vars, x, z, .. } = setting(name, encoder, false, rows);
    let actions =
        (0..rows).map(|_| vars.rng.permutation(encoder.features)[..steps].to_vec()).collect();
    let mean = 1.0 / (rows * encoder.labels) as f64;
    let (reward, supervised) = match credit {
        Credit::Batch => {
            let mut last = vec![0.0; steps + 1];
            last[steps] = mean;
            (Mat::from_fn(rows, steps, |_, _| -0.4), last)
        }
        Credit::Steps => {
            let along = (0..=steps).map(|t| mean * (1.0 + t as f64)).collect();
            (vars.constant(rows, steps), along)
        }
    };
    let trajectories = Trajectories {
        actions,
        reward,
        baseline: vec![-0.7; steps],
        scale: (0..steps).map(|t| 1.0 + 0.3 * t as f64).collect(),
    };
    let weights = Stage2Weights { supervised, policy: 1.0 / rows as f64, temperature: 0.8 };
    let title = format!("{}, {steps} steps", shape(&encoder, rows));
    let mut case = vars.case(name, title, move |p, gradient| {
        let mut rollouts = Rollouts::new(faulty(&network, fault_of(&gradient)));
        let dp = gradient.map(|g| g.0);
        let loss = rollouts.loss(dp, &x, &z, p, &trajectories, &weights);
        loss.supervised + loss.policy
    });
    case.detached = blocks(&case, &["label_policy"]);
    case
}

/// Names of the blocks that begin with one of `prefixes`.
fn blocks(case: &Case, prefixes: &[&str]) -> Vec<String> {
    let starts = |name: &str| prefixes.iter().any(|p| name.starts_with(p));
    case.blocks.iter().map(|(n, _)| n).filter(|n| starts(n)).cloned().collect()
}
