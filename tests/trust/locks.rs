//! Two runs at once.

use super::{LONG, contents, folder, outcome, refused, run, select, start, succeed, wait_for};

#[test]
fn the_second_run_is_refused_and_told_who_is_there() {
    let dir = folder();
    let at = dir.path();
    let mut first = start(at, &select(&[&["--out", "out"], &LONG[..]].concat()));
    wait_for(&at.join(".out.lock"));
    let who = format!("out: another run uses this folder: process {} on ", first.id());
    refused(at, &select(&["--out", "out"]), &[&who, "pomdp-fs select toy.csv", "wait"]);
    // A process that is gone holds nothing.
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(at.join(".out.lock").exists(), "it had no time to take its lock away");
    succeed(at, &select(&["--out", "out", "--restart"]));
    assert!(!at.join(".out.lock").exists() && !at.join(".out.part").exists());
}

#[test]
fn races_end_with_one_whole_result() {
    let dir = folder();
    let at = dir.path();
    let whole = ["0", "1"].map(|seed| {
        succeed(at, &select(&["--out", "alone", "--seed", seed]));
        contents(&at.join("alone"))
    });
    assert!(whole[0] != whole[1], "a mixture would not be seen");
    for race in 0..5 {
        let out = format!("race{race}");
        let runs = ["0", "1"].map(|seed| start(at, &select(&["--out", &out, "--seed", seed])));
        let ends = runs.map(|run| outcome(run.wait_with_output().unwrap()));
        let found = contents(&at.join(&out));
        assert!(whole.contains(&found), "race {race}: the folder mixes two runs");
        assert!(ends.iter().any(|(code, _)| *code == Some(0)), "{ends:?}");
        for (code, text) in ends {
            let waited = text.contains("another run uses this folder");
            assert!(code == Some(0) || (code == Some(2) && waited), "{text}");
        }
    }
}

#[test]
fn an_evaluation_has_its_folder_for_itself() {
    let dir = folder();
    let at = dir.path();
    let args = ["evaluate", "toy.csv", "--labels", "prefix:tag_", "--out", "all"];
    let quick = [&args[..], &["--methods", "zeros,random"]].concat();
    succeed(at, &quick);
    let other = at.join("all/.lock");
    std::fs::write(&other, lock_of_process_one()).unwrap();
    refused(at, &quick, &["all: another run uses this folder: process 1 on ", "elsewhere"]);
    std::fs::remove_file(other).unwrap();
    let (code, text) = run(at, &quick);
    assert_eq!(code, Some(0));
    assert!(text.contains("found 10 of 10 cells of an earlier run"), "{text}");
}

/// A lock of another host, of which nothing can be known.
fn lock_of_process_one() -> String {
    serde_json::json!({
        "id": "1-1-0", "host": "elsewhere", "machine": "", "boot": "", "namespace": "",
        "process": 1, "started": "1", "since": 0, "command": "pomdp-fs evaluate"
    })
    .to_string()
}
