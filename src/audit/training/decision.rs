//! What the default preset decides with its beliefs: whether a network replaces the linear model, which labels are
//! kept, and how columns are weighted for Stage 2.

use super::relative_gap;
use crate::Result;
use crate::audit::check::{Check, Limit};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::Training;
use crate::method::pomdp_fs::belief::fit::BeliefFit;
use crate::method::pomdp_fs::belief::network::Observed;
use crate::method::pomdp_fs::stage1::labels::pseudo_labels;
use crate::method::pomdp_fs::{Config, Preset};
use crate::method::probe::weighting::Weighting;
use crate::num::Real;
use crate::rng::Streams;

/// Rows that the networks learn from.
const ROWS: usize = 300;
/// Confidences, scaled columns and the networks are in f32.
const SINGLE: Limit = Limit::AtMost(1e-5);

pub(super) fn checks(streams: &Streams) -> Result<Vec<Check>> {
    let mut checks = networks(&streams.child("networks"))?;
    checks.extend(threshold(streams));
    checks.extend(weighting(streams));
    Ok(checks)
}

/// Labels that a linear model cannot know, so that the networks win.
fn networks(streams: &Streams) -> Result<Vec<Check>> {
    let mut rng = streams.stream("data");
    let x = Mat::from_fn(ROWS, 3, |_, _| rng.normal() as f32);
    let candidates = Labels::from_fn(ROWS, 2, |i, j| x[(i, j)].abs() > 0.8 || rng.bernoulli(0.1));
    let config = Config {
        width: 16,
        heads: 2,
        layers: 1,
        batch: 16,
        dropout: 0.0,
        rate_disc: 3e-3,
        label_context: false,
        ..Config::new(Preset::Observation)
    };
    let mut fit = BeliefFit::new(
        &config,
        Training { x: &x, candidates: &candidates },
        streams.child("fit"),
        None,
    )?;
    while fit.more() {
        fit.advance()?;
    }
    let losses: Vec<f64> = fit.state.history.iter().filter_map(|e| e.held_out).collect();
    // The linear belief, epoch 0, is the smaller model: networks must win by 1e-4.
    let bar = |epoch: usize| losses[epoch] + if epoch == 0 { -1e-4 } else { 0.0 };
    let lowest = (0..losses.len()).min_by(|&a, &b| bar(a).total_cmp(&bar(b))).unwrap_or(0);
    let chosen = fit.state.best.as_ref().map_or(0, |best| best.epoch);

    // The loss of the last epoch by hand: every row by the network of the part that held it out, or of another.
    let states = &fit.state.parts;
    let network = config.belief_network(3, 2)?;
    let (linear, c): (_, Mat<f32>) = (fit.linear(), candidates.to_mat());
    let by_hand = |shift: usize| {
        let (base, u) = (linear.base.cast(), linear.logits.cast());
        let mut total = 0.0;
        for part in 0..states.len() {
            let p = &states[(part + shift) % states.len()].p;
            let mut saved = network.saved();
            let seen = Observed { x: x.view(), base: &base, linear: &u, c: &c };
            network.forward(&mut saved, seen, &linear.noise(), false, p, None);
            for i in linear.parts.rows(part) {
                for (j, &rho) in linear.rho.iter().enumerate() {
                    let q = 1.0 / (1.0 + Real::exp(-f64::from(saved.logits[(i, j)])));
                    let on = q + (1.0 - q) * rho;
                    total -= Real::ln(if candidates.get(i, j) { on } else { 1.0 - on });
                }
            }
        }
        total / (2 * ROWS) as f64
    };
    let last = losses.len() - 1;
    let gap = |shift: usize| (losses[last] - by_hand(shift)).abs();
    Ok(vec![
        Check::new(
            "decision/networks/epoch",
            format!(
                "the epoch of least held-out −ln P(C) is kept: {chosen} of {last}, {:.4} after {:.4} of the linear model; \
                 difference from the epoch that a look at all losses picks",
                losses[chosen], losses[0]
            ),
            chosen.abs_diff(lowest) as f64,
            Limit::Exactly(0.0),
        ),
        Check::control(
            "decision/networks/epoch",
            "the last epoch is kept",
            last.abs_diff(lowest) as f64,
            Limit::Exactly(0.0),
        ),
        Check::new(
            "decision/networks/loss",
            "the loss of an epoch against both cases of the observation model, each row by the network that never saw it",
            gap(0),
            Limit::AtMost(1e-9),
        ),
        Check::control(
            "decision/networks/loss",
            "each row by a network that was trained on it",
            gap(1),
            Limit::AtMost(1e-9),
        ),
    ])
}

