//! The noise injector: every scheme against its description.

use super::{LEVEL, p_value, p_value_of_sums};
use crate::Result;
use crate::audit::check::{Check, Limit};
use crate::data::Labels;
use crate::data::noise::{Scheme, inject};
use crate::linalg::Mat;
use crate::rng::Streams;

const ROWS: usize = 6000;
const LABELS: usize = 5;
const RATE: f64 = 0.2;

/// Added labels by label: (observed, Σ p, Σ p(1 − p)) for cell probabilities p.
fn sums(truth: &Labels, noisy: &Labels, p: impl Fn(usize, usize) -> f64) -> Vec<(f64, f64, f64)> {
    (0..truth.cols())
        .map(|j| {
            let mut sum = (0.0, 0.0, 0.0);
            for i in (0..truth.rows()).filter(|&i| !truth.get(i, j)) {
                sum.0 += f64::from(u8::from(noisy.get(i, j)));
                sum.1 += p(i, j);
                sum.2 += p(i, j) * (1.0 - p(i, j));
            }
            sum
        })
        .collect()
}

pub(super) fn checks(streams: &Streams) -> Result<Vec<Check>> {
    let mut rng = streams.stream("truth");
    // Labels 0 and 1 go together.
    let pair: Vec<bool> = (0..ROWS).map(|_| rng.bernoulli(0.3)).collect();
    let truth = Labels::from_fn(ROWS, LABELS, |i, j| match j {
        0 => pair[i],
        1 => pair[i] != rng.bernoulli(0.2),
        _ => rng.bernoulli(0.15),
    });
    let noisy =
        |scheme: Scheme| Ok::<_, crate::Error>(inject(&truth, scheme, RATE, streams)?.candidates);
    let mut lost = 0;
    for scheme in Scheme::ALL {
        let noisy = noisy(scheme)?;
        lost += truth.as_slice().iter().zip(noisy.as_slice()).filter(|(t, c)| **t && !**c).count();
    }
    let uniform = noisy(Scheme::Uniform)?;
    let per_label = noisy(Scheme::PerLabel)?;
    let mut drawn = streams.stream("noise/per-label/rates");
    let rates: Vec<f64> =
        (0..LABELS).map(|_| drawn.range(0.25 * RATE, 2.0 * RATE).min(1.0)).collect();
    let co_occurring = noisy(Scheme::CoOccurring)?;
    let by_hand = co_occurrence(&truth);
    let mut checks = vec![
        Check::new(
            "noise/truth-kept",
            "true labels that any of the five schemes loses",
            lost as f64,
            Limit::Exactly(0.0),
        ),
        Check::new(
            "noise/uniform",
            "added labels of each label against the rate 0.2: p-value",
            p_value_of_sums(&sums(&truth, &uniform, |_, _| RATE)),
            LEVEL,
        ),
        Check::control(
            "noise/uniform",
            "a rate of 0.22",
            p_value_of_sums(&sums(&truth, &uniform, |_, _| 0.22)),
            LEVEL,
        ),
        Check::new(
            "noise/per-label",
            "added labels of each label against the rates of its own stream: p-value",
            p_value_of_sums(&sums(&truth, &per_label, |_, j| rates[j])),
            LEVEL,
        ),
        Check::control(
            "noise/per-label",
            "one rate for all labels",
            p_value_of_sums(&sums(&truth, &per_label, |_, _| RATE)),
            LEVEL,
        ),
        Check::new(
            "noise/co-occurring",
            "added labels of each label against P(Y_j | Y_k) counted by hand: p-value",
            p_value_of_sums(&sums(&truth, &co_occurring, |i, j| by_hand[(i, j)])),
            LEVEL,
        ),
        Check::control(
            "noise/co-occurring",
            "the same rate for all cells",
            p_value_of_sums(&sums(&truth, &co_occurring, |_, _| RATE)),
            LEVEL,
        ),
    ];
    checks.extend(counted(streams)?);
    Ok(checks)
}

