//! Files that are either whole or absent: write to a temporary name beside the target, flush, rename.
//! JSON: one way to write it, one way to read it.

mod holder;
mod lock;
mod sealed;
mod temporary;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use lock::{Lock, hidden_beside};
pub use sealed::{parse_sealed, sealed_line, sealed_pretty};
pub use temporary::is_temporary;

use crate::{Error, Result};

/// Writes `bytes` to `path` so that a reader sees the old file or the new one, never a part. A link
/// stays, and its target is written. A pipe or a device is written to directly.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    let path = &match destination(path) {
        Destination::File(path) => path,
        Destination::Stream => return write_stream(path, bytes),
    };
    let (temporary, mut file) = temporary::create_beside(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
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
    let path = &match destination(path) {
        Destination::File(path) => path,
        // To open a pipe would be to wait for its reader.
        Destination::Stream => {
            return fs::metadata(path).map(drop).map_err(|e| Error::io(path, "write", &e));
        }
    };
    let (temporary, _) = temporary::create_beside(path)
        .map_err(|e| e.hint("create the folder first, or choose another path"))?;
    fs::remove_file(&temporary).map_err(|e| Error::io(&temporary, "remove", &e))
}

/// Where the bytes for a path go.
enum Destination {
    /// To a regular file, or a new one: behind any links.
    File(PathBuf),
    /// To a pipe, a terminal, a device.
    Stream,
}

fn destination(path: &Path) -> Destination {
    // What the process has open already: a file behind such a name is in the writing.
    let open = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
    if open.iter().any(|name| path.starts_with(name)) {
        return Destination::Stream;
    }
    match fs::metadata(path) {
        Ok(about) if !about.is_file() && !about.is_dir() => Destination::Stream,
        Ok(_) => Destination::File(fs::canonicalize(path).unwrap_or_else(|_| path.into())),
        // A link that leads nowhere yet leads to the new file.
        Err(_) => Destination::File(match fs::read_link(path) {
            Ok(target) => path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => path.into(),
        }),
    }
}

fn write_stream(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = OpenOptions::new().append(true).open(path).and_then(|mut f| f.write_all(bytes));
    match written {
        // The reader went away: its decision, not an error.
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|e| Error::io(path, "write", &e)),
    }
}

/// A whole file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| Error::io(path, "read", &e))
}

/// A JSON file.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    parse_json(&read(path)?).map_err(|e| e.in_file(path))
}

/// Writes `value` as one line of JSON.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = json_line(value).map_err(|e| e.in_file(path))?;
    write_atomic(path, text.as_bytes())
}

/// A value from JSON; the error knows line and column.
pub fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|e| {
        // The parser repeats the position in its text.
        let text = e.to_string();
        let message = text.split(" at line ").next().unwrap_or(&text);
        Error::input(message).at(e.line() as u64, e.column() as u64)
    })
}

/// One line of JSON with its line end.
pub fn json_line(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(value).map_err(no_json)? + "\n")
}

/// `value` as JSON for people, with a final newline.
pub fn pretty_json(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(value).map_err(no_json)? + "\n")
}

fn no_json(e: serde_json::Error) -> Error {
    Error::numeric(format!("the value has no JSON form: {e}"))
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

    #[cfg(unix)]
    #[test]
    fn links_stay_and_streams_are_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::os::unix::fs::symlink("new.json", at("link")).unwrap();
        for text in ["one", "two"] {
            check_writable(&at("link")).unwrap();
            write_atomic(&at("link"), text.as_bytes()).unwrap();
            assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
            assert_eq!(fs::read_to_string(at("new.json")).unwrap(), text);
        }
        for device in ["/dev/null", "/dev/full"] {
            check_writable(Path::new(device)).unwrap();
            let written = write_atomic(Path::new(device), b"one");
            assert_eq!(written.is_ok(), device == "/dev/null");
            assert!(!fs::metadata(device).unwrap().is_file());
        }
        assert!(check_writable(Path::new("/dev/fd/1234")).is_err());
    }

    #[test]
    fn json_survives_and_errors_know_their_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list.json");
        write_json(&path, &[1, 2]).unwrap();
        assert_eq!(read(&path).unwrap(), b"[1,2]\n");
        assert_eq!(read_json::<Vec<u8>>(&path).unwrap(), [1, 2]);
        let error = parse_json::<Vec<u8>>(b"[1,\n\"x\"]").unwrap_err();
        assert_eq!(error.position(), (Some(2), Some(3)));
        assert!(!error.message().contains("line"), "{error}");
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
