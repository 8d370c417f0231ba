//! `data noise`: make candidate labels and write down which labels were added.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::Context;
use crate::cli::input::Input;
use crate::cli::setup::NoiseOptions;
use crate::data::Role;
use crate::data::noise::{self, Scheme};
use crate::experiment::Protocol;
use crate::{Result, io};

/// Add irrelevant labels to the true ones and write them to a file
#[derive(Args)]
#[command(
    name = "noise",
    after_help = "Example: pomdp-fs data noise yeast noise.json --noise 20% --noise-scheme uniform --seed 7"
)]
pub struct NoiseCommand {
    /// A file, or the name of a set of the catalog
    data: String,
    /// JSON file to write: for each instance the labels that were added, counted from 0
    out: PathBuf,
    #[command(flatten)]
    noise: NoiseOptions,
    /// Number of the repeat of 'evaluate' whose candidates these are
    #[arg(long, value_name = "R", default_value_t = 0)]
    repeat: usize,
    #[command(flatten)]
    input: Input,
}

#[derive(Serialize)]
struct Made {
    scheme: Scheme,
    rate: f64,
    seed: u64,
    irrelevant: usize,
    added: usize,
    realised_rate: f64,
}

impl NoiseCommand {
    pub(super) fn run(&self, context: &Context) -> Result<bool> {
        io::check_writable(&self.out)?;
        let dataset = self.input.open(&self.data, Role::Truth)?;
        let truth = super::truth(&dataset)?;
        let (rate, scheme) = (self.noise.rate(), self.noise.noise_scheme);
        let seed = context.streams.root();
        let streams = Protocol { seed, ..Protocol::default() }.streams(self.repeat);
        let made = noise::inject(truth, scheme, rate, &streams)?;
        noise::write(&self.out, truth, &made, Some((scheme, rate, seed)))?;
        context.say(format!(
            "{} of {} irrelevant labels became candidates: realised rate {:.6}, asked for {}",
            made.added,
            made.irrelevant,
            made.realised(),
            rate
        ));
        context.emit(&Made {
            scheme,
            rate,
            seed,
            irrelevant: made.irrelevant,
            added: made.added,
            realised_rate: made.realised(),
        })?;
        Ok(true)
    }
}