/// The two schemes that add a fixed number.
fn counted(streams: &Streams) -> Result<Vec<Check>> {
    // One true label of five: two of the four others are added, six ways.
    let truth = Labels::from_fn(ROWS, LABELS, |i, j| i % LABELS == j);
    let noise = inject(&truth, Scheme::PerInstance, 0.5, streams)?.candidates;
    let mut counts = vec![0.0; 16];
    let mut off = 0;
    for i in 0..ROWS {
        let others = (0..LABELS).filter(|&j| !truth.get(i, j)).enumerate();
        let added: usize = others.filter(|&(_, j)| noise.get(i, j)).map(|(k, _)| 1 << k).sum();
        off += usize::from(added.count_ones() != 2);
        counts[added] += 1.0;
    }
    let six = |outcome: usize| if outcome.count_ones() == 2 { ROWS as f64 / 6.0 } else { 0.0 };
    let expected: Vec<f64> = (0..16).map(six).collect();
    let leaning: Vec<f64> =
        (0..16).map(|o| six(o) * if o & 1 == 1 { 1.15 } else { 0.85 }).collect();
    let global = inject(&truth, Scheme::Global, RATE, streams)?;
    let wanted = (RATE * (ROWS * (LABELS - 1)) as f64).round();
    let per_row: Vec<usize> =
        (0..ROWS).map(|i| global.candidates.row(i).iter().filter(|c| **c).count() - 1).collect();
    let last = per_row.iter().rposition(|&a| a > 0).unwrap_or(0);
    let gaps = per_row[..last].iter().filter(|&&a| a == 0).count();
    Ok(vec![
        Check::new(
            "noise/per-instance/count",
            "rows that got another number than round(rate × irrelevant)",
            off as f64,
            Limit::Exactly(0.0),
        ),
        Check::new(
            "noise/per-instance/which",
            "the six pairs of added labels are equally likely: p-value",
            p_value(&counts, &expected),
            LEVEL,
        ),
        Check::control(
            "noise/per-instance/which",
            "the first label is preferred by 15 %",
            p_value(&counts, &leaning),
            LEVEL,
        ),
        Check::new(
            "noise/global/count",
            "difference of the added labels from round(rate × all irrelevant cells)",
            global.added as f64 - wanted,
            Limit::Exactly(0.0),
        ),
        Check::new(
            "noise/global/order",
            "rows without an added label before the last row that has one",
            gaps as f64,
            Limit::Exactly(0.0),
        ),
    ])
}

/// Cell probabilities of `co-occurring`, counted row by row.
fn co_occurrence(truth: &Labels) -> Mat<f64> {
    let n = truth.rows();
    let given = |j: usize, k: usize| {
        let with_k: Vec<usize> = (0..n).filter(|&i| truth.get(i, k)).collect();
        with_k.iter().filter(|&&i| truth.get(i, j)).count() as f64 / with_k.len() as f64
    };
    let table = Mat::from_fn(LABELS, LABELS, given);
    let share = |j: usize| (0..n).filter(|&i| truth.get(i, j)).count() as f64 / n as f64;
    let shares: Vec<f64> = (0..LABELS).map(share).collect();
    let raw = Mat::from_fn(n, LABELS, |i, j| {
        let own: Vec<usize> = (0..LABELS).filter(|&k| truth.get(i, k)).collect();
        if own.is_empty() {
            return shares[j];
        }
        own.iter().map(|&k| table[(j, k)]).sum::<f64>() / own.len() as f64 + 0.1 * shares[j]
    });
    let irrelevant =
        || (0..n).flat_map(|i| (0..LABELS).map(move |j| (i, j))).filter(|&(i, j)| !truth.get(i, j));
    let mean = irrelevant().map(|cell| raw[cell]).sum::<f64>() / irrelevant().count() as f64;
    Mat::from_fn(n, LABELS, |i, j| (raw[(i, j)] * RATE / mean).min(1.0))
}
