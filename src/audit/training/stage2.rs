//! Stage 2 of preset `paper`: advantage and moving baseline over real training steps, credits and rankings.

use super::relative_gap;
use crate::Result;
use crate::audit::check::{Check, Limit};
use crate::linalg::Mat;
use crate::method::pomdp_fs::stage2::loss::{Advantages, Replay, Stage2Weights};
use crate::method::pomdp_fs::stage2::ranking::{Credits, FeatureStatistics};
use crate::method::pomdp_fs::stage2::rollout::{Actions, Rollouts, Sampled, Sampling};
use crate::method::pomdp_fs::stage2::train::{Epoch2, Trainer2};
use crate::method::pomdp_fs::{Config, Network, Preset, Ranking};
use crate::rng::Streams;

const ROWS: usize = 20;
const FEATURES: usize = 6;
const LABELS: usize = 3;
const BUDGET: usize = 3;
const STEPS: usize = 5;

pub(super) fn checks(streams: &Streams) -> Result<Vec<Check>> {
    let mut checks = training(streams)?;
    checks.extend(rankings(streams));
    Ok(checks)
}

/// Five steps: b against its closed form, and the gradient of the last one against A = r − b.
fn training(streams: &Streams) -> Result<Vec<Check>> {
    let mut rng = streams.stream("data");
    let x = Mat::from_fn(ROWS, FEATURES, |_, _| rng.normal() as f32);
    let y = Mat::from_fn(ROWS, LABELS, |_, _| f32::from(u8::from(rng.bernoulli(0.4))));
    let config = Config {
        width: 8,
        heads: 2,
        layers: 1,
        clip: 1e9,
        batch: ROWS,
        ..Config::new(Preset::Paper)
    };
    let network = Network::new(config.network(FEATURES, LABELS))?;
    let rows: Vec<usize> = (0..ROWS).collect();
    let mut trainer =
        Trainer2::new(&config, network.clone(), &x, y.clone(), BUDGET, streams.child("fit"));
    let mut state = trainer.start(network.init(&streams.child("init")));
    let mut rewards = Vec::new();
    let mut last = None;
    for step in 0..STEPS {
        let before = state.clone();
        let key = streams.key(&format!("actions/{step}"));
        let mut record = Epoch2::default();
        trainer.step(&mut state, &rows, key, &mut record)?;
        rewards.push(-record.loss_end);
        last = Some((before, key));
    }
    let closed = |beta: f64| -> f64 {
        let ages = (0..STEPS).rev();
        rewards
            .iter()
            .zip(ages)
            .map(|(r, age)| r * (0..age).fold(beta, |w, _| w * (1.0 - beta)))
            .sum()
    };
    let gap = |beta: f64| (state.baseline - closed(beta)).abs();

    // The last step's gradient of ψ: m_t = β₁ m_{t−1} + (1 − β₁) g.
    let (before, key) = last.expect("five steps");
    let moments = state.psi.m.iter().zip(&before.psi.m);
    let used: Vec<f64> =
        moments.map(|(&m, &old)| (f64::from(m) - 0.9 * f64::from(old)) / 0.1).collect();
    let mut sampled = Sampled::default();
    let how = Sampling { steps: BUDGET, temperature: config.temperature as f32, key };
    Rollouts::new(network.clone()).sample(&mut sampled, (&x, &y), &before.p, how);
    let reward =
        -(0..ROWS).map(|i| f64::from(sampled.losses[(i, BUDGET)])).sum::<f64>() / ROWS as f64;
    let (x, y): (Mat<f64>, Mat<f64>) = (x.cast(), y.cast());
    let p: Vec<f64> = before.p.iter().map(|&w| f64::from(w)).collect();
    let gradient = |advantage: f64| {
        let advantages = Advantages {
            reward: Mat::from_fn(ROWS, BUDGET, |_, _| advantage),
            baseline: vec![0.0; BUDGET],
            scale: vec![1.0; BUDGET],
        };
        let weights = Stage2Weights {
            supervised: vec![0.0; BUDGET + 1],
            policy: config.lambda_fs / ROWS as f64,
            temperature: config.temperature,
        };
        let replay = Replay {
            x: &x,
            y: &y,
            actions: &sampled.actions,
            advantages: &advantages,
            weights: &weights,
        };
        let mut dp = vec![0.0; network.layout.len()];
        Rollouts::new(network.clone()).loss(Some(&mut dp), &replay, 0..ROWS, &p);
        dp[network.feature_policy_range()].to_vec()
    };
    let single = Limit::AtMost(2e-3);
    Ok(vec![
        Check::new(
            "stage2/paper/baseline",
            "b after 5 training steps against Σ β(1 − β)^age r",
            gap(config.beta),
            Limit::AtMost(1e-12),
        ),
        Check::new(
            "stage2/paper/advantage",
            "gradient of ψ that the fifth step used, against one number r − b for every action (f32)",
            relative_gap(used.clone(), &gradient(reward - before.baseline)),
            single,
        ),
        Check::control(
            "stage2/paper/baseline",
            "β and 1 − β are exchanged",
            gap(1.0 - config.beta),
            Limit::AtMost(1e-12),
        ),
        Check::control(
            "stage2/paper/advantage",
            "the reward without its baseline",
            relative_gap(used, &gradient(reward)),
            single,
        ),
    ])
}

