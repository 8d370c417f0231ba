//! The beliefs of the default preset: cross-fitting, the choice between models by held-out likelihood, label context.

use super::relative_gap;
use super::rho;
use crate::Result;
use crate::audit::check::{Check, Limit};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::observation::context::{ContextWeights, LinearContext};
use crate::method::observation::cross_fit::{Parts, cross_fit};
use crate::method::observation::features::{Features, rows_to_unit_scale};
use crate::method::observation::likelihood::NoiseRate;
use crate::method::observation::{LinearBelief, LinearOptions, Signs};
use crate::num::Real;
use crate::rng::Streams;

const ROWS: usize = 80;
const FEATURES: usize = 5;
const LABELS: usize = 4;
const RHO: f64 = 0.2;
const EXACT: Limit = Limit::AtMost(1e-9);
/// The solver stops when an iteration gains less than 3e-6 per cell.
const SOLVED: Limit = Limit::AtMost(1e-3);

struct World {
    x: Mat<f32>,
    candidates: Labels,
    c: Mat<f64>,
}

/// Labels follow the features and each other.
fn world(streams: &Streams) -> World {
    let mut rng = streams.stream("world");
    let x = Mat::from_fn(ROWS, FEATURES, |_, _| rng.normal() as f32);
    let truth = Labels::from_fn(ROWS, LABELS, |i, j| x[(i, j / 2)] + x[(i, j)] > 0.5);
    let candidates = Labels::from_fn(ROWS, LABELS, |i, j| truth.get(i, j) || rng.bernoulli(RHO));
    World { c: candidates.to_mat(), x, candidates }
}

/// −ln P(C | u, ρ) by the two cases of the observation model.
fn loss(u: f64, c: f64, rho: f64) -> f64 {
    let q = 1.0 / (1.0 + Real::exp(-u));
    -Real::ln(if c == 1.0 { q + (1.0 - q) * rho } else { (1.0 - q) * (1.0 - rho) })
}

fn mean_loss(u: &Mat<f64>, c: &Mat<f64>, rho: &[f64]) -> f64 {
    let cell = |k: usize| loss(u.as_slice()[k], c.as_slice()[k], rho[k % c.cols()]);
    (0..u.as_slice().len()).map(cell).sum::<f64>() / u.as_slice().len() as f64
}

pub(super) fn checks(streams: &Streams) -> Result<Vec<Check>> {
    let world = world(streams);
    let mut checks = held_out(&world, streams);
    checks.extend(context(&world, streams));
    checks.extend(choice(&world, streams));
    checks.extend(signs(&world, streams));
    Ok(checks)
}

/// The penalised minimum over the rows that `learns` admits, by steps down the gradient: weights above the bias.
fn descend(
    x: &Mat<f32>,
    c: &Mat<f64>,
    j: usize,
    l2: f64,
    learns: &dyn Fn(usize) -> bool,
) -> Vec<f64> {
    let d = x.cols();
    let rows: Vec<usize> = (0..x.rows()).filter(|&i| learns(i)).collect();
    let m = rows.len() as f64;
    let score =
        |w: &[f64], i: usize| (0..d).map(|a| w[a] * f64::from(x[(i, a)])).sum::<f64>() + w[d];
    let mut w = vec![0.0; d + 1];
    // The curvature is at most ¼ Σ x² / m + λ.
    let longest = rows.iter().map(|&i| x.row(i).iter().map(|v| v * v).sum::<f32>() + 1.0);
    let step = 1.0 / (0.25 * longest.map(f64::from).sum::<f64>() / m + l2);
    for _ in 0..4000 {
        let mut slope: Vec<f64> = (0..d).map(|a| l2 * w[a]).collect();
        // One positive of its own for each label.
        slope.push(-1.0 / (1.0 + Real::exp(w[d])) / m);
        for &i in &rows {
            let u = score(&w, i);
            let q = 1.0 / (1.0 + Real::exp(-u));
            let off = if c[(i, j)] == 1.0 { q - q / (q + (1.0 - q) * RHO) } else { q };
            (0..d).for_each(|a| slope[a] += off / m * f64::from(x[(i, a)]));
            slope[d] += off / m;
        }
        w.iter_mut().zip(&slope).for_each(|(w, s)| *w -= step * s);
    }
    w
}

/// λ and the logits of rows by models that never saw them, against descent from zero for every λ.
fn held_out(world: &World, streams: &Streams) -> Vec<Check> {
    let parts = Parts::new(ROWS, 3, streams);
    let noise = [NoiseRate::new(RHO); LABELS];
    let all = [1.0; FEATURES];
    let found = cross_fit(&Features::new(&world.x), &world.c, &noise, None, &all, &parts);
    let slow = |seen: bool| {
        let of = |l2: f64| {
            let mut u = Mat::zeros(ROWS, LABELS);
            for (k, j) in (0..parts.count()).flat_map(|k| (0..LABELS).map(move |j| (k, j))) {
                let w = descend(&world.x, &world.c, j, l2, &|i| seen || parts.of(i) != k);
                for i in parts.rows(k) {
                    let row = world.x.row(i).iter().zip(&w);
                    u[(i, j)] = row.map(|(&v, w)| f64::from(v) * w).sum::<f64>() + w[FEATURES];
                }
            }
            mean_loss(&u, &world.c, &[RHO; LABELS])
        };
        let path = [30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4];
        path.into_iter().map(of).fold(f64::INFINITY, f64::min)
    };
    vec![
        Check::new(
            "belief/held-out",
            "−ln P(C) of a held-out cell at the chosen λ, against descent from zero for every λ and part",
            (found.loss - slow(false)).abs(),
            SOLVED,
        ),
        Check::control(
            "belief/held-out",
            "models that have seen the rows that they judge",
            (found.loss - slow(true)).abs(),
            SOLVED,
        ),
    ]
}

