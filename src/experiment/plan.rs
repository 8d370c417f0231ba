//! A grid of cells and its evaluation.

use std::sync::Arc;

use super::parallel::in_order;
use super::{About, Cell, CellResult, Failure, Protocol, Repeat, Results, Scoring, Store};
use crate::data::{Dataset, Labels};
use crate::method::{Method, Observer};
use crate::{Error, ErrorKind, Result, checksum};

/// A method as an evaluation runs it.
#[derive(Clone)]
pub struct MethodRun {
    /// The method with its settings.
    pub method: Arc<dyn Method>,
    /// Number of fits for choosing the settings inside each training part; None: as they are.
    pub tuning_fits: Option<usize>,
    /// What is different from the plain method, for tables; nothing for the method itself.
    pub variant: String,
}

impl MethodRun {
    /// With the settings that it has.
    pub fn new(method: impl Into<Arc<dyn Method>>) -> Self {
        MethodRun { method: method.into(), tuning_fits: None, variant: String::new() }
    }

    /// With settings chosen inside the training part; None if there is nothing to choose from.
    pub fn tuned(&self, fits: usize) -> Result<Option<Self>> {
        if fits < 2 {
            return Err(Error::config(format!(
                "found {fits} fits for tuning, expected at least 2: the default and another"
            )));
        }
        let tuned = MethodRun { tuning_fits: Some(fits), ..self.clone() };
        Ok((!self.method.grid().is_empty()).then_some(tuned))
    }

    /// Name in tables.
    pub fn label(&self) -> String {
        let tuned = if self.tuning_fits.is_some() { " (tuned)" } else { "" };
        let gap = if self.variant.is_empty() { "" } else { " " };
        format!("{}{gap}{}{tuned}", self.method.name(), self.variant)
    }
}

/// Data, protocol, scoring and methods: a grid of cells.
pub struct Plan<'a> {
    /// The data.
    pub data: &'a Dataset,
    /// Split, noise and scaling.
    pub protocol: Protocol,
    /// Labels, classifiers, budgets and measures.
    pub scoring: Scoring,
    /// The methods, in the order of tables.
    pub runs: Vec<MethodRun>,
    /// Folds and candidates.
    pub repeats: Vec<Repeat>,
    /// SHA-256 of features and labels as they were understood: the cut of a set, ignored columns
    /// and imputed values count, not the file alone.
    pub(super) content: String,
}

impl<'a> Plan<'a> {
    /// Draws folds and noise. Without `split` all rows train, and nothing can be scored.
    pub fn new(
        data: &'a Dataset,
        protocol: Protocol,
        scoring: Scoring,
        runs: Vec<MethodRun>,
        split: bool,
    ) -> Result<Self> {
        if protocol.repeats == 0 {
            return Err(Error::config("found 0 repeats, expected at least 1"));
        }
        if protocol.given_folds.is_some() && protocol.repeats > 1 {
            return Err(Error::config(format!(
                "found given folds and {} repeats, expected 1: other repeats need other folds",
                protocol.repeats
            )));
        }
        let repeat = |r| Repeat::new(data, &protocol, r, split);
        let repeats = (0..protocol.repeats).map(repeat).collect::<Result<Vec<_>>>()?;
        let content = content(data);
        Ok(Plan { data, protocol, scoring, runs, repeats, content })
    }

