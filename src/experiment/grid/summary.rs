//! What a run says: mean values by set, method, protocol and budget.

use std::collections::{BTreeMap, BTreeSet};

use super::StoredCell;
use crate::experiment::printed::our_name;
use crate::experiment::{Score, TrainLabels, moments};
use crate::method::{self, paper_budget};
use crate::{Error, Result};

/// Which classifier of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Trained on the truth: only the ranking comes from noisy data.
    Selection,
    /// Trained on the best labels that the method makes, else on the candidates.
    EndToEnd,
    /// Trained on these labels.
    Labels(TrainLabels),
}

impl View {
    /// The two protocols.
    pub const PROTOCOLS: [View; 2] = [View::Selection, View::EndToEnd];

    /// Name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            View::Selection => "selection",
            View::EndToEnd => "end-to-end",
            View::Labels(labels) => labels.name(),
        }
    }
}

/// How many features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The paper's budget.
    Paper,
    /// All of them.
    All,
    /// This budget.
    Budget(usize),
}

/// A set as a run saw it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct RunSet {
    /// Name.
    pub name: String,
    /// Name in tables.
    pub title: String,
    /// Instances.
    pub n: usize,
    /// Features.
    pub d: usize,
    /// Labels.
    pub labels: usize,
    /// Not all instances were there.
    pub partial: bool,
    /// It brings its own candidates.
    pub real: bool,
    /// SHA-256 of its file.
    pub sha256: String,
}

/// Set, noise and method.
type Group = (String, Option<String>, String);

/// The finished cells of a run, by group; groups with a missing fold are left out.
pub struct RunSummary {
    groups: BTreeMap<Group, Vec<StoredCell>>,
    /// Sets, by name.
    pub sets: Vec<RunSet>,
    /// Methods without variants, in the order of tables.
    pub methods: Vec<String>,
    /// Roots of the random streams.
    pub seeds: Vec<u64>,
    /// Number of folds.
    pub folds: usize,
    /// Cells that were left out because a fold of their set, method and seed is missing.
    pub incomplete: usize,
    /// Number of cells.
    pub cells: usize,
    /// Version of the program that made them.
    pub version: String,
}

/// How noise is named in a group.
pub fn noise_name(scheme: &str, rate: f64) -> String {
    format!("{scheme} {} %", (1000.0 * rate).round() / 10.0)
}

/// The paper's noise.
pub const PAPER_NOISE: &str = "uniform 20 %";

impl RunSummary {
    /// Sorts cells; refuses those of different versions, data or numbers of folds.
    pub fn new(cells: Vec<StoredCell>) -> Result<Self> {
        let one = |what: &str, of: &dyn Fn(&StoredCell) -> String| -> Result<String> {
            let found: BTreeSet<String> = cells.iter().map(of).collect();
            match found.len() {
                0 | 1 => Ok(found.into_iter().next().unwrap_or_default()),
                _ => Err(Error::found(
                    format!("cells of different {what}: {}", Vec::from_iter(found).join(", ")),
                    format!("one {what}"),
                )),
            }
        };
        let version =
            one("version", &|c| c.result.configuration["version"].as_str().unwrap_or("").into())?;
        let folds = one("number of folds", &|c| c.folds().to_string())?.parse().unwrap_or(0);
        let mut sets: BTreeSet<RunSet> = BTreeSet::new();
        for cell in &cells {
            sets.insert(run_set(cell));
        }
        let sets: Vec<RunSet> = sets.into_iter().collect();
        if let Some(pair) = sets.windows(2).find(|pair| pair[0].name == pair[1].name) {
            let what = format!("two versions of the data set '{}'", pair[0].name);
            return Err(Error::found(what, "one"));
        }
        let count = cells.len();
        let seeds: BTreeSet<u64> = cells.iter().map(StoredCell::seed).collect();
        let (groups, incomplete) = grouped(cells);
        let has = |name: &str| groups.keys().any(|(_, _, method)| method == name);
        let methods = method::NAMES.iter().filter(|n| has(n)).map(|n| (*n).to_owned()).collect();
        let seeds = seeds.into_iter().collect();
        Ok(RunSummary { groups, sets, methods, seeds, folds, incomplete, cells: count, version })
    }

    /// The cells of a set and a method at the paper's noise (or at the set's own), folds and seeds in
    /// order; None if there is none.
    pub fn cells(&self, set: &RunSet, method: &str) -> Option<&[StoredCell]> {
        let noise = (!set.real).then(|| PAPER_NOISE.to_owned());
        self.groups.get(&(set.name.clone(), noise, method.to_owned())).map(Vec::as_slice)
    }

    /// The same at another noise.
    pub fn cells_at(&self, set: &RunSet, noise: &str, method: &str) -> Option<&[StoredCell]> {
        let key = (set.name.clone(), Some(noise.to_owned()), method.to_owned());
        self.groups.get(&key).map(Vec::as_slice)
    }

    /// The set that a printed set stands for: Slashdot with the columns that its printed size implies,
    /// if that is there.
    pub fn printed_set(&self, printed: &str) -> Option<&RunSet> {
        let name = our_name(printed);
        let find = |name: &str| self.sets.iter().find(|s| s.name == name);
        find(&format!("{name}-paper")).or_else(|| find(&name))
    }

    /// All names of noise.
    pub fn noises(&self) -> BTreeSet<&str> {
        self.groups.keys().filter_map(|(_, noise, _)| noise.as_deref()).collect()
    }

