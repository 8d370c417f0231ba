//! Noise: candidate labels C made from true labels Y by adding irrelevant labels (false positives).
//!
//! No true label is ever lost: Y ⊆ C. Five schemes, by name:
//!
//! * `uniform` — each irrelevant label of each instance becomes a candidate with probability `rate`;
//! * `per-instance` — exactly round(rate · irrelevant) labels are added to each instance;
//! * `global` — rows in order, each given between one and all of its irrelevant labels, until
//!   round(rate · all irrelevant cells) are added. Late rows stay clean: a habit of published MATLAB
//!   code, offered so that its results can be compared.
//! * `per-label` — like `uniform`, with a rate of its own for each label, drawn between rate/4 and
//!   2·rate (at most 1);
//! * `co-occurring` — like `uniform`, but a label is the likelier to be added the more often it occurs
//!   together with the true labels of the instance; the mean over the irrelevant cells is `rate`.
//!
//! The last two violate what most methods assume, one noise rate for all cells: they show what a
//! method does then.
//!
//! Call it on the labels of *training* instances only; the truth of the test instances stays as it is.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Labels;
use super::choice::choice;
use crate::linalg::Mat;
use crate::rng::{Rng, Streams};
use crate::{Error, Result, io};

/// How irrelevant labels become candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Independently, with the same probability.
    Uniform,
    /// The same share in each instance.
    PerInstance,
    /// Row by row until a global share is reached.
    Global,
    /// Independently, with a probability of each label's own.
    PerLabel,
    /// Independently, with a probability that grows with the co-occurrence with the true labels.
    CoOccurring,
}

choice!(Scheme {
    Uniform => "uniform",
    PerInstance => "per-instance",
    Global => "global",
    PerLabel => "per-label",
    CoOccurring => "co-occurring",
});

/// Candidate labels and how they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// C: the truth and the added labels.
    pub candidates: Labels,
    /// Number of irrelevant cells that became candidates.
    pub added: usize,
    /// Number of irrelevant cells.
    pub irrelevant: usize,
}

impl Noise {
    /// The share of irrelevant cells that really became candidates; 0 if there are none.
    pub fn realised(&self) -> f64 {
        self.added as f64 / self.irrelevant.max(1) as f64
    }
}

/// Adds irrelevant labels to `truth`. `rate` is a probability.
pub fn inject(truth: &Labels, scheme: Scheme, rate: f64, streams: &Streams) -> Result<Noise> {
    if !(0.0..=1.0).contains(&rate) {
        return Err(Error::config(format!("found the noise rate {rate}, expected 0 to 1")));
    }
    let mut rng = streams.stream(&format!("noise/{}", scheme.name()));
    let mut candidates = truth.clone();
    match scheme {
        Scheme::Uniform => independent(truth, |_, _| rate, &mut rng, &mut candidates),
        Scheme::PerInstance => per_instance(truth, rate, &mut rng, &mut candidates),
        Scheme::Global => global(truth, rate, &mut rng, &mut candidates),
        Scheme::PerLabel => {
            let mut rates = streams.stream("noise/per-label/rates");
            let rates: Vec<f64> =
                (0..truth.cols()).map(|_| rates.range(0.25 * rate, 2.0 * rate).min(1.0)).collect();
            independent(truth, |_, j| rates[j], &mut rng, &mut candidates);
        }
        Scheme::CoOccurring => {
            let rates = co_occurrence(truth, rate);
            independent(truth, |i, j| rates[(i, j)], &mut rng, &mut candidates);
        }
    }
    Ok(describe(truth, candidates))
}

fn describe(truth: &Labels, candidates: Labels) -> Noise {
    let irrelevant = truth.as_slice().len() - truth.count();
    Noise { added: candidates.count() - truth.count(), irrelevant, candidates }
}

/// Each irrelevant cell by itself, with probability `rate(i, j)`.
fn independent(
    truth: &Labels,
    rate: impl Fn(usize, usize) -> f64,
    rng: &mut Rng,
    out: &mut Labels,
) {
    for i in 0..truth.rows() {
        for j in 0..truth.cols() {
            // One number per cell, needed or not: a label more or less moves nothing else.
            let hit = rng.bernoulli(rate(i, j));
            if hit && !truth.get(i, j) {
                out.set(i, j, true);
            }
        }
    }
}