/// The labels of a row against all subsets of its candidates: none has fewer wrong cells in expectation.
fn threshold(streams: &Streams) -> Vec<Check> {
    let mut rng = streams.stream("threshold");
    let p = Mat::from_fn(300, 5, |i, _| rng.uniform() as f32 * if i % 2 == 0 { 1.0 } else { 0.6 });
    let candidates = Labels::from_fn(300, 5, |_, _| rng.bernoulli(0.7));
    let expected = |i: usize, on: &dyn Fn(usize) -> bool| -> f64 {
        let own = (0..5).filter(|&j| candidates.get(i, j));
        own.map(|j| f64::from(if on(j) { 1.0 - p[(i, j)] } else { p[(i, j)] })).sum()
    };
    let excess = |labels: &Labels, empty: bool| {
        let mut worst = 0.0f64;
        for i in (0..300).filter(|&i| candidates.row(i).contains(&true)) {
            let inside = |s: &usize| (0..5).all(|j| s >> j & 1 == 0 || candidates.get(i, j));
            let subsets = (usize::from(!empty)..32).filter(inside);
            let best =
                subsets.map(|s| expected(i, &|j| s >> j & 1 == 1)).fold(f64::INFINITY, f64::min);
            worst = worst.max((expected(i, &|j| labels.get(i, j)) - best).abs());
        }
        worst
    };
    let strict = Labels::from_fn(300, 5, |i, j| candidates.get(i, j) && p[(i, j)] >= 0.6);
    let plain = pseudo_labels(&p, &candidates, false);
    let at_least_one = pseudo_labels(&p, &candidates, true);
    vec![
        Check::new(
            "decision/threshold",
            "expected wrong cells of a row's labels, above the least of all subsets of its candidates",
            excess(&plain, true),
            SINGLE,
        ),
        Check::control("decision/threshold", "a threshold of 0.6", excess(&strict, true), SINGLE),
        Check::new(
            "decision/at-least-one",
            "the same among the subsets that are not empty",
            excess(&at_least_one, false),
            SINGLE,
        ),
        Check::control(
            "decision/at-least-one",
            "rows without a label are left so",
            excess(&plain, false),
            SINGLE,
        ),
    ]
}

/// Columns and targets of the probe, against the ranks themselves.
fn weighting(streams: &Streams) -> Vec<Check> {
    let mut rng = streams.stream("weighting");
    // Values without ties, few values, mostly zeros, one far out.
    let x = Mat::from_fn(120, 4, |i, a| match a {
        0 => rng.normal() as f32,
        1 => rng.below(3) as f32,
        2 => (if rng.bernoulli(0.1) { rng.uniform() } else { 0.0 }) as f32,
        _ => {
            if i == 7 {
                50.0
            } else {
                rng.normal() as f32
            }
        }
    });
    let moments = |v: &[f64]| {
        let mean = v.iter().sum::<f64>() / v.len() as f64;
        let squares: f64 = v.iter().map(|v| (v - mean) * (v - mean)).sum();
        (mean, (squares / v.len() as f64).sqrt())
    };
    let column = |a: usize, moved: bool, weighted: bool| {
        let values: Vec<f64> = (0..120).map(|i| f64::from(x[(i, a)])).collect();
        // Mid-ranks: how many are less, and half of those that are equal.
        let rank = |v: &f64| {
            let less = values.iter().filter(|w| *w < v).count() as f64;
            less + 0.5 * values.iter().filter(|w| *w == v).count() as f64
        };
        let ranks: Vec<f64> = values.iter().map(rank).collect();
        // Ranks without ties fill [0, n] evenly: deviation n/√12.
        let spread = if weighted { moments(&ranks).1 / (120.0 / 12.0f64.sqrt()) } else { 1.0 };
        let (mean, deviation) = moments(&values);
        let near = |v: &f64| {
            let off = (v - mean) / deviation;
            mean + deviation * if moved && off.abs() > 2.5 { 2.5f64.copysign(off) } else { off }
        };
        let values: Vec<f64> = values.iter().map(near).collect();
        let (mean, deviation) = moments(&values);
        values.into_iter().map(|v| (v - mean) / deviation * spread).collect::<Vec<f64>>()
    };
    let seen = Weighting::Spread.features(&x);
    let gap = |moved: bool, weighted: bool| {
        let of = |a: usize| {
            let found = (0..120).map(|i| f64::from(seen[(i, a)]));
            relative_gap(found, &column(a, moved, weighted))
        };
        (0..4).map(of).fold(0.0, f64::max)
    };
    let targets = Mat::from_fn(120, 3, |i, j| match j {
        2 => 1e-6 * i as f64,
        _ => f64::from(u8::from(rng.bernoulli(0.1 + 0.4 * j as f64))),
    });
    let found = Weighting::Spread.targets(&targets);
    let target_gap = |floor: bool, root: bool| {
        // A label with one certain positive has the deviation √(1/n · (1 − 1/n)).
        let least = if floor { (1.0f64 / 120.0 * (1.0 - 1.0 / 120.0)).sqrt() } else { 0.0 };
        let divisor = |j: usize| {
            let column: Vec<f64> = (0..120).map(|i| targets[(i, j)]).collect();
            let deviation = moments(&column).1.max(least);
            if root { deviation.sqrt() } else { deviation }
        };
        let slow = Mat::from_fn(120, 3, |i, j| targets[(i, j)] / divisor(j));
        relative_gap(found.as_slice().to_vec(), slow.as_slice())
    };
    vec![
        Check::new(
            "decision/weighting/features",
            "columns that Stage 2 sees, against the deviation of their mid-ranks, values within 2.5 deviations",
            gap(true, true),
            SINGLE,
        ),
        Check::control(
            "decision/weighting/features",
            "values far out stay there",
            gap(false, true),
            SINGLE,
        ),
        Check::control(
            "decision/weighting/ranks",
            "columns of deviation 1, however few values they have",
            gap(true, false),
            SINGLE,
        ),
        Check::new(
            "decision/weighting/targets",
            "targets over the root of their deviation, none below that of one certain positive",
            target_gap(true, true),
            Limit::AtMost(1e-12),
        ),
        Check::control(
            "decision/weighting/targets",
            "no least deviation: noise is blown up",
            target_gap(false, true),
            Limit::AtMost(1e-12),
        ),
        Check::control(
            "decision/weighting/targets",
            "all labels count alike",
            target_gap(true, false),
            Limit::AtMost(1e-12),
        ),
    ]
}
