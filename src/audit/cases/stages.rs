//! The losses of both stages with respect to the whole arena, small and at full size.

use super::{Case, Vars};
use crate::audit::Control;
use crate::data::Labels;
use crate::graph::Graph;
use crate::linalg::Mat;
use crate::method::observation::likelihood::NoiseRate;
use crate::method::pomdp_fs::Network;
use crate::method::pomdp_fs::belief::network::{BeliefConfig, BeliefNetwork, Observed};
use crate::method::pomdp_fs::stage1::loss::{DiscWeights, disc_loss, policy_loss};
use crate::method::pomdp_fs::stage2::loss::{Advantages, Replay, Stage2Weights};
use crate::method::pomdp_fs::stage2::rollout::{Actions, Rollouts};
use crate::nn::{Dropout, EncoderConfig, loss};
use crate::rng::Rng;

/// Coordinates compared at full size; a tenth of them through the steps of Stage 2.
const SAMPLE: usize = 4000;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        disc("stage1/disc-loss/paper", small(1, true), 9),
        disc("stage1/disc-loss/groups", small(3, true), 9),
        belief("stage1/belief", small(1, false), true, 4),
        belief("stage1/belief/no-context", small(3, false), false, 5),
        belief_policy("stage1/belief-policy", small(1, false)),
        policy("stage1/policy-loss/paper", small(1, true)),
        stage2("stage2/paper", small(1, false), 5, 3, Credit::Batch),
        stage2("stage2/candidate-token", small(1, true), 4, 2, Credit::Batch),
        stage2("stage2/shaped", small(3, false), 5, 4, Credit::Steps),
        disc("full-size/stage1", EncoderConfig::paper(23, 14), 2),
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

fn setting(name: &str, encoder: EncoderConfig, rows: usize) -> Setting {
    let network = Network::new(encoder).expect("a valid configuration");
    let mut vars = Vars::new(name);
    vars.arena(&network.layout, false);
    let x = vars.constant(rows, encoder.features);
    let coin = |rng: &mut Rng, p: f64| rng.bernoulli(p);
    let candidates = Labels::from_fn(rows, encoder.labels, |_, _| coin(&mut vars.rng, 0.6));
    let c = candidates.to_mat();
    let z = Mat::from_fn(rows, encoder.labels, |i, j| {
        f64::from(u8::from(candidates.get(i, j) && coin(&mut vars.rng, 0.5)))
    });
    Setting { network, vars, x, candidates, c, z }
}

/// ℓ_disc (7) with the graph term and dropout; the two policies must get nothing.
fn disc(name: &str, encoder: EncoderConfig, rows: usize) -> Case {
    let Setting { network, vars, x, c, z, .. } = setting(name, encoder, rows);
    let graph = Graph::new(&x, 2).expect("finite");
    let fewer = Graph::new(&x, 1).expect("finite");
    let nothing = Mat::zeros(rows, encoder.labels);
    let mean = 1.0 / (rows * encoder.labels) as f64;
    let weights = DiscWeights { bce: mean, graph: 0.5 * mean };
    let dropout = Dropout { rate: 0.2, key: 3 };
    let mut case = vars.case(name, shape(&encoder, rows), move |p, gradient| {
        let control = gradient.as_ref().and_then(|(_, control)| *control);
        let spoilt = |c: Control| control == Some(c);
        let batch = (x.view(), c.view());
        let mut saved = network.stage1_saved();
        network.forward(&mut saved, batch, p, Some(dropout));
        let z = if spoilt(Control::BceTargetIgnored) { &nothing } else { &z };
        let graph = if spoilt(Control::LaplacianEdgesMissing) { &fewer } else { &graph };
        let mut dlogits = saved.logits.clone();
        let loss = disc_loss(&mut dlogits, &saved.logits, z, graph, weights);
        if let Some((dp, _)) = gradient {
            if spoilt(Control::SavedStale) {
                network.forward(&mut saved, batch, p, Some(Dropout { key: 4, ..dropout }));
            }
            let handed = Control::weights(control, &network.layout, p);
            network.disc_backward(dp, &dlogits, batch, &handed, &mut saved);
            Control::spoil_gradient(control, &network.layout, dp);
        }
        loss.bce + loss.graph
    });
    case.detached = blocks(&case, &["label_policy", "feature_policy"]);
    case
}

