//! What a user may rely on: nothing is lost, nothing is mixed, nothing foreign is touched, and every
//! message says what to do. `docs/reliability.md` lists the promises with these tests.
#![cfg(unix)]

mod damage;
mod locks;
mod memory;
mod messages;
mod paths;
mod stop;
mod streams;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use pomdp_fs::rng::Streams;

/// `select` on the toy, with settings that take a fraction of a second.
const SELECT: [&str; 14] = [
    "select",
    "toy.csv",
    "--labels",
    "prefix:tag_",
    "--role",
    "candidates",
    "--budget",
    "2",
    "--set",
    "width=8",
    "--set",
    "heads=2",
    "--set",
    "epochs1=4",
];
/// The same for so long that it must be stopped.
const LONG: [&str; 6] =
    ["--set", "epochs1=100000", "--set", "patience=100000", "--checkpoint-every", "0"];

/// A folder with `toy.csv`: tag j is on when feature j is large, and sometimes otherwise.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut rng = Streams::new(21).stream("toy");
    let mut text = String::from("a,b,c,d,tag_0,tag_1,tag_2\n");
    for _ in 0..120 {
        let x: Vec<f64> = (0..4).map(|_| rng.normal()).collect();
        let tags = (0..3).map(|j| u8::from(x[j] > 0.3 || rng.bernoulli(0.2)));
        let tags: Vec<String> = tags.map(|t| t.to_string()).collect();
        let cells: Vec<String> = x.iter().map(|v| format!("{v:.6}")).chain(tags).collect();
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    std::fs::write(dir.path().join("toy.csv"), text).unwrap();
    dir
}

fn program(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pomdp-fs"));
    command.current_dir(dir).args(args).args(["--threads", "1"]);
    command
}

fn select<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SELECT, more].concat()
}

/// Exit code (None: a signal) and all that was printed.
fn outcome(output: Output) -> (Option<i32>, String) {
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

fn run(dir: &Path, args: &[&str]) -> (Option<i32>, String) {
    outcome(program(dir, args).output().unwrap())
}

/// Runs what must succeed.
fn succeed(dir: &Path, args: &[&str]) -> String {
    let (code, text) = run(dir, args);
    assert_eq!(code, Some(0), "{args:?}: {text}");
    text
}

/// Runs what must be refused: exit code 2, and each of these words in the message.
fn refused(dir: &Path, args: &[&str], words: &[&str]) {
    let (code, text) = run(dir, args);
    assert_eq!(code, Some(2), "{args:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{args:?}: no '{word}' in: {text}");
    }
}

fn start(dir: &Path, args: &[&str]) -> Child {
    program(dir, args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until a file is there.
fn wait_for(file: &Path) {
    let patience = Instant::now();
    while !file.exists() {
        assert!(patience.elapsed() < Duration::from_secs(60), "no {}", file.display());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The files of a folder with their bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let name = |f: &Path| f.file_name().unwrap().to_str().unwrap().to_owned();
    entries.filter(|f| f.is_file()).map(|f| (name(&f), std::fs::read(&f).unwrap())).collect()
}
