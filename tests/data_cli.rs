//! `pomdp-fs data …` as a user runs it. Tests that need sets which the project does not carry look in
//! the folder `POMDP_FS_DATA` and say so when they are skipped.

mod skip;

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use pomdp_fs::data::{Dataset, ReadOptions, load};
use serde_json::Value;

fn command() -> Command {
    let mut command = Command::cargo_bin("pomdp-fs").unwrap();
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("data");
    command
}

/// The JSON that a successful command prints.
fn json(args: &[&str]) -> Value {
    let output = command().args(args).args(["--json", "-"]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Exit code and stderr of a command that is refused.
fn refused(args: &[&str]) -> (i32, String) {
    let output = command().args(args).output().unwrap();
    assert!(!output.status.success(), "{args:?}");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn reference(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("POMDP_FS_DATA").map(PathBuf::from).filter(|f| f.is_dir());
    skip::unless(folder, test, "POMDP_FS_DATA names no folder")
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn size(info: &Value) -> (u64, u64, u64) {
    let number = |key: &str| info[key].as_u64().unwrap();
    (number("n"), number("d"), number("labels"))
}

#[test]
fn list_knows_thirteen_sets() {
    let list = json(&["list"]);
    let sets = list.as_array().unwrap();
    assert_eq!(sets.len(), 13);
    let yeast = sets.iter().find(|s| s["name"] == "yeast").unwrap();
    assert_eq!(yeast["status"], "bundled");
    for key in ["n", "d", "labels", "paper", "citation", "files"] {
        assert!(!yeast[key].is_null(), "{key}");
    }
    let long = command().args(["list", "--long"]).output().unwrap();
    let long = String::from_utf8(long.stdout).unwrap();
    assert!(long.contains("SHA-256") && long.contains("git blob 739706a9"));
    assert!(long.contains("https://") && long.contains("cite:"));
}

#[test]
fn bundled_sets_have_the_sizes_of_the_paper() {
    let sizes = [
        ("yeast", (2417, 103, 14)),
        ("bibtex", (1953, 1836, 15)),
        ("mediamill", (8276, 120, 15)),
        ("emotions", (593, 72, 6)),
    ];
    for (name, expected) in sizes {
        assert_eq!(size(&json(&["info", name])), expected, "{name}");
    }
}

#[test]
fn yeast_needs_no_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("yeast")).unwrap();
    let output = command().current_dir(dir.path()).args(["info", "yeast"]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.starts_with("yeast (yeast, embedded in the program)"), "{out}");
    assert!(out.contains("cardinality          4.237071"), "{out}");
}

#[test]
fn other_sets_have_the_sizes_of_the_paper() {
    let Some(folder) = reference("other_sets_have_the_sizes_of_the_paper") else { return };
    let sizes = [
        ("birds", (645, 260, 19)),
        ("chd_49", (555, 49, 6)),
        ("chess", (258, 585, 15)),
        ("plantpseaac", (978, 440, 12)),
        ("slashdot", (2950, 1079, 15)),
        ("slashdot-paper", (2701, 1079, 15)),
        ("humanpseaac", (1053, 440, 14)),
        ("humanpseaac-40", (1053, 40, 14)),
        ("mirflickr", (5000, 100, 7)),
    ];
    for (name, expected) in sizes {
        let info = json(&["info", name, "--data-dir", text(&folder)]);
        assert_eq!(size(&info), expected, "{name}");
        let partial = info["notes"].to_string().contains("partial: 1053 of the 3106 instances");
        assert_eq!(partial, name.starts_with("humanpseaac"));
    }
    // The cut of the full Bibtex file has the size of the bundled one.
    let dir = tempfile::tempdir().unwrap();
    let output = command()
        .current_dir(dir.path())
        .args(["info", "bibtex", "--json", "-", "--data-dir", text(&folder)])
        .output()
        .unwrap();
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(size(&info), (1953, 1836, 15));
    assert!(info["notes"].to_string().contains("'first-15': 1953 of 7395 instances"));
    let full = json(&["info", "bibtex", "--full", "--data-dir", text(&folder)]);
    assert_eq!(size(&full), (7395, 1836, 159));
    assert!(
        command().args(["verify", "--data-dir", text(&folder)]).output().unwrap().status.success()
    );
}

#[test]
fn info_agrees_with_independent_statistics() {
    let Some(folder) = reference("info_agrees_with_independent_statistics") else { return };
    let mut checked = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap().path();
        let Ok(meta) = std::fs::read(entry.join("META.json")) else {
            continue;
        };
        let meta: Value = serde_json::from_slice(&meta).unwrap();
        for file in std::fs::read_dir(&entry).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_none_or(|e| e != "arff") {
                continue;
            }
            let info = json(&["info", text(&file)]);
            let same = |ours: &str, theirs: &str| {
                assert_eq!(info[ours], meta[theirs], "{ours} of {file:?}")
            };
            same("n", "n");
            same("d", "d");
            same("labels", "L");
            same("rows_without_labels", "rows_without_label");
            same("max_labels", "max_labels");
            same("label_count_min", "label_count_min");
            same("label_count_max", "label_count_max");
            same("labels_never_positive", "labels_never_positive");
            same("duplicate_rows", "duplicate_rows_xy");
            same("duplicate_feature_rows", "duplicate_rows_x");
            for (ours, theirs) in [("cardinality", "cardinality"), ("density", "density")] {
                let (a, b) = (info[ours].as_f64().unwrap(), meta[theirs].as_f64().unwrap());
                assert!((a - b).abs() < 5.1e-7, "{ours} of {file:?}: {a} and {b}");
            }
            checked += 1;
        }
    }
    eprintln!("checked {checked} files");
    assert!(checked > 0);
}

