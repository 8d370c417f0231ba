//! The file of a finished cell.

use serde::{Deserialize, Serialize};

use super::Task;
use crate::experiment::{CellResult, TrainLabels};
use crate::method;
use crate::{Result, io};

/// A finished cell with the set that it is of: enough for every table, without the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredCell {
    /// Name of the set.
    pub set: String,
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
    /// What came out. Its time is not stored with it: it is no function of the configuration.
    pub result: CellResult,
}

impl StoredCell {
    /// Takes the time out of the result.
    pub fn new(task: &Task<'_>, result: CellResult) -> Self {
        let data = &task.set.data;
        StoredCell {
            set: task.set.name.clone(),
            title: task.set.title.clone(),
            n: data.n(),
            d: data.d(),
            labels: data.labels(),
            partial: task.set.partial,
            result: CellResult { seconds: 0.0, ..result },
        }
    }

    /// The file: one line of JSON that carries its SHA-256.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        Ok(io::sealed_line(self)?.into_bytes())
    }

    /// Reads a file; refuses one that does not have its checksum.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        io::parse_sealed(bytes)
    }

    /// Root of its random streams.
    pub fn seed(&self) -> u64 {
        self.result.configuration["seed"].as_u64().unwrap_or(0)
    }

    /// Number of folds of its plan.
    pub fn folds(&self) -> usize {
        self.result.configuration["folds"].as_u64().unwrap_or(0) as usize
    }

    /// Whether its method still gives this result. A former revision's cell has an id of its own, so it is
    /// no wrong answer to any grid, but it must not stand in a table beside the present one. Methods of
    /// other programs cannot be judged and count as present.
    pub fn is_current(&self) -> bool {
        let all = &self.result.configuration;
        let method = all["method"].as_str().map(method::by_name);
        let Some(Ok(method)) = method else { return true };
        let revision = method.with(&all["settings"]).map(|m| u64::from(m.revision()));
        revision.is_ok_and(|r| r == all["revision"].as_u64().unwrap_or(0))
    }

    /// Scheme and rate of its noise; None where the data brought candidates.
    pub fn noise(&self) -> Option<(String, f64)> {
        let noise = &self.result.configuration["noise"];
        Some((noise["scheme"].as_str()?.to_owned(), noise["rate"].as_f64()?))
    }

    /// The best labels that the method made: what trains the classifier end to end.
    pub fn own_labels(&self) -> TrainLabels {
        let made = |kind: TrainLabels| self.result.scores.iter().any(|s| s.trained_on == kind);
        let kinds = [TrainLabels::Confidence, TrainLabels::Pseudo];
        kinds.into_iter().find(|k| made(*k)).unwrap_or(TrainLabels::Candidate)
    }
}
