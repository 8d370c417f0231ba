//! Stage 1 of both presets: reward, advantage and baseline, read off a real training step.
//!
//! After the first step Adam's first moment is (1 − β₁) g: the gradient that the step really used. It is
//! compared with the formula of the method, written out in f64.

use super::{neighbours, relative_gap};
use crate::Result;
use crate::audit::check::{Check, Limit};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::Training;
use crate::method::observation::likelihood::NoiseRate;
use crate::method::pomdp_fs::belief::train::{PartTrainer, Shared};
use crate::method::pomdp_fs::stage1::train::{Epoch1, StepRandom, Trainer1, sample};
use crate::method::pomdp_fs::{Config, Network, Preset};
use crate::num::Real;
use crate::rng::{Rng, Streams};

const ROWS: usize = 24;
const FEATURES: usize = 5;
const LABELS: usize = 3;
/// Training is in f32, through a whole encoder.
const SINGLE: Limit = Limit::AtMost(1e-4);

fn small(preset: Preset) -> Config {
    Config {
        width: 8,
        heads: 2,
        layers: 1,
        dropout: 0.0,
        clip: 1e9,
        batch: ROWS,
        ..Config::new(preset)
    }
}

fn data(streams: &Streams) -> (Mat<f32>, Labels) {
    let mut rng = streams.stream("data");
    let x = Mat::from_fn(ROWS, FEATURES, |_, _| rng.normal() as f32);
    let candidates = Labels::from_fn(ROWS, LABELS, |_, _| rng.bernoulli(0.6));
    (x, candidates)
}

/// The gradient of the step that Adam has just taken as its first.
fn first_gradient(m: &[f32]) -> Vec<f64> {
    m.iter().map(|&m| f64::from(m) / (1.0 - 0.9)).collect()
}

pub(super) fn checks(streams: &Streams) -> Result<Vec<Check>> {
    let mut checks = printed(&streams.child("paper"))?;
    checks.extend(observed(&streams.child("observation"))?);
    Ok(checks)
}

/// Preset `paper`: r = −ℓ_disc of the batch, A = r/B for every candidate, no baseline.
fn printed(streams: &Streams) -> Result<Vec<Check>> {
    let (x, candidates) = data(streams);
    // A graph term that shows.
    let config = Config { lambda_struct: 0.5, ..small(Preset::Paper) };
    let network = Network::new(config.network(FEATURES, LABELS))?;
    let rows: Vec<usize> = (0..ROWS).collect();
    let training = Training { x: &x, candidates: &candidates };
    let mut trainer =
        Trainer1::new(&config, network.clone(), training, rows.clone(), streams.child("fit"));
    let mut state = trainer.start();
    let before = state.p.clone();
    let actions = || streams.stream("actions");
    let mut record = Epoch1::default();
    trainer.step(&mut state, &rows, StepRandom { dropout: 0, actions: actions() }, &mut record)?;
    let used = first_gradient(&state.policy.m);

    let c: Mat<f32> = candidates.to_mat();
    let mut single = network.stage1_saved();
    network.forward(&mut single, (x.view(), c.view()), &before, None);
    let mut z = Mat::zeros(0, LABELS);
    sample(&mut z, &single.scores, &candidates, &mut actions());
    let p: Vec<f64> = before.iter().map(|&w| f64::from(w)).collect();
    let (x, c): (Mat<f64>, Mat<f64>) = (x.cast(), c.cast());
    let mut saved = network.stage1_saved();
    network.forward(&mut saved, (x.view(), c.view()), &p, None);

    let cells = (ROWS * LABELS) as f64;
    let bce: f64 = (0..ROWS)
        .flat_map(|i| (0..LABELS).map(move |j| (i, j)))
        .map(|cell| {
            let q = 1.0 / (1.0 + Real::exp(-saved.logits[cell]));
            -Real::ln(if z[cell] == 1.0 { q } else { 1.0 - q })
        })
        .sum();
    let edges = neighbours::slow(&x, config.neighbours, false);
    let structure: f64 = edges
        .iter()
        .map(|&(i, k, w)| {
            let off = |j: usize| saved.logits[(i, j)] - saved.logits[(k, j)];
            w * (0..LABELS).map(|j| off(j) * off(j)).sum::<f64>()
        })
        .sum();
    let reward = -(bce + config.lambda_struct * structure) / cells;
    let gradient = |advantage: f64| {
        let mut g = vec![0.0; network.label_policy_range().len()];
        for i in 0..ROWS {
            for j in (0..LABELS).filter(|&j| candidates.get(i, j)) {
                let p = saved.scores[(i, j)].sigmoid();
                let ds = -advantage * (f64::from(z[(i, j)]) - p);
                for (k, &phi) in saved.phi.row(i).iter().enumerate() {
                    g[k * LABELS + j] += ds * phi;
                }
                let bias = g.len() - LABELS + j;
                g[bias] += ds;
            }
        }
        g
    };
    let share = 1.0 / ROWS as f64;
    Ok(vec![
        Check::new(
            "stage1/paper/reward",
            "r = −ℓ_disc of a training step, against BCE and graph term by hand",
            (record.reward - reward).abs() / reward.abs(),
            SINGLE,
        ),
        Check::new(
            "stage1/paper/advantage",
            "gradient of θ that the step used, against −(r/B) Σ ∇ln π by hand",
            relative_gap(used.clone(), &gradient(reward * share)),
            SINGLE,
        ),
        Check::control(
            "stage1/paper/reward",
            "the graph term is forgotten",
            (record.reward + bce / cells).abs() / reward.abs(),
            SINGLE,
        ),
        Check::control(
            "stage1/paper/advantage",
            "a baseline that the printed form does not have: r/2",
            relative_gap(used, &gradient(0.5 * reward * share)),
            SINGLE,
        ),
    ])
}

