//! `data split`: make folds and write them down.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::Context;
use crate::cli::input::Input;
use crate::cli::setup::SplitOption;
use crate::data::{Role, Splitter, split};
use crate::experiment::{Protocol, Repeat};
use crate::{Error, Result, io};

/// Split a data set into folds and write them to a file
#[derive(Args)]
#[command(
    after_help = "Example: pomdp-fs data split yeast folds.json --folds 5 --split stratified"
)]
pub struct Split {
    /// A file, or the name of a set of the catalog
    data: String,
    /// JSON file to write: the test instances of each fold, counted from 0
    out: PathBuf,
    /// Number of folds
    #[arg(long, value_name = "K", default_value_t = 5)]
    folds: usize,
    #[command(flatten)]
    split: SplitOption,
    /// Number of the repeat of 'evaluate' whose folds these are
    #[arg(long, value_name = "R", default_value_t = 0)]
    repeat: usize,
    #[command(flatten)]
    input: Input,
}

#[derive(Serialize)]
struct Made {
    splitter: Splitter,
    seed: u64,
    instances: usize,
    test_sizes: Vec<usize>,
}

impl Split {
    pub(super) fn run(&self, context: &Context) -> Result<bool> {
        io::check_writable(&self.out)?;
        let dataset = self.input.open(&self.data, Role::Truth)?;
        let (seed, splitter) = (context.streams.root(), self.split.split);
        let protocol = Protocol { seed, splitter, folds: self.folds, ..Protocol::default() };
        let drawn = Repeat::new(&dataset, &protocol, self.repeat, true)?;
        let folds = drawn.folds.ok_or_else(|| Error::config("found no folds"))?;
        split::write(&self.out, &folds, Some((splitter, seed)))?;
        let sizes: Vec<usize> = (0..folds.k()).map(|f| folds.test(f).len()).collect();
        context.say(format!("{} instances in {} folds of {sizes:?}", folds.n(), folds.k()));
        context.emit(&Made { splitter, seed, instances: folds.n(), test_sizes: sizes })?;
        Ok(true)
    }
}
