//! The files of `select`.

use pomdp_fs::data::Dataset;

use super::{contents, program, refused, select, text, toy, unknown_truth, write};

const FILES: [&str; 6] = [
    "config.json",
    "history.csv",
    "model.safetensors",
    "pseudo_labels.csv",
    "ranking.csv",
    "report.html",
];

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    write(&toy(120), dir.path(), "toy.csv");
    for out in ["a", "b"] {
        select(dir.path(), &["toy.csv", "--out", out]);
    }
    let (a, b) = (contents(&dir.path().join("a")), contents(&dir.path().join("b")));
    assert_eq!(a.keys().collect::<Vec<_>>(), FILES);
    for (file, bytes) in &a {
        assert!(*bytes == b[file], "{file} differs");
    }
}

/// The column `name` of a CSV without quotes.
fn column(table: &str, name: &str) -> Vec<String> {
    let mut lines = table.lines().map(|l| l.split(',').map(str::to_owned).collect::<Vec<_>>());
    let at = lines.next().unwrap().iter().position(|n| n == name).unwrap();
    lines.map(|l| l[at].clone()).collect()
}

#[test]
fn epsilon_is_in_the_history_when_the_truth_is_known() {
    let dir = tempfile::tempdir().unwrap();
    write(&toy(120), dir.path(), "known.csv");
    write(&unknown_truth(120), dir.path(), "unknown.csv");
    for known in ["known", "unknown"] {
        select(dir.path(), &[&format!("{known}.csv"), "--out", known, "--json", "r.json"]);
        let folder = dir.path().join(known);
        let history = text(&folder.join("history.csv"));
        let epsilon = column(&history, "epsilon");
        let first = column(&history, "stage").iter().filter(|s| *s == "1").count();
        assert!(first > 1 && epsilon.len() > first, "both stages");
        let result: serde_json::Value =
            serde_json::from_str(&text(&dir.path().join("r.json"))).unwrap();
        if known == "known" {
            let values: Vec<f64> = epsilon[..first].iter().map(|e| e.parse().unwrap()).collect();
            // The labels after the last epoch are the result.
            assert_eq!(values.last().copied(), result["epsilon_pseudo"].as_f64());
            assert!(epsilon[first..].iter().all(String::is_empty), "Stage 2 changes no label");
        } else {
            assert!(epsilon.iter().all(String::is_empty));
            assert!(result["epsilon_pseudo"].is_null());
        }
        let html = text(&folder.join("report.html"));
        assert_eq!(html.contains("wrong label cells"), known == "known");
        assert!(html.contains("gene 0") && html.contains("role 2"));
    }
}

/// The truth, if known, changes nothing that is learned.
#[test]
fn the_truth_does_not_leak() {
    let dir = tempfile::tempdir().unwrap();
    write(&toy(90), dir.path(), "known.csv");
    write(&unknown_truth(90), dir.path(), "unknown.csv");
    select(dir.path(), &["known.csv", "--out", "known"]);
    select(dir.path(), &["unknown.csv", "--out", "unknown"]);
    for file in ["ranking.csv", "pseudo_labels.csv", "model.safetensors"] {
        let bytes = |run: &str| std::fs::read(dir.path().join(run).join(file)).unwrap();
        assert!(bytes("known") == bytes("unknown"), "{file}");
    }
}

#[test]
fn reports_of_unusual_runs_are_whole_and_safe() {
    let dir = tempfile::tempdir().unwrap();
    let evil = "<script>alert(1)</script>".to_owned();
    let small = toy(40);
    let first = |labels: Option<pomdp_fs::data::Labels>| labels.map(|y| y.select_cols(&[0]));
    let one = Dataset {
        x: small.x.select_cols(&[0]),
        truth: first(small.truth.clone()),
        candidates: first(small.candidates.clone()),
        feature_names: vec![format!("{evil}{}", "long".repeat(60))],
        label_names: vec![evil],
        ..small
    };
    write(&one, dir.path(), "one.csv");
    write(&toy(40), dir.path(), "toy.csv");
    let cases: [&[&str]; 4] = [
        &["one.csv"],
        &["one.csv", "--preset", "paper"],
        &["toy.csv", "--cross-fit", "2"],
        &["toy.csv", "--set", "epochs2=0"],
    ];
    for args in cases {
        // A later --set wins, so the case comes last.
        let args = [&["select"], &super::QUICK[..], args, &["--out", "out"]].concat();
        let output = program(dir.path(), &args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        let html = text(&dir.path().join("out/report.html"));
        assert!(!html.contains("<script") && !html.contains("NaN"), "{args:?}");
        assert!(html.trim_end().ends_with("</html>"));
        assert_eq!(html.contains("&lt;script&gt;"), args.contains(&"one.csv"));
    }
}

#[test]
fn a_folder_with_other_files_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    write(&toy(30), dir.path(), "toy.csv");
    std::fs::create_dir(dir.path().join("home")).unwrap();
    std::fs::write(dir.path().join("home/letter.txt"), "dear").unwrap();
    let (code, message) = refused(dir.path(), &["select", "toy.csv", "--out", "home"]);
    assert_eq!(code, Some(2));
    assert!(message.contains("letter.txt"), "{message}");
    assert_eq!(text(&dir.path().join("home/letter.txt")), "dear");
}

#[test]
fn data_without_labels_have_nothing_to_learn_from() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x.csv"), "a,b\n1,2\n3,4\n").unwrap();
    for command in ["select", "evaluate"] {
        let (code, message) = refused(dir.path(), &[command, "x.csv", "--labels", "none"]);
        assert_eq!(code, Some(2), "{command}");
        assert!(message.contains("label"), "{message}");
    }
}

#[test]
fn completions_and_manual_pages() {
    let dir = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = super::run(dir.path(), &["completions", shell]);
        assert!(text.contains("pomdp-fs") && text.contains("checkpoint-every"), "{shell}");
    }
    assert_eq!(refused(dir.path(), &["completions", "dos"]).0, Some(2));
    assert!(super::run(dir.path(), &["man"]).contains(".TH pomdp-fs 1"));
    super::run(dir.path(), &["man", "--out", "man1"]);
    let pages = contents(&dir.path().join("man1"));
    for page in ["pomdp-fs.1", "pomdp-fs-select.1", "pomdp-fs-data-info.1"] {
        assert!(pages.contains_key(page), "{page} in {:?}", pages.keys());
    }
    let select = String::from_utf8_lossy(&pages["pomdp-fs-select.1"]).into_owned();
    assert!(select.contains("\\-\\-seed") && select.contains("pomdp\\-fs select"), "{select}");
}
