//! Noise: candidate labels C made from true labels Y by adding irrelevant labels (false positives).
//!
//! No true label is ever lost: Y ⊆ C. Three schemes, by name:
//!
//! * `uniform` — each irrelevant label of each instance becomes a candidate with probability `rate`;
//! * `per-instance` — exactly round(rate · irrelevant) labels are added to each instance;
//! * `global` — rows in order, each given between one and all of its irrelevant labels, until
//!   round(rate · all irrelevant cells) are added. Late rows stay clean: a habit of published MATLAB
//!   code, offered so that its results can be compared.
//!
//! Call it on the labels of *training* instances only; the truth of the test instances stays as it is.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Labels;
use super::choice::choice;
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
}

choice!(Scheme { Uniform => "uniform", PerInstance => "per-instance", Global => "global" });

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
        Scheme::Uniform => uniform(truth, rate, &mut rng, &mut candidates),
        Scheme::PerInstance => per_instance(truth, rate, &mut rng, &mut candidates),
        Scheme::Global => global(truth, rate, &mut rng, &mut candidates),
    }
    Ok(describe(truth, candidates))
}

fn describe(truth: &Labels, candidates: Labels) -> Noise {
    let irrelevant = truth.as_slice().len() - truth.count();
    Noise { added: candidates.count() - truth.count(), irrelevant, candidates }
}

fn uniform(truth: &Labels, rate: f64, rng: &mut Rng, out: &mut Labels) {
    for i in 0..truth.rows() {
        for j in 0..truth.cols() {
            // One number a cell, needed or not: a label more or less moves nothing else.
            let hit = rng.bernoulli(rate);
            if hit && !truth.get(i, j) {
                out.set(i, j, true);
            }
        }
    }
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
    // The draw may have been too timid: the rest goes to the first rows with room.
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
                let tolerance = if scheme == Scheme::Uniform { 0.03 } else { 0.05 };
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
}
