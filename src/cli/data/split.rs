//! `data split`: make folds and write them down.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::Context;
use crate::cli::input::Input;
use crate::data::{Folds, Splitter, split};
use crate::{Error, Result, io};

/// Split a data set into folds and write them to a file
#[derive(Args)]
#[command(after_help = "Example: pomdp-fs data split yeast folds.json --folds 5 --by stratified")]
pub struct Split {
    /// A file, or the name of a set of the catalog
    data: String,
    /// JSON file to write: the test instances of each fold, counted from 0
    out: PathBuf,
    /// Number of folds
    #[arg(long, value_name = "K", default_value_t = 5)]
    folds: usize,
    /// k-fold (shuffled) or stratified (keeps the share of each label)
    #[arg(long, value_name = "HOW", default_value = "k-fold")]
    by: Splitter,
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
        let dataset = self.input.open(&self.data)?;
        let labels = dataset.truth.as_ref().or(dataset.candidates.as_ref());
        let labels = labels.ok_or_else(|| Error::input("the data set has no labels"))?;
        let folds = Folds::new(labels, self.folds, self.by, &context.streams)?;
        let seed = context.streams.root();
        split::write(&self.out, &folds, Some((self.by, seed)))?;
        let sizes: Vec<usize> = (0..folds.k()).map(|f| folds.test(f).len()).collect();
        context.say(format!("{} instances in {} folds of {sizes:?}", folds.n(), folds.k()));
        context.emit(&Made { splitter: self.by, seed, instances: folds.n(), test_sizes: sizes })?;
        Ok(true)
    }
}
