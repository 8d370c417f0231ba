//! `data noise`: make candidate labels and write down which labels were added.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::Context;
use crate::cli::input::Input;
use crate::data::noise::{self, Scheme};
use crate::{Result, io};

/// Add irrelevant labels to the true ones and write them to a file
#[derive(Args)]
#[command(
    name = "noise",
    after_help = "Example: pomdp-fs data noise yeast noise.json --scheme uniform --rate 0.2 --seed 7"
)]
pub struct NoiseCommand {
    /// A file, or the name of a set of the catalog
    data: String,
    /// JSON file to write: for each instance the labels that were added, counted from 0
    out: PathBuf,
    /// uniform (each irrelevant label with the same probability), per-instance (the same share in
    /// each instance) or global (row by row until the share is reached)
    #[arg(long, value_name = "NAME", default_value = "uniform")]
    scheme: Scheme,
    /// Share of irrelevant labels that become candidates
    #[arg(long, value_name = "P", default_value_t = 0.2)]
    rate: f64,
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
        let dataset = self.input.open(&self.data)?;
        let truth = super::truth(&dataset)?;
        let made = noise::inject(truth, self.scheme, self.rate, &context.streams)?;
        let seed = context.streams.root();
        noise::write(&self.out, truth, &made, Some((self.scheme, self.rate, seed)))?;
        context.say(format!(
            "{} of {} irrelevant labels became candidates: realised rate {:.6}, asked for {}",
            made.added,
            made.irrelevant,
            made.realised(),
            self.rate
        ));
        context.emit(&Made {
            scheme: self.scheme,
            rate: self.rate,
            seed,
            irrelevant: made.irrelevant,
            added: made.added,
            realised_rate: made.realised(),
        })?;
        Ok(true)
    }
}
