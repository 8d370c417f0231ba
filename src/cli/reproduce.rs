//! `pomdp-fs reproduce`: the paper as a grid of cells, resumable and shardable.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::Context;
use super::grid_bar::{GridBar, clock};
use super::input::Place;
use super::interrupt;
use crate::data::catalog::{self, Status};
use crate::experiment::grid::{
    self, Choice, Estimates, RunData, RunFolder, Shard, Study, Task, pack, tasks, unpack,
};
use crate::report::{TextTable, reproduction};
use crate::{Error, Result, io};

/// Sets that the project carries, and methods that tell the story, for `--quick`.
const QUICK_SETS: [&str; 4] = ["yeast", "emotions", "bibtex", "mediamill"];
const QUICK_METHODS: [&str; 12] = [
    "pomdp-fs",
    "pomdp-fs-paper",
    "pml-fsla",
    "pml-fsmir",
    "fpml",
    "forward",
    "mutual-information",
    "logistic-context",
    "random",
    "all",
    "zeros",
    "drop-all",
];
/// Sets of which `--quick` takes the first fold alone: most of its time would be theirs.
const QUICK_LARGE: [&str; 2] = ["bibtex", "mediamill"];
/// Seconds that a cell may be expected to take at most, for `--quick`.
const QUICK_LONGEST: f64 = 60.0;
const BUDGETS: &str = "1%,2%,5%,10%,15%,paper,100%";

/// Reproduce the paper: sets × methods × seeds × folds, tables beside the printed values
///
/// Each cell (one method on one fold) is fitted once and scored under both protocols, at all budgets
/// and under all conventions. Finished cells are kept in --out: the same command goes on where it was
/// stopped. Shards of one grid may share the folder; the report needs the cells alone.
#[derive(Args)]
#[command(after_help = "Examples:\n  pomdp-fs reproduce --quick\n  pomdp-fs reproduce --list\n  \
                  pomdp-fs reproduce --seeds 0,1,2 --out run\n  \
                  pomdp-fs reproduce --shard 2/4 --threads 1 --out run\n  \
                  pomdp-fs reproduce --report-only run\n\n\
                  docs/reproduce.md says how to resume, merge and verify; docs/cluster.md has recipes.")]
pub struct Reproduce {
    /// Data sets of the catalog, or files, separated by commas [default: all that are here]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    sets: Vec<String>,
    /// Methods, separated by commas; 'all' alone is the default: every method, 'pomdp-fs-soft' on the
    /// sets of Table 4 only
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    methods: Vec<String>,
    /// Roots of the random streams, separated by commas [default: --seed]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    seeds: Vec<u64>,
    /// Number of folds [default: 5, with --quick 2]
    #[arg(long, value_name = "K")]
    folds: Option<usize>,
    /// Only these folds, counted from 0
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    fold: Vec<usize>,
    /// Parts of the grid: main, noise, ablation [default: all, with --quick main]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    studies: Vec<Study>,
    /// Numbers of features of the main study, as in 'evaluate'
    #[arg(long, alias = "budget", value_name = "LIST", default_value = BUDGETS)]
    budgets: String,
    /// Bundled sets, two folds (one of the two large sets), main methods, no cell of more than a minute: two
    /// minutes
    #[arg(long)]
    quick: bool,
    /// Only the i-th of n parts of the grid; no report
    #[arg(long, value_name = "i/n")]
    shard: Option<Shard>,
    /// Folder of the run
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
    /// Show the cells and how long they are expected to take; compute nothing
    #[arg(long)]
    list: bool,
    /// Compute failed cells again
    #[arg(long)]
    retry: bool,
    /// Take finished cells from an archive of an earlier run, then go on
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Write all finished cells to one compressed file for --from
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
    /// Write the mean time of finished cells as a table (the format of data/seconds.csv)
    #[arg(long, value_name = "FILE")]
    times: Option<PathBuf>,
    /// No cell is computed: the report of these folders or archives together, in --out
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["list", "shard", "retry", "archive"])]
    report_only: Vec<PathBuf>,
    #[command(flatten)]
    place: Place,
}