/// Credits and rankings of random rollouts, counted by hand.
fn rankings(streams: &Streams) -> Vec<Check> {
    let mut rng = streams.stream("rankings");
    let rollouts: Vec<Vec<usize>> =
        (0..40).map(|_| rng.permutation(FEATURES + 2)[..BUDGET].to_vec()).collect();
    // The last feature is never selected.
    let rollouts: Vec<Vec<usize>> =
        rollouts.into_iter().filter(|r| !r.contains(&(FEATURES + 1))).collect();
    let losses = Mat::from_fn(rollouts.len(), BUDGET + 1, |_, _| rng.uniform() as f32);
    let mut credits = Credits::new(FEATURES + 2);
    credits.add(&Actions::new(&rollouts), &losses);
    let found = credits.shrunken();
    let of = |a: usize, shrink: bool| {
        let mut sum = 0.0;
        let mut count = 0.0;
        for (i, r) in rollouts.iter().enumerate() {
            if let Some(t) = r.iter().position(|&b| b == a) {
                sum += f64::from(losses[(i, t)] - losses[(i, t + 1)]);
                count += 1.0;
            }
        }
        let usual = (rollouts.len() * BUDGET) as f64 / (FEATURES + 2) as f64;
        if count == 0.0 { 0.0 } else { sum / (count + if shrink { usual } else { 0.0 }) }
    };
    let by_hand = |shrink: bool| (0..FEATURES + 2).map(|a| of(a, shrink)).collect::<Vec<_>>();
    let share = |a: usize| {
        rollouts.iter().filter(|r| r.contains(&a)).count() as f64 / rollouts.len() as f64
    };
    let statistics = FeatureStatistics {
        frequency: (0..FEATURES + 2).map(share).collect(),
        credit: found.clone(),
        score: (0..FEATURES + 2).map(|_| rng.uniform()).collect(),
    };
    let (mut out_of_order, mut reversed) = (0, 0);
    for ranking in [Ranking::Frequency, Ranking::Credit, Ranking::Score] {
        let order = statistics.rank(ranking);
        let key = |a: usize| {
            let score = match ranking {
                Ranking::Frequency => statistics.frequency[a],
                Ranking::Credit => statistics.credit[a],
                Ranking::Score => statistics.score[a],
            };
            (share(a) > 0.0, score, statistics.score[a])
        };
        for (k, r) in order.iter().enumerate() {
            // By counting: the place of a feature is the number of features before it.
            let better = (0..order.len()).filter(|&b| key(b) > key(r.feature)).count();
            out_of_order += usize::from(better != k);
            reversed += usize::from(better != order.len() - 1 - k);
        }
    }
    let exact = Limit::AtMost(1e-12);
    vec![
        Check::new(
            "stage2/credit",
            "shrunken mean credit of each feature against a count by hand",
            relative_gap(found.clone(), &by_hand(true)),
            exact,
        ),
        Check::new(
            "stage2/rankings",
            "places that differ from a count of better features, three rankings",
            out_of_order as f64,
            Limit::Exactly(0.0),
        ),
        Check::control(
            "stage2/credit",
            "credits that are not shrunken",
            relative_gap(found, &by_hand(false)),
            exact,
        ),
        Check::control(
            "stage2/rankings",
            "the worst feature first",
            reversed as f64,
            Limit::Exactly(0.0),
        ),
    ]
}
