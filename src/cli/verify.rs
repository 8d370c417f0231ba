//! `pomdp-fs verify`: computes cells of a run again and compares the bytes.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::Context;
use super::input::Place;
use crate::experiment::grid::{self, Choice, RunFolder, Verified, tasks};
use crate::{Error, Result};

/// Compute random cells of a run again and compare the bytes
///
/// Exit code 1 if a cell differs. Another --seed chooses other cells.
#[derive(Args)]
#[command(after_help = "Example:\n  pomdp-fs verify reproduction --sample 5")]
pub struct Verify {
    /// Folder of 'reproduce'
    #[arg(value_name = "RUN_DIR")]
    folder: PathBuf,
    /// How many cells
    #[arg(long, value_name = "N", default_value_t = 5)]
    sample: usize,
    #[command(flatten)]
    place: Place,
}

impl Verify {
    /// True when all bytes are the same.
    pub fn run(&self, context: &Context) -> Result<bool> {
        let folder = RunFolder::open(&self.folder)?;
        let choices = folder.choices()?;
        if choices.is_empty() {
            return Err(Error::found("no grid", "the folder 'grids' that 'reproduce' writes")
                .in_file(&self.folder));
        }
        let mut checked = Vec::new();
        let mut left = self.sample;
        // One grid after the other: their sets need not fit into memory together.
        for choice in &choices {
            if left == 0 {
                break;
            }
            let found = self.check(choice, &folder, left, &checked, context)?;
            left -= found.len().min(left);
            checked.extend(found);
        }
        if checked.is_empty() {
            return Err(Error::input(
                "no finished cell is one of this program on these data: another version, or other data",
            )
            .in_file(&self.folder));
        }
        let same = checked.iter().filter(|v| v.same).count();
        context.say(format!("{same} of {} cells have the same bytes", checked.len()));
        context.emit(&json!({ "pass": same == checked.len(), "cells": checked }))?;
        Ok(same == checked.len())
    }

    fn check(
        &self,
        choice: &Choice,
        folder: &RunFolder,
        sample: usize,
        before: &[Verified],
        context: &Context,
    ) -> Result<Vec<Verified>> {
        let sets = grid::sets(choice, &self.place.folders())?;
        let plans = choice.plans(&sets)?;
        let mut tasks = tasks(&plans, choice);
        tasks.retain(|task| before.iter().all(|v| v.id != task.id));
        let found = grid::verify(&tasks, folder, sample, &context.streams)?;
        for v in &found {
            let verdict = v
                .difference
                .as_ref()
                .map_or("same bytes".to_owned(), |what| format!("DIFFERENT: {what}"));
            context.say(format!(
                "{} {} {}, seed {}, fold {}: {verdict}",
                v.id, v.set, v.method, v.seed, v.fold
            ));
        }
        Ok(found)
    }
}
