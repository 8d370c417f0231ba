//! The folder of a run: one file per finished cell, one per failed cell, times apart.
//!
//! ```text
//! cells/ID.json    results, a function of the configuration alone, with their SHA-256
//! times/ID.json    how long each took
//! failed/ID.json   cells that could not be computed, with the reason
//! claims/ID        cells that a run is computing now: host and process
//! grids/HASH.json  the choices that the cells came from
//! ```
//!
//! Several runs may work in one folder: each claims a cell before it begins, files appear whole, and
//! two runs that compute the same cell after all write the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Choice, StoredCell, Task, Timed};
use crate::{Error, Result, checksum, io};

/// A claim counts for this long, because the processes of another machine cannot be seen. A cell takes
/// minutes; if one takes longer, it is computed twice, to the same bytes.
const FOREIGN_CLAIM: Duration = Duration::from_secs(3600);

/// A temporary file of this age was left by a run that was killed.
const LEFTOVER: Duration = Duration::from_secs(600);

/// A cell that could not be computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedCell {
    /// Hash of its configuration.
    pub id: String,
    /// Name of the set.
    pub set: String,
    /// Name of the method.
    pub method: String,
    /// Root of its random streams.
    pub seed: u64,
    /// Fold, from 0.
    pub fold: usize,
    /// Why.
    pub reason: String,
}

/// The folder of a run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    root: PathBuf,
}

impl RunFolder {
    /// Makes the folder, or opens it again.
    pub fn create(root: &Path) -> Result<Self> {
        for part in ["cells", "times", "failed", "claims", "grids"] {
            let folder = root.join(part);
            fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, "create", &e))?;
            remove_leftovers(&folder);
        }
        Ok(RunFolder { root: root.to_path_buf() })
    }

    /// Opens a folder that must be there.
    pub fn open(root: &Path) -> Result<Self> {
        if !root.join("cells").is_dir() {
            return Err(
                Error::found("no folder 'cells'", "a folder of 'pomdp-fs reproduce'").in_file(root)
            );
        }
        Ok(RunFolder { root: root.to_path_buf() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The result of a cell; None if it is not finished. A damaged one is an error.
    pub fn load(&self, id: &str) -> Result<Option<StoredCell>> {
        let file = self.file("cells", id);
        match fs::read(&file) {
            Ok(bytes) => StoredCell::parse(&bytes).map(Some).map_err(|e| e.in_file(&file)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io(&file, "read", &e)),
        }
    }

    /// The bytes of a finished cell.
    pub fn bytes(&self, id: &str) -> Result<Vec<u8>> {
        io::read(&self.file("cells", id))
    }

    /// Keeps a finished cell; a failure of it is forgotten.
    pub fn save(&self, id: &str, cell: &[u8], time: Option<&Timed>) -> Result<()> {
        if let Some(time) = time {
            self.keep_time(id, time)?;
        }
        io::write_atomic(&self.file("cells", id), cell)?;
        let failed = self.file("failed", id);
        match failed.exists() {
            true => fs::remove_file(&failed).map_err(|e| Error::io(&failed, "remove", &e)),
            false => Ok(()),
        }
    }

    /// Keeps the reason why a cell could not be computed.
    pub(super) fn fail(&self, task: &Task<'_>, reason: &str) -> Result<()> {
        let failure = FailedCell {
            id: task.id.clone(),
            set: task.set.name.clone(),
            method: task.method(),
            seed: task.seed(),
            fold: task.fold(),
            reason: reason.to_owned(),
        };
        io::write_json(&self.file("failed", &task.id), &failure)
    }

    /// Whether a cell failed before.
    pub fn failed(&self, id: &str) -> bool {
        self.file("failed", id).exists()
    }

    /// Keeps a choice, so that its cells can be computed again.
    pub fn keep(&self, choice: &Choice) -> Result<()> {
        let text = io::pretty_json(choice)?;
        let name = &checksum::sha256(text.as_bytes())[..16];
        io::write_atomic(&self.file("grids", name), text.as_bytes())
    }

    /// All choices that were kept.
    pub fn choices(&self) -> Result<Vec<Choice>> {
        self.read_all("grids")
    }

    /// All finished cells, by id. A damaged one is an error.
    pub fn cells(&self) -> Result<Vec<StoredCell>> {
        let ids = self.ids("cells")?;
        let cells = ids.iter().map(|id| self.load(id)).collect::<Result<Vec<_>>>()?;
        Ok(cells.into_iter().flatten().collect())
    }

    /// Ids of all finished cells.
    pub fn finished(&self) -> Result<Vec<String>> {
        self.ids("cells")
    }

    /// All failures.
    pub fn failures(&self) -> Result<Vec<FailedCell>> {
        self.read_all("failed")
    }

    /// All times.
    pub fn times(&self) -> Result<Vec<Timed>> {
        self.read_all("times")
    }

    /// All times with the ids of their cells.
    pub(super) fn times_by_id(&self) -> Result<BTreeMap<String, Timed>> {
        let ids = self.ids("times")?;
        let one = |id: String| Ok((id.clone(), io::read_json(&self.file("times", &id))?));
        ids.into_iter().map(one).collect()
    }

    /// Keeps how long a cell took.
    pub(super) fn keep_time(&self, id: &str, time: &Timed) -> Result<()> {
        io::write_json(&self.file("times", id), time)
    }

    /// Claims a cell; None while another run computes it.
    pub(super) fn claim(&self, id: &str) -> Result<Option<io::Lock>> {
        let file = self.root.join("claims").join(id);
        if age(&file).is_some_and(|age| age > FOREIGN_CLAIM) {
            let _ = fs::remove_file(&file);
        }
        io::Lock::claim(&file)
    }

    fn file(&self, part: &str, name: &str) -> PathBuf {
        self.root.join(part).join(format!("{name}.json"))
    }

    /// Names of the files of a part, in order; temporary files are none.
    fn ids(&self, part: &str) -> Result<Vec<String>> {
        let folder = self.root.join(part);
        if !folder.is_dir() {
            return Ok(Vec::new());
        }
        let failed = |e: std::io::Error| Error::io(&folder, "read", &e);
        let mut ids = Vec::new();
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let id = name.to_str().and_then(|n| n.strip_suffix(".json"));
            ids.extend(id.filter(|id| !id.starts_with('.')).map(str::to_owned));
        }
        ids.sort_unstable();
        Ok(ids)
    }

    fn read_all<T: DeserializeOwned>(&self, part: &str) -> Result<Vec<T>> {
        self.ids(part)?.iter().map(|id| io::read_json(&self.file(part, id))).collect()
    }
}

/// Takes away temporary files of runs that were killed. A file is written in a moment, so one that is
/// old belongs to nobody.
fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let temporary = name.starts_with('.') && name.ends_with(".part");
        if temporary && age(&entry.path()).is_some_and(|age| age > LEFTOVER) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// How long ago a file was written.
fn age(file: &Path) -> Option<Duration> {
    fs::metadata(file).and_then(|m| m.modified()).ok()?.elapsed().ok()
}
