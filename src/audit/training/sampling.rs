//! Frequencies of what is drawn against the probabilities that the policies say.

use super::{LEVEL, p_value};
use crate::Result;
use crate::audit::check::{Check, Limit};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::pomdp_fs::Network;
use crate::method::pomdp_fs::stage1::train::sample;
use crate::method::pomdp_fs::stage2::rollout::{Rollouts, Sampled, Sampling};
use crate::nn::{BatchSaved, EncoderConfig};
use crate::num::Real;
use crate::rng::Streams;

const FEATURES: usize = 4;
const ROLLOUTS: usize = 20_000;

pub(super) fn checks(streams: &Streams) -> Result<Vec<Check>> {
    let mut checks = labels(streams);
    checks.extend(features(streams)?);
    let weights = [0.0, 0.2, 0.5, 0.0, 0.3];
    let mut rng = streams.stream("categorical");
    let mut counts = [0.0; 5];
    (0..100_000).for_each(|_| counts[rng.categorical(&weights)] += 1.0);
    checks.push(Check::new(
        "sampling/categorical",
        "10^5 draws of the feature policy of the default preset: p-value",
        p_value(&counts, &weights.map(|w| 1e5 * w)),
        LEVEL,
    ));
    Ok(checks)
}

/// Z in f32: all joint outcomes of three candidates, with a fourth label that is none.
fn labels(streams: &Streams) -> Vec<Check> {
    const DRAWS: usize = 200_000;
    let scores = [0.7f32, -1.1, 0.2, 3.0];
    let open = [true, true, true, false];
    let mut rng = streams.stream("labels");
    let rows = 1000;
    let all = Mat::from_fn(rows, 4, |_, j| scores[j]);
    let candidates = Labels::from_fn(rows, 4, |_, j| open[j]);
    let (mut z, mut counts) = (Mat::zeros(0, 4), vec![0.0; 16]);
    for _ in 0..DRAWS / rows {
        sample(&mut z, &all, &candidates, &mut rng);
        for row in z.rows_iter() {
            let outcome: usize = (0..4).filter(|&j| row[j] == 1.0).map(|j| 1 << j).sum();
            counts[outcome] += 1.0;
        }
    }
    let expected = |shift: f64| -> Vec<f64> {
        let of = |outcome: usize| {
            let label = |j: usize| {
                let p = if open[j] { (f64::from(scores[j]) + shift).sigmoid() } else { 0.0 };
                if outcome >> j & 1 == 1 { p } else { 1.0 - p }
            };
            DRAWS as f64 * (0..4).map(label).product::<f64>()
        };
        (0..16).map(of).collect()
    };
    vec![
        Check::new(
            "sampling/labels",
            "joint outcomes of Z in 200,000 draws against Π σ(s) on C, 0 outside: p-value",
            p_value(&counts, &expected(0.0)),
            LEVEL,
        ),
        Check::control(
            "sampling/labels",
            "scores that are off by 0.05",
            p_value(&counts, &expected(0.05)),
            LEVEL,
        ),
    ]
}

/// Ordered pairs of features in rollouts of two steps, against the product of two softmaxes.
fn features(streams: &Streams) -> Result<Vec<Check>> {
    let encoder = EncoderConfig { width: 6, heads: 2, ffn: 7, ..EncoderConfig::paper(FEATURES, 3) };
    let network = Network::new(encoder)?;
    let mut p: Vec<f64> = network.init(&streams.child("init"));
    let mut rng = streams.stream("features");
    p[network.feature_policy_range()].iter_mut().for_each(|w| *w = 0.5 * rng.normal());
    let x: Vec<f64> = (0..FEATURES).map(|_| rng.normal()).collect();

    let many = Mat::from_fn(ROLLOUTS, FEATURES, |_, a| x[a]);
    let mut sampled = Sampled::default();
    let how = Sampling { steps: 2, temperature: 1.0, key: streams.key("actions") };
    Rollouts::new(network.clone()).sample(&mut sampled, (&many, &Mat::zeros(ROLLOUTS, 3)), &p, how);
    let mut counts = vec![0.0; FEATURES * FEATURES];
    for i in 0..ROLLOUTS {
        let pair = sampled.actions.row(i);
        counts[pair[0] * FEATURES + pair[1]] += 1.0;
    }
    // π(· | the features in `shown`): the whole encoder on the masked row, no incremental token.
    let policy = |shown: &[usize], temperature: f64| -> Vec<f64> {
        let masked = Mat::from_fn(1, FEATURES, |_, a| if shown.contains(&a) { x[a] } else { 0.0 });
        let mut saved = BatchSaved::new(&network.layout, network.encoder_range().end);
        let (mut phi, none) = (Mat::zeros(0, 6), Mat::zeros(1, 3));
        let token = encoder.candidate_token.then_some(none.view());
        network.encoder.forward_batch(&mut phi, &mut saved, masked.view(), token, &p, None);
        let mut scores = Mat::zeros(1, FEATURES);
        network.feature_policy.forward(scores.view_mut(), phi.view(), &p);
        let weight = |a: usize| {
            if shown.contains(&a) { 0.0 } else { Real::exp(scores[(0, a)] / temperature) }
        };
        let total: f64 = (0..FEATURES).map(weight).sum();
        (0..FEATURES).map(|a| weight(a) / total).collect()
    };
    let expected = |temperature: f64| -> Vec<f64> {
        let first = policy(&[], temperature);
        (0..FEATURES)
            .flat_map(|a| policy(&[a], temperature).into_iter().map(move |q| (a, q)))
            .map(|(a, q)| ROLLOUTS as f64 * first[a] * q)
            .collect()
    };
    let again = (0..FEATURES).map(|a| counts[a * FEATURES + a]).sum::<f64>();
    Ok(vec![
        Check::new(
            "sampling/features",
            "ordered pairs in 20,000 rollouts against the product of two softmaxes: p-value",
            p_value(&counts, &expected(1.0)),
            LEVEL,
        ),
        Check::new(
            "sampling/never-twice",
            "rollouts that select a feature twice",
            again,
            Limit::Exactly(0.0),
        ),
        Check::control(
            "sampling/features",
            "temperature 1.3 instead of 1",
            p_value(&counts, &expected(1.3)),
            LEVEL,
        ),
    ])
}
