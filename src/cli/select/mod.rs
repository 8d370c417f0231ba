//! `pomdp-fs select`: candidate labels in; clean labels, a feature ranking and the model out.

mod files;
mod job;
mod output;
mod page;

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use serde_json::{Map, Value};

use super::Context;
use super::input::Input;
use crate::data::{Scaling, noise::Scheme};
use crate::method::pomdp_fs::{Config, Preset};
use crate::method::{paper_budget, settings::changed};
use crate::{Error, Result};

/// Disambiguate candidate labels and rank the features: the main job
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    pomdp-fs select                                  # the embedded Yeast set with 20 % noise\n  \
    pomdp-fs select mine.arff --role candidates      # your candidate labels, no truth\n  \
    pomdp-fs select mine.csv --labels prefix:tag_ --budget 10% --set epochs2=8\n\n\
    Without known candidates, noise is added to the true labels and a fifth of the rows is held\n\
    out, so that the result can be scored.")]
pub struct Select {
    /// A file, or the name of a data set of the catalog ('pomdp-fs data list')
    data: Option<String>,
    /// Folder for the results [default: pomdp-fs-NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with an interrupted run
    #[arg(long)]
    resume: bool,
    /// Least time between two checkpoints, from which --resume goes on
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = parse_seconds)]
    checkpoint_every: f64,
    /// Number of features to select, or a share such as 20% [default: the paper's rule, 20 % of the
    /// features, or 20 of fewer than 100]
    #[arg(long, value_name = "K|P%")]
    budget: Option<Budget>,
    /// Reading of the paper: observation (works) or paper (to the letter)
    #[arg(long, value_name = "NAME", default_value = "observation", value_parser = parse_preset)]
    preset: Preset,
    /// Settings as a TOML file of KEY = VALUE lines
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, e.g. --set epochs1=50; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Train Stage 1 on K-1 parts and disambiguate the rest
    #[arg(long, value_name = "K")]
    cross_fit: Option<usize>,
    /// Keep the best candidate of a row when none reaches 1/2
    #[arg(long)]
    at_least_one: bool,
    /// Ranking by frequency, score or credit [default: credit; preset paper: frequency]
    #[arg(long, value_name = "HOW")]
    ranking: Option<String>,
    /// Memory for Stage 2's rollouts, in MiB
    #[arg(long, value_name = "MIB")]
    memory_limit: Option<usize>,
    /// Share of irrelevant labels made candidates when the data have true labels only
    #[arg(long, value_name = "RATE", default_value_t = 0.2)]
    noise: f64,
    /// How the noise is added: uniform, per-instance or global
    #[arg(long, value_name = "SCHEME", default_value = "uniform")]
    scheme: Scheme,
    /// Scaling of the features: z-score, min-max or none
    #[arg(long, value_name = "HOW", default_value = "z-score")]
    scaling: Scaling,
    #[command(flatten)]
    input: Input,
}

/// A number of features or a share of them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Budget {
    Count(usize),
    Share(f64),
}

impl FromStr for Budget {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::config(format!(
                "found '{text}', expected a number of features or a share such as 20%"
            ))
        };
        if let Some(percent) = text.strip_suffix('%') {
            let share: f64 = percent.trim().parse().map_err(|_| wrong())?;
            let valid = share > 0.0 && share <= 100.0;
            return if valid { Ok(Budget::Share(share / 100.0)) } else { Err(wrong()) };
        }
        match text.parse() {
            Ok(0) | Err(_) => Err(wrong()),
            Ok(count) => Ok(Budget::Count(count)),
        }
    }
}

impl Budget {
    fn features(this: Option<Self>, d: usize) -> usize {
        match this {
            None => paper_budget(d),
            Some(Budget::Count(count)) => count.min(d),
            Some(Budget::Share(share)) => ((share * d as f64) as usize).clamp(1, d),
        }
    }
}

fn parse_seconds(text: &str) -> Result<f64> {
    let seconds = text.parse().ok().filter(|s| (0.0..=1e9).contains(s));
    seconds.ok_or_else(|| Error::config(format!("found '{text}', expected seconds, 0 or more")))
}

fn parse_preset(text: &str) -> Result<Preset> {
    serde_json::from_value(Value::String(text.into()))
        .map_err(|_| Error::config(format!("found '{text}', expected observation or paper")))
}

impl Select {
    /// Runs the job; true when it is done.
    pub fn run(&self, context: &Context) -> Result<bool> {
        job::run(self, context)?;
        Ok(true)
    }

    /// `select` with nothing at all.
    pub fn plain() -> Self {
        #[derive(clap::Parser)]
        struct Only {
            #[command(flatten)]
            select: Select,
        }
        <Only as clap::Parser>::parse_from(["pomdp-fs"]).select
    }

    /// Preset, then the file, then the flags.
    fn settings(&self) -> Result<Config> {
        let mut config = Config::new(self.preset);
        if let Some(path) = &self.config {
            let bytes = crate::io::read(path)?;
            let text = String::from_utf8_lossy(&bytes);
            let table: Map<String, Value> = toml::from_str(&text).map_err(|e| {
                let at = e.span().map_or(0, |s| s.start);
                let before = &text[..at.min(text.len())];
                let line = before.matches('\n').count() as u64 + 1;
                let column = (at - before.rfind('\n').map_or(0, |k| k + 1)) as u64 + 1;
                Error::config(e.message().to_owned()).in_file(path).at(line, column)
            })?;
            config = changed(&config, &Value::Object(table)).map_err(|e| e.in_file(path))?;
        }
        let mut changes = Map::new();
        for setting in &self.set {
            let (key, value) = setting.split_once('=').ok_or_else(|| {
                Error::config(format!("found --set {setting}, expected KEY=VALUE"))
            })?;
            let parsed = serde_json::from_str(value.trim());
            let value = parsed.unwrap_or_else(|_| Value::String(value.trim().into()));
            changes.insert(key.trim().into(), value);
        }
        if let Some(k) = self.cross_fit {
            changes.insert("cross_fit".into(), k.into());
        }
        if self.at_least_one {
            changes.insert("at_least_one".into(), true.into());
        }
        if let Some(ranking) = &self.ranking {
            changes.insert("ranking".into(), ranking.as_str().into());
        }
        if let Some(limit) = self.memory_limit {
            changes.insert("memory_limit".into(), limit.into());
        }
        changed(&config, &Value::Object(changes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_between_checkpoints() {
        assert_eq!((parse_seconds("0").unwrap(), parse_seconds("1.5").unwrap()), (0.0, 1.5));
        for bad in ["-1", "NaN", "inf", "x", ""] {
            assert!(parse_seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn budgets() {
        let features = |text: &str, d| Budget::features(Some(text.parse().unwrap()), d);
        assert_eq!((features("7", 50), features("70", 50)), (7, 50));
        assert_eq!((features("10%", 50), features("1%", 50), features("100%", 50)), (5, 1, 50));
        assert_eq!(Budget::features(None, 103), 20);
        for bad in ["0", "0%", "101%", "x", "", "-3", "%"] {
            assert!(bad.parse::<Budget>().is_err(), "{bad}");
        }
    }
}
