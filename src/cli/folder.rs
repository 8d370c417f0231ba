//! A folder of results that appears whole: work happens in a hidden folder beside it, which takes
//! its name at the end.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::{Error, Result, io};

/// What becomes of the progress that an interrupted run left in the work folder.
#[derive(Clone, Copy)]
pub enum Progress<'a> {
    /// There is none of value.
    None,
    /// The file is kept, to go on with it.
    Keep(&'a str),
    /// The file is thrown away.
    Discard(&'a str),
    /// If the file is there the user is asked.
    Ask(&'a str),
}

impl<'a> Progress<'a> {
    fn file(self) -> Option<&'a str> {
        match self {
            Progress::None => None,
            Progress::Keep(file) | Progress::Discard(file) | Progress::Ask(file) => Some(file),
        }
    }
}

/// Results in the making. Until they are finished or given up no other run may make them.
pub struct Folder<'a> {
    work: PathBuf,
    old: PathBuf,
    out: PathBuf,
    ours: &'a [&'a str],
    _lock: io::Lock,
}

impl<'a> Folder<'a> {
    /// Prepares the work folder of `out`. What an interrupted run left there is thrown away, except
    /// for its `progress`. An older result, which holds only files called as in `ours`, will be
    /// replaced. Nothing else is ever removed, and no link is followed.
    pub fn new(out: &Path, ours: &'a [&'a str], progress: Progress<'_>) -> Result<Self> {
        // Without a final slash, which would follow a link.
        let out: PathBuf = out.components().collect();
        let work = io::hidden_beside(&out, "part")?;
        let old = io::hidden_beside(&out, "old")?;
        if let Some(parent) = out.parent() {
            fs::create_dir_all(parent).map_err(|e| Error::io(parent, "create", &e))?;
        }
        let lock = io::Lock::beside(&out)?;
        let folder = Folder { work, old, out, ours, _lock: lock };
        folder.check(&folder.old, ours)?;
        // A run that ended between two renames.
        if folder.check(&folder.out, ours)? {
            folder.remove_old()?;
        } else if about(&folder.old)?.is_some() {
            rename(&folder.old, &folder.out)?;
        }
        let kept = progress.file();
        let all: Vec<&str> = ours.iter().copied().chain(kept).collect();
        if folder.check(&folder.work, &all)? {
            let is_progress = |file: &PathBuf| file.file_name() == kept.map(OsStr::new);
            let found = files(&folder.work)?;
            if let (Progress::Ask(_), Some(file)) =
                (progress, found.iter().find(|f| is_progress(f)))
            {
                return Err(Error::found("the progress of an interrupted run", "none")
                    .in_file(file)
                    .hint("go on with it (--resume), or throw it away (--restart)"));
            }
            for file in found {
                if !matches!(progress, Progress::Keep(_)) || !is_progress(&file) {
                    fs::remove_file(&file).map_err(|e| Error::io(&file, "remove", &e))?;
                }
            }
        } else {
            fs::create_dir(&folder.work).map_err(|e| Error::io(&folder.work, "create", &e))?;
        }
        Ok(folder)
    }

    /// Where files are written until [`Folder::finish`].
    pub fn path(&self) -> &Path {
        &self.work
    }

    /// Puts the finished folder in the place of an older one.
    pub fn finish(&self) -> Result<()> {
        if self.check(&self.out, self.ours)? {
            rename(&self.out, &self.old)?;
        }
        if let Err(e) = rename(&self.work, &self.out) {
            let _ = fs::rename(&self.old, &self.out);
            return Err(e);
        }
        self.remove_old()
    }

    fn remove_old(&self) -> Result<()> {
        if !self.check(&self.old, self.ours)? {
            return Ok(());
        }
        let removed = files(&self.old)?.iter().try_for_each(fs::remove_file);
        removed
            .and_then(|()| fs::remove_dir(&self.old))
            .map_err(|e| Error::io(&self.old, "remove", &e))
    }

    /// Whether `folder` is there; an error unless it is a folder of nothing but files called as in
    /// `ours`, and files that were to get such a name.
    fn check(&self, folder: &Path, ours: &[&str]) -> Result<bool> {
        let refuse = |path: &Path, found: &str, expected: &str| {
            let why = format!(
                "results are put together in {} and replace {} as a whole: move this away, or choose \
                 another --out",
                self.work.display(),
                self.out.display()
            );
            Err(Error::found(found, expected).in_file(path).hint(why))
        };
        let expected = "a folder of results, or none";
        match about(folder)? {
            None => return Ok(false),
            Some(about) if about.is_symlink() => {
                return refuse(folder, "a symbolic link, which is not followed", expected);
            }
            Some(about) if !about.is_dir() => return refuse(folder, "a file", expected),
            Some(_) => {}
        }
        for file in files(folder)? {
            let name = file.file_name().unwrap_or_default();
            let known = ours.iter().any(|o| name == *o || io::is_temporary(name, o));
            if !known {
                return refuse(&file, "a file that is no result of this command", "none");
            }
            if !about(&file)?.is_some_and(|a| a.is_file()) {
                return refuse(&file, "a link or a folder with the name of a result", "a file");
            }
        }
        Ok(true)
    }
}

