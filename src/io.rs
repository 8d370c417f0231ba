//! Files that are either whole or absent: write to a temporary name beside the target, flush, rename.
//! JSON: one way to write it, one way to read it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// Writes `bytes` to `path` so that a reader sees the old file or the new one, never a part.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = temporary_name(path)?;
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| fs::rename(&temporary, path));
    renamed.map_err(|e| {
        let _ = fs::remove_file(&temporary);
        Error::io(path, "write", &e)
    })
}

/// Fails now, not after an hour of work, if `path` cannot be written.
pub fn check_writable(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Err(Error::found("a folder", "the name of a file").in_file(path));
    }
    let temporary = temporary_name(path)?;
    File::create(&temporary).map_err(|e| {
        Error::io(path, "write", &e).hint("create the folder first, or choose another path")
    })?;
    fs::remove_file(&temporary).map_err(|e| Error::io(&temporary, "remove", &e))
}

/// A whole file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| Error::io(path, "read", &e))
}

/// `value` as JSON for people, with a final newline.
pub fn pretty_json(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(value).map_err(no_json)? + "\n")
}

/// Writes `value` as JSON on one line.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(no_json)? + "\n";
    write_atomic(path, text.as_bytes())
}

/// Reads JSON; the error knows line and column.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    serde_json::from_slice(&read(path)?).map_err(|e| {
        // The library repeats the position in its text.
        let text = e.to_string();
        let message = text.split(" at line ").next().unwrap_or(&text);
        Error::input(message).in_file(path).at(e.line() as u64, e.column() as u64)
    })
}

fn no_json(e: serde_json::Error) -> Error {
    Error::numeric(format!("the result has no JSON form: {e}"))
}

fn temporary_name(path: &Path) -> Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| Error::found("no file name", "the name of a file").in_file(path))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.part", std::process::id()));
    Ok(path.with_file_name(hidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_whole_files_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        check_writable(&path).unwrap();
        assert_eq!(read(&path).unwrap(), b"two");
    }

    #[test]
    fn refuses_folders_and_missing_parents() {
        let dir = tempfile::tempdir().unwrap();
        assert!(check_writable(dir.path()).is_err());
        assert!(check_writable(&dir.path().join("no/such/file")).is_err());
        assert!(write_atomic(&dir.path().join("no/file"), b"").is_err());
        assert!(write_atomic(Path::new("/"), b"").is_err());
    }
}
