//! What several fits agree on.

use super::relative_gap;
use crate::Result;
use crate::audit::check::{Check, Limit};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::pomdp_fs::{Config, Consensus, PomdpFs, Preset};
use crate::method::{Context, Fitted, Method, Silent, Training};
use crate::rng::Streams;

/// Confidences are in f32.
const SINGLE: Limit = Limit::AtMost(1e-5);

/// Three fits at once against three fits one by one.
pub(super) fn checks(streams: &Streams) -> Result<Vec<Check>> {
    let mut rng = streams.stream("data");
    let x = Mat::from_fn(80, 6, |_, _| rng.normal() as f32);
    let candidates = Labels::from_fn(80, 3, |i, j| x[(i, j)] > 0.6 || rng.bernoulli(0.3));
    let config =
        Config { width: 8, heads: 2, epochs1: 2, rollouts: 4, ..Config::new(Preset::Observation) };
    let (method, budget) = (PomdpFs::new(config), 3);
    let training = Training { x: &x, candidates: &candidates };
    let run = |method: &dyn Method, streams: Streams| {
        method.fit(&training, &mut Context { streams, budget, observer: &mut Silent })
    };
    let own = |seed: usize| match seed {
        0 => streams.clone(),
        _ => streams.child(&format!("seed/{seed}")),
    };
    let single = (0..3).map(|seed| run(&method, own(seed))).collect::<Result<Vec<Fitted>>>()?;
    let joint = run(&Consensus::new(method.clone(), 3)?, streams.clone())?;

    let cells = |f: &Fitted| -> Vec<f64> {
        let confidence = f.confidence.as_ref().map_or(&[][..], |p| p.as_slice());
        confidence.iter().map(|&p| f64::from(p)).collect()
    };
    let all: Vec<Vec<f64>> = single.iter().map(cells).collect();
    let mean: Vec<f64> = (0..80 * 3).map(|k| (all[0][k] + all[1][k] + all[2][k]) / 3.0).collect();
    let place = |f: &Fitted, a: usize| f.ranking.iter().position(|r| r.feature == a).unwrap_or(6);
    let sums: Vec<usize> = (0..6).map(|a| single.iter().map(|f| place(f, a)).sum()).collect();
    let better = |a: usize| (0..6).filter(|&b| (sums[b], b) < (sums[a], a)).count();
    let out_of_place = |wanted: &dyn Fn(usize) -> usize| {
        (0..6).filter(|&a| wanted(a) != place(&joint, a)).count() as f64
    };
    // Pearson's correlation of the places, and shares of equal cells, over the three pairs.
    let pairs = [(0, 1), (0, 2), (1, 2)];
    let correlation = |(a, b): (usize, usize)| {
        let of = |f: &Fitted| (0..6).map(|k| place(f, k) as f64 - 2.5).collect::<Vec<f64>>();
        let (a, b) = (of(&single[a]), of(&single[b]));
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        product(&a, &b) / product(&a, &a)
    };
    let on = candidates.as_slice();
    let agreement = |(a, b): (usize, usize), open: bool| {
        let same = |k: &usize| (all[a][*k] >= 0.5) == (all[b][*k] >= 0.5);
        let counted: Vec<usize> = (0..on.len()).filter(|&k| open || on[k]).collect();
        counted.iter().filter(|k| same(k)).count() as f64 / counted.len() as f64
    };
    let mean_of =
        |f: &dyn Fn((usize, usize)) -> f64| pairs.iter().map(|&p| f(p)).sum::<f64>() / 3.0;
    let found = joint.stability.as_ref();
    let stable = found.map_or(f64::NAN, |s| s.candidate_agreement);
    let ranks = found.map_or(f64::NAN, |s| s.ranking_correlation);
    let exact = Limit::AtMost(1e-12);
    Ok(vec![
        Check::new(
            "consensus/confidence",
            "confidences of three fits at once, against the mean of three fits one by one",
            relative_gap(cells(&joint), &mean),
            SINGLE,
        ),
        Check::control(
            "consensus/confidence",
            "the first fit alone",
            relative_gap(cells(&joint), &all[0]),
            SINGLE,
        ),
        Check::new(
            "consensus/ranking",
            "features that are not where a count of smaller sums of places puts them",
            out_of_place(&better),
            Limit::Exactly(0.0),
        ),
        Check::control(
            "consensus/ranking",
            "the feature with the largest sum first",
            out_of_place(&|a| 5 - better(a)),
            Limit::Exactly(0.0),
        ),
        Check::new(
            "consensus/agreement",
            "share of candidates on which two fits agree and correlation of their rankings, against sums by hand",
            (stable - mean_of(&|p| agreement(p, false)))
                .abs()
                .max((ranks - mean_of(&correlation)).abs()),
            exact,
        ),
        Check::control(
            "consensus/agreement",
            "cells that cannot differ are counted too",
            (stable - mean_of(&|p| agreement(p, true))).abs(),
            exact,
        ),
    ])
}
