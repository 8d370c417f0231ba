//! The data sets of the paper by name: what they are, where they come from, which part the paper
//! used, and how to get them.
//!
//! Three of the sets lie in the project's `data/` folder (and Yeast in the program itself); the
//! others have no licence that lets a project pass them on, so the catalog only knows their pinned
//! addresses and hashes. A user's own copies are found in the folders of [`Folders`].

mod cut;
mod fetch;
mod folders;

use serde::{Deserialize, Serialize};

use super::read::{STDIN, read_bytes};
use super::{Dataset, ReadOptions, load};
use crate::{Error, Remedy, Result, io};
pub use cut::{Rule, first_labels};
pub use fetch::fetch;
pub use folders::Folders;

const MANIFEST: &str = include_str!("../../../data/catalog.json");
const YEAST: &[u8] = include_bytes!("../../../data/yeast.arff");
const YEAST_LABELS: &[u8] = include_bytes!("../../../data/yeast.xml");
const EMBEDDED: &str = "yeast";

/// The set that the program carries, as an ARFF file and its label file.
pub fn embedded_files() -> (&'static [u8], &'static [u8]) {
    (YEAST, YEAST_LABELS)
}

/// A known data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Name on the command line.
    pub name: String,
    /// Name in tables.
    pub title: String,
    /// Instances of the full set.
    pub n: usize,
    /// Features of the full set.
    pub d: usize,
    /// Labels of the full set.
    pub labels: usize,
    /// The part that the paper used.
    pub paper: Paper,
    /// What to cite.
    pub citation: String,
    /// Something to know about the set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Files that hold the instances; several are parts of one set.
    pub data: Vec<String>,
    /// The label file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xml: Option<String>,
    /// All files of the full set.
    pub files: Vec<KnownFile>,
    /// What lies in the project's own `data/` folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundled: Option<Bundled>,
}

/// The size that the paper prints, and the rule that gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Instances.
    pub n: usize,
    /// Features.
    pub d: usize,
    /// Labels.
    pub labels: usize,
    /// From the full set to this one.
    pub rule: Rule,
}

/// A file with its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFile {
    /// Name in a data folder.
    pub file: String,
    /// Address, pinned to a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Size in bytes, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// SHA-256, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Git blob id, where no SHA-256 is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_blob: Option<String>,
}

/// Files of the project itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundled {
    /// Already cut to the paper's size?
    pub cut: bool,
    /// Data file, then label file.
    pub files: Vec<KnownFile>,
}

/// Which part of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The part that the paper used.
    Paper,
    /// Everything.
    Full,
}

/// Where a set would come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Inside the program.
    Embedded,
    /// In the project's `data/` folder.
    Bundled,
    /// In a data folder.
    Found,
    /// In a data folder, but not all of its instances.
    Partial,
    /// Nowhere.
    Missing,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    #[serde(rename = "format")]
    _format: String,
    sets: Vec<Entry>,
}

/// All known sets.
pub fn entries() -> Result<Vec<Entry>> {
    let manifest: Manifest =
        io::parse_json(MANIFEST.as_bytes()).map_err(|e| e.in_file("data/catalog.json"))?;
    Ok(manifest.sets)
}

/// The set called `name`.
pub fn find(name: &str) -> Result<Entry> {
    let all = entries()?;
    let names: Vec<String> = all.iter().map(|e| e.name.clone()).collect();
    all.into_iter().find(|e| e.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let found = crate::text::name(name);
        Error::config(format!("found the data set '{found}', expected {}", names.join(", ")))
    })
}

/// Opens what the user named: a file if there is one, else a set of the catalog.
pub fn open(what: &str, cut: Cut, folders: &Folders, options: &ReadOptions) -> Result<Dataset> {
    let path = std::path::Path::new(what);
    // A folder of results may well be called like a set.
    if path.is_file() || what == STDIN {
        return load(path, options);
    }
    match find(what) {
        Ok(entry) => entry.load(cut, folders),
        Err(unknown)
            if !path.exists() && path.components().count() == 1 && path.extension().is_none() =>
        {
            Err(unknown.hint("name one of these, or give the path of a file"))
        }
        Err(_) => load(path, options),
    }
}

impl Entry {
    /// Where the paper's cut of this set would come from.
    pub fn status(&self, folders: &Folders) -> Status {
        match &self.bundled {
            Some(bundled) if folders.all_bundled(&bundled.files) => Status::Bundled,
            _ if self.name == EMBEDDED => Status::Embedded,
            _ => match (self.found(folders).len(), self.data.len()) {
                (0, _) => Status::Missing,
                (some, all) if some < all => Status::Partial,
                _ => Status::Found,
            },
        }
    }

    /// Data files that are in a data folder.
    fn found(&self, folders: &Folders) -> Vec<std::path::PathBuf> {
        self.data.iter().filter_map(|f| folders.find(&self.name, f)).collect()
    }