impl Reproduce {
    /// Lists, computes or reports.
    pub fn run(&self, context: &Context) -> Result<bool> {
        for file in [&self.archive, &self.times].into_iter().flatten() {
            io::check_writable(file)?;
        }
        if !self.report_only.is_empty() {
            return self.report(&self.report_only, context);
        }
        let choice = self.choice(context)?;
        choice.check()?;
        let sets = grid::sets(&choice, &self.place.folders())?;
        let plans = choice.plans(&sets)?;
        let shard = self.shard.unwrap_or(Shard::WHOLE);
        let mut tasks = tasks(&plans, &choice);
        if self.quick {
            shorten(&mut tasks, context);
        }
        let tasks = shard.part(tasks);
        if self.list {
            return self.show_list(&tasks, context);
        }
        let folder = RunFolder::create(&self.out)?;
        if let Some(archive) = &self.from {
            let count = unpack(archive, &folder)?;
            context.note(format!("{count} cells from {}", archive.display()));
        }
        folder.keep(&choice)?;
        self.compute(tasks, &folder, context)?;
        self.conclude(&folder, shard, context)
    }

    fn choice(&self, context: &Context) -> Result<Choice> {
        let or = |given: &[String], default: Vec<String>| match given {
            [] => default,
            [all] if all == "all" => default,
            given => given.iter().map(|name| name.trim().to_owned()).collect(),
        };
        let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        let (sets, methods) = match self.quick {
            true => (owned(&QUICK_SETS), owned(&QUICK_METHODS)),
            false => (self.sets_here(context)?, Vec::new()),
        };
        let studies = match (&self.studies[..], self.quick) {
            ([], true) => vec![Study::Main],
            ([], false) => Study::ALL.to_vec(),
            (given, _) => given.to_vec(),
        };
        Ok(Choice {
            sets: or(&self.sets, sets),
            methods: or(&self.methods, methods),
            seeds: match &self.seeds[..] {
                [] => vec![context.streams.root()],
                given => given.to_vec(),
            },
            folds: self.folds.unwrap_or(if self.quick { 2 } else { 5 }),
            only_folds: self.fold.clone(),
            studies,
            budgets: self.budgets.clone(),
        })
    }

    /// The sets of the catalog that can be read here; the others are told.
    fn sets_here(&self, context: &Context) -> Result<Vec<String>> {
        let folders = self.place.folders();
        let (missing, here): (Vec<_>, Vec<_>) = catalog::entries()?
            .into_iter()
            .partition(|entry| entry.status(&folders) == Status::Missing);
        if self.sets.is_empty() && !missing.is_empty() {
            let names: Vec<String> = missing.into_iter().map(|e| e.name).collect();
            context.note(format!(
                "not here, so left out: {} (pomdp-fs data fetch NAME --data-dir DIR)",
                names.join(", ")
            ));
        }
        Ok(here.into_iter().map(|e| e.name).collect())
    }

