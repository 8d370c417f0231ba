//! What is done to a data set before a method sees it: split, noise, scaling.

use crate::data::noise::{self, Scheme};
use crate::data::{Dataset, Folds, Labels, Scaling, Splitter};
use crate::rng::Streams;
use crate::{Error, Result, checksum};

/// How data are prepared. Everything random comes from `seed`, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Root of all random streams.
    pub seed: u64,
    /// Number of folds.
    pub folds: usize,
    /// Number of times everything is repeated with other splits and other noise.
    pub repeats: usize,
    /// How instances are split.
    pub splitter: Splitter,
    /// Folds to use instead of drawn ones, e.g. from a file; they count for `folds`.
    pub given_folds: Option<Folds>,
    /// Probability that an irrelevant label becomes a candidate; not used on data with candidates.
    pub noise: f64,
    /// How the noise is drawn.
    pub scheme: Scheme,
    /// How features are scaled.
    pub scaling: Scaling,
}

impl Default for Protocol {
    /// The paper's: five folds, 20 % noise.
    fn default() -> Self {
        Protocol {
            seed: 0,
            folds: 5,
            repeats: 1,
            splitter: Splitter::KFold,
            given_folds: None,
            noise: 0.2,
            scheme: Scheme::Uniform,
            scaling: Scaling::ZScore,
        }
    }
}

impl Protocol {
    /// The streams of a repeat: its split and its noise draw from them, whichever command asks.
    pub fn streams(&self, repeat: usize) -> Streams {
        Streams::new(self.seed).child(&format!("repeat/{repeat}"))
    }

    /// What the split is: how it was drawn, or the hash of given folds.
    pub(super) fn split_name(&self) -> String {
        let Some(folds) = &self.given_folds else {
            return self.splitter.name().to_owned();
        };
        let rows = (0..folds.k()).flat_map(|f| folds.test(f).into_iter().map(move |i| (f, i)));
        let cells: String = rows.map(|(f, i)| format!("{f}:{i} ")).collect();
        format!("given:{}", checksum::sha256(cells.as_bytes()))
    }
}

/// Folds and candidate labels of all instances: what every method of a repeat is given.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// From 0.
    pub number: usize,
    /// Which instances are tested when; None if all of them train.
    pub folds: Option<Folds>,
    /// Candidate labels of all instances. A fold trains on those of its training rows.
    pub candidates: Labels,
}

impl Repeat {
    /// Draws the folds (if `split`) and the noise. Candidates that the data bring are kept.
    pub fn new(data: &Dataset, protocol: &Protocol, number: usize, split: bool) -> Result<Self> {
        let streams = protocol.streams(number);
        let labels = data.truth.as_ref().or(data.candidates.as_ref());
        let labels = labels.filter(|labels| labels.count() > 0).ok_or_else(|| {
            Error::input("found no label in any row, expected true or candidate labels")
                .in_file(&data.source.origin)
        })?;
        let folds = match &protocol.given_folds {
            _ if !split => None,
            Some(given) => Some(given.clone()),
            None => Some(Folds::new(labels, protocol.folds, protocol.splitter, &streams)?),
        };
        let candidates = match (&data.candidates, &data.truth) {
            (Some(given), _) => given.clone(),
            (None, _) => {
                noise::inject(labels, protocol.scheme, protocol.noise, &streams)?.candidates
            }
        };
        Ok(Repeat { number, folds, candidates })
    }

    /// Training and test rows of a fold; without one, all rows train.
    pub fn rows(&self, fold: Option<usize>) -> (Vec<usize>, Vec<usize>) {
        match (fold, &self.folds) {
            (Some(f), Some(folds)) => (folds.train(f), folds.test(f)),
            _ => ((0..self.candidates.rows()).collect(), Vec::new()),
        }
    }
}