/// Posteriors of all cells, and by all subsets of the labels but j (or, as a mistake, of all labels) the chances that
/// none and that exactly one of them is true.
fn none_and_one(u: &Mat<f64>, c: &Mat<f64>, with_own: bool) -> (Mat<f64>, [Mat<f64>; 2]) {
    let h = Mat::from_fn(ROWS, LABELS, |i, j| {
        let q = 1.0 / (1.0 + Real::exp(-u[(i, j)]));
        c[(i, j)] * q / (q + (1.0 - q) * RHO)
    });
    let chance = |i: usize, j: usize, count: u32| -> f64 {
        let mut sum = 0.0;
        for subset in (0..1usize << LABELS).filter(|s| with_own || s >> j & 1 == 0) {
            let labels = (0..LABELS).filter(|&k| with_own || k != j);
            let one = |k: usize| if subset >> k & 1 == 1 { h[(i, k)] } else { 1.0 - h[(i, k)] };
            sum += if subset.count_ones() == count { labels.map(one).product() } else { 0.0 };
        }
        sum
    };
    let table = |count: u32| Mat::from_fn(ROWS, LABELS, |i, j| chance(i, j, count));
    let counts = [table(0), table(1)];
    (h, counts)
}

/// Label context: what it sees, and what it makes of it.
fn context(world: &World, streams: &Streams) -> Vec<Check> {
    let mut rng = streams.stream("context");
    let u = Mat::from_fn(ROWS, LABELS, |i, j| f64::from(world.x[(i, j)]) + 0.3 * rng.normal());
    let noise = [NoiseRate::new(RHO); LABELS];
    // With a single weight of 1 the model shows what it sees.
    let seen = |row: usize| {
        let mut weights = ContextWeights::zeros(LABELS);
        (0..LABELS).for_each(|j| weights.own[(row, j)] = 1.0);
        let shown = weights.apply(&u, &world.c, &noise);
        let cells = shown.as_slice().iter().zip(u.as_slice());
        cells.map(|(with, without)| with - without).collect::<Vec<f64>>()
    };
    let (h, counts) = none_and_one(&u, &world.c, false);
    let (_, with_own) = none_and_one(&u, &world.c, true);
    let gap = |slow: &[Mat<f64>; 2]| {
        let of = |k: usize| relative_gap(seen(k + 1), slow[k].as_slice());
        of(0).max(of(1))
    };

    // The regression on the own logit, the other posteriors, N and O, label by label.
    let parts = Parts::new(ROWS, 3, streams);
    let found = LinearContext::fit(&u, &world.c, &noise, &parts);
    let slow = |with_counts: bool| {
        let mut logits = Mat::zeros(ROWS, LABELS);
        for j in 0..LABELS {
            let mut columns: Vec<Vec<f64>> = vec![(0..ROWS).map(|i| u[(i, j)]).collect()];
            let others = (0..LABELS).filter(|&k| k != j).map(|k| (&h, k));
            let counts = counts.iter().filter(|_| with_counts).map(|m| (m, j));
            for (m, k) in others.chain(counts) {
                let values: Vec<f64> = (0..ROWS).map(|i| m[(i, k)]).collect();
                let mean = values.iter().sum::<f64>() / ROWS as f64;
                let square = |v: &f64| (v - mean) * (v - mean);
                let deviation = (values.iter().map(square).sum::<f64>() / ROWS as f64).sqrt();
                columns.push(values.iter().map(|v| (v - mean) / deviation).collect());
            }
            let mut penalised = vec![1.0; columns.len()];
            penalised[0] = 0.01;
            let x = Features::Dense(Mat::from_fn(ROWS, columns.len(), |i, f| columns[f][i]));
            let (c, offset) = (world.c.select_cols(&[j]), u.select_cols(&[j]));
            let own = cross_fit(&x, &c, &noise[j..=j], Some(&offset), &penalised, &parts);
            (0..ROWS).for_each(|i| logits[(i, j)] = own.logits[(i, 0)]);
        }
        relative_gap(found.logits.as_slice().to_vec(), logits.as_slice())
    };
    vec![
        Check::new(
            "belief/context/counts",
            "chances that none and that one of the other labels is true, against all subsets of them",
            gap(&counts),
            EXACT,
        ),
        Check::control(
            "belief/context/counts",
            "the own label is among them: a cell would see its own candidate",
            gap(&with_own),
            EXACT,
        ),
        Check::new(
            "belief/context/logits",
            "held-out u′ against a regression whose columns are written out, label by label",
            slow(true),
            EXACT,
        ),
        Check::control("belief/context/logits", "without none and one", slow(false), EXACT),
    ]
}