#[test]
fn verify_finds_a_damaged_file() {
    assert!(command().arg("verify").output().unwrap().status.success());
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("birds")).unwrap();
    std::fs::write(dir.path().join("birds/birds.arff"), "@relation damaged\n").unwrap();
    let output =
        command().args(["verify", "birds", "--data-dir", text(dir.path())]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.contains("WRONG") && out.contains("found 18 bytes, expected 1071491 bytes"),
        "{out}"
    );
    let missing = command().args(["verify", "chess"]).env_remove("POMDP_FS_DATA").output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(refused(&["verify", "iris"]).0, 2);
}

fn same_values(a: &Dataset, b: &Dataset) {
    let bits = |set: &Dataset| set.x.as_slice().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert!(bits(a) == bits(b));
    assert_eq!(a.truth, b.truth);
    assert_eq!((&a.feature_names, &a.label_names), (&b.feature_names, &b.label_names));
    assert_eq!(a.nominal, b.nominal);
}

#[test]
fn a_round_trip_through_all_formats_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let first = load(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("data/emotions.arff"),
        &ReadOptions::default(),
    )
    .unwrap();
    let mut from = "emotions".to_owned();
    for name in ["a.csv", "b.svm", "c.tsv", "d.arff"] {
        let to = dir.path().join(name);
        let result = json(&["convert", &from, text(&to)]);
        assert_eq!(result["n"], 593);
        same_values(&load(&to, &ReadOptions::default()).unwrap(), &first);
        from = text(&to).to_owned();
    }
    assert!(dir.path().join("d.xml").exists());
    let (code, error) = refused(&["convert", "emotions", text(&dir.path().join("e.xlsx"))]);
    assert_eq!(code, 2);
    assert!(error.contains("expected .arff, .csv, .tsv or .svm"), "{error}");
}

#[test]
fn nominal_features_survive_a_round_trip() {
    let dir = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/bibtex-first15.arff");
    let first = load(&source, &ReadOptions::default()).unwrap();
    assert_eq!(first.nominal.len(), 1836);
    let out = dir.path().join("bibtex.arff");
    json(&["convert", text(&source), text(&out)]);
    same_values(&load(&out, &ReadOptions::default()).unwrap(), &first);
}

#[test]
fn noise_is_a_file_that_any_tool_can_use() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let make = |name: &str, seed: &str| {
        json(&["noise", "emotions", text(&at(name)), "--rate", "0.3", "--seed", seed])
    };
    let made = make("a.json", "7");
    let rate = made["realised_rate"].as_f64().unwrap();
    assert!((rate - 0.3).abs() < 0.03, "{rate}");
    make("b.json", "7");
    make("c.json", "8");
    let read = |name: &str| std::fs::read(at(name)).unwrap();
    assert_eq!(read("a.json"), read("b.json"));
    assert_ne!(read("a.json"), read("c.json"));
    json(&["convert", "emotions", text(&at("out.csv")), "--noise", text(&at("a.json"))]);
    let info = json(&["info", text(&at("out.csv"))]);
    assert_eq!(info["label_blocks"], serde_json::json!(["truth", "candidates"]));
    let extra =
        info["candidate_cardinality"].as_f64().unwrap() - info["cardinality"].as_f64().unwrap();
    assert!((extra - made["added"].as_f64().unwrap() / 593.0).abs() < 1e-9);
    let (code, error) = refused(&["noise", "emotions", text(&at("d.json")), "--rate", "1.5"]);
    assert!(code == 2 && error.contains("expected 0 to 1"), "{error}");
}

#[test]
fn folds_are_a_file_that_any_tool_can_use() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("folds.json");
    for by in ["k-fold", "stratified"] {
        let made = json(&["split", "emotions", text(&out), "--by", by, "--folds", "4"]);
        let sizes: u64 =
            made["test_sizes"].as_array().unwrap().iter().map(|s| s.as_u64().unwrap()).sum();
        assert_eq!(sizes, 593);
        let file: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
        assert_eq!(file["format"], "pomdp-fs split 1");
        assert_eq!(file["test"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn labels_can_be_named_in_every_way() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.csv");
    std::fs::write(&path, "a,tag_x,b,tag_y\n1,0,2,1\n3,1,4,1\n").unwrap();
    for spec in ["tag_x,tag_y", "prefix:tag_"] {
        let info = json(&["info", text(&path), "--labels", spec]);
        assert_eq!(info["label_names"], serde_json::json!(["tag_x", "tag_y"]), "{spec}");
    }
    let (code, error) = refused(&["info", text(&path)]);
    assert!(code == 2 && error.contains("nothing says which columns are labels"), "{error}");
    let role = json(&["info", text(&path), "--labels", "prefix:tag_", "--role", "candidates"]);
    assert_eq!(role["label_blocks"], serde_json::json!(["candidates"]));
    let two = json(&["info", text(&path), "--labels", "tag_x", "--candidates", "tag_y"]);
    assert_eq!((size(&two), &two["candidate_cardinality"]), ((2, 2, 1), &serde_json::json!(1.0)));
    let (_, error) = refused(&["info", text(&path), "--impute", "median"]);
    assert!(error.contains("refuse, mean, zero"), "{error}");
    let (_, error) = refused(&["info", "nonsense"]);
    assert!(error.contains("found the data set 'nonsense'"), "{error}");
}
