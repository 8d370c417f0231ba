//! The files of `select`.

use pomdp_fs::data::Dataset;

use super::{contents, program, refused, select, text, toy, unknown_truth, write};

const FILES: [&str; 8] = [
    "cleaned.csv",
    "config.json",
    "history.csv",
    "model.safetensors",
    "pseudo_labels.csv",
    "ranking.csv",
    "report.html",
    "suspicious.csv",
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
    for file in ["ranking.csv", "pseudo_labels.csv", "suspicious.csv", "model.safetensors"] {
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
        &["toy.csv", "--preset", "paper", "--set", "epochs2=0"],
    ];
    for args in cases {
        // A later --set wins, so the case comes last.
        let args = [&["select"], &super::QUICK[..], args, &["--out", "out"]].concat();
        let output = program(dir.path(), &args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        let html = text(&dir.path().join("out/report.html"));
        assert!(!html.contains("<script") && !html.contains("NaN"), "{args:?}");
        assert!(html.trim_end().ends_with("</html>"));
        // Every chart has words, every head of a table says what it heads, every name is isolated.
        let count = |text: &str| html.matches(text).count();
        assert_eq!(count("<figure"), count("role=\"img\""), "{args:?}");
        assert_eq!(count("<th "), count("scope=\"col\"") + count("scope=\"row\""));
        assert_eq!(count("<th>"), 0);
        assert!(count("<bdi>") > 1);
        assert_eq!(html.contains("&lt;script&gt;"), args.contains(&"one.csv"));
    }
}

/// A single label block: which reading is taken, and what the other one is.
#[test]
fn labels_of_a_strangers_file_are_candidates() {
    let dir = tempfile::tempdir().unwrap();
    let data = unknown_truth(60);
    write(&data, dir.path(), "marked.csv");
    let plain = text(&dir.path().join("marked.csv")).replace("candidate:", "");
    std::fs::write(dir.path().join("plain.csv"), plain).unwrap();
    let labels = ["plain.csv", "--labels", "prefix:role", "--json", "r.json"];
    let run = |more: &[&str]| {
        let said = select(dir.path(), &[&labels[..], more].concat());
        let result: serde_json::Value =
            serde_json::from_str(&text(&dir.path().join("r.json"))).unwrap();
        (said, result)
    };
    let (said, result) = run(&[]);
    assert!(said.contains("read as candidates") && said.contains("--role truth"), "{said}");
    let count = data.candidates.as_ref().unwrap().count() as u64;
    assert_eq!((result["candidates"].as_u64(), result["noise"].is_null()), (Some(count), true));
    for truth in [&["--role", "truth"][..], &["--noise", "20%"]] {
        let (said, result) = run(truth);
        assert!(result["noise"].as_f64().unwrap() > 0.0, "{said}");
        assert_eq!(said.contains("--role candidates"), truth[0] == "--noise", "{said}");
        assert!(!dir.path().join("pomdp-fs-plain/cleaned.csv").exists(), "a trial cleans nothing");
    }
    let (said, result) = run(&["--role", "candidates", "--noise", "20%"]);
    assert!(result["noise"].is_null() && said.contains("no noise is added"), "{said}");
}

/// Names that would steer a terminal are shown, not obeyed.
#[test]
fn names_cannot_steer_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let evil = "\u{1b}[31mred\u{202e}";
    let mut data = unknown_truth(40);
    data.feature_names[0] = evil.to_owned();
    data.label_names[0] = format!("{evil}{}", "long".repeat(80));
    write(&data, dir.path(), "evil.csv");
    let output = program(dir.path(), &[&["select", "evil.csv"], &super::QUICK[..]].concat())
        .output()
        .unwrap();
    let (_, refusal) =
        refused(dir.path(), &["select", "evil.csv", "--labels", "none", "--ignore", "gone"]);
    for shown in [
        &String::from_utf8(output.stdout).unwrap(),
        &String::from_utf8(output.stderr).unwrap(),
        &refusal,
    ] {
        assert!(
            !shown.contains(['\u{1b}', '\u{202e}'])
                && !shown
                    .contains("longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglong"),
            "{shown:?}"
        );
    }
    let html = text(&dir.path().join("pomdp-fs-evil/report.html"));
    assert!(html.contains("<bdi>\\u{1b}[31mred\\u{202e}</bdi>"), "isolated and escaped");
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
    std::fs::write(dir.path().join("zeros.csv"), "a,l\n1,0\n3,0\n").unwrap();
    for command in ["select", "evaluate"] {
        let (code, message) = refused(dir.path(), &[command, "x.csv", "--labels", "none"]);
        assert_eq!(code, Some(2), "{command}");
        assert!(message.contains("label"), "{message}");
        let (code, message) = refused(dir.path(), &[command, "zeros.csv", "--labels", "last:1"]);
        assert_eq!(code, Some(2), "{command}");
        assert!(message.contains("found no label in any row"), "{message}");
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