/// ρ and u of the whole linear belief: the mean over partitions of the better of two models, or of their mean.
fn choice(world: &World, streams: &Streams) -> Vec<Check> {
    let streams = streams.child("belief");
    let options = LinearOptions { without_context: true, ..LinearOptions::default() };
    let belief = LinearBelief::fit(&world.x, &world.candidates, &options, &streams);
    let repeats = 6;
    let unit = rows_to_unit_scale(&world.x);
    let kinds = [Features::new(&world.x), Features::new(&unit)];
    let fit = |features: &Features, rho: f64, repeat: usize| {
        let parts = LinearBelief::partition(ROWS, options.parts, repeat, &streams);
        let noise = [NoiseRate::new(rho); LABELS];
        cross_fit(features, &world.c, &noise, None, &[1.0; FEATURES], &parts).logits
    };
    let mean = |of: &[Mat<f64>]| {
        Mat::from_fn(ROWS, LABELS, |i, j| {
            of.iter().map(|m| m[(i, j)]).sum::<f64>() / of.len() as f64
        })
    };
    // Scores that take every candidate for true, of three partitions.
    let scores = mean(&(0..3).map(|r| fit(&kinds[0], 1e-9, r)).collect::<Vec<_>>());
    let rho = rho::slow(&scores, &world.candidates, 400);
    let own = |choose: &dyn Fn([Mat<f64>; 3]) -> Mat<f64>| {
        let each: Vec<Mat<f64>> = (0..repeats)
            .map(|r| {
                let [a, b] = kinds.each_ref().map(|features| fit(features, rho, r));
                let both = mean(&[a.clone(), b.clone()]);
                choose([a, b, both])
            })
            .collect();
        relative_gap(belief.base.as_slice().to_vec(), mean(&each).as_slice())
    };
    let best = |models: [Mat<f64>; 3]| {
        let loss = |u: &Mat<f64>| mean_loss(u, &world.c, &[rho; LABELS]);
        models.into_iter().min_by(|a, b| loss(a).total_cmp(&loss(b))).expect("three models")
    };
    let worst = |models: [Mat<f64>; 3]| {
        let loss = |u: &Mat<f64>| mean_loss(u, &world.c, &[rho; LABELS]);
        models.into_iter().max_by(|a, b| loss(a).total_cmp(&loss(b))).expect("three models")
    };
    vec![
        Check::new(
            "belief/rho",
            "ρ of the whole belief, against ranks of the mean held-out scores of three partitions",
            (belief.rho[0] - rho).abs(),
            Limit::AtMost(1e-12),
        ),
        Check::new(
            "belief/choice",
            "u against the model of least held-out −ln P(C) by hand: plain rows, unit rows or their mean",
            own(&best),
            EXACT,
        ),
        Check::control("belief/choice", "the model of largest held-out loss", own(&worst), EXACT),
    ]
}

/// The signs that the verdict rests on.
fn signs(world: &World, streams: &Streams) -> Vec<Check> {
    let mut rng = streams.stream("signs");
    let u = Mat::from_fn(ROWS, LABELS, |i, j| f64::from(world.x[(i, j)]) + 0.3 * rng.normal());
    let found = Signs::new(&u, &world.candidates, &[NoiseRate::new(1e-9); LABELS]);
    let cells = || u.as_slice().iter().zip(world.candidates.as_slice());
    let (mut won, mut pairs) = (0.0, 0.0);
    for (a, _) in cells().filter(|(_, on)| **on) {
        for (b, _) in cells().filter(|(_, on)| !**on) {
            won += f64::from(u8::from(a > b));
            pairs += 1.0;
        }
    }
    let size = u.as_slice().len();
    let below = |v: f64| u.as_slice().iter().filter(|w| **w < v).count();
    let dispersion = |all: bool| {
        let (mut squares, mut expected) = (0.0, 0.0);
        for i in 0..ROWS {
            let mut off = 0.0;
            for j in (0..LABELS).filter(|&j| all || below(u[(i, j)]) <= size / 2) {
                let p = 1.0 / (1.0 + Real::exp(-u[(i, j)]));
                off += world.c[(i, j)] - p;
                expected += p * (1.0 - p);
            }
            squares += off * off;
        }
        (found.dispersion - squares / expected).abs()
    };
    vec![
        Check::new(
            "belief/signs/auc",
            "how well scores order candidates before other cells, against a count of all pairs",
            (found.candidate_auc - won / pairs).abs(),
            EXACT,
        ),
        Check::new(
            "belief/signs/dispersion",
            "variance of the candidates among the less likely half of the cells, over that of independent cells",
            dispersion(false),
            EXACT,
        ),
        Check::control("belief/signs/dispersion", "over all cells", dispersion(true), EXACT),
        Check::control(
            "belief/signs/auc",
            "pairs counted the other way round",
            (found.candidate_auc - (1.0 - won / pairs)).abs(),
            EXACT,
        ),
    ]
}
