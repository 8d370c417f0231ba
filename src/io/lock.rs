//! A folder belongs to one run at a time.
//!
//! The lock is a file that says who holds it. It works on network file systems, where the locks of
//! the operating system often do not: it needs only that of two processes that create one name, one
//! fails. A lock whose process is gone is taken over.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::holder::Holder;
use super::{json_line, parse_json, temporary};
use crate::{Error, Result};

/// How often an unfinished lock file is read again before it counts as damaged.
const PATIENCE: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// A folder that no other run may use until this is dropped.
#[derive(Debug)]
pub struct Lock {
    file: PathBuf,
    folder: PathBuf,
    text: String,
}

impl Lock {
    /// Takes the lock `.NAME.lock` beside the folder NAME, which need not exist: for results that
    /// appear as a whole. Refuses at once if another process that runs has it.
    pub fn beside(folder: &Path) -> Result<Self> {
        Self::acquire(hidden_beside(folder, "lock")?, folder)
    }

    /// Takes the lock `.lock` inside a folder that exists: for results that come one by one.
    pub fn inside(folder: &Path) -> Result<Self> {
        Self::acquire(folder.join(".lock"), folder)
    }

    /// Takes the lock `file`, for a piece of work that several runs may take; None if another process
    /// that runs has it.
    pub fn claim(file: &Path) -> Result<Option<Self>> {
        Ok(Self::attempt(file.to_path_buf(), file)?.ok())
    }

    fn acquire(file: PathBuf, folder: &Path) -> Result<Self> {
        Self::attempt(file, folder)?.map_err(|held| *held)
    }

    /// The lock, or an error that says who has it.
    fn attempt(file: PathBuf, folder: &Path) -> Result<std::result::Result<Self, Box<Error>>> {
        let text = json_line(&Holder::this())?;
        let lock = Lock { file, folder: folder.to_path_buf(), text };
        loop {
            if lock.create()? {
                return Ok(Ok(lock));
            }
            let Some((found, holder)) = lock.read()? else {
                continue; // given back just now
            };
            if !holder.is_gone() {
                return Ok(Err(Box::new(lock.held_by(&holder))));
            }
            // Of all who find this dead lock one may replace it: who holds the lock of its id. By the
            // time we have that, another one may have done so.
            let mut name = lock.file.as_os_str().to_owned();
            name.push(format!(".{}", holder.id));
            let _claim = Self::acquire(PathBuf::from(name), folder)?;
            if lock.read()?.is_some_and(|(now, _)| now == found) {
                lock.replace()?;
                return Ok(Ok(lock));
            }
        }
    }

