//! How long cells took.

use std::collections::BTreeMap;

use super::scores::heading;
use super::sheet::{Section, Sheet, digits};
use crate::Result;
use crate::experiment::grid::{RunSummary, Study, Timed};
use crate::report::{TextTable, csv_bytes};
use crate::{Error, experiment::moments};

type Key = (&'static str, String, String);

/// Mean seconds by study, set and method.
fn means(times: &[Timed]) -> BTreeMap<Key, f64> {
    let mut all: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for t in times {
        let key = (t.study.name(), t.set.clone(), t.method.clone());
        all.entry(key).or_default().push(t.seconds);
    }
    all.into_iter().map(|(key, seconds)| (key, moments(&seconds).0)).collect()
}

/// The table that estimates start from (`data/seconds.csv`).
pub fn times_csv(times: &[Timed]) -> Result<String> {
    let head = ["study", "set", "method", "seconds"].map(str::to_owned);
    let rows = means(times).into_iter().map(|((study, set, method), seconds)| {
        vec![study.to_owned(), set, method, format!("{seconds:.3}")]
    });
    let text = String::from_utf8(csv_bytes(&head, rows)?);
    text.map_err(|e| Error::numeric(format!("cannot write a table: {e}")))
}

/// Seconds per cell.
pub fn section(run: &RunSummary, times: &[Timed]) -> Section {
    let means = means(times);
    let heads = run.sets.iter().map(heading);
    let mut table = TextTable::new(["method".to_owned()].into_iter().chain(heads));
    for method in &run.methods {
        let seconds = |set: &str| {
            let key = (Study::Main.name(), set.to_owned(), method.clone());
            digits(means.get(&key).copied(), 1)
        };
        let cells = run.sets.iter().map(|set| seconds(&set.name));
        table.push([method.clone()].into_iter().chain(cells));
    }
    Section {
        id: "times",
        title: "Run time",
        text: Vec::new(),
        sheets: vec![Sheet::new(
            "seconds",
            "Seconds per cell",
            "One fit and all its scores (ten fits for random), processor time, mean over the cells.",
            table,
        )],
        drawings: Vec::new(),
    }
}