    /// Reads the set. The project's own copy comes first, so that results do not depend on what else
    /// lies in a data folder.
    pub fn load(&self, cut: Cut, folders: &Folders) -> Result<Dataset> {
        let options = ReadOptions::default();
        let usable = self.bundled.as_ref().filter(|b| cut == Cut::Paper || !b.cut);
        if let Some(bundled) = usable {
            if let Some(path) = folders.bundled(&bundled.files[0].file) {
                return Ok(self.named(load(path, &options)?));
            }
            if self.name == EMBEDDED {
                let mut set = read_bytes(YEAST, Some(YEAST_LABELS), EMBEDDED, &options)?;
                set.source.origin = "yeast, embedded in the program".to_owned();
                return Ok(set);
            }
        }
        let full = self.load_full(folders)?;
        if cut == Cut::Full || self.paper.rule == Rule::None {
            return Ok(self.named(full));
        }
        let mut set = self.paper.rule.apply(&full);
        set.source.notes.push(format!(
            "cut by the rule '{}': {} of {} instances, {} of {} features, {} of {} labels",
            self.paper.rule.name(),
            set.n(),
            full.n(),
            set.d(),
            full.d(),
            set.labels(),
            full.labels()
        ));
        Ok(self.named(set))
    }

    fn named(&self, mut set: Dataset) -> Dataset {
        set.name.clone_from(&self.name);
        set
    }

    fn load_full(&self, folders: &Folders) -> Result<Dataset> {
        let found = self.found(folders);
        let Some((first, more)) = found.split_first() else {
            return Err(self.missing(folders));
        };
        let xml = self.xml.as_ref().and_then(|f| folders.find(&self.name, f));
        let options = ReadOptions { xml, ..ReadOptions::default() };
        let mut set = load(first, &options)?;
        for path in more {
            append(&mut set, load(path, &options)?)?;
        }
        if found.len() < self.data.len() {
            set.source.notes.push(format!(
                "partial: {} of the {} instances, because only {} of {} files are there",
                set.n(),
                self.n,
                found.len(),
                self.data.len()
            ));
        }
        Ok(set)
    }

    fn missing(&self, folders: &Folders) -> Error {
        let files: Vec<&str> = self.files.iter().map(|f| f.file.as_str()).collect();
        let error = Error::input(format!("the data set '{}' is not here", self.name));
        match self.files.is_empty() {
            true => error
                .hint("only the part in the project's data/ folder can be used; name that folder")
                .remedy(Remedy::DataFolder),
            false => error
                .hint(format!("fetch it, or put {} into {folders}", files.join(", ")))
                .remedy(Remedy::Fetch(self.name.clone())),
        }
    }
}

/// Adds the instances of another part of the same set.
fn append(set: &mut Dataset, more: Dataset) -> Result<()> {
    if (&set.feature_names, &set.label_names) != (&more.feature_names, &more.label_names) {
        return Err(Error::input("the parts of the set do not have the same columns")
            .in_file(&more.source.origin));
    }
    let x = [set.x.as_slice(), more.x.as_slice()].concat();
    let n = set.n() + more.n();
    if let (Some(a), Some(b)) = (&set.truth, &more.truth) {
        let cells = [a.as_slice(), b.as_slice()].concat();
        set.truth = Some(super::Labels::from_vec(n, a.cols(), cells));
    }
    set.x = crate::linalg::Mat::from_vec(n, set.d(), x);
    let note = format!("then {} (SHA-256 {})", more.source.origin, more.source.sha256);
    set.source.notes.push(note);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_is_sound() {
        let all = entries().unwrap();
        assert_eq!(all.len(), 13);
        for entry in &all {
            let named: Vec<&String> = entry.files.iter().map(|f| &f.file).collect();
            assert!(
                entry.data.iter().chain(&entry.xml).all(|f| named.contains(&f)),
                "{}",
                entry.name
            );
            for file in &entry.files {
                assert!(file.sha256.is_some() != file.git_blob.is_some());
                let url = file.url.as_deref().unwrap();
                assert!(url.starts_with("https://") && url.len() > 80, "{url}");
            }
            assert!(!entry.citation.is_empty());
        }
        assert_eq!(find("YEAST").unwrap().name, "yeast");
        assert!(find("iris").unwrap_err().to_string().contains("slashdot-paper"));
    }

    #[test]
    fn yeast_is_in_the_program() {
        let yeast = find("yeast").unwrap();
        let nowhere = Folders::none();
        assert_eq!(yeast.status(&nowhere), Status::Embedded);
        let set = yeast.load(Cut::Paper, &nowhere).unwrap();
        assert_eq!((set.n(), set.d(), set.labels()), (2417, 103, 14));
        assert_eq!(set.label_names[13], "Class14");
        let file = &yeast.bundled.as_ref().unwrap().files[0];
        assert_eq!(file.sha256.as_deref(), Some(set.source.sha256.as_str()));
        let birds = find("birds").unwrap();
        assert_eq!(birds.status(&nowhere), Status::Missing);
        let error = birds.load(Cut::Paper, &nowhere).unwrap_err();
        assert_eq!(error.what_to_do().1, Some(&Remedy::Fetch("birds".to_owned())), "{error}");
    }
}
