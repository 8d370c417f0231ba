//! Ctrl-C: where it stopped, and how to go on. The signal is SIGTERM, which is handled alike; shells
//! switch SIGINT off for jobs in the background, and the tests may be one.

use std::path::Path;
use std::process::{Child, Command};

use super::{LONG, contents, folder, outcome, refused, run, select, start, succeed, wait_for};

/// Stops a run; its exit code and what it said.
fn stop(child: Child) -> (Option<i32>, String) {
    let kill = format!("kill -TERM {}", child.id()); // built into every shell
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    outcome(child.wait_with_output().unwrap())
}

fn folders(at: &Path) -> Vec<String> {
    let names = std::fs::read_dir(at).unwrap().map(|e| e.unwrap().file_name());
    let mut names: Vec<String> = names.map(|n| n.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_stopped_run_says_where_it_is_and_goes_on_to_the_same_bytes() {
    let dir = folder();
    let at = dir.path();
    let some = ["--set", "epochs1=300", "--set", "patience=300", "--checkpoint-every", "0"];
    let args = select(&[&["--out", "out"], &some[..]].concat());
    let child = start(at, &args);
    wait_for(&at.join(".out.part/progress"));
    let (code, text) = stop(child);
    assert_eq!(code, Some(143), "{text}");
    assert!(text.contains("Stage 1, after ") && text.contains("of 300 steps: stopped on request"));
    assert!(text.contains("to go on: ") && text.contains(" --resume"), "{text}");
    assert_eq!(folders(at), [".out.part", "toy.csv"], "progress, no lock, no result");
    refused(at, &args, &["progress of an interrupted run", "--resume", "--restart"]);
    assert_eq!(folders(at), [".out.part", "toy.csv"], "being asked costs nothing");
    let text = succeed(at, &[&args[..], &["--resume"]].concat());
    assert!(text.contains("resuming after ") && !text.contains("resuming after 0"), "{text}");
    succeed(at, &select(&[&["--out", "whole"], &some[..]].concat()));
    assert!(contents(&at.join("out")) == contents(&at.join("whole")));
}

#[test]
fn the_last_step_is_kept_however_rare_checkpoints_are() {
    let dir = folder();
    let at = dir.path();
    let rarely = [&LONG[..4], &["--checkpoint-every", "3600"]].concat();
    let args = select(&[&["--out", "out"], &rarely[..]].concat());
    let child = start(at, &args);
    wait_for(&at.join(".out.part"));
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!at.join(".out.part/progress").exists(), "it is not time yet");
    let (code, text) = stop(child);
    assert_eq!(code, Some(143), "{text}");
    assert!(at.join(".out.part/progress").exists(), "{text}");
    // Away with it.
    succeed(at, &select(&["--out", "out", "--restart"]));
    assert_eq!(folders(at), ["out", "toy.csv"]);
}

#[test]
fn a_stopped_evaluation_keeps_its_cells() {
    let dir = folder();
    let at = dir.path();
    let args = ["evaluate", "toy.csv", "--labels", "prefix:tag_", "--methods", "zeros,pomdp-fs"];
    let long = ["--set", "pomdp-fs.epochs1=100000", "--set", "pomdp-fs.patience=100000"];
    let args =
        [&args[..], &["--out", "all", "--set", "pomdp-fs.width=8", "--set", "pomdp-fs.heads=2"]]
            .concat();
    let child = start(at, &[&args[..], &long].concat());
    wait_for(&at.join("all/cells"));
    while std::fs::read_dir(at.join("all/cells")).unwrap().count() < 5 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let (code, text) = stop(child);
    assert_eq!(code, Some(143), "{text}");
    let words = ["5 of 10 cells: stopped on request", "finished cells are kept in all", "--resume"];
    assert!(words.iter().all(|w| text.contains(w)), "{text}");
    assert!(!at.join("all/.lock").exists());
    let quick = ["--set", "pomdp-fs.epochs1=2", "--resume"];
    let (code, text) = run(at, &[&args[..], &quick].concat());
    assert!(code == Some(0) && text.contains("5 of 10 cells were finished before"), "{text}");
}
