//! Getting a set from its pinned address, with the system's `curl`: no network code in this program.
//!
//! A file is checked against its hash before anything of it is written, and appears whole, so a data
//! folder never holds half a file or the wrong one.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Entry, KnownFile};
use crate::checksum;
use crate::{Error, Result, io};

/// Puts the missing files of `entry` into `folder/NAME/`; tells `note` what it does. Returns all
/// files of the set.
pub fn fetch(entry: &Entry, folder: &Path, mut note: impl FnMut(&str)) -> Result<Vec<PathBuf>> {
    if entry.files.is_empty() {
        let why = entry.note.as_deref().unwrap_or("it comes with the project");
        return Err(Error::config(format!("'{}' has no address: {why}", entry.name)));
    }
    let name = entry.name.strip_suffix("-paper").unwrap_or(&entry.name);
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, "create", &e))?;
    let mut files = Vec::new();
    for file in &entry.files {
        let path = folder.join(&file.file);
        if path.is_file() {
            file.check(&io::read(&path)?).map_err(|e| e.in_file(&path))?;
            note(&format!("{}: already here, and right", file.file));
        } else {
            note(&format!("{}: downloading", file.file));
            download(Command::new("curl"), file, &path)?;
        }
        files.push(path);
    }
    Ok(files)
}

impl KnownFile {
    /// Do these bytes have the known size and hash?
    pub fn check(&self, bytes: &[u8]) -> Result<()> {
        let found_size = bytes.len() as u64;
        if let Some(size) = self.size.filter(|&s| s != found_size) {
            return Err(Error::found(
                format_args!("{found_size} bytes"),
                format_args!("{size} bytes"),
            ));
        }
        let (kind, expected, found) = match (&self.sha256, &self.git_blob) {
            (Some(hash), _) => ("SHA-256", hash, checksum::sha256(bytes)),
            (None, Some(id)) => ("git blob id", id, checksum::git_blob(bytes)),
            (None, None) => return Err(Error::input("no hash is known for this file")),
        };
        match *expected == found {
            true => Ok(()),
            false => Err(Error::found(format_args!("{kind} {found}"), expected)),
        }
    }
}

/// The bytes come through a pipe, so nothing is on the disk before it is known to be right, and two
/// downloads at once do not meet: each puts a whole file there, and it is the same file.
fn download(mut curl: Command, file: &KnownFile, target: &Path) -> Result<()> {
    let Some(url) = &file.url else {
        return Err(Error::config(format!("{} has no address", file.file)));
    };
    let run = curl
        .args(["--fail", "--silent", "--show-error", "--location", "--proto", "=https"])
        .args(["--connect-timeout", "20", "--max-time", "600", "--"])
        .arg(url)
        .output();
    let by_hand = format!("download {url} by hand and put it there as {}", file.file);
    let downloaded = match run {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::config("the program 'curl' is not installed").hint(by_hand))
        }
        Err(e) => Err(Error::io(target, "run curl for", &e)),
        Ok(output) if !output.status.success() => {
            let why = String::from_utf8_lossy(&output.stderr);
            Err(Error::input(format!("the download failed: {}", why.trim())).hint(by_hand))
        }
        Ok(output) => Ok(output.stdout),
    };
    let checked = downloaded.and_then(|bytes| match file.check(&bytes) {
        Ok(()) => Ok(bytes),
        Err(e) => Err(e
            .about("the download is not the expected file")
            .hint("nothing was kept; try again later")),
    });
    let bytes = checked.map_err(|e| e.in_file(target))?;
    io::write_atomic(target, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_checked_by_size_and_hash() {
        let mut file = KnownFile {
            file: "x".to_owned(),
            url: None,
            size: Some(6),
            sha256: Some(checksum::sha256(b"hello\n")),
            git_blob: None,
        };
        file.check(b"hello\n").unwrap();
        assert!(file.check(b"hello").unwrap_err().to_string().contains("5 bytes"));
        assert!(file.check(b"jello\n").unwrap_err().to_string().contains("SHA-256"));
        file.sha256 = None;
        file.git_blob = Some("ce013625030ba8dba906f756967f9e9ca394464a".to_owned());
        file.check(b"hello\n").unwrap();
        assert!(file.check(b"jello\n").unwrap_err().to_string().contains("git blob id"));
    }

    /// A known file, and a stand-in for `curl` that prints these bytes, slowly.
    #[cfg(unix)]
    fn slow(text: &str) -> (KnownFile, Command) {
        let file = KnownFile {
            file: "x".to_owned(),
            url: Some("https://example.org/x".to_owned()),
            size: None,
            sha256: Some(checksum::sha256(b"first second")),
            git_blob: None,
        };
        let (start, rest) = text.split_at(text.len() / 2);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("printf '%s' '{start}'; sleep 0.2; printf '%s' '{rest}'"));
        (file, shell)
    }

    #[cfg(unix)]
    #[test]
    fn downloads_at_once_do_no_harm() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        // The third one gets something else, and must not take the others' file away.
        let sent = ["first second", "first second", "first again!"];
        let kept: Vec<bool> = std::thread::scope(|scope| {
            let runs = sent.map(|text| {
                let target = &target;
                scope.spawn(move || {
                    let (file, curl) = slow(text);
                    download(curl, &file, target).is_ok()
                })
            });
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        assert_eq!(kept, [true, true, false]);
        assert_eq!(std::fs::read(&target).unwrap(), b"first second");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left over");
    }
}
