//! `pomdp-fs select` and `pomdp-fs apply` as a user runs them, on small data with small settings.

mod apply;
mod interruption;
#[path = "../../examples/tickets.rs"]
mod made_up;
mod one_pipeline;
mod readme;
mod results;
mod stability;
mod tickets;
mod verdicts;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use pomdp_fs::data::{Dataset, Labels, save};
use pomdp_fs::linalg::Mat;
use pomdp_fs::rng::Streams;

/// Settings with which a run takes a fraction of a second.
const QUICK: [&str; 10] = [
    "--set",
    "width=16",
    "--set",
    "heads=2",
    "--set",
    "epochs1=6",
    "--set",
    "batch=32",
    "--budget",
    "3",
];

/// Label j is on when feature j is large; the other features are noise.
fn toy(n: usize) -> Dataset {
    let (d, labels) = (8, 3);
    let mut rng = Streams::new(21).stream("toy");
    let x = Mat::from_fn(n, d, |_, _| rng.normal());
    let truth = Labels::from_fn(n, labels, |i, j| x[(i, j)] > 0.4);
    let candidates = Labels::from_fn(n, labels, |i, j| truth.get(i, j) || rng.bernoulli(0.25));
    let names = |word: &str, count| (0..count).map(|j| format!("{word} {j}")).collect();
    Dataset {
        name: "toy".into(),
        x,
        truth: Some(truth),
        candidates: Some(candidates),
        feature_names: names("gene", d),
        label_names: names("role", labels),
        ..Dataset::default()
    }
}

/// The toy with candidates only.
fn unknown_truth(n: usize) -> Dataset {
    Dataset { truth: None, ..toy(n) }
}

fn write(dataset: &Dataset, dir: &Path, file: &str) {
    save(dataset, &dir.join(file), None).unwrap();
}

fn program(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pomdp-fs"));
    command.current_dir(dir).args(args);
    command
}

/// Runs a command that must succeed.
fn run(dir: &Path, args: &[&str]) -> String {
    let output = program(dir, args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// `select` with the quick settings.
fn select(dir: &Path, args: &[&str]) -> String {
    run(dir, &[&["select"], args, &QUICK].concat())
}

/// Exit code and message of a command that is refused.
fn refused(dir: &Path, args: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = program(dir, args).output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// The files of a folder with their bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    entries
        .map(|f| (f.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&f).unwrap()))
        .collect()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
