//! `select`, `evaluate` and `data` share one pipeline: the same data, seed and settings give the same
//! splits, noise, labels, ranking and scores in each of them.

use std::path::Path;

use pomdp_fs::data::Dataset;
use serde_json::Value;

use super::{QUICK, program, refused, run, text, toy, write};

/// The toy with the truth alone.
fn known(dir: &Path) {
    write(&Dataset { candidates: None, ..toy(90) }, dir, "known.csv");
}

fn read(dir: &Path, file: &str) -> Value {
    serde_json::from_str(&text(&dir.join(file))).unwrap()
}

fn quick(dir: &Path, command: &str, args: &[&str]) {
    run(dir, &[&[command, "known.csv", "--quiet"], &QUICK[..], args].concat());
}

const LABELS: &str = "candidate,pseudo,confidence,truth";

#[test]
fn select_is_the_first_fold_of_evaluate() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    known(path);
    let both = ["--seed", "5", "--noise", "30%", "--noise-scheme", "per-instance"];
    quick(path, "select", &[&both[..], &["--out", "s", "--json", "s.json"]].concat());
    let evaluate = ["--methods", "pomdp-fs", "--train-labels", LABELS, "--json", "e.json"];
    quick(path, "evaluate", &[&both[..], &evaluate[..], &["--out", "e"]].concat());
    let (selected, evaluated) = (read(path, "s.json"), read(path, "e.json"));
    let entries = evaluated["methods"].as_array().unwrap();
    assert_eq!(entries.len(), 4);
    for entry in entries {
        let metrics = &selected["metrics"][entry["trained_on"].as_str().unwrap()];
        for (metric, value) in metrics.as_object().unwrap() {
            assert_eq!(&entry[metric]["folds"][0], value, "{metric} {}", entry["trained_on"]);
        }
        for epsilon in ["epsilon_pseudo", "epsilon_candidate", "epsilon_drop_all"] {
            assert_eq!(entry[epsilon]["folds"][0], selected[epsilon], "{epsilon}");
        }
        assert_ne!(entry["cells"][0], entry["cells"][1], "each fold is a cell of its own");
    }
    // The very same cell: the ranking is the same, and so is its name.
    let cell = selected["cell"].as_str().unwrap();
    assert_eq!(entries[0]["cells"][0], cell);
    let stored = read(path, &format!("e/cells/{cell}.json"));
    let ranking: Vec<&Value> =
        selected["ranking"].as_array().unwrap().iter().map(|r| &r["index"]).collect();
    assert_eq!(stored["ranking"].as_array().unwrap().iter().collect::<Vec<_>>(), ranking);
    assert_eq!(stored["fits"], 1);
}

#[test]
fn splits_and_noise_are_files_that_every_command_reads_and_writes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    known(path);
    for seed in ["3", "4"] {
        run(path, &["data", "split", "known.csv", &format!("split{seed}.json"), "--seed", seed]);
        let noise = format!("noise{seed}.json");
        run(path, &["data", "noise", "known.csv", &noise, "--seed", seed, "--noise", "40%"]);
    }
    let methods = ["--methods", "pomdp-fs,zeros"];
    let drawn = [&methods[..], &["--seed", "3", "--noise", "0.4", "--json", "drawn.json"]].concat();
    quick(path, "evaluate", &[&drawn[..], &["--save-splits", "saved"]].concat());
    for name in ["split", "noise"] {
        let saved = text(&path.join(format!("saved/{name}.json")));
        assert_eq!(saved, text(&path.join(format!("{name}3.json"))), "{name}");
        assert_ne!(saved, text(&path.join(format!("{name}4.json"))), "{name}");
    }
    let from_files = |split: &str, noise: &str, out: &str| {
        let files = ["--split-file", split, "--noise-file", noise, "--seed", "3", "--json", out];
        quick(path, "evaluate", &[&methods[..], &files[..]].concat());
        let result = read(path, out);
        result["methods"].as_array().unwrap().iter().map(|m| m["ranking_loss"].clone()).collect()
    };
    let same: Vec<Value> = from_files("split3.json", "noise3.json", "files.json");
    let expected = read(path, "drawn.json");
    for (got, want) in same.iter().zip(expected["methods"].as_array().unwrap()) {
        assert_eq!(got, &want["ranking_loss"]);
    }
    assert_ne!(same, from_files("split4.json", "noise3.json", "other.json"));
    assert_ne!(same, from_files("split3.json", "noise4.json", "other.json"));
    // `select` reads them, too.
    let files = ["--split-file", "split3.json", "--noise-file", "noise3.json", "--seed", "3"];
    let folds = [&files[..], &["--fold", "2", "--out", "s", "--json", "s.json"]].concat();
    quick(path, "select", &folds);
    let selected = &read(path, "s.json")["metrics"]["confidence"]["ranking_loss"];
    assert_eq!(&same[0]["folds"][2], selected);
    // Files of other data are refused.
    write(&Dataset { candidates: None, ..toy(60) }, path, "short.csv");
    let (code, message) = refused(path, &["evaluate", "short.csv", "--split-file", "split3.json"]);
    assert!(code == Some(2) && message.contains("for 90 instances"), "{message}");
    write(&toy(90), path, "both.csv");
    let (code, message) = refused(path, &["evaluate", "both.csv", "--noise-file", "noise3.json"]);
    assert!(code == Some(2) && message.contains("have candidate labels"), "{message}");
}

