//! One file per finished cell, so that nothing that is done is lost.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Cell, CellResult};
use crate::{Error, Result, io};

/// The folder `cells` of an evaluation.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    resume: bool,
}

impl Store {
    /// Cells are kept in `folder/cells`. Those of an earlier run count if `resume`, otherwise they
    /// are computed and written again.
    pub fn new(folder: &Path, resume: bool) -> Result<Self> {
        let folder = folder.join("cells");
        fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, "create", &e))?;
        Ok(Store { folder, resume })
    }

    /// The stored result of this very cell. A file that cannot be read, whose SHA-256 does not fit, or
    /// that holds another configuration, counts as none: the cell is computed again.
    pub fn load(&self, cell: &Cell<'_>) -> Option<CellResult> {
        let configuration = cell.configuration();
        let file = self.file(&cell.id());
        let found: CellResult =
            self.resume.then(|| io::parse_sealed(&io::read(&file).ok()?).ok())??;
        (found.configuration == configuration).then_some(found)
    }

    /// Whether an earlier run left a result of this cell.
    pub fn has(&self, cell: &Cell<'_>) -> bool {
        self.file(&cell.id()).is_file()
    }

    /// Writes a finished cell: whole, or not at all.
    pub fn save(&self, result: &CellResult) -> Result<()> {
        io::write_atomic(&self.file(&result.id), io::sealed_line(result)?.as_bytes())
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}
