//! How long cells take: from a table of measured times, refined by those that are finished.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{GridSet, Study, Task};

/// Measured seconds of one cell per study, set and method; the file says by which command.
const MEASURED: &str = include_str!("../../../data/seconds.csv");

/// Seconds of a cell of a set that was never measured, per feature value and label: the mean over methods.
const UNKNOWN: f64 = 1e-7;

/// How long a cell took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// What it was for.
    pub study: Study,
    /// Name of the set.
    pub set: String,
    /// Name of the method.
    pub method: String,
    /// Processor time where a cell has one thread and the system tells it, else wall-clock time.
    pub seconds: f64,
}

impl Timed {
    pub(super) fn new(task: &Task<'_>, seconds: f64) -> Self {
        let (study, set, method) = (task.study, task.set.name.clone(), task.method());
        Timed { study, set, method, seconds }
    }
}

type Key = (&'static str, String, String);

/// Expected seconds of cells.
#[derive(Clone, Debug, Default)]
pub struct Estimates {
    /// From the table; in order, because shards are cut by sums over it.
    table: BTreeMap<Key, f64>,
    /// Sum and number of times in this folder.
    here: HashMap<Key, (f64, usize)>,
    /// Time in this folder over time in the table, of what both know.
    speed: f64,
}

impl Estimates {
    /// The table alone.
    pub fn built_in() -> Self {
        let rows = MEASURED.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).skip(1);
        let rows = rows.filter_map(|line| {
            let mut fields = line.split(',');
            let study: Study = fields.next()?.parse().ok()?;
            let (set, method) = (fields.next()?.to_owned(), fields.next()?.to_owned());
            Some(((study.name(), set, method), fields.next()?.parse().ok()?))
        });
        Estimates { table: rows.collect(), here: HashMap::new(), speed: 1.0 }
    }

    /// The table and what was measured since.
    pub fn refined(times: &[Timed]) -> Self {
        let mut all = Estimates::built_in();
        let (mut measured, mut expected) = (0.0, 0.0);
        for time in times {
            let key = (time.study.name(), time.set.clone(), time.method.clone());
            if let Some(seconds) = all.table.get(&key) {
                measured += time.seconds;
                expected += seconds;
            }
            let sum = all.here.entry(key).or_default();
            *sum = (sum.0 + time.seconds, sum.1 + 1);
        }
        if expected > 0.0 {
            all.speed = measured / expected;
        }
        all
    }

    /// Expected seconds of a cell.
    pub fn seconds(&self, task: &Task<'_>) -> f64 {
        self.of(task.study, task.set, &task.method())
    }

    fn of(&self, study: Study, set: &GridSet, method: &str) -> f64 {
        let key = (study.name(), set.name.clone(), method.to_owned());
        if let Some((sum, count)) = self.here.get(&key) {
            return sum / *count as f64;
        }
        if let Some(seconds) = self.table.get(&key) {
            return seconds * self.speed;
        }
        // The plain method stands for its variants; the main study for the others.
        let plain = method.split(' ').next().unwrap_or(method);
        if (study, plain) != (Study::Main, method) {
            return self.of(Study::Main, set, plain);
        }
        let size = (set.data.n() * set.data.d() * set.data.labels()) as f64;
        self.speed * UNKNOWN * size * self.cost(method)
    }

    /// Mean seconds of the method's cells in the table over those of all cells there: what a method costs
    /// beside others, for sets that the table does not know. 1 for a method that it does not know.
    fn cost(&self, method: &str) -> f64 {
        let mean = |wanted: &dyn Fn(&Key) -> bool| {
            let seconds = || self.table.iter().filter(|(key, _)| wanted(key)).map(|(_, s)| s);
            seconds().sum::<f64>() / seconds().count().max(1) as f64
        };
        let of_method = mean(&|key: &Key| key.0 == Study::Main.name() && key.2 == method);
        let of_all = mean(&|key: &Key| key.0 == Study::Main.name());
        if of_method > 0.0 && of_all > 0.0 { of_method / of_all } else { 1.0 }
    }
}

/// The time that is left, from weights: how long the finished part took says how long the rest will.
#[derive(Clone, Debug)]
pub struct Eta {
    total: f64,
    workers: f64,
    done: f64,
}

impl Eta {
    /// `total` seconds of expected work for so many workers.
    pub fn new(total: f64, workers: usize) -> Self {
        Eta { total, workers: workers.max(1) as f64, done: 0.0 }
    }

    /// So much of the expected work is done.
    pub fn set_done(&mut self, done: f64) {
        self.done = done;
    }

    /// Share of the work that is done.
    pub fn share(&self) -> f64 {
        if self.total > 0.0 { (self.done / self.total).min(1.0) } else { 1.0 }
    }

    /// Time left, after this much time. The expectation counts like a minute of experience: the first
    /// cells alone would say little.
    pub fn left(&self, elapsed: Duration) -> Duration {
        const PRIOR: f64 = 60.0;
        let elapsed = elapsed.as_secs_f64();
        let prior = PRIOR.min(self.total / self.workers);
        let per_unit = (elapsed + prior) / (self.done + prior * self.workers).max(1e-9);
        Duration::from_secs_f64(((self.total - self.done).max(0.0) * per_unit).min(1e9))
    }
}
