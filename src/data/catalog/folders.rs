//! Folders in which data sets are looked for.

use std::fmt;
use std::path::{Path, PathBuf};

use super::KnownFile;

/// Where to look: the user's data folders, and the project's own `data/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    user: Vec<PathBuf>,
    project: Vec<PathBuf>,
}

/// The environment variable that names a data folder.
pub const VARIABLE: &str = "POMDP_FS_DATA";

impl Folders {
    /// `data_dir` first, then the variable `POMDP_FS_DATA`; bundled files in `data/` here or beside the program.
    pub fn standard(data_dir: Option<&Path>) -> Self {
        let variable = std::env::var_os(VARIABLE).filter(|v| !v.is_empty()).map(PathBuf::from);
        let program = std::env::current_exe().ok();
        let beside = program.as_deref().and_then(Path::parent);
        let shared = beside.and_then(Path::parent).map(|p| p.join("share/pomdp-fs/data"));
        let project = [Some(PathBuf::from("data")), beside.map(|p| p.join("data")), shared];
        Folders {
            user: data_dir.map(Path::to_path_buf).into_iter().chain(variable).collect(),
            project: project.into_iter().flatten().collect(),
        }
    }

    /// Nowhere: only what is in the program.
    pub fn none() -> Self {
        Folders::default()
    }

    /// These folders only, for the user's files and for the project's.
    pub fn only(user: &[PathBuf], project: &[PathBuf]) -> Self {
        Folders { user: user.to_vec(), project: project.to_vec() }
    }

    /// The first data folder of the user.
    pub fn first(&self) -> Option<&Path> {
        self.user.first().map(PathBuf::as_path)
    }

    /// `FOLDER/SET/FILE` or `FOLDER/FILE` of a user's folder.
    pub fn find(&self, set: &str, file: &str) -> Option<PathBuf> {
        // slashdot-paper is made of the files of slashdot, humanpseaac-40 of those of humanpseaac.
        let base = ["-paper", "-40"].iter().find_map(|s| set.strip_suffix(s)).unwrap_or(set);
        let places = self.user.iter().flat_map(|f| [f.join(base).join(file), f.join(file)]);
        places.into_iter().find(|p| p.is_file())
    }

    /// A file of the project; a user's folder may hold a copy.
    pub fn bundled(&self, file: &str) -> Option<PathBuf> {
        let mut places = self.project.iter().chain(&self.user).map(|f| f.join(file));
        places.find(|p| p.is_file())
    }

    pub(super) fn all_bundled(&self, files: &[KnownFile]) -> bool {
        files.iter().all(|f| self.bundled(&f.file).is_some())
    }
}

impl fmt::Display for Folders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.user.is_empty() {
            true => write!(f, "a data folder, such as the one that the variable {VARIABLE} names"),
            false => {
                let names: Vec<String> =
                    self.user.iter().map(|p| p.display().to_string()).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}
