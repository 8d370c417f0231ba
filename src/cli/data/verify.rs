//! `data verify`: are the files what the catalog says, and do they hold what it says?

use clap::Args;
use serde::Serialize;

use crate::cli::Context;
use crate::cli::input::Place;
use crate::data::catalog::{self, Cut, Entry, Folders, Status};
use crate::{Result, io};

/// Check hashes and sizes of the data sets that are here; exit code 1 if one is wrong
#[derive(Args)]
#[command(after_help = "Example: pomdp-fs data verify yeast birds --data-dir ~/multilabel")]
pub struct Verify {
    /// Sets to check; a named set that is missing counts as wrong [default: all that are here]
    sets: Vec<String>,
    #[command(flatten)]
    place: Place,
}

#[derive(Serialize)]
struct Report {
    pass: bool,
    sets: Vec<Checked>,
}

#[derive(Serialize)]
struct Checked {
    name: String,
    status: Status,
    pass: bool,
    problems: Vec<String>,
}

impl Verify {
    pub(super) fn run(&self, context: &Context) -> Result<bool> {
        let folders = self.place.folders();
        let entries = match self.sets.is_empty() {
            true => catalog::entries()?,
            false => self.sets.iter().map(|s| catalog::find(s)).collect::<Result<_>>()?,
        };
        let mut sets = Vec::new();
        for entry in &entries {
            let checked = check(entry, &folders, !self.sets.is_empty());
            let verdict = match (checked.pass, checked.status) {
                (true, Status::Missing) => "missing",
                (true, Status::Partial) => "right, but only a part",
                (true, _) => "right",
                (false, _) => "WRONG",
            };
            context.say(format!("{:16}{verdict}", entry.name));
            checked.problems.iter().for_each(|p| context.say(format!("  {p}")));
            sets.push(checked);
        }
        let pass = sets.iter().all(|s| s.pass);
        context.emit(&Report { pass, sets })?;
        Ok(pass)
    }
}

fn check(entry: &Entry, folders: &Folders, required: bool) -> Checked {
    let status = entry.status(folders);
    let mut problems = Vec::new();
    if status == Status::Missing {
        if required {
            problems.push("not here".to_owned());
        }
    } else {
        problems.extend(wrong_files(entry, folders));
        problems.extend(wrong_size(entry, folders, status));
    }
    Checked { name: entry.name.clone(), status, pass: problems.is_empty(), problems }
}

/// Files whose bytes are not the known ones.
fn wrong_files(entry: &Entry, folders: &Folders) -> Vec<String> {
    let own = entry.files.iter().filter_map(|f| Some((f, folders.find(&entry.name, &f.file)?)));
    let bundled = entry.bundled.iter().flat_map(|b| &b.files);
    let bundled = bundled.filter_map(|f| Some((f, folders.bundled(&f.file)?)));
    // A data folder may hold the project's own file under the name of the original, and the other
    // way round: both are known.
    let known = |name: &str, bytes: &[u8]| {
        let bundled = entry.bundled.iter().flat_map(|b| &b.files);
        let mut alike = entry.files.iter().chain(bundled).filter(|f| f.file == name);
        alike.any(|f| f.check(bytes).is_ok())
    };
    let wrong = own.chain(bundled).filter_map(|(file, path)| {
        let check = |bytes: Vec<u8>| match known(&file.file, &bytes) {
            true => Ok(()),
            false => file.check(&bytes).map_err(|e| e.in_file(&path)),
        };
        io::read(&path).and_then(check).err()
    });
    let mut wrong: Vec<String> = wrong.map(|e| e.to_string()).collect();
    wrong.dedup();
    wrong
}

/// Does the paper's cut have the size that the catalog states?
fn wrong_size(entry: &Entry, folders: &Folders, status: Status) -> Option<String> {
    let set = match entry.load(Cut::Paper, folders) {
        Ok(set) => set,
        Err(e) => return Some(e.to_string()),
    };
    let p = &entry.paper;
    let rows_fit = set.n() == p.n || (status == Status::Partial && set.n() < p.n);
    if rows_fit && (set.d(), set.labels()) == (p.d, p.labels) {
        return None;
    }
    let (n, d, l) = (set.n(), set.d(), set.labels());
    Some(format!("found {n} x {d} x {l}, expected {} x {} x {}", p.n, p.d, p.labels))
}