#[test]
fn old_spellings_still_work() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    known(path);
    let spellings = [["--split", "--noise", "--noise-scheme"], ["--by", "--rate", "--scheme"]];
    for (k, [split, noise, scheme]) in spellings.into_iter().enumerate() {
        let out = [format!("split{k}.json"), format!("noise{k}.json")];
        run(path, &["data", "split", "known.csv", &out[0], split, "stratified"]);
        run(path, &["data", "noise", "known.csv", &out[1], noise, "0.1", scheme, "global"]);
        if k > 0 {
            assert_eq!(text(&path.join(&out[0])), text(&path.join("split0.json")));
            assert_eq!(text(&path.join(&out[1])), text(&path.join("noise0.json")));
        }
    }
}

#[test]
fn a_failed_method_is_reported_and_the_others_are_shown_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    known(path);
    // More parts than rows: this method fails when it meets the data.
    let broken = ["--methods", "zeros,pomdp-fs-paper,all", "--set", "cross_fit=80", "--out", "e"];
    let args = [&["evaluate", "known.csv", "--json", "e.json"], &broken[..]].concat();
    let output = program(path, &args).output().unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stdout.contains("zeros") && stdout.contains("pomdp-fs-paper failed"), "{stdout}");
    assert!(stderr.contains("5 of 15 cells failed"), "{stderr}");
    let result = read(path, "e.json");
    let names: Vec<&Value> =
        result["methods"].as_array().unwrap().iter().map(|m| &m["method"]).collect();
    assert_eq!(names, ["zeros", "all"]);
    assert!(result["failures"][0]["reason"].as_str().unwrap().contains("cross_fit is 80"));
    for file in ["results.json", "results.csv", "results.md", "results.tex", "results.html"] {
        assert!(path.join("e").join(file).exists(), "{file}");
    }
    assert_eq!(std::fs::read_dir(path.join("e/cells")).unwrap().count(), 10);
    // Resuming computes what is missing and nothing else.
    let again =
        ["evaluate", "known.csv", "--methods", "zeros,all,random", "--out", "e", "--resume"];
    let output = program(path, &again).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && stderr.contains("10 of 15 cells were finished before"));
}

/// Killed in the middle, `evaluate --resume` ends with the same numbers.
#[test]
fn an_evaluation_that_was_killed_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    known(path);
    let args = |out: &'static str| {
        [
            &["evaluate", "known.csv", "--methods", "all,pomdp-fs", "--out", out][..],
            &QUICK[..],
            &["--set", "epochs1=40", "--threads", "1"],
        ]
        .concat()
    };
    run(path, &args("whole"));
    let mut child = program(path, &args("killed")).spawn().unwrap();
    let cells = path.join("killed/cells");
    let finished = || std::fs::read_dir(&cells).map_or(0, |d| d.count());
    let begin = std::time::Instant::now();
    while finished() < 6 && begin.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(finished() >= 6);
    run(path, &[&args("killed")[..], &["--resume"]].concat());
    let without_time = |out: &str| -> Vec<String> {
        let table = text(&path.join(out).join("results.csv"));
        let cells = |line: &str| {
            let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
            let seconds = cells.len() - 2;
            cells.remove(seconds);
            cells.join(",")
        };
        table.lines().map(cells).collect()
    };
    assert_eq!(without_time("killed"), without_time("whole"));
}

/// 29 % of 100 features are 29 in every command.
#[test]
fn a_percentage_is_the_same_number_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let base = Dataset { candidates: None, ..toy(30) };
    let x = pomdp_fs::linalg::Mat::from_fn(30, 100, |i, j| base.x[(i, j % 8)] + j as f64);
    let feature_names = (0..100).map(|j| format!("f{j}")).collect();
    write(&Dataset { x, feature_names, ..base }, path, "wide.csv");
    let quick =
        ["--set", "width=8", "--set", "heads=1", "--set", "epochs1=1", "--set", "rollouts=1"];
    let select = ["select", "wide.csv", "--budget", "29%", "--json", "s.json", "--out", "s"];
    run(path, &[&select[..], &quick[..]].concat());
    let evaluate = ["evaluate", "wide.csv", "--budget", "29%", "--json", "e.json"];
    run(path, &[&evaluate[..], &["--methods", "random"]].concat());
    assert_eq!(read(path, "s.json")["budget"], 29);
    assert_eq!(read(path, "e.json")["methods"][0]["budget"], 29);
}
