//! `pomdp-fs verify`: computes cells of a run again and compares the bytes.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::Context;
use super::input::Place;
use crate::data::catalog::{self, Status};
use crate::experiment::grid::{self, CellBytes, Choice, Verified, stored_bytes, tasks};
use crate::{Error, Result};

/// Compute random cells of a run again and compare the bytes
///
/// Exit code 1 if a cell differs. Another --seed chooses other cells. Sets that are not here are left out.
#[derive(Args)]
#[command(after_help = "Examples:\n  pomdp-fs verify reproduction --sample 5\n  \
                  pomdp-fs verify docs/results/cells.gz")]
pub struct Verify {
    /// Folder of 'reproduce', or an archive of one
    #[arg(value_name = "RUN_DIR")]
    source: PathBuf,
    /// How many cells
    #[arg(long, value_name = "N", default_value_t = 5)]
    sample: usize,
    #[command(flatten)]
    place: Place,
}

impl Verify {
    /// True when all bytes are the same.
    pub fn run(&self, context: &Context) -> Result<bool> {
        let (stored, choices) = stored_bytes(&self.source)?;
        if choices.is_empty() {
            return Err(Error::found("no grid", "the folder 'grids' that 'reproduce' writes")
                .in_file(&self.source));
        }
        let mut checked = Vec::new();
        let mut left = self.sample;
        // One grid after the other: their sets need not fit into memory together.
        for choice in &choices {
            if left == 0 {
                break;
            }
            let found = self.check(self.here(choice, context), &stored, left, &checked, context)?;
            left -= found.len().min(left);
            checked.extend(found);
        }
        if checked.is_empty() {
            return Err(Error::input(
                "no finished cell is one of this program on these data: another version, or other data",
            )
            .in_file(&self.source));
        }
        let same = checked.iter().filter(|v| v.same).count();
        context.say(format!("{same} of {} cells have the same bytes", checked.len()));
        context.emit(&json!({ "pass": same == checked.len(), "cells": checked }))?;
        Ok(same == checked.len())
    }

    /// The grid without the sets that are not here; they are told.
    fn here(&self, choice: &Choice, context: &Context) -> Choice {
        let folders = self.place.folders();
        let is_missing = |name: &String| {
            catalog::find(name).is_ok_and(|entry| entry.status(&folders) == Status::Missing)
        };
        let (missing, sets): (Vec<_>, Vec<_>) = choice.sets.iter().cloned().partition(is_missing);
        if !missing.is_empty() {
            context.note(format!("not here, so left out: {}", missing.join(", ")));
        }
        Choice { sets, ..choice.clone() }
    }

    fn check(
        &self,
        choice: Choice,
        stored: &CellBytes,
        sample: usize,
        before: &[Verified],
        context: &Context,
    ) -> Result<Vec<Verified>> {
        if choice.sets.is_empty() {
            return Ok(Vec::new());
        }
        let sets = grid::sets(&choice, &self.place.folders())?;
        let plans = choice.plans(&sets)?;
        let mut tasks = tasks(&plans, &choice);
        tasks.retain(|task| before.iter().all(|v| v.id != task.id));
        let found = grid::verify(&tasks, stored, sample, &context.streams)?;
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