    /// Methods that are a variant of another.
    pub fn variants(&self) -> BTreeSet<&str> {
        let names = self.groups.keys().map(|(_, _, method)| method.as_str());
        names.filter(|m| m.contains(' ')).collect()
    }

    /// The values of a metric (index into `METRICS`) in all folds.
    pub fn values(
        &self,
        set: &RunSet,
        method: &str,
        view: View,
        at: At,
        metric: usize,
    ) -> Option<Vec<f64>> {
        let cells = self.cells(set, method)?;
        cells.iter().map(|cell| Some(score(cell, view, at)?.measures[0].0[metric])).collect()
    }

    /// Seeds that each of the methods has on each of the sets: only these compare like with like.
    pub fn common_seeds(&self, sets: &[&RunSet], methods: &[&str]) -> BTreeSet<u64> {
        let mut common: BTreeSet<u64> = self.seeds.iter().copied().collect();
        for (set, method) in sets.iter().flat_map(|s| methods.iter().map(move |m| (s, m))) {
            let cells = self.cells(set, method).unwrap_or_default();
            let here: BTreeSet<u64> = cells.iter().map(StoredCell::seed).collect();
            common.retain(|seed| here.contains(seed));
        }
        common
    }

    /// [`RunSummary::values`] of these seeds alone.
    pub fn values_of(
        &self,
        seeds: &BTreeSet<u64>,
        set: &RunSet,
        method: &str,
        view: View,
        metric: usize,
    ) -> Option<Vec<f64>> {
        let cells = self.cells(set, method)?.iter().filter(|cell| seeds.contains(&cell.seed()));
        cells.map(|cell| Some(score(cell, view, At::Paper)?.measures[0].0[metric])).collect()
    }

    /// Mean and standard deviation of a metric over all folds.
    pub fn moments(
        &self,
        set: &RunSet,
        method: &str,
        view: View,
        at: At,
        metric: usize,
    ) -> Option<(f64, f64)> {
        self.values(set, method, view, at, metric).map(|values| moments(&values))
    }

    /// The budgets that every cell of a set and method was scored at, ascending.
    pub fn budgets(&self, set: &RunSet, method: &str) -> Vec<usize> {
        let cells = self.cells(set, method).unwrap_or_default();
        let all = cells.iter().flat_map(|c| c.result.scores.iter().map(|s| s.budget));
        all.collect::<BTreeSet<usize>>().into_iter().collect()
    }

    /// ε of the pseudo labels, of the candidates and of no label, mean over all folds.
    pub fn epsilon<'a>(
        cells: impl IntoIterator<Item = &'a StoredCell>,
    ) -> Option<(Option<f64>, f64, f64)> {
        let all: Option<Vec<_>> = cells.into_iter().map(|c| c.result.epsilon).collect();
        let all = all.filter(|all| !all.is_empty())?;
        let mean = |of: &dyn Fn(usize) -> f64| moments(&Vec::from_iter((0..all.len()).map(of))).0;
        let pseudo: Option<Vec<f64>> = all.iter().map(|e| e.pseudo).collect();
        Some((
            pseudo.map(|p| moments(&p).0),
            mean(&|k| all[k].candidate),
            mean(&|k| all[k].drop_all),
        ))
    }
}

/// The score of a cell under a view at a budget, by a linear SVM.
pub fn score(cell: &StoredCell, view: View, at: At) -> Option<&Score> {
    let trained_on = match view {
        View::Selection => TrainLabels::Truth,
        View::EndToEnd => cell.own_labels(),
        View::Labels(labels) => labels,
    };
    let budget = match at {
        At::Paper => paper_budget(cell.d),
        At::All => cell.d,
        At::Budget(budget) => budget,
    };
    let scores = cell.result.scores.iter();
    scores
        .filter(|s| s.classifier == "svm" && s.trained_on == trained_on)
        .find(|s| s.budget == budget)
}

fn run_set(cell: &StoredCell) -> RunSet {
    let StoredCell { set, title, n, d, labels, partial, result } = cell;
    RunSet {
        name: set.clone(),
        title: title.clone(),
        n: *n,
        d: *d,
        labels: *labels,
        partial: *partial,
        real: cell.noise().is_none(),
        sha256: result.configuration["data"]["sha256"].as_str().unwrap_or("").to_owned(),
    }
}

/// Cells by group, and how many were left out. A seed of a group counts if it has as many folds as
/// the fullest seed of the run.
fn grouped(cells: Vec<StoredCell>) -> (BTreeMap<Group, Vec<StoredCell>>, usize) {
    let mut by_seed: BTreeMap<(Group, u64), Vec<StoredCell>> = BTreeMap::new();
    for cell in cells {
        let noise = cell.noise().map(|(scheme, rate)| noise_name(&scheme, rate));
        let group = (cell.set.clone(), noise, cell.result.method.clone());
        by_seed.entry((group, cell.seed())).or_default().push(cell);
    }
    let full = by_seed.values().map(Vec::len).max().unwrap_or(0);
    let mut groups: BTreeMap<Group, Vec<StoredCell>> = BTreeMap::new();
    let mut incomplete = 0;
    for ((group, _), mut cells) in by_seed {
        if cells.len() < full {
            incomplete += cells.len();
            continue;
        }
        cells.sort_by_key(|c| c.result.fold);
        groups.entry(group).or_default().extend(cells);
    }
    (groups, incomplete)
}
