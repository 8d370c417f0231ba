//! Broken files: every kind has its exact message with line and column, none panics, none takes
//! memory that the file does not justify. The messages are in `snapshots/`.

mod binary;
mod mutated;
#[path = "../skip/mod.rs"]
mod skip;
mod text;

use std::fmt::Write;

use pomdp_fs::data::{ReadOptions, load};

/// A broken file, what lies beside it, and how it is read.
struct Case {
    name: &'static str,
    files: Vec<(&'static str, Vec<u8>)>,
    options: ReadOptions,
}

fn case(name: &'static str, file: &'static str, bytes: impl AsRef<[u8]>) -> Case {
    Case {
        name,
        files: vec![(file, bytes.as_ref().to_vec())],
        options: ReadOptions { max_bytes: 1 << 20, ..ReadOptions::default() },
    }
}

impl Case {
    fn beside(mut self, file: &'static str, bytes: impl AsRef<[u8]>) -> Self {
        self.files.push((file, bytes.as_ref().to_vec()));
        self
    }

    fn with(mut self, change: impl FnOnce(&mut ReadOptions)) -> Self {
        change(&mut self.options);
        self
    }

    fn message(&self) -> String {
        let dir = tempfile::tempdir().unwrap();
        for (file, bytes) in &self.files {
            std::fs::write(dir.path().join(file), bytes).unwrap();
        }
        let mut options = self.options.clone();
        for path in [&mut options.xml, &mut options.candidates_from, &mut options.truth_from] {
            *path = path.as_ref().map(|p| dir.path().join(p));
        }
        let error = load(dir.path().join(self.files[0].0), &options);
        let error = error.err().unwrap_or_else(|| panic!("{} was read", self.name));
        error.to_string().replace(&format!("{}/", dir.path().display()), "")
    }
}

/// Compares the messages of a group with its snapshot.
#[track_caller]
fn check(group: &str, cases: Vec<Case>) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(group, messages(cases)));
}

/// All cases of a group, each with its message.
fn messages(cases: Vec<Case>) -> String {
    let mut text = String::new();
    for case in cases {
        writeln!(text, "## {}\n{}\n", case.name, case.message()).unwrap();
    }
    text
}

/// The start of an ARFF file with two features and a label.
const HEAD: &str =
    "@relation 'r: -C -1'\n@attribute a numeric\n@attribute b {x,y}\n@attribute l {0,1}\n";