/// What a name stands for, without following links; None if it is free.
fn about(path: &Path) -> Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(about) => Ok(Some(about)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io(path, "read", &e)),
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| Error::io(to, "move the results to", &e))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e: std::io::Error| Error::io(folder, "read", &e);
    let entries = fs::read_dir(folder).map_err(failed)?;
    entries.map(|e| e.map(|e| e.path()).map_err(failed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: [&str; 1] = ["a.csv"];

    fn open(out: &Path, keep: bool) -> Result<Folder<'static>> {
        let progress = if keep { Progress::Keep } else { Progress::Discard };
        Folder::new(out, &OURS, progress("progress"))
    }

    fn message(out: &Path) -> String {
        open(out, false).err().unwrap().to_string()
    }

    fn names(folder: &Path) -> Vec<String> {
        let name = |f: &PathBuf| f.file_name().unwrap().to_str().unwrap().to_owned();
        files(folder).unwrap().iter().map(name).collect()
    }

    #[test]
    fn results_replace_results_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("results");
        for text in ["one", "two"] {
            let folder = open(&out, false).unwrap();
            fs::write(folder.path().join("a.csv"), text).unwrap();
            assert!(message(&out).contains("another run uses this folder"));
            folder.finish().unwrap();
            drop(folder);
            assert_eq!(fs::read_to_string(out.join("a.csv")).unwrap(), text);
            assert_eq!(names(dir.path()), ["results"], "nothing is left behind");
        }
        let folder = open(&out, false).unwrap();
        fs::write(out.join("thesis.tex"), "years").unwrap();
        let e = folder.finish().unwrap_err().to_string();
        assert!(e.contains("thesis.tex: found a file that is no result"), "{e}");
        drop(folder);
        assert!(message(&out).contains("thesis.tex: found a file that is no result"));
        assert_eq!(fs::read_to_string(out.join("thesis.tex")).unwrap(), "years");
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(message(&file).contains("found a file, expected a folder"));
        assert!(message(Path::new("/")).contains("found no name"));
    }

    #[test]
    fn leftovers_go_and_the_progress_stays() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("new/results");
        let work = open(&out, false).unwrap().path().to_path_buf();
        for name in ["progress", ".progress.77-0.part", "a.csv"] {
            fs::write(work.join(name), "").unwrap();
        }
        let e = Folder::new(&out, &OURS, Progress::Ask("progress")).err().unwrap().to_string();
        assert!(e.contains("progress: found the progress of an interrupted run"), "{e}");
        open(&out, true).unwrap();
        assert_eq!(names(&work), ["progress"]);
        open(&out, false).unwrap();
        assert!(names(&work).is_empty());
        assert!(Folder::new(&out, &OURS, Progress::Ask("progress")).is_ok());
    }

    #[test]
    fn what_is_not_ours_stays() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("results");
        for hidden in [".results.part", ".results.old"] {
            let folder = dir.path().join(hidden);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("thesis.tex"), "years").unwrap();
            assert!(message(&out).contains("thesis.tex: found a file that is no result"));
            assert_eq!(fs::read_to_string(folder.join("thesis.tex")).unwrap(), "years");
            fs::remove_file(folder.join("thesis.tex")).unwrap();
            fs::create_dir(folder.join("a.csv")).unwrap();
            assert!(message(&out).contains("a.csv: found a link or a folder"));
            fs::remove_dir_all(folder).unwrap();
        }
        assert!(open(&out, false).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (out, target) = (dir.path().join("results"), dir.path().join("target"));
        fs::create_dir(&target).unwrap();
        fs::write(target.join("a.csv"), "precious").unwrap();
        for name in ["results", ".results.part", ".results.old"] {
            let link = dir.path().join(name);
            std::os::unix::fs::symlink(&target, &link).unwrap();
            for out in [out.clone(), PathBuf::from(format!("{}/", out.display()))] {
                assert!(message(&out).contains("a symbolic link, which is not followed"), "{name}");
            }
            assert!(about(&link).unwrap().unwrap().is_symlink());
            fs::remove_file(link).unwrap();
        }
        assert_eq!(fs::read_to_string(target.join("a.csv")).unwrap(), "precious");
    }

    /// The program ends between the two renames, or before the older result is removed.
    #[test]
    fn an_older_result_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let (out, old) = (dir.path().join("results"), dir.path().join(".results.old"));
        fs::create_dir(&old).unwrap();
        fs::write(old.join("a.csv"), "older").unwrap();
        open(&out, false).unwrap();
        assert_eq!(fs::read_to_string(out.join("a.csv")).unwrap(), "older");
        fs::create_dir(&old).unwrap();
        fs::write(old.join("a.csv"), "oldest").unwrap();
        open(&out, false).unwrap();
        assert_eq!(fs::read_to_string(out.join("a.csv")).unwrap(), "older");
        assert!(!old.exists());
    }
}