/// Preset `observation`: reward with the noise rate and the entropy, minus its exact expectation.
fn observed(streams: &Streams) -> Result<Vec<Check>> {
    let (x, candidates) = data(streams);
    let config = small(Preset::Observation);
    let mut rng = streams.stream("belief");
    let logits = |rng: &mut Rng| Mat::from_fn(ROWS, LABELS, |_, _| rng.normal() as f32);
    let rho = [0.1f32, 0.2, 0.4];
    let shared = Shared {
        config: &config,
        x: &x,
        candidates: &candidates,
        base: logits(&mut rng),
        linear: logits(&mut rng),
        noise: rho.iter().map(|&r| NoiseRate::new(r)).collect(),
        with_context: true,
    };
    let network = config.belief_network(FEATURES, LABELS)?;
    let rows: Vec<usize> = (0..ROWS).collect();
    let mut trainer = PartTrainer::new(network.clone(), rows.clone(), Vec::new(), &shared);
    let mut state = trainer.start(&shared, &streams.child("init"));
    // At the posterior, where it starts, the gradient is zero.
    state.p[network.policy_range()].iter_mut().for_each(|w| *w += 0.5 * rng.normal() as f32);
    let before = state.p.clone();
    let actions = || streams.stream("actions");
    let mut record = Epoch1::default();
    trainer.step(&mut state, &shared, &rows, 0, &mut actions(), &mut record)?;
    let used = first_gradient(&state.policy.m);

    let c: Mat<f32> = candidates.to_mat();
    let mut saved = network.saved();
    let seen = crate::method::pomdp_fs::belief::network::Observed {
        x: x.view(),
        base: &shared.base,
        linear: &shared.linear,
        c: &c,
    };
    network.forward(&mut saved, seen, &shared.noise, true, &before, None);
    let mut z = Mat::zeros(0, LABELS);
    sample(&mut z, &saved.scores, &candidates, &mut actions());
    let gradient = |with_rho: bool, with_baseline: bool| {
        let (mut g, mut total) = (vec![0.0; 2 * LABELS], 0.0);
        for i in 0..ROWS {
            for j in (0..LABELS).filter(|&j| candidates.get(i, j)) {
                let (u, s) = (f64::from(saved.logits[(i, j)]), f64::from(saved.scores[(i, j)]));
                let (q, p) = (1.0 / (1.0 + Real::exp(-u)), 1.0 / (1.0 + Real::exp(-s)));
                let noise = if with_rho { Real::ln(f64::from(rho[j])) } else { 0.0 };
                let keep = Real::ln(q) - Real::ln(p);
                let drop = Real::ln(1.0 - q) + noise - Real::ln(1.0 - p);
                let kept = f64::from(z[(i, j)]);
                let reward = kept * keep + (1.0 - kept) * drop;
                let baseline = if with_baseline { p * keep + (1.0 - p) * drop } else { 0.0 };
                let ds = -(reward - baseline) / ROWS as f64 * (kept - p);
                g[j] += ds * u;
                g[LABELS + j] += ds;
                total += reward;
            }
        }
        (g, total / candidates.count() as f64)
    };
    let (right, reward) = gradient(true, true);
    Ok(vec![
        Check::new(
            "stage1/observation/reward",
            "mean reward of a candidate in a training step, against the observation model by hand",
            (record.reward - reward).abs() / reward.abs(),
            SINGLE,
        ),
        Check::new(
            "stage1/observation/advantage",
            "gradient of slope and offset that the step used, with the exact expectation as baseline",
            relative_gap(used.clone(), &right),
            SINGLE,
        ),
        Check::control(
            "stage1/observation/advantage",
            "dropping a candidate costs nothing",
            relative_gap(used.clone(), &gradient(false, true).0),
            SINGLE,
        ),
        Check::control(
            "stage1/observation/baseline",
            "the baseline is forgotten",
            relative_gap(used, &gradient(true, false).0),
            SINGLE,
        ),
    ])
}