    /// Creates the lock file, whole from the first moment where the file system has links; false if
    /// it is there already.
    fn create(&self) -> Result<bool> {
        let (draft, mut file) = temporary::create_beside(&self.file)?;
        let failed = |e: &std::io::Error| Error::io(&self.file, "create", e);
        let linked = file
            .write_all(self.text.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(|e| failed(&e))
            .map(|()| fs::hard_link(&draft, &self.file));
        let _ = fs::remove_file(&draft);
        match linked? {
            Ok(()) => Ok(true),
            // Over a network a success may be reported as a failure.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(self.is_ours()),
            Err(_) => match File::create_new(&self.file) {
                Ok(mut file) => {
                    let written = file.write_all(self.text.as_bytes());
                    written.map(|()| true).map_err(|e| {
                        let _ = fs::remove_file(&self.file);
                        failed(&e)
                    })
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
                Err(e) => Err(failed(&e)),
            },
        }
    }

    /// What the lock file says; None if there is none.
    fn read(&self) -> Result<Option<(String, Holder)>> {
        for _ in 0..PATIENCE {
            match fs::symlink_metadata(&self.file) {
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
                Ok(about) if !about.is_file() => break,
                _ => {}
            }
            let text = match fs::read_to_string(&self.file) {
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
                other => other.unwrap_or_default(),
            };
            if let Ok(holder) = parse_json::<Holder>(text.as_bytes()) {
                return Ok(Some((text, holder)));
            }
            thread::sleep(PAUSE); // it may be in the writing
        }
        Err(Error::found("something that is no lock of a run", "none or a lock")
            .in_file(&self.file)
            .hint("if no run uses the folder, remove this file"))
    }

    /// Puts our lock in the place of a dead one.
    fn replace(&self) -> Result<()> {
        super::write_atomic(&self.file, self.text.as_bytes())
    }

    fn is_ours(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|text| text == self.text)
    }

    fn held_by(&self, holder: &Holder) -> Error {
        let elsewhere = match holder.host == Holder::this().host {
            true => String::new(),
            false => format!("; if that run is no more, remove {}", self.file.display()),
        };
        Error::input(format!("another run uses this folder: {holder}"))
            .in_file(&self.folder)
            .hint(format!("wait until it is done, or choose another folder{elsewhere}"))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.is_ours() {
            let _ = fs::remove_file(&self.file);
        }
    }
}

/// The hidden name `.NAME.EXTENSION` beside NAME.
pub fn hidden_beside(path: &Path, extension: &str) -> Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| {
        Error::found("no name", "the name of a folder for the results").in_file(path)
    })?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{extension}"));
    Ok(path.with_file_name(hidden))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// A lock that a process that is gone left behind.
    fn dead(file: &Path) {
        let mut holder = serde_json::to_value(Holder::this()).unwrap();
        holder["process"] = (u32::MAX / 2).into();
        fs::write(file, holder.to_string()).unwrap();
    }

    #[test]
    fn one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        for _ in 0..2 {
            let lock = Lock::beside(&out).unwrap();
            let e = Lock::beside(&out).unwrap_err().to_string();
            let who = format!("out: another run uses this folder: process {}", std::process::id());
            assert!(e.contains(&who), "{e}");
            assert_eq!(names(dir.path()), [".out.lock"], "no drafts");
            drop(lock);
            assert!(names(dir.path()).is_empty());
        }
        let _lock = Lock::inside(dir.path()).unwrap();
        assert!(Lock::inside(dir.path()).is_err());
        assert!(Lock::inside(&out).is_err(), "there is no such folder");
        assert!(Lock::beside(Path::new("/")).is_err());
    }

    #[test]
    fn a_dead_lock_is_taken_over_even_through_dead_claims() {
        let dir = tempfile::tempdir().unwrap();
        let (out, file) = (dir.path().join("out"), dir.path().join(".out.lock"));
        dead(&file);
        let id = parse_json::<Holder>(&fs::read(&file).unwrap()).unwrap().id;
        dead(&dir.path().join(format!(".out.lock.{id}")));
        let lock = Lock::beside(&out).unwrap();
        assert_eq!(names(dir.path()), [".out.lock"], "claims are gone");
        assert!(Lock::beside(&out).is_err());
        drop(lock);
        // A living claim: somebody is just about to take over.
        dead(&file);
        let id = parse_json::<Holder>(&fs::read(&file).unwrap()).unwrap().id;
        let claim = dir.path().join(format!(".out.lock.{id}"));
        fs::write(&claim, json_line(&Holder::this()).unwrap()).unwrap();
        assert!(Lock::beside(&out).unwrap_err().to_string().contains("another run"));
    }

    /// Many who find a dead lock at once: at no moment do two of them hold it.
    #[test]
    fn races_for_a_dead_lock_have_one_winner_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let (out, file) = (dir.path().join("out"), dir.path().join(".out.lock"));
        let (inside, won) = (AtomicUsize::new(0), AtomicUsize::new(0));
        for _ in 0..20 {
            dead(&file);
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        if let Ok(_lock) = Lock::beside(&out) {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two hold it");
                            won.fetch_add(1, Ordering::SeqCst);
                            thread::sleep(Duration::from_micros(300));
                            inside.fetch_sub(1, Ordering::SeqCst);
                        }
                    });
                }
            });
            assert!(names(dir.path()).is_empty(), "{:?}", names(dir.path()));
        }
        assert!(won.into_inner() >= 20, "each race has a winner");
    }

    #[test]
    fn damaged_and_foreign_locks_are_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".out.lock");
        for text in ["", "{", "thesis"] {
            fs::write(&file, text).unwrap();
            let e = Lock::beside(&dir.path().join("out")).unwrap_err().to_string();
            assert!(e.contains(".out.lock: found something that is no lock"), "{e}");
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        let mut other = serde_json::to_value(Holder::this()).unwrap();
        other["host"] = "far".into();
        other["process"] = 1.into();
        fs::write(&file, other.to_string()).unwrap();
        let e = Lock::beside(&dir.path().join("out")).unwrap_err().to_string();
        assert!(e.contains("process 1 on far") && e.contains("remove"), "{e}");
    }
}
