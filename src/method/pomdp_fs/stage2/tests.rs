//! Rollouts against the plain computation with masks, and their promises.

use super::loss::{Advantages, Replay, Stage2Weights};
use super::rollout::{Rollouts, Sampled, Sampling, draw, uniform};
use crate::linalg::{Mat, View};
use crate::method::pomdp_fs::Network;
use crate::nn::EncoderConfig;
use crate::nn::encoder::NormPlace;
use crate::nn::init::init;
use crate::nn::loss;
use crate::rng::Streams;

const FEATURES: usize = 7;
const LABELS: usize = 3;

fn network(groups: usize) -> Network {
    network_with(groups, NormPlace::Pre)
}

fn network_with(groups: usize, norm: NormPlace) -> Network {
    let encoder = EncoderConfig {
        norm,
        width: 6,
        heads: 2,
        ffn: 5,
        groups,
        ..EncoderConfig::paper(FEATURES, LABELS)
    };
    Network::new(encoder).unwrap()
}

struct Problem {
    p: Vec<f64>,
    x: Mat<f64>,
    y: Mat<f64>,
}

fn problem(network: &Network, rows: usize) -> Problem {
    let mut r = Streams::new(3).stream("rollout");
    Problem {
        p: init(&network.layout, &Streams::new(4)),
        x: Mat::from_fn(rows, FEATURES, |_, _| r.normal()),
        y: Mat::from_fn(rows, LABELS, |_, _| r.uniform()),
    }
}

fn sample(
    rollouts: &mut Rollouts<f64>,
    (x, y): (&Mat<f64>, &Mat<f64>),
    p: &[f64],
    (steps, temperature, key): (usize, f64, u64),
) -> Sampled<f64> {
    let mut sampled = Sampled::default();
    rollouts.sample(&mut sampled, (x, y), p, Sampling { steps, temperature, key });
    sampled
}

/// h of the masked input, from the whole x and not step by step.
fn masked_state(network: &Network, x: &[f64], chosen: &[usize], p: &[f64]) -> Vec<f64> {
    let masked: Vec<f64> =
        (0..FEATURES).map(|j| if chosen.contains(&j) { x[j] } else { 0.0 }).collect();
    let mut ws = network.encoder.workspace();
    network.encoder.forward(&mut ws, View::new(&masked, 1, FEATURES), None, p, None, 0);
    ws.phi.row(0).to_vec()
}

#[test]
fn incremental_states_equal_masked_inputs() {
    for groups in [1, 3] {
        let network = network(groups);
        let Problem { p, x, y } = problem(&network, 4);
        let mut rollouts = Rollouts::new(network.clone());
        let Sampled { actions, losses, .. } = sample(&mut rollouts, (&x, &y), &p, (5, 1.0, 9));
        for i in 0..4 {
            for t in 0..=5 {
                let h = masked_state(&network, x.row(i), &actions.row(i)[..t], &p);
                let mut u = Mat::zeros(1, LABELS);
                network.disc.forward(u.view_mut(), View::new(&h, 1, 6), &p);
                let sum: f64 = (0..LABELS).map(|j| loss::bce_value(u[(0, j)], y[(i, j)])).sum();
                assert!((losses[(i, t)] - sum / 3.0).abs() < 1e-12, "{groups} {i} {t}");
            }
        }
    }
}

#[test]
fn every_feature_at_most_once_and_all_at_full_length() {
    let network = network(1);
    let Problem { p, x, y } = problem(&network, 70);
    let mut rollouts = Rollouts::new(network);
    let Sampled { actions, .. } = sample(&mut rollouts, (&x, &y), &p, (FEATURES, 1.0, 1));
    for i in 0..actions.rows() {
        let mut sorted = actions.row(i).to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..FEATURES).collect::<Vec<_>>());
    }
    assert!((0..70).any(|i| actions.row(i) != actions.row(0)), "rows draw their own numbers");
}

#[test]
fn rows_do_not_depend_on_their_neighbours() {
    let network = network(3);
    let Problem { p, x, y } = problem(&network, 70);
    let mut rollouts = Rollouts::new(network);
    let Sampled { actions: all, losses, .. } = sample(&mut rollouts, (&x, &y), &p, (4, 0.7, 5));
    let rows: Vec<usize> = (0..20).collect();
    let (x20, y20) = (x.select_rows(&rows), y.select_rows(&rows));
    let Sampled { actions: some, losses: some_losses, .. } =
        sample(&mut rollouts, (&x20, &y20), &p, (4, 0.7, 5));
    assert_eq!(some.as_slice(), &all.as_slice()[..20 * 4]);
    assert_eq!(some_losses, losses.select_rows(&rows));
    assert_ne!(sample(&mut rollouts, (&x, &y), &p, (4, 0.7, 6)).actions, all);
}

#[test]
fn frequencies_follow_the_policy() {
    let network = network(1);
    let mut p: Vec<f64> = network.init(&Streams::new(1));
    let b = network.feature_policy.b.slice_mut(&mut p);
    b[2] = libm::log(3.0); // probability 3/9, the others 1/9
    let x = Mat::zeros(4000, FEATURES);
    let y = Mat::zeros(4000, LABELS);
    let Sampled { actions, probabilities, .. } =
        sample(&mut Rollouts::new(network), (&x, &y), &p, (1, 1.0, 3));
    let share = actions.as_slice().iter().filter(|&&a| a == 2).count() as f64 / 4000.0;
    assert!((share - 1.0 / 3.0).abs() < 0.03, "{share}");
    assert!((probabilities[2] / 4000.0 - 1.0 / 3.0).abs() < 1e-9);
    assert!((probabilities.iter().sum::<f64>() / 4000.0 - 1.0).abs() < 1e-9);
}

