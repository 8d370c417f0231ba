//! The options of preparing data, spelled alike in `select`, `evaluate` and `data`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::data::noise::{self, Noise, Scheme};
use crate::data::{Dataset, Scaling, Splitter, split};
use crate::experiment::{Plan, Protocol};
use crate::{Error, Result};

/// How instances are split.
#[derive(Args, Clone, Debug)]
pub struct SplitOption {
    /// How instances are split into folds
    #[arg(long, aliases = ["by", "splitter"], value_name = "HOW", default_value = Splitter::KFold.name())]
    pub split: Splitter,
}

/// How noise is made.
#[derive(Args, Clone, Debug)]
pub struct NoiseOptions {
    /// Share of the irrelevant labels that become candidates (0.2 or 20%), if the data have none
    /// [default: 20%]
    #[arg(long, alias = "rate", value_name = "RATE", value_parser = parse_share)]
    noise: Option<f64>,
    /// How the noise is drawn: each irrelevant label with the same probability (uniform), the same
    /// share in each row (per-instance), row by row until the share is reached
    /// (global), a share of each label's own (per-label), or towards labels that occur together
    /// (co-occurring)
    #[arg(long, alias = "scheme", value_name = "HOW", default_value = Scheme::Uniform.name())]
    pub noise_scheme: Scheme,
}

impl NoiseOptions {
    /// The share.
    pub fn rate(&self) -> f64 {
        self.noise.unwrap_or(0.2)
    }
}

/// Split, noise and scaling.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Preparation")]
pub struct Setup {
    #[command(flatten)]
    split: SplitOption,
    /// Folds from a file of 'data split' instead of drawn ones
    #[arg(long, value_name = "FILE", conflicts_with = "split")]
    split_file: Option<PathBuf>,
    #[command(flatten)]
    noise: NoiseOptions,
    /// Added labels from a file of 'data noise' instead of drawn ones
    #[arg(long, value_name = "FILE", conflicts_with_all = ["noise", "noise_scheme"])]
    noise_file: Option<PathBuf>,
    /// Write the folds and the noise that are used to DIR/split.json and DIR/noise.json
    #[arg(long, value_name = "DIR")]
    save_splits: Option<PathBuf>,
    /// Scaling of the features, learned from the training rows
    #[arg(long, value_name = "HOW", default_value = Scaling::ZScore.name())]
    scaling: Scaling,
}

impl Setup {
    /// Whether folds or noise come from files.
    pub fn has_files(&self) -> bool {
        self.split_file.is_some() || self.noise_file.is_some()
    }

    /// Whether the user asks for noise, which only true labels can be given.
    pub fn asks_for_noise(&self) -> bool {
        self.noise.noise.is_some() || self.noise_file.is_some()
    }

    /// Gives the data the candidates of the noise file.
    pub fn add_noise(&self, data: &mut Dataset) -> Result<()> {
        let Some(path) = &self.noise_file else {
            return Ok(());
        };
        match (&data.truth, &data.candidates) {
            (Some(truth), None) => data.candidates = Some(noise::read(path, truth)?.candidates),
            _ => {
                return Err(Error::config(
                    "--noise-file adds labels to true ones, but the data have candidate labels",
                )
                .hint("leave the option out, or name the true labels alone with --labels"));
            }
        }
        Ok(())
    }

    /// The protocol on these data.
    pub fn protocol(&self, data: &Dataset, seed: u64, folds: usize) -> Result<Protocol> {
        let given_folds = match &self.split_file {
            Some(path) => Some(split::read(path, data.n())?),
            None => None,
        };
        Ok(Protocol {
            seed,
            folds: given_folds.as_ref().map_or(folds, |f| f.k()),
            repeats: 1,
            splitter: self.split.split,
            given_folds,
            noise: self.noise.rate(),
            scheme: self.noise.noise_scheme,
            scaling: self.scaling,
        })
    }

    /// Writes folds and noise, if that was asked for: a pair of files per repeat.
    pub fn save(&self, plan: &Plan<'_>) -> Result<()> {
        let Some(dir) = &self.save_splits else {
            return Ok(());
        };
        fs::create_dir_all(dir).map_err(|e| Error::io(dir, "create", &e))?;
        for repeat in &plan.repeats {
            let file = |name: &str| match plan.repeats.len() {
                1 => dir.join(format!("{name}.json")),
                _ => dir.join(format!("{name}-{}.json", repeat.number)),
            };
            self.save_one(plan, repeat, &file("split"), &file("noise"))?;
        }
        Ok(())
    }

    fn save_one(
        &self,
        plan: &Plan<'_>,
        repeat: &crate::experiment::Repeat,
        split_file: &Path,
        noise_file: &Path,
    ) -> Result<()> {
        let Protocol { seed, splitter, noise: rate, scheme, .. } = plan.protocol;
        if let Some(folds) = &repeat.folds {
            let drawn = self.split_file.is_none().then_some((splitter, seed));
            split::write(split_file, folds, drawn)?;
        }
        // Candidates of the data themselves are no noise that was added.
        let added = plan.data.candidates.is_none() || self.noise_file.is_some();
        if let (true, Some(truth)) = (added, &plan.data.truth) {
            let candidates = repeat.candidates.clone();
            let noise = Noise {
                added: candidates.count() - truth.count(),
                irrelevant: truth.as_slice().len() - truth.count(),
                candidates,
            };
            let drawn = self.noise_file.is_none().then_some((scheme, rate, seed));
            noise::write(noise_file, truth, &noise, drawn)?;
        }
        Ok(())
    }
}

/// A share as 0.2 or 20%.
pub fn parse_share(text: &str) -> Result<f64> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse().map(|p: f64| p / 100.0),
        None => text.parse(),
    };
    value.ok().filter(|r| (0.0..=1.0).contains(r)).ok_or_else(|| {
        Error::config(format!("found '{text}', expected 0 to 1, or a percentage such as 20%"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!((parse_share("0.2").unwrap(), parse_share("20%").unwrap()), (0.2, 0.2));
        for bad in ["120%", "-1", "x", "", "%", "NaN"] {
            assert!(parse_share(bad).is_err(), "{bad}");
        }
    }
}