/// ℓ_pol (11) with φ detached: the numeric side holds φ at its value, so every parameter of the
/// encoder must get exactly zero.
fn policy(name: &str, encoder: EncoderConfig) -> Case {
    const ROWS: usize = 4;
    let Setting { network, mut vars, x, candidates, c, z } = setting(name, encoder, ROWS);
    let advantage = vars.constant(ROWS, encoder.labels);
    let frozen = vars.start.clone();
    let theta = network.label_policy_range();
    let all = Labels::from_fn(ROWS, encoder.labels, |_, _| true);
    let mut case = vars.case(name, shape(&encoder, ROWS), move |p, gradient| {
        // Everything but θ stays at the starting point: that is what "detached" means.
        let mut held = frozen.clone();
        held[theta.clone()].copy_from_slice(&p[theta.clone()]);
        let control = gradient.as_ref().and_then(|(_, control)| *control);
        let batch = (x.view(), c.view());
        let mut saved = network.stage1_saved();
        network.forward(&mut saved, batch, &held, None);
        let leaks = control == Some(Control::BernoulliMaskLeak);
        let open = if leaks { &all } else { &candidates };
        let mut dscores = saved.scores.clone();
        let loss = policy_loss(&mut dscores, &saved.scores, &z, open, &advantage);
        if let Some((dp, _)) = gradient {
            network.policy_backward(dp, &dscores, &held, &saved);
            if control == Some(Control::PolicyNotDetached) {
                network.disc_backward(dp, &dscores, batch, &held, &mut saved);
            }
        }
        loss
    });
    case.detached = blocks(&case, &["tokens", "block", "last_norm", "disc", "feature_policy"]);
    case
}

/// A network of beliefs with its vector and a random batch.
struct BeliefSetting {
    network: BeliefNetwork,
    vars: Vars,
    seen: [Mat<f64>; 4],
    candidates: Labels,
    z: Mat<f64>,
    noise: Vec<NoiseRate<f64>>,
}

fn belief_setting(name: &str, encoder: EncoderConfig, rows: usize) -> BeliefSetting {
    let network = BeliefNetwork::new(BeliefConfig { encoder, context: (4, 2) }).expect("valid");
    let mut vars = Vars::new(name);
    vars.arena(&network.layout, false);
    let labels = encoder.labels;
    let [x, base, linear] =
        [encoder.features, labels, labels].map(|cols| vars.constant(rows, cols));
    let candidates = Labels::from_fn(rows, labels, |_, _| vars.rng.bernoulli(0.6));
    let z = Mat::from_fn(rows, labels, |i, j| {
        f64::from(u8::from(candidates.get(i, j) && vars.rng.bernoulli(0.5)))
    });
    let noise = (0..labels).map(|j| NoiseRate::new(0.1 + 0.1 * j as f64)).collect();
    let seen = [x, base, linear, candidates.to_mat()];
    BeliefSetting { network, vars, seen, candidates, z, noise }
}

fn observed(seen: &[Mat<f64>; 4]) -> Observed<'_, f64> {
    let [x, base, linear, c] = seen;
    Observed { x: x.view(), base, linear, c }
}

/// BCE of the network's own belief w, with dropout. The tokens of the label context are numbers, not
/// functions: the numeric side holds them at the starting point's v, by giving the context the
/// weights of the moment and the tokens the weights of the start.
fn belief(name: &str, encoder: EncoderConfig, with_context: bool, rows: usize) -> Case {
    let BeliefSetting { network, vars, seen, z, noise, .. } = belief_setting(name, encoder, rows);
    let dropout = Dropout { rate: 0.2, key: 3 };
    let mean = 1.0 / rows as f64;
    let mut start = network.saved();
    network.prior(&mut start, observed(&seen), &vars.start, Some(dropout));
    network.tokens(&mut start, observed(&seen), &noise);
    let tokens = start.tokens;
    let mut case = vars.case(name, shape(&encoder, rows), move |p, gradient| {
        let control = gradient.as_ref().and_then(|(_, control)| *control);
        let mut saved = network.saved();
        let (seen, dropout) = (observed(&seen), Some(dropout));
        network.prior(&mut saved, seen, p, dropout);
        saved.tokens = tokens.clone();
        network.belief(&mut saved, seen, with_context, p);
        let mut dw = Mat::zeros(rows, encoder.labels);
        let loss = loss::bce(dw.as_mut_slice(), saved.own.as_slice(), z.as_slice(), mean);
        if let Some((dp, _)) = gradient {
            if control == Some(Control::SavedStale) {
                let other = Some(Dropout { rate: 0.2, key: 4 });
                network.forward(&mut saved, seen, &noise, with_context, p, other);
            }
            network.backward(dp, &dw, seen.x, with_context, p, &mut saved);
        }
        loss
    });
    let unused: &[&str] = if with_context { &["policy"] } else { &["policy", "context"] };
    case.detached = blocks(&case, unused);
    case
}

