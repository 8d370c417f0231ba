//! The progress of a fit in a file, so that an interrupted one goes on to the same bytes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::data::Labels;
use crate::method::Observer;
use crate::{Error, Result, checksum, io};

const FORMAT: &str = "pomdp-fs progress 1";

/// Stores the state of a fit between two units of work and passes the rest on to another observer.
///
/// The file has three lines, the format, the id of the cell and the SHA-256 of the state, and then
/// the state: it continues only its own cell, and damage is found.
pub struct Checkpoint<'a> {
    file: PathBuf,
    id: String,
    every: Duration,
    stored: Instant,
    state: Option<Vec<u8>>,
    inner: &'a mut dyn Observer,
}

impl<'a> Checkpoint<'a> {
    /// Keeps the progress of cell `id` in `file`, at most every so often, and in any case when the fit
    /// is stopped. With `resume` a state that
    /// is there already is continued; refuses that of another cell, and a damaged one.
    pub fn new(
        file: &Path,
        id: &str,
        every: Duration,
        resume: bool,
        inner: &'a mut dyn Observer,
    ) -> Result<Self> {
        let state = match resume && file.exists() {
            true => Some(read(file, id).map_err(|e| e.in_file(file))?),
            false => None,
        };
        let (file, id) = (file.to_path_buf(), id.to_owned());
        Ok(Checkpoint { file, id, every, stored: Instant::now(), state, inner })
    }

    /// Whether an earlier run is continued.
    pub fn resumes(&self) -> bool {
        self.state.is_some()
    }
}

fn read(file: &Path, id: &str) -> Result<Vec<u8>> {
    let bytes = io::read(file)?;
    let mut parts = bytes.splitn(4, |&b| b == b'\n');
    let mut line = || parts.next().unwrap_or_default();
    let (format, stored_id, sha256, state) = (line(), line(), line(), line());
    if format != FORMAT.as_bytes() {
        return Err(Error::found("something else", format!("stored progress ('{FORMAT}')")));
    }
    if stored_id != id.as_bytes() {
        return Err(Error::input("the stored progress belongs to other data or other settings"));
    }
    if checksum::sha256(state).as_bytes() != sha256 {
        return Err(Error::input("the stored progress is damaged: its SHA-256 does not fit"));
    }
    Ok(state.to_vec())
}

impl Observer for Checkpoint<'_> {
    fn progress(&mut self, phase: &str, done: usize, total: usize) -> bool {
        self.inner.progress(phase, done, total)
    }

    fn resume(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.state.take())
    }

    fn checkpoint(&mut self, state: &dyn Fn() -> Vec<u8>) -> Result<()> {
        if self.stored.elapsed() < self.every && !self.inner.stops() {
            return Ok(());
        }
        let state = state();
        let mut bytes =
            format!("{FORMAT}\n{}\n{}\n", self.id, checksum::sha256(&state)).into_bytes();
        bytes.extend(state);
        io::write_atomic(&self.file, &bytes)?;
        self.stored = Instant::now();
        Ok(())
    }

    fn stops(&self) -> bool {
        self.inner.stops()
    }

    fn epsilon(&mut self, pseudo: &Labels) -> Option<f64> {
        self.inner.epsilon(pseudo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Silent;

    /// Stops at the first opportunity.
    struct Stopping;

    impl Observer for Stopping {
        fn progress(&mut self, _: &str, _: usize, _: usize) -> bool {
            false
        }

        fn stops(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_state_comes_back_to_its_own_cell_only() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("progress");
        let now = Duration::ZERO;
        let open = |id: &str| {
            Checkpoint::new(&file, id, now, true, &mut Silent).map(|mut c| c.resume().unwrap())
        };
        assert_eq!(open("a").unwrap(), None);
        let mut silent = Silent;
        let mut first = Checkpoint::new(&file, "a", now, false, &mut silent).unwrap();
        first.checkpoint(&|| b"state\n2".to_vec()).unwrap();
        assert_eq!(open("a").unwrap(), Some(b"state\n2".to_vec()));
        assert!(open("b").unwrap_err().to_string().contains("other data or other settings"));
        let mut bytes = std::fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&file, bytes).unwrap();
        assert!(open("a").unwrap_err().to_string().contains("damaged"));
        std::fs::write(&file, "x").unwrap();
        assert!(open("a").unwrap_err().to_string().contains("found something else"));
        let mut rarely =
            Checkpoint::new(&file, "a", Duration::from_secs(3600), false, &mut silent).unwrap();
        rarely.checkpoint(&|| unreachable!("too early")).unwrap();
        let (mut stopping, hour) = (Stopping, Duration::from_secs(3600));
        let mut last = Checkpoint::new(&file, "a", hour, false, &mut stopping).unwrap();
        last.checkpoint(&|| b"last".to_vec()).unwrap();
        assert_eq!(open("a").unwrap(), Some(b"last".to_vec()));
    }
}