    /// All cells: method after method, repeat after repeat, fold after fold.
    pub fn cells(&self) -> Vec<Cell<'_>> {
        let mut cells = Vec::new();
        for run in &self.runs {
            for repeat in &self.repeats {
                match &repeat.folds {
                    None => cells.push(Cell { plan: self, run, repeat, fold: None }),
                    Some(folds) => cells.extend((0..folds.k()).map(|f| Cell {
                        plan: self,
                        run,
                        repeat,
                        fold: Some(f),
                    })),
                }
            }
        }
        cells
    }

    /// Computes all cells in parallel; the result does not depend on how. Cells that `store` holds
    /// are taken from there, others are kept there as they finish. A cell that fails is reported in
    /// the results; the others go on.
    pub fn evaluate(&self, store: Option<&Store>, watch: &dyn Watch) -> Result<Results> {
        if self.data.truth.is_none() {
            return Err(Error::input(
                "found no true labels, expected them: without truth nothing can be scored",
            )
            .in_file(&self.data.source.origin));
        }
        let cells = self.cells();
        let done = in_order(cells.len(), |k| compute(&cells[k], store, k, watch))?;
        let mut results = Results { about: self.about(), cells: Vec::new(), failures: Vec::new() };
        for cell in done {
            match cell {
                Ok(result) => results.cells.push(result),
                Err(failure) => results.failures.push(failure),
            }
        }
        Ok(results)
    }

    /// What the cells have in common.
    pub fn about(&self) -> About {
        let (data, protocol) = (self.data, &self.protocol);
        let measures = self.scoring.measures.iter();
        About {
            dataset: data.name.clone(),
            sha256: data.source.sha256.clone(),
            n: data.n(),
            d: data.d(),
            labels: data.labels(),
            seed: protocol.seed,
            folds: protocol.given_folds.as_ref().map_or(protocol.folds, |f| f.k()),
            repeats: protocol.repeats,
            split: protocol.split_name(),
            noise: data.candidates.is_none().then_some(protocol.noise),
            noise_scheme: protocol.scheme.name().to_owned(),
            scaling: protocol.scaling.name().to_owned(),
            measures: measures.map(|(c, f)| (c.name().to_owned(), f.name().to_owned())).collect(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Evaluates methods by cross-validation on data with true labels, without progress or store.
pub fn evaluate(
    data: &Dataset,
    methods: Vec<Box<dyn Method>>,
    protocol: &Protocol,
    scoring: &Scoring,
) -> Result<Results> {
    let runs = methods.into_iter().map(MethodRun::new).collect();
    Plan::new(data, protocol.clone(), scoring.clone(), runs, true)?.evaluate(None, &Unwatched)
}

/// Hears about the progress of an evaluation, from several threads.
pub trait Watch: Sync {
    /// This share of the work of a cell is done. Returns false to stop the evaluation.
    fn progress(&self, cell: usize, share: f64) -> bool;
    /// A cell was computed, or taken from the store.
    fn finished(&self, cell: usize, result: &Result<CellResult, Failure>, from_store: bool);
}

/// Hears nothing and never stops.
pub struct Unwatched;

impl Watch for Unwatched {
    fn progress(&self, _: usize, _: f64) -> bool {
        true
    }

    fn finished(&self, _: usize, _: &Result<CellResult, Failure>, _: bool) {}
}

/// Tells a [`Watch`] about the progress of one cell.
pub(super) struct Watched<'a> {
    pub watch: &'a dyn Watch,
    pub cell: usize,
}

impl Observer for Watched<'_> {
    fn progress(&mut self, _: &str, done: usize, total: usize) -> bool {
        self.watch.progress(self.cell, done as f64 / total.max(1) as f64)
    }
}

fn compute(
    cell: &Cell<'_>,
    store: Option<&Store>,
    number: usize,
    watch: &dyn Watch,
) -> Result<Result<CellResult, Failure>> {
    if let Some(stored) = store.and_then(|s| s.load(cell)) {
        let stored = Ok(stored);
        watch.finished(number, &stored, true);
        return Ok(stored);
    }
    if !watch.progress(number, 0.0) {
        return Err(Error::cancelled());
    }
    let computed = match cell.run(cell.prepare(), &mut Watched { watch, cell: number }) {
        Ok(outcome) => {
            if let Some(store) = store {
                store.save(&outcome.result)?;
            }
            Ok(outcome.result)
        }
        Err(e) if e.kind() == ErrorKind::Cancelled => return Err(e),
        Err(e) => Err(Failure {
            method: cell.run.label(),
            repeat: cell.repeat.number,
            fold: cell.fold,
            reason: e.to_string(),
        }),
    };
    watch.finished(number, &computed, false);
    Ok(computed)
}

/// SHA-256 of features, truth and candidates.
fn content(data: &Dataset) -> String {
    let shape = format!("{} {} {}\n", data.n(), data.d(), data.labels()).into_bytes();
    let rows = data.x.rows_iter().map(|row| row.iter().flat_map(|v| v.to_le_bytes()).collect());
    let blocks = [("truth", &data.truth), ("candidates", &data.candidates)];
    let blocks = blocks.into_iter().filter_map(|(name, block)| Some((name, block.as_ref()?)));
    let cells = |y: &Labels| y.as_slice().iter().map(|&on| u8::from(on)).collect::<Vec<u8>>();
    let blocks = blocks.map(|(name, y)| [name.as_bytes(), &cells(y)].concat());
    checksum::sha256_of(std::iter::once(shape).chain(rows).chain(blocks))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