/// Probabilities in proportion to the mean of P(Y_j | Y_k) over the true labels k of the row (to P(Y_j)
/// in rows without labels), scaled so that their mean over the irrelevant cells is `rate`; at most 1.
fn co_occurrence(truth: &Labels, rate: f64) -> Mat<f64> {
    let (n, labels) = (truth.rows(), truth.cols());
    let both =
        |j: usize, k: usize| (0..n).filter(|&i| truth.get(i, j) && truth.get(i, k)).count() as f64;
    let share = Mat::from_fn(labels, labels, |k, j| both(j, k) / both(k, k).max(1.0));
    let counts = truth.count_by_label();
    let mut rates = Mat::from_fn(n, labels, |i, j| {
        let own: Vec<usize> = (0..labels).filter(|&k| truth.get(i, k)).collect();
        let alone = counts[j] as f64 / n as f64;
        match own.len() {
            0 => alone,
            // A tenth of the label's share, so that no label is out of reach.
            m => own.iter().map(|&k| share[(k, j)]).sum::<f64>() / m as f64 + 0.1 * alone,
        }
    });
    let (mut total, mut cells) = (0.0, 0usize);
    for i in 0..n {
        for j in (0..labels).filter(|&j| !truth.get(i, j)) {
            total += rates[(i, j)];
            cells += 1;
        }
    }
    let factor = if total > 0.0 { rate * cells as f64 / total } else { 0.0 };
    rates.as_mut_slice().iter_mut().for_each(|r| *r = (*r * factor).min(1.0));
    rates
}

fn irrelevant_in_random_order(truth: &Labels, row: usize, rng: &mut Rng) -> Vec<usize> {
    let mut labels: Vec<usize> = (0..truth.cols()).filter(|&j| !truth.get(row, j)).collect();
    rng.shuffle(&mut labels);
    labels
}

fn per_instance(truth: &Labels, rate: f64, rng: &mut Rng, out: &mut Labels) {
    for i in 0..truth.rows() {
        let labels = irrelevant_in_random_order(truth, i, rng);
        let count = (rate * labels.len() as f64).round() as usize;
        for &j in &labels[..count] {
            out.set(i, j, true);
        }
    }
}

fn global(truth: &Labels, rate: f64, rng: &mut Rng, out: &mut Labels) {
    let all = truth.as_slice().len() - truth.count();
    let mut left = (rate * all as f64).round() as usize;
    for i in 0..truth.rows() {
        let labels = irrelevant_in_random_order(truth, i, rng);
        if labels.is_empty() {
            continue;
        }
        let count = (1 + rng.below(labels.len())).min(left);
        for &j in &labels[..count] {
            out.set(i, j, true);
        }
        left -= count;
    }
    // The draws may have added too few: the rest goes to the first rows with irrelevant labels left.
    for i in 0..truth.rows() {
        for j in 0..truth.cols() {
            if left > 0 && !out.get(i, j) {
                out.set(i, j, true);
                left -= 1;
            }
        }
    }
}

/// The file form of a noise: which labels were added to which instance, counted from 0.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoiseFile {
    format: String,
    scheme: Option<Scheme>,
    rate: Option<f64>,
    seed: Option<u64>,
    instances: usize,
    labels: usize,
    added: Vec<Vec<usize>>,
}

const FORMAT: &str = "pomdp-fs noise 1";

/// Writes the added labels as JSON, so that any tool can make the very same candidates.
pub fn write(
    path: &Path,
    truth: &Labels,
    noise: &Noise,
    made: Option<(Scheme, f64, u64)>,
) -> Result<()> {
    let added = |i: usize| -> Vec<usize> {
        let new = |&j: &usize| noise.candidates.get(i, j) && !truth.get(i, j);
        (0..truth.cols()).filter(new).collect()
    };
    let file = NoiseFile {
        format: FORMAT.to_owned(),
        scheme: made.map(|m| m.0),
        rate: made.map(|m| m.1),
        seed: made.map(|m| m.2),
        instances: truth.rows(),
        labels: truth.cols(),
        added: (0..truth.rows()).map(added).collect(),
    };
    io::write_json(path, &file)
}

