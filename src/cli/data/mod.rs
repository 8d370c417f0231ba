//! `pomdp-fs data`: what is there, what is in it, and how to turn it into something else.

mod convert;
mod fetch;
mod info;
mod list;
mod noise;
mod split;
mod verify;

use clap::{Args, Subcommand};

use super::Context;
use crate::data::{Dataset, Labels};
use crate::{Error, Result};

/// Look at data sets: list, describe, check, download, convert; write noise and folds
#[derive(Args)]
pub struct Data {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    List(list::List),
    Info(info::InfoCommand),
    Verify(verify::Verify),
    Fetch(fetch::Fetch),
    Convert(convert::Convert),
    Noise(noise::NoiseCommand),
    Split(split::Split),
}

impl Data {
    /// True when every check holds.
    pub fn run(&self, context: &Context) -> Result<bool> {
        match &self.action {
            Action::List(command) => command.run(context),
            Action::Info(command) => command.run(context),
            Action::Verify(command) => command.run(context),
            Action::Fetch(command) => command.run(context),
            Action::Convert(command) => command.run(context),
            Action::Noise(command) => command.run(context),
            Action::Split(command) => command.run(context),
        }
    }
}

/// The true labels, which noise needs.
fn truth(dataset: &Dataset) -> Result<&Labels> {
    dataset.truth.as_ref().ok_or_else(|| {
        Error::input("the data set has candidate labels only; noise is added to true ones")
            .in_file(&dataset.source.origin)
    })
}
