//! Hidden files that stand in for a file until it is whole.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Creates a new file beside `path`, never one that is there already, be it through a link.
pub(super) fn create_beside(path: &Path) -> Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path
        .file_name()
        .ok_or_else(|| Error::found("no file name", "the name of a file").in_file(path))?;
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{count}.part", std::process::id()));
        let temporary = path.with_file_name(hidden);
        match File::create_new(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            // Left by a process of this number, long ago or on another host.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::io(path, "write", &e)),
        }
    }
}

/// Whether `found` is the name of a file that `create_beside` made for a file called `name`.
pub fn is_temporary(found: &OsStr, name: &str) -> bool {
    let middle = found.to_str().and_then(|f| {
        f.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(".part")
    });
    let number = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    middle.and_then(|m| m.split_once('-')).is_some_and(|(process, k)| number(process) && number(k))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_are_known_again() {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = create_beside(&dir.path().join("a.csv")).unwrap();
        let name = path.file_name().unwrap();
        assert!(is_temporary(name, "a.csv"));
        assert!(!is_temporary(name, "b.csv") && !is_temporary(name, "a"));
        for other in ["a.csv", ".a.csv.part", ".a.csv.1-.part", ".a.csv.x-1.part", ".a.csv.1-2"] {
            assert!(!is_temporary(OsStr::new(other), "a.csv"), "{other}");
        }
    }
}
