//! ρ: its start from below the data, the rates of single labels, and that nothing moves them afterwards.

use crate::Result;
use crate::audit::check::{Check, Limit};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::Training;
use crate::method::observation::envelope::{self, BOUNDS};
use crate::method::pomdp_fs::belief::fit::BeliefFit;
use crate::method::pomdp_fs::{Config, Preset};
use crate::rng::Streams;

/// The smallest share of candidates by ranks: a cell is among the lowest k when fewer than k cells lie below it. No
/// cut has fewer than `least` cells, or half of all.
fn smallest_share(s: &[f64], c: &[bool], least: usize) -> f64 {
    let rank = |k: usize| (0..s.len()).filter(|&l| (s[l], l) < (s[k], k)).count();
    let ranks: Vec<usize> = (0..s.len()).map(rank).collect();
    let share = |percent: usize| {
        let size = (s.len() * percent / 100).max(least.min(s.len() / 2));
        (0..s.len()).filter(|&k| ranks[k] < size && c[k]).count() as f64 / size as f64
    };
    (1..=10).map(|k| share(5 * k)).fold(1.0, f64::min)
}

/// One rate for all cells.
pub(super) fn slow(scores: &Mat<f64>, candidates: &Labels, least: usize) -> f64 {
    smallest_share(scores.as_slice(), candidates.as_slice(), least).clamp(BOUNDS.0, BOUNDS.1)
}

/// A rate for each label: its own smallest share counts as much as its rows, the shared rate as much as `shrink` rows.
fn slow_by_label(scores: &Mat<f64>, candidates: &Labels, shared: f64, shrink: f64) -> Vec<f64> {
    let n = scores.rows();
    (0..scores.cols())
        .map(|j| {
            let own: Vec<f64> = (0..n).map(|i| scores[(i, j)]).collect();
            let on: Vec<bool> = (0..n).map(|i| candidates.get(i, j)).collect();
            let sum = n as f64 * smallest_share(&own, &on, 100) + shrink * shared;
            (sum / (n as f64 + shrink)).clamp(BOUNDS.0, BOUNDS.1)
        })
        .collect()
}

pub(super) fn checks(streams: &Streams) -> Result<Vec<Check>> {
    let mut rng = streams.stream("cells");
    let (mut gap, mut wrong) = (0.0f64, 0.0f64);
    let (mut label_gap, mut label_wrong) = (0.0f64, 0.0f64);
    for rho in [0.05, 0.2, 0.4] {
        let truth = Labels::from_fn(150, 6, |_, _| rng.bernoulli(0.3));
        // Labels have rates of their own, around a common one.
        let own = |j: usize| rho * (0.5 + j as f64 / 5.0);
        let candidates = Labels::from_fn(150, 6, |i, j| truth.get(i, j) || rng.bernoulli(own(j)));
        // Rounded scores, without −0: ties are broken by the cell.
        let score = |i: usize, j: usize| f64::from(u8::from(truth.get(i, j)));
        let scores = Mat::from_fn(150, 6, |i, j| (2.0 * score(i, j) + rng.normal()).round() + 0.0);
        let found = envelope::estimate(&scores, &candidates);
        gap = gap.max((found - slow(&scores, &candidates, 400)).abs());
        wrong = wrong.max((found - slow(&scores, &candidates, 0)).abs());
        let by_label = envelope::estimate_by_label(&scores, &candidates, found);
        let off = |shrink: f64| {
            let slow = slow_by_label(&scores, &candidates, found, shrink);
            slow.iter().zip(&by_label).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        label_gap = label_gap.max(off(100.0));
        label_wrong = label_wrong.max(off(0.0));
    }
    let exact = Limit::AtMost(1e-14);
    let mut checks = vec![
        Check::new(
            "rho/start",
            "the estimate from the lowest scores against one by ranks, three rates",
            gap,
            exact,
        ),
        Check::control(
            "rho/start",
            "cuts of any size, where the smallest of noisy shares is too small",
            wrong,
            exact,
        ),
        Check::new(
            "rho/by-label",
            "the rate of each label against one by ranks of its own cells, drawn to the shared one by 100 rows",
            label_gap,
            exact,
        ),
        Check::control("rho/by-label", "the shared rate counts nothing", label_wrong, exact),
    ];
    checks.push(pinned(streams)?);
    Ok(checks)
}

/// ρ over the epochs of a fit.
fn pinned(streams: &Streams) -> Result<Check> {
    let mut rng = streams.stream("fit");
    let x = Mat::from_fn(120, 5, |_, _| rng.normal() as f32);
    let candidates = Labels::from_fn(120, 3, |i, j| x[(i, j)] > 0.4 || rng.bernoulli(0.2));
    let config = Config { width: 8, heads: 2, layers: 1, ..Config::new(Preset::Observation) };
    let training = Training { x: &x, candidates: &candidates };
    let mut fit = BeliefFit::new(&config, training, streams.child("fit"), None)?;
    for _ in 0..2 {
        fit.advance()?;
    }
    let rho: Vec<f64> = fit.state.history.iter().filter_map(|e| e.rho).collect();
    let moved = rho.iter().map(|r| (r - rho[0]).abs()).fold(0.0, f64::max);
    Ok(Check::new(
        "rho/pinned",
        "how far ρ moves from its start over the epochs of a fit: it is pinned, not re-estimated",
        moved,
        Limit::Exactly(0.0),
    ))
}
