//! `data convert`: from any format that can be read to any that can be written.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::Result;
use crate::cli::Context;
use crate::cli::input::Input;
use crate::data::{self, Format, Role, noise};

/// Convert a data set; what is written is read back the same
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pomdp-fs data convert mine.mat mine.arff\n  pomdp-fs data convert yeast yeast.csv\n  pomdp-fs data convert yeast candidates.csv --noise noise.json"
)]
pub struct Convert {
    /// A file, or the name of a set of the catalog
    data: String,
    /// File to write: .arff (with .xml beside it), .csv, .tsv or .svm
    out: PathBuf,
    /// Format to write, instead of the one that the extension names
    #[arg(long, value_name = "FORMAT")]
    to: Option<Format>,
    /// Add the candidate labels of a noise file
    #[arg(long, value_name = "FILE")]
    noise: Option<PathBuf>,
    #[command(flatten)]
    input: Input,
}

#[derive(Serialize)]
struct Converted {
    files: Vec<String>,
    n: usize,
    d: usize,
    labels: usize,
    sha256: String,
}

impl Convert {
    pub(super) fn run(&self, context: &Context) -> Result<bool> {
        let mut dataset = self.input.open(&self.data, Role::Truth)?;
        if let Some(path) = &self.noise {
            let made = noise::read(path, super::truth(&dataset)?)?;
            dataset.candidates = Some(made.candidates);
        }
        let arff = self
            .to
            .map_or(self.out.extension().is_some_and(|e| e == "arff"), |f| f == Format::Arff);
        if !arff && !dataset.nominal.is_empty() {
            context.note(format!(
                "note: {} nominal features are written as numbers; only ARFF keeps the names of their values",
                dataset.nominal.len()
            ));
        }
        let files = data::save(&dataset, &self.out, self.to)?;
        let files: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
        context.say(format!(
            "{} x {} x {} written to {}",
            dataset.n(),
            dataset.d(),
            dataset.labels(),
            files.join(" and ")
        ));
        context.emit(&Converted {
            files,
            n: dataset.n(),
            d: dataset.d(),
            labels: dataset.labels(),
            sha256: dataset.source.sha256,
        })?;
        Ok(true)
    }
}
