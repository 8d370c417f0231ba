//! The file of a finished cell.

use serde::{Deserialize, Serialize};

use super::Task;
use crate::experiment::{CellResult, TrainLabels};
use crate::{Error, Result, checksum, io};

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

/// What stands before and after the content, and around its checksum.
const HEAD: &str = "{\"sha256\":\"";
const MIDDLE: &str = "\",\"cell\":";
const TAIL: &str = "}\n";

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

    /// The file: one line of JSON with the SHA-256 of the content, as text.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let content = io::json_line(self)?;
        let content = content.trim_end();
        let sha256 = checksum::sha256(content.as_bytes());
        Ok(format!("{HEAD}{sha256}{MIDDLE}{content}{TAIL}").into_bytes())
    }

    /// Reads a file; refuses one whose content does not have its checksum.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let damaged = || {
            Error::input("the cell is damaged: its SHA-256 does not fit").hint("delete the file")
        };
        let rest = bytes.strip_prefix(HEAD.as_bytes()).ok_or_else(damaged)?;
        let (sha256, rest) = rest.split_at_checked(64).ok_or_else(damaged)?;
        let content = rest.strip_prefix(MIDDLE.as_bytes()).ok_or_else(damaged)?;
        let content = content.strip_suffix(TAIL.as_bytes()).ok_or_else(damaged)?;
        if checksum::sha256(content).as_bytes() != sha256 {
            return Err(damaged());
        }
        io::parse_json(content)
    }

    /// Root of its random streams.
    pub fn seed(&self) -> u64 {
        self.result.configuration["seed"].as_u64().unwrap_or(0)
    }

    /// Number of folds of its plan.
    pub fn folds(&self) -> usize {
        self.result.configuration["folds"].as_u64().unwrap_or(0) as usize
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
