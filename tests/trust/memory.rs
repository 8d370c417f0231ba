//! Data that do not fit are refused before the work, with the figure.

use std::fmt::Write as _;
use std::process::Command;

use super::{folder, outcome, refused, select, succeed};

#[test]
fn a_million_columns_are_refused_with_the_figure() {
    let dir = folder();
    let mut text = String::new();
    for row in 0..3 {
        for column in 0..1_000_000 {
            match row {
                0 => write!(text, "f{column},").unwrap(),
                _ => text.push_str(if (column + row) % 2 == 0 { "0," } else { "1," }),
            }
        }
        text.push_str(if row == 0 { "tag_0,tag_1\n" } else { "0,1\n" });
    }
    std::fs::write(dir.path().join("wide.csv"), text).unwrap();
    // So that a large machine refuses too: 3 GB of addresses.
    let line = format!(
        "ulimit -v 3000000; exec {} select wide.csv --labels prefix:tag_ --role candidates --threads 1",
        env!("CARGO_BIN_EXE_pomdp-fs")
    );
    let output = Command::new("sh").current_dir(dir.path()).args(["-c", &line]).output().unwrap();
    let (code, text) = outcome(output);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("the computation would take about "), "{text}");
    assert!(text.contains("2.9 GiB are available") && text.contains("--max-memory"), "{text}");
    assert!(!dir.path().join("pomdp-fs-wide").exists());
}

#[test]
fn a_limit_can_be_set() {
    let dir = folder();
    let words = ["would take about ", "MiB of memory, 1 MiB are allowed", "--max-memory BYTES"];
    refused(dir.path(), &select(&["--out", "out", "--max-memory", "1M"]), &words);
    let evaluate = ["evaluate", "toy.csv", "--labels", "prefix:tag_", "--max-memory", "1M"];
    refused(dir.path(), &evaluate, &words);
    let told = succeed(dir.path(), &select(&["--out", "out", "--max-memory", "1G"]));
    let told = told.lines().find(|line| line.starts_with("memory: about "));
    assert!(told.is_some_and(|line| line.ends_with(" MiB at most")), "{told:?}");
}