#[test]
fn the_joint_loss_adds_up() {
    let network = network(1);
    let Problem { p, x, y } = problem(&network, 40);
    let mut rollouts = Rollouts::new(network.clone());
    let Sampled { actions, losses, .. } = sample(&mut rollouts, (&x, &y), &p, (3, 1.0, 2));
    let advantages = Advantages {
        reward: Mat::from_fn(40, 3, |i, _| -losses[(i, 3)]),
        baseline: vec![-0.5; 3],
        scale: vec![1.0, 2.0, 0.5],
    };
    let weights =
        Stage2Weights { supervised: vec![0.0, 0.25, 0.0, 1.0], policy: 0.3, temperature: 1.0 };
    let mut dp = vec![0.0; network.layout.len()];
    let (advantages, weights) = (&advantages, &weights);
    let replay = Replay { x: &x, y: &y, actions: &actions, advantages, weights };
    let got = rollouts.loss(Some(&mut dp), &replay, 0..40, &p);
    let (mut supervised, mut policy) = (0.0, 0.0);
    for i in 0..40 {
        supervised += 3.0 * (0.25 * losses[(i, 1)] + losses[(i, 3)]);
        for t in 0..3 {
            let h = masked_state(&network, x.row(i), &actions.row(i)[..t], &p);
            let mut s = Mat::zeros(1, FEATURES);
            network.feature_policy.forward(s.view_mut(), View::new(&h, 1, 6), &p);
            let open = |j: &usize| !actions.row(i)[..t].contains(j);
            let total: f64 = (0..FEATURES).filter(open).map(|j| libm::exp(s[(0, j)])).sum();
            let log_prob = s[(0, actions.row(i)[t])] - libm::log(total);
            let advantage = (0.5 - losses[(i, 3)]) * [1.0, 2.0, 0.5][t];
            policy -= 0.3 * advantage * log_prob;
        }
    }
    assert!((got.supervised - supervised).abs() < 1e-10);
    assert!((got.policy - policy).abs() < 1e-10);
    let unused = network.label_policy_range();
    assert!(dp[unused].iter().all(|&d| d == 0.0));
    // Gradients accumulate.
    let once = dp.clone();
    rollouts.loss(Some(&mut dp), &replay, 0..40, &p);
    for (a, b) in dp.iter().zip(&once) {
        assert!((a - 2.0 * b).abs() < 1e-12);
    }
    // Pieces of the batch add up to it.
    dp.fill(0.0);
    let (mut supervised, mut policy) = (0.0, 0.0);
    for part in [0..7, 7..40] {
        let loss = rollouts.loss(Some(&mut dp), &replay, part, &p);
        (supervised, policy) = (supervised + loss.supervised, policy + loss.policy);
    }
    assert!((supervised - got.supervised).abs() < 1e-12 && (policy - got.policy).abs() < 1e-12);
    for (a, b) in dp.iter().zip(&once) {
        assert!((a - b).abs() < 1e-12);
    }
}

/// The slow twin of kept activations is the replay: the same bits, whatever was kept before.
#[test]
fn kept_activations_give_the_bits_of_a_replay() {
    for (groups, norm) in [(1, NormPlace::Pre), (3, NormPlace::Pre), (2, NormPlace::Post)] {
        let network = network_with(groups, norm);
        let mut rollouts = Rollouts::new(network.clone());
        // Fewer states than are taken together, as many, and one or two more.
        for (rows, steps, key) in [(70, 4, 1), (3, 2, 2), (70, 5, 3), (40, 3, 4), (9, 7, 5)] {
            let Problem { p, x, y } = problem(&network, rows);
            let advantages = Advantages {
                reward: Mat::from_fn(rows, steps, |i, t| (i + t) as f64 * 0.01),
                baseline: vec![0.2; steps],
                scale: vec![1.5; steps],
            };
            let supervised = (0..=steps).map(|t| (t % 2) as f64).collect();
            let weights = Stage2Weights { supervised, policy: 0.3, temperature: 0.8 };
            let mut sampled = Sampled::default();
            let how = Sampling { steps, temperature: 0.8, key };
            rollouts.sample_and_keep(&mut sampled, (&x, &y), &p, how);
            let (actions, advantages, weights) = (&sampled.actions, &advantages, &weights);
            let replay = Replay { x: &x, y: &y, actions, advantages, weights };
            let (mut kept, mut again) = (vec![0.0; p.len()], vec![0.0; p.len()]);
            let of_kept = rollouts.loss_of_kept(&mut kept, &replay, &p);
            let mut fresh = Rollouts::new(network.clone());
            assert_eq!(fresh.loss(Some(&mut again), &replay, 0..rows, &p), of_kept);
            assert!(
                kept == again && kept.iter().any(|&g| g != 0.0),
                "{groups} groups, {rows} rows"
            );
        }
    }
}

#[test]
fn draws_respect_zero_probabilities() {
    let open = [false, true, false, true, true];
    assert_eq!(draw(&[0.0, 0.5, 0.0, 0.5], &open[..4], 0.0), 1);
    assert_eq!(draw(&[0.0, 0.5, 0.0, 0.5], &open[..4], 0.5), 3);
    assert_eq!(draw(&[0.0f32, 0.5, 0.0, 0.4999, 0.0], &open, 0.99999), 3);
    assert_eq!(draw(&[f64::NAN; 5], &open, 0.7), 1, "the first open one");
    let mean = (0..10_000).map(|i| uniform(7, i, 3)).sum::<f64>() / 10_000.0;
    assert!((mean - 0.5).abs() < 0.01);
}