/// Reads what [`write()`] wrote and adds it to `truth`.
pub fn read(path: &Path, truth: &Labels) -> Result<Noise> {
    let file: NoiseFile = io::read_json(path)?;
    let fail = |message: String| Err(Error::input(message).in_file(path));
    if file.format != FORMAT {
        return fail(format!("found the format '{}', expected '{FORMAT}'", file.format));
    }
    if (file.instances, file.labels) != (truth.rows(), truth.cols())
        || file.added.len() != truth.rows()
    {
        return fail(format!(
            "the noise is for {} instances and {} labels, the data set has {} and {}",
            file.instances,
            file.labels,
            truth.rows(),
            truth.cols()
        ));
    }
    let mut candidates = truth.clone();
    for (i, added) in file.added.iter().enumerate() {
        for &j in added {
            if j >= truth.cols() || truth.get(i, j) {
                return fail(format!(
                    "instance {i}: label {j} is not one of its irrelevant labels"
                ));
            }
            candidates.set(i, j, true);
        }
    }
    Ok(describe(truth, candidates))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth() -> Labels {
        Labels::from_fn(200, 10, |i, j| (i * 7 + j * 3) % 5 == 0)
    }

    #[test]
    fn no_scheme_loses_a_true_label() {
        let y = truth();
        for scheme in Scheme::ALL {
            for rate in [0.0, 0.2, 0.9, 1.0] {
                let noise = inject(&y, scheme, rate, &Streams::new(3)).unwrap();
                let pairs = y.as_slice().iter().zip(noise.candidates.as_slice());
                assert!(pairs.clone().all(|(t, c)| !t || *c));
                // The last two draw or clamp their rates, so high ones are missed by design.
                let tolerance = match scheme {
                    Scheme::Uniform => 0.03,
                    Scheme::PerInstance | Scheme::Global => 0.05,
                    Scheme::PerLabel | Scheme::CoOccurring => 0.1 + 0.6 * rate,
                };
                assert!(
                    (noise.realised() - rate).abs() <= tolerance,
                    "{scheme:?} {rate} {}",
                    noise.realised()
                );
                assert_eq!(noise, inject(&y, scheme, rate, &Streams::new(3)).unwrap());
            }
        }
        assert!(inject(&y, Scheme::Uniform, 1.5, &Streams::new(0)).is_err());
        assert!(inject(&y, Scheme::Uniform, f64::NAN, &Streams::new(0)).is_err());
    }

    #[test]
    fn schemes_differ_as_described() {
        let y = truth();
        let added = |noise: &Noise, i: usize| {
            (0..10).filter(|&j| noise.candidates.get(i, j) && !y.get(i, j)).count()
        };
        let each = inject(&y, Scheme::PerInstance, 0.25, &Streams::new(1)).unwrap();
        assert!((0..200).all(|i| added(&each, i) == 2));
        let global = inject(&y, Scheme::Global, 0.25, &Streams::new(1)).unwrap();
        assert_eq!(global.added, 400);
        assert!((0..20).all(|i| added(&global, i) > 0));
        assert!((180..200).all(|i| added(&global, i) == 0));
    }

    #[test]
    fn files_give_back_the_same_candidates() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("noise.json");
        let y = truth();
        let noise = inject(&y, Scheme::Uniform, 0.2, &Streams::new(9)).unwrap();
        write(&path, &y, &noise, Some((Scheme::Uniform, 0.2, 9))).unwrap();
        assert_eq!(read(&path, &y).unwrap(), noise);
        assert!(read(&path, &Labels::none(3, 10)).is_err());
        let all = Labels::from_fn(200, 10, |_, _| true);
        assert!(read(&path, &all).is_err());
    }

    #[test]
    fn labels_have_rates_of_their_own() {
        let truth = Labels::none(4000, 6);
        let noise = inject(&truth, Scheme::PerLabel, 0.2, &Streams::new(1)).unwrap();
        let shares: Vec<f64> =
            noise.candidates.count_by_label().iter().map(|&c| c as f64 / 4000.0).collect();
        assert!(shares.iter().all(|s| (0.03..0.42).contains(s)), "{shares:?}");
        let (low, high) = shares.iter().fold((1.0f64, 0.0f64), |(l, h), &s| (l.min(s), h.max(s)));
        assert!(high - low > 0.1, "{shares:?}");
    }

    #[test]
    fn labels_that_occur_together_are_added_together() {
        // Label 1 follows label 0 in every second row; label 2 is on its own.
        let truth = Labels::from_fn(3000, 3, |i, j| match j {
            0 => i % 3 == 0,
            1 => i % 6 == 0,
            _ => i % 3 == 1,
        });
        let noise = inject(&truth, Scheme::CoOccurring, 0.2, &Streams::new(1)).unwrap();
        assert!((noise.realised() - 0.2).abs() < 0.04, "{}", noise.realised());
        let added = |rows: fn(usize) -> bool, j: usize| {
            let rows = (0..3000).filter(|&i| rows(i) && !truth.get(i, j));
            let (mut hits, mut all) = (0, 0);
            for i in rows {
                all += 1;
                hits += usize::from(noise.candidates.get(i, j));
            }
            hits as f64 / f64::from(all)
        };
        assert!(added(|i| i % 3 == 0, 1) > 2.0 * added(|i| i % 3 == 1, 1));
    }
}
