//! The cells of a grid, in the order in which they are begun.

use std::collections::HashSet;

use super::{Choice, Estimates, GridSet, Study};
use crate::experiment::{Cell, Plan};

/// The cells of one set, seed, noise and study.
pub struct GridPlan<'a> {
    /// The set.
    pub set: &'a GridSet,
    /// What the cells are for.
    pub study: Study,
    /// The cells.
    pub plan: Plan<'a>,
}

/// A cell of a grid with its id.
#[derive(Clone)]
pub struct Task<'a> {
    /// The set.
    pub set: &'a GridSet,
    /// What it is for.
    pub study: Study,
    /// The cell.
    pub cell: Cell<'a>,
    /// Hash of its configuration.
    pub id: String,
}

impl Task<'_> {
    /// Name of the method with its variant.
    pub fn method(&self) -> String {
        self.cell.run.label()
    }

    /// Root of the random streams.
    pub fn seed(&self) -> u64 {
        self.cell.plan.protocol.seed
    }

    /// Fold, from 0.
    pub fn fold(&self) -> usize {
        self.cell.fold.unwrap_or(0)
    }

    /// Kind and share of the noise; None where the data bring their own candidates.
    pub fn noise(&self) -> Option<String> {
        let protocol = &self.cell.plan.protocol;
        let percent = format!("{} {} %", protocol.scheme.name(), 100.0 * protocol.noise);
        self.set.data.candidates.is_none().then_some(percent)
    }
}

/// All cells of the plans, each once: those that are expected to take longest first, so that the end
/// is not one long cell on one core. The order is a function of the grid alone, whatever was measured
/// since, because shards are cut from it.
pub fn tasks<'a>(plans: &'a [GridPlan<'a>], choice: &Choice) -> Vec<Task<'a>> {
    let mut known = HashSet::new();
    let mut all = Vec::new();
    for GridPlan { set, study, plan } in plans {
        let wanted = |cell: &Cell<'_>| {
            choice.only_folds.is_empty()
                || cell.fold.is_some_and(|fold| choice.only_folds.contains(&fold))
        };
        for cell in plan.cells().into_iter().filter(wanted) {
            let id = cell.id();
            if known.insert(id.clone()) {
                all.push(Task { set, study: *study, cell, id });
            }
        }
    }
    let estimates = Estimates::built_in();
    all.sort_by_cached_key(|task| {
        let micros = (1e6 * estimates.seconds(task)) as u64;
        (std::cmp::Reverse(micros), task.id.clone())
    });
    all
}
