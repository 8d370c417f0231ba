//! A folder of results that appears whole: work happens in a hidden folder beside it, which takes
//! its name at the end.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Results in the making.
pub struct Folder {
    work: PathBuf,
    out: PathBuf,
}

impl Folder {
    /// Prepares the work folder of `out`. What an interrupted run left there is thrown away, except
    /// for the file `keep`. An older result, which holds only files called as in `ours`, will be
    /// replaced; a folder with anything else is not touched.
    pub fn new(out: &Path, ours: &[&str], keep: Option<&str>) -> Result<Self> {
        let name = out.file_name().ok_or_else(|| {
            Error::found("no name", "the name of a folder for the results").in_file(out)
        })?;
        if out.exists() {
            check_replaceable(out, ours)?;
        }
        let work = out.with_file_name(format!(".{}.part", name.to_string_lossy()));
        if work.exists() {
            for file in files(&work)? {
                if keep.is_none_or(|k| file.file_name().is_none_or(|n| n != k)) {
                    fs::remove_file(&file).map_err(|e| Error::io(&file, "remove", &e))?;
                }
            }
        }
        fs::create_dir_all(&work).map_err(|e| Error::io(&work, "create", &e))?;
        Ok(Folder { work, out: out.to_path_buf() })
    }

    /// Where files are written until [`Folder::finish`].
    pub fn path(&self) -> &Path {
        &self.work
    }

    /// Puts the finished folder in the place of an older one.
    pub fn finish(&self) -> Result<()> {
        let (work, out) = (&self.work, &self.out);
        let old = work.with_extension("old");
        if out.exists() {
            let _ = fs::remove_dir_all(&old);
            fs::rename(out, &old).map_err(|e| Error::io(out, "move", &e))?;
        }
        fs::rename(work, out).map_err(|e| Error::io(out, "move the results to", &e))?;
        let _ = fs::remove_dir_all(&old);
        Ok(())
    }
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e: std::io::Error| Error::io(folder, "read", &e);
    let entries = fs::read_dir(folder).map_err(failed)?;
    entries.map(|e| e.map(|e| e.path()).map_err(failed)).collect()
}

fn check_replaceable(out: &Path, ours: &[&str]) -> Result<()> {
    if !out.is_dir() {
        return Err(Error::found("a file", "a folder, or a new name").in_file(out));
    }
    let foreign = files(out)?.into_iter().find(|f| {
        let name = f.file_name().and_then(|n| n.to_str());
        name.is_none_or(|n| !ours.contains(&n))
    });
    match foreign {
        None => Ok(()),
        Some(file) => Err(Error::found("a file that is no result of this command", "none")
            .in_file(file)
            .hint(
                "the folder would be replaced as a whole: move the file, or choose another --out",
            )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_replace_results_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("results");
        for text in ["one", "two"] {
            let folder = Folder::new(&out, &["a.csv"], None).unwrap();
            fs::write(folder.path().join("a.csv"), text).unwrap();
            folder.finish().unwrap();
            assert_eq!(fs::read_to_string(out.join("a.csv")).unwrap(), text);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left behind");
        }
        fs::write(out.join("thesis.tex"), "years").unwrap();
        let e = Folder::new(&out, &["a.csv"], None).err().unwrap();
        assert!(e.to_string().contains("thesis.tex: found a file that is no result"), "{e}");
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(Folder::new(&file, &[], None).is_err());
        assert!(Folder::new(Path::new("/"), &[], None).is_err());
    }

    #[test]
    fn leftovers_go_and_the_checkpoint_stays() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("results");
        let work = Folder::new(&out, &[], None).unwrap().path().to_path_buf();
        fs::write(work.join("progress"), "").unwrap();
        fs::write(work.join(".progress.77.part"), "").unwrap();
        Folder::new(&out, &[], Some("progress")).unwrap();
        assert_eq!(fs::read_dir(&work).unwrap().count(), 1);
        Folder::new(&out, &[], None).unwrap();
        assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
    }
}
