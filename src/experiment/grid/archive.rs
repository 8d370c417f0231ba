//! A run as one compressed file, and runs read for a report.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Choice, FailedCell, RunFolder, StoredCell, Timed};
use crate::data::{gunzip, gzip};
use crate::{Error, Result, io};

const FORMAT: &str = "pomdp-fs run 1";

/// Most bytes that an archive may unpack to.
const LIMIT: u64 = 4 << 30;

/// The first line; every further line is a cell as its file holds it.
#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    choices: Vec<Choice>,
    times: BTreeMap<String, Timed>,
}

/// The bytes of an archive of all finished cells (gzip of lines of JSON) but those of former revisions.
/// The same cells and times give the same bytes.
pub fn pack(folder: &RunFolder) -> Result<Vec<u8>> {
    let times = folder.times_by_id()?;
    let head = Head { format: FORMAT.to_owned(), choices: folder.choices()?, times };
    let mut text = io::json_line(&head)?.into_bytes();
    for id in folder.finished()? {
        let bytes = folder.bytes(&id)?;
        let cell = StoredCell::parse(&bytes).map_err(|e| e.in_file(folder.path().join(&id)))?;
        if cell.is_current() {
            text.extend(bytes);
        }
    }
    Ok(gzip(&text))
}

/// Calls `each` with every cell of an archive and its bytes; each is checked.
fn read(archive: &Path, mut each: impl FnMut(StoredCell, &[u8]) -> Result<()>) -> Result<Head> {
    let text = gunzip(&io::read(archive)?, LIMIT).map_err(|e| e.in_file(archive))?;
    let mut lines = text.split_inclusive(|b| *b == b'\n').zip(1u64..);
    let place = |e: Error, line: u64| e.in_file(archive).at(line, 1);
    let (head, _) = lines.next().unwrap_or((b"", 1));
    let head: Head = io::parse_json(head).map_err(|e| place(e, 1))?;
    if head.format != FORMAT {
        return Err(place(Error::found(format!("'{}'", head.format), format!("'{FORMAT}'")), 1));
    }
    for (bytes, line) in lines {
        each(StoredCell::parse(bytes).map_err(|e| place(e, line))?, bytes)?;
    }
    Ok(head)
}

/// Puts the cells of an archive into a folder, those of former revisions not; those that are there
/// already stay. Returns how many came in.
pub fn unpack(archive: &Path, folder: &RunFolder) -> Result<usize> {
    let mut new = Vec::new();
    let head = read(archive, |cell, bytes| {
        let current = cell.is_current();
        let id = cell.result.id;
        if current && !folder.load(&id).is_ok_and(|found| found.is_some()) {
            folder.save(&id, bytes, None)?;
            new.push(id);
        }
        Ok(())
    })?;
    for id in &new {
        head.times.get(id).map_or(Ok(()), |time| folder.keep_time(id, time))?;
    }
    head.choices.iter().try_for_each(|choice| folder.keep(choice))?;
    Ok(new.len())
}

/// The bytes of finished cells, by id.
pub type CellBytes = BTreeMap<String, Vec<u8>>;

/// Every finished cell of a folder or an archive, and the grids that they came from.
pub fn stored_bytes(source: &Path) -> Result<(CellBytes, Vec<Choice>)> {
    let mut cells = CellBytes::new();
    if source.is_file() {
        let head = read(source, |cell, bytes| {
            cells.insert(cell.result.id, bytes.to_vec());
            Ok(())
        })?;
        return Ok((cells, head.choices));
    }
    let folder = RunFolder::open(source)?;
    for id in folder.finished()? {
        let bytes = folder.bytes(&id)?;
        cells.insert(id, bytes);
    }
    Ok((cells, folder.choices()?))
}

/// What a report is made of.
#[derive(Default)]
pub struct RunData {
    /// Finished cells by id.
    pub cells: BTreeMap<String, StoredCell>,
    /// Times.
    pub times: Vec<Timed>,
    /// Cells that failed.
    pub failures: Vec<FailedCell>,
    /// Cells of former revisions of a method, which are left out.
    pub outdated: usize,
}

impl RunData {
    /// Adds a folder or an archive. A cell may come twice; two results of one cell are an error.
    pub fn add(&mut self, source: &Path) -> Result<()> {
        if source.is_file() {
            let mut cells = Vec::new();
            let head = read(source, |cell, _| {
                cells.push(cell);
                Ok(())
            })?;
            self.times.extend(head.times.into_values());
            return self.add_cells(cells).map_err(|e| e.in_file(source));
        }
        let folder = RunFolder::open(source)?;
        self.times.extend(folder.times()?);
        self.failures.extend(folder.failures()?);
        self.add_cells(folder.cells()?).map_err(|e| e.in_file(source))
    }

    fn add_cells(&mut self, cells: Vec<StoredCell>) -> Result<()> {
        for cell in cells {
            if !cell.is_current() {
                self.outdated += 1;
                continue;
            }
            let id = cell.result.id.clone();
            if self.cells.get(&id).is_some_and(|known| *known != cell) {
                return Err(Error::found(
                    format!("a result of the cell {id} that differs from that of another source"),
                    "the same result",
                )
                .hint("'pomdp-fs verify' computes cells again"));
            }
            self.cells.insert(id, cell);
        }
        self.failures.retain(|f| !self.cells.contains_key(&f.id));
        Ok(())
    }
}