    fn show_list(&self, tasks: &[Task<'_>], context: &Context) -> Result<bool> {
        let folder = RunFolder::open(&self.out).ok();
        let mut times = folder.as_ref().map_or_else(|| Ok(Vec::new()), RunFolder::times)?;
        // What a run that starts from the archive would find.
        let mut archived = RunData::default();
        if let Some(archive) = &self.from {
            archived.add(archive)?;
            times.append(&mut archived.times);
        }
        let estimates = Estimates::refined(&times);
        let mut table = TextTable::new([
            "cell", "study", "set", "method", "noise", "seed", "fold", "seconds", "state",
        ]);
        let (mut left, mut missing, mut rows) = (0.0, 0, Vec::new());
        for task in tasks {
            let seconds = estimates.seconds(task);
            let state = match &folder {
                _ if archived.cells.contains_key(&task.id) => "finished",
                Some(f) if matches!(f.load(&task.id), Ok(Some(_))) => "finished",
                Some(f) if f.failed(&task.id) => "failed",
                _ => "missing",
            };
            if state == "missing" {
                left += seconds;
                missing += 1;
            }
            let noise = task.noise().unwrap_or_else(|| "own".to_owned());
            table.push([
                task.id.clone(),
                task.study.name().to_owned(),
                task.set.name.clone(),
                task.method(),
                noise.clone(),
                task.seed().to_string(),
                task.fold().to_string(),
                format!("{seconds:.1}"),
                state.to_owned(),
            ]);
            rows.push(json!({
                "id": task.id, "study": task.study.name(), "set": task.set.name,
                "method": task.method(), "noise": noise, "seed": task.seed(),
                "fold": task.fold(), "seconds": seconds, "state": state,
            }));
        }
        context.say(&table);
        context.say(format!(
            "\n{} cells, {missing} of them missing: about {} of processor time, {} on {} threads",
            tasks.len(),
            clock(left),
            clock(left / rayon::current_num_threads() as f64),
            rayon::current_num_threads()
        ));
        context.emit(&json!({ "cells": rows, "missing": missing, "seconds_left": left }))?;
        Ok(true)
    }

    fn compute(&self, all: Vec<Task<'_>>, folder: &RunFolder, context: &Context) -> Result<()> {
        let total = all.len();
        let mut pending = Vec::new();
        let mut failed = 0;
        for task in all {
            match folder.load(&task.id) {
                Ok(Some(_)) => {}
                Ok(None) if folder.failed(&task.id) && !self.retry => failed += 1,
                Ok(None) => pending.push(task),
                Err(e) => {
                    context.note(format!("{e}; it is computed again"));
                    pending.push(task);
                }
            }
        }
        let finished = total - pending.len() - failed;
        context.note(format!("{total} cells: {finished} finished, {} to compute", pending.len()));
        if failed > 0 {
            context.note(format!("{failed} failed before: --retry computes them again"));
        }
        let estimates = Estimates::refined(&folder.times()?);
        let weights = pending.iter().map(|task| estimates.seconds(task)).collect();
        let bar = GridBar::new(context, weights);
        interrupt::listen();
        let ran = grid::run(&pending, folder, &bar);
        bar.finish();
        let kept = "finished cells are kept; the same command goes on";
        let ran = interrupt::explain(ran, &bar.position(), kept)?;
        if ran.elsewhere > 0 {
            context.note(format!("{} cells were left to another run here", ran.elsewhere));
        }
        Ok(())
    }

    /// Times, archive and report.
    fn conclude(&self, folder: &RunFolder, shard: Shard, context: &Context) -> Result<bool> {
        if let Some(file) = &self.times {
            io::write_atomic(file, reproduction::times_csv(&folder.times()?)?.as_bytes())?;
        }
        if let Some(file) = &self.archive {
            io::write_atomic(file, &pack(folder)?)?;
        }
        if !shard.is_whole() {
            return Ok(true);
        }
        self.report(std::slice::from_ref(&self.out), context)
    }

    /// The report of folders and archives, in --out; an error if a cell failed.
    fn report(&self, sources: &[PathBuf], context: &Context) -> Result<bool> {
        let data = read_runs(sources, context)?;
        let report = reproduction::Report::new(data)?;
        report.write(&self.out)?;
        context.say(report.terminal());
        context.say(format!("\nreport: {}", self.out.join("report.html").display()));
        context.emit(&report.json())?;
        match report.failures().first() {
            None => Ok(true),
            Some(first) => Err(Error::numeric(format!(
                "{} cells failed, the first of them {} on {}: {}",
                report.failures().len(),
                first.method,
                first.set,
                first.reason
            ))
            .hint("the others are in the report; --retry computes the failed ones again")),
        }
    }
}

/// The finished cells of folders and archives; those of former revisions are told and left out.
pub(super) fn read_runs(sources: &[PathBuf], context: &Context) -> Result<RunData> {
    let mut data = RunData::default();
    sources.iter().try_for_each(|source| data.add(source))?;
    if data.outdated > 0 {
        context.note(format!(
            "{} cells of former revisions of a method are left out; 'pomdp-fs reproduce' computes them again",
            data.outdated
        ));
    }
    Ok(data)
}

/// Takes away the later folds of [`QUICK_LARGE`], and cells that the built-in table expects to take longer
/// than [`QUICK_LONGEST`]; these are told. The table is a part of the program, so the same cells are left
/// out everywhere.
fn shorten(tasks: &mut Vec<Task<'_>>, context: &Context) {
    let estimates = Estimates::built_in();
    let mut long = BTreeSet::new();
    tasks.retain(|task| task.fold() == 0 || !QUICK_LARGE.contains(&task.set.name.as_str()));
    tasks.retain(|task| {
        let stays = estimates.seconds(task) <= QUICK_LONGEST;
        if !stays {
            long.insert(format!("{} on {}", task.method(), task.set.title));
        }
        stays
    });
    if !long.is_empty() {
        let names: Vec<String> = long.into_iter().collect();
        context.note(format!("takes too long for --quick, so left out: {}", names.join(", ")));
    }
}
