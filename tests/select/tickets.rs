//! A stranger's table: support tickets as a help desk exports them, and the whole way from there to
//! cleaned labels and new rows.

use std::path::Path;

use pomdp_fs::data::Labels;
use serde_json::Value;

use super::made_up::{TAGS, Tickets};
use super::{QUICK, program, refused, run, text};

/// The tickets with the tags that somebody gave them.
fn tagged(n: usize) -> String {
    let made = Tickets::new(n);
    made.csv(0..n, Some(&made.candidates))
}

/// What `data info` asks for.
pub const READING: [&str; 8] = [
    "--labels",
    "tags:topics",
    "--id",
    "ticket",
    "--ignore",
    "opened,subject,note",
    "--one-hot",
    "channel",
];

fn select(dir: &Path, args: &[&str]) -> String {
    run(dir, &[&["select"], args, &READING, &["--impute", "mean"], &QUICK].concat())
}

/// The rows of a file, by a reader that is not ours.
fn table(bytes: &[u8], delimiter: u8) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(bytes);
    let rows = reader.records().map(|r| r.unwrap().iter().map(str::to_owned).collect());
    rows.collect()
}

#[test]
fn every_problem_is_told_at_once_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("tickets.csv"), tagged(400)).unwrap();
    let output = program(dir.path(), &["data", "info", "tickets.csv"]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2));
    for part in [
        "400 rows, 38 columns",
        "a different value in each row, such as 'T-1000'",
        "dates such as '1.1.2024'",
        "3 different words: 'mail', 'web', 'phone'",
        "joined tags",
        "--labels 'tags:topics'",
        "need --id ticket --ignore opened,subject,note --one-hot channel --impute mean",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let args = ["data", "info", "tickets.csv", "--labels", "tags:topics", "--ignore", "note"];
    let (_, message) = refused(dir.path(), &args);
    assert!(message.contains("34 columns that cannot be used as they stand"), "{message}");
    let wanted = "--id ticket --ignore opened,subject --one-hot channel --impute mean";
    assert!(message.contains(wanted), "{message}");
    // And that is enough.
    let args =
        [&args[..6], &["opened,subject,note", "--id", "ticket", "--one-hot", "channel"]].concat();
    let info = run(dir.path(), &[&args[..], &["--impute", "mean"]].concat());
    assert!(
        info.contains("features             33") && info.contains("labels               8"),
        "{info}"
    );
    assert!(info.contains("decimal comma"), "{info}");
}

#[test]
fn from_a_messy_table_to_cleaned_labels() {
    let dir = tempfile::tempdir().unwrap();
    let made = Tickets::new(400);
    let given = made.csv(0..400, Some(&made.candidates));
    std::fs::write(dir.path().join("tickets.csv"), &given).unwrap();
    let said = select(dir.path(), &["tickets.csv", "--out", "out", "--json", "r.json"]);
    assert!(
        said.contains("Verdict: ") && said.contains("the labels are read as candidates"),
        "{said}"
    );
    assert!(!said.contains("rollout"), "{said}");
    let result: Value = serde_json::from_str(&text(&dir.path().join("r.json"))).unwrap();
    assert!(result["noise"].is_null(), "no noise is added to labels that may be noisy");
    assert!(!result["next"].as_array().unwrap().is_empty());
    assert_eq!(result["candidates"].as_u64(), Some(made.candidates.count() as u64));

    // The file as it was, but for tags that are gone.
    let cleaned = std::fs::read(dir.path().join("out/cleaned.csv")).unwrap();
    let (before, after) = (table(given.as_bytes(), b';'), table(&cleaned, b';'));
    assert_eq!(before.len(), after.len());
    let mut labels = Labels::none(400, TAGS.len());
    let last = before[2].len() - 1;
    for (i, (old, new)) in before.iter().zip(&after).enumerate() {
        if i < 3 {
            assert_eq!(old, new);
            continue;
        }
        assert_eq!(old[..last], new[..last], "row {i}");
        for tag in new[last].split('|').filter(|t| !t.is_empty()) {
            labels.set(i - 3, TAGS.iter().position(|t| *t == tag).unwrap(), true);
        }
    }
    assert_eq!(result["kept"].as_u64(), Some(labels.count() as u64));
    let wrong = |y: &Labels| y.hamming_distance(&made.truth);
    let (noisy, clean) = (wrong(&made.candidates), wrong(&labels));
    assert!(clean < 0.7 * noisy, "{clean} after, {noisy} before");

    // Ids are everywhere.
    let of = |file: &str| table(&std::fs::read(dir.path().join("out").join(file)).unwrap(), b',');
    let pseudo = of("pseudo_labels.csv");
    assert_eq!((&pseudo[0][1][..], &pseudo[8][1][..]), ("ticket", "T-1007"));
    let suspicious = of("suspicious.csv");
    assert_eq!(suspicious[0], ["row", "ticket", "label", "probability", "kept"]);
    assert_eq!(suspicious.len() as u64 - 1, result["suspicious"].as_u64().unwrap());
    let p: Vec<f64> = suspicious[1..].iter().map(|r| r[3].parse().unwrap()).collect();
    assert!(p.is_sorted() && p.iter().all(|p| *p < 0.5));
    let row: usize = suspicious[1][0].parse().unwrap();
    assert_eq!(suspicious[1][1], format!("T-{}", 1000 + row));
    let html = text(&dir.path().join("out/report.html"));
    assert!(html.contains(&suspicious[1][1]) && html.contains("Labels to check by hand"));
    assert!(html.find("Verdict:").unwrap() < html.find("What to do next").unwrap());

    // The same through a pipe.
    let piped =
        [&["select", "-", "--out", "piped"], &READING[..], &["--impute", "mean"], &QUICK].concat();
    let mut child = program(dir.path(), &piped)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), given.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(std::fs::read(dir.path().join("piped/cleaned.csv")).unwrap(), cleaned);
}

#[test]
fn new_rows_need_no_options() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("tickets.csv"), tagged(200)).unwrap();
    select(dir.path(), &["tickets.csv", "--out", "model"]);
    let new = Tickets::new(30).csv(0..30, None);
    std::fs::write(dir.path().join("new.csv"), &new).unwrap();
    let apply = |file: &str, out: &str| {
        run(dir.path(), &["apply", "--model", "model", file, "--out", out]);
        table(&std::fs::read(dir.path().join(out).join("label_scores.csv")).unwrap(), b',')
    };
    let all = apply("new.csv", "all");
    assert_eq!(
        all[0][..4],
        ["row", "ticket", "billing", "delivery"],
        "the model knows id and labels"
    );
    assert_eq!(all[0][10], "p(billing)");
    for row in &all[1..] {
        let p: f64 = row[10].parse().unwrap();
        assert_eq!(row[2], if p >= 0.5 { "1" } else { "0" });
    }
    let reduced = text(&dir.path().join("all/reduced.csv"));
    assert!(reduced.starts_with("\"ticket\",") && reduced.contains("\"T-1003\""), "{reduced}");
    // A row with missing values gets one answer, whatever rows stand beside it.
    let head = new.split("T-1001").next().unwrap();
    std::fs::write(dir.path().join("one.csv"), head).unwrap();
    let one = apply("one.csv", "one");
    assert_eq!(one.len(), 2);
    assert_eq!(one[1], all[1], "filled with the means of the rows that trained");
    // Labels of known tickets are candidates without a word.
    let said = run(dir.path(), &["apply", "--model", "model", "tickets.csv", "--out", "again"]);
    assert!(said.contains("candidate labels removed"), "{said}");
}