/// ℓ_pol of the belief's policy: slope and offset alone get a gradient, U is detached.
fn belief_policy(name: &str, encoder: EncoderConfig) -> Case {
    const ROWS: usize = 4;
    let BeliefSetting { network, mut vars, seen, candidates, z, noise } =
        belief_setting(name, encoder, ROWS);
    let advantage = vars.constant(ROWS, encoder.labels);
    let frozen = vars.start.clone();
    let all = Labels::from_fn(ROWS, encoder.labels, |_, _| true);
    let mut case = vars.case(name, shape(&encoder, ROWS), move |p, gradient| {
        let mut held = frozen.clone();
        let range = network.policy_range();
        held[range.clone()].copy_from_slice(&p[range]);
        let mut saved = network.saved();
        network.forward(&mut saved, observed(&seen), &noise, true, &held, None);
        let leaks = gradient.as_ref().is_some_and(|(_, c)| *c == Some(Control::BernoulliMaskLeak));
        let open = if leaks { &all } else { &candidates };
        let (mut unused, mut row) = (vec![0.0; p.len()], vec![0.0; encoder.labels]);
        let dp = gradient.map_or(&mut unused[..], |(dp, _)| dp);
        network.policy_loss(dp, &mut row, &z, open, &advantage, &saved)
    });
    case.detached = blocks(&case, &["tokens", "block", "last_norm", "disc", "context"]);
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
    let Setting { network, mut vars, x, z, .. } = setting(name, encoder, rows);
    let actions: Vec<Vec<usize>> =
        (0..rows).map(|_| vars.rng.permutation(encoder.features)[..steps].to_vec()).collect();
    let reordered: Vec<Vec<usize>> =
        actions.iter().map(|a| a.iter().rev().copied().collect()).collect();
    let (actions, reordered) = (Actions::new(&actions), Actions::new(&reordered));
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
    let advantages = Advantages {
        reward,
        baseline: vec![-0.7; steps],
        scale: (0..steps).map(|t| 1.0 + 0.3 * t as f64).collect(),
    };
    let weights = Stage2Weights { supervised, policy: 1.0 / rows as f64, temperature: 0.8 };
    let title = format!("{}, {steps} steps", shape(&encoder, rows));
    let mut case = vars.case(name, title, move |p, gradient| {
        let (mut advantages, mut weights) = (advantages.clone(), weights.clone());
        let mut actions = &actions;
        match gradient.as_ref().and_then(|(_, control)| *control) {
            Some(Control::BaselineForgotten) => advantages.baseline.fill(0.0),
            Some(Control::ReplayReordered) => actions = &reordered,
            Some(Control::TemperatureMissing) => weights.temperature = 1.0,
            _ => {}
        }
        let mut rollouts = Rollouts::new(network.clone());
        let (advantages, weights) = (&advantages, &weights);
        let replay = Replay { x: &x, y: &z, actions, advantages, weights };
        let loss = rollouts.loss(gradient.map(|g| g.0), &replay, 0..rows, p);
        loss.supervised + loss.policy
    });
    // The candidate token shows the empty set, so its weights are multiplied by zeros.
    case.detached = blocks(&case, &["label_policy", "tokens.candidates.w"]);
    case
}

/// Names of the blocks that begin with one of `prefixes`.
fn blocks(case: &Case, prefixes: &[&str]) -> Vec<String> {
    let starts = |name: &str| prefixes.iter().any(|p| name.starts_with(p));
    case.blocks.iter().map(|(n, _)| n).filter(|n| starts(n)).cloned().collect()
}
