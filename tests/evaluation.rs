//! `evaluate` and `stats` from the outside: stable keys, same bytes on any number of threads, the
//! paper's tables, and errors that say what to do.

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

fn run(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pomdp-fs").unwrap();
    command.args(arguments).env_remove("POMDP_FS_DATA");
    command
}

fn json(arguments: &[&str]) -> Value {
    let output = run(arguments).args(["--quiet", "--json", "-"]).assert().success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

fn refused(arguments: &[&str]) -> String {
    let output = run(arguments).assert().code(2);
    String::from_utf8(output.get_output().stderr.clone()).unwrap()
}

fn paper(file: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/paper").join(file).display().to_string()
}

/// A small data set: 24 rows, 6 features, 3 labels, two rows without any.
fn small(dir: &Path) -> String {
    let mut text = String::from("a,b,c,d,e,f,y0,y1,y2\n");
    for i in 0..24u32 {
        let x: Vec<String> = (0..6).map(|j| format!("{}", (i * (7 + j) + j) % 11)).collect();
        let y: Vec<&str> =
            (0..3).map(|j| if (i * (7 + j) + j) % 11 > 6 { "1" } else { "0" }).collect();
        text += &format!("{},{}\n", x.join(","), y.join(","));
    }
    let path = dir.join("small.csv");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

const METRICS: [&str; 6] = [
    "ranking_loss",
    "micro_f1",
    "hamming_loss",
    "coverage_error",
    "average_precision",
    "one_error",
];

#[test]
fn evaluate_has_the_contracts_keys_and_raw_folds() {
    let dir = tempfile::tempdir().unwrap();
    let file = small(dir.path());
    let arguments = ["evaluate", &file, "--labels", "3", "--folds", "3", "--repeats", "2"];
    let more = ["--methods", "random,all,zeros", "--all-conventions", "--budgets", "2,50%"];
    let lists = ["--classifier", "svm,mlknn", "--train-labels", "candidate,pseudo,truth"];
    let all = json(&[&arguments[..], &more[..], &lists[..]].concat());
    for key in ["dataset", "folds", "noise", "seed", "convention", "coverage_form", "sha256"] {
        assert!(!all[key].is_null(), "{key}");
    }
    assert_eq!((&all["folds"], &all["convention"]), (&Value::from(3), &Value::from("sklearn")));
    let methods = all["methods"].as_array().unwrap();
    // These methods make no labels: candidate and truth, two classifiers, two budgets each.
    assert_eq!(methods.len(), 3 * 2 * 2 * 2);
    let keys = ["method", "trained_on", "classifier", "budget"];
    let order: Vec<String> =
        methods.iter().take(5).map(|m| keys.map(|k| m[k].to_string()).join(" ")).collect();
    let expected = [
        "\"random\" \"candidate\" \"svm\" 2",
        "\"random\" \"candidate\" \"svm\" 3",
        "\"random\" \"candidate\" \"mlknn\" 2",
        "\"random\" \"candidate\" \"mlknn\" 3",
        "\"random\" \"truth\" \"svm\" 2",
    ];
    assert_eq!(order, expected);
    for method in methods {
        for metric in METRICS {
            let cell = &method[metric];
            assert!(cell["mean"].is_number() && cell["std"].is_number(), "{metric} {cell}");
            assert_eq!(cell["folds"].as_array().unwrap().len(), 6);
            assert!(method["conventions"]["mulan"][metric]["mean"].is_number());
        }
        assert!(method["epsilon_pseudo"].is_null() && method["seconds"].is_number());
        assert!(method["epsilon_candidate"]["mean"].as_f64().unwrap() > 0.0);
        assert!(method["epsilon_drop_all"]["mean"].as_f64().unwrap() > 0.0);
        assert_eq!(method["fits"], if method["method"] == "random" { 60 } else { 6 });
    }
    let features: Vec<&Value> = methods.iter().step_by(8).map(|m| &m["features"]).collect();
    assert_eq!(features, [2, 6, 0]);
    assert_eq!(methods[23]["micro_f1"]["mean"], 0.0);
}

/// Everything but the seconds.
fn without_time(mut result: Value) -> Value {
    for method in result["methods"].as_array_mut().unwrap() {
        method["seconds"] = Value::Null;
    }
    result
}

#[test]
fn same_seed_same_result_on_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let file = small(dir.path());
    for classifier in ["svm", "rbf-svm", "mlknn"] {
        let go = |threads: &str, seed: &str| {
            without_time(json(&[
                "evaluate",
                &file,
                "--labels",
                "3",
                "--folds",
                "3",
                "--methods",
                "random,all,zeros",
                "--classifier",
                classifier,
                "--threads",
                threads,
                "--seed",
                seed,
                "--noise",
                "30%",
            ]))
        };
        assert_eq!(go("1", "0"), go("4", "0"), "{classifier}");
        assert_ne!(go("2", "0")["methods"], go("2", "1")["methods"], "{classifier}");
    }
}

#[test]
fn evaluate_refuses_what_it_cannot_do() {
    let dir = tempfile::tempdir().unwrap();
    let file = small(dir.path());
    let with = |more: &[&str]| refused(&[&["evaluate", &file, "--labels", "3"], more].concat());
    assert!(with(&["--methods", "no-such"]).contains("expected one of"));
    assert!(with(&["--budgets", "0%"]).contains("found the budget '0%'"));
    assert!(with(&["--svm-c=-1"]).contains("expected 'auto' or a positive number"));
    assert!(with(&["--noise", "120%"]).contains("expected 0 to 1"));
    assert!(with(&["--folds", "99"]).contains("99 folds"));
    assert!(with(&["--repeats", "0"]).contains("0 repeats"));
    assert!(with(&["--set", "none=1"]).contains("--set: found setting 'none'"));
    assert!(with(&["--preset", "paper", "--methods", "zeros"]).contains("--preset"));
    assert!(with(&["--train-labels", "some"]).contains("candidate, pseudo, confidence, truth"));
    assert!(with(&["--resume"]).contains("--out"));
    assert!(with(&["--tune=1"]).contains("1 fits for tuning"));
    let blind = refused(&["evaluate", &file, "--labels", "3", "--role", "candidates"]);
    assert!(blind.contains("no true labels"), "{blind}");
}

#[test]
fn the_printed_tables_give_the_printed_ranks_and_statistics() {
    // Average ranks of Table 2, from Table 1 and Appendix F; rounding creates a few ties.
    let table2 = std::fs::read_to_string(paper("table2.csv")).unwrap();
    let printed = |metric: &str| -> Vec<f64> {
        let rows = table2.lines().filter(|l| l.starts_with(&format!("{metric},")));
        rows.map(|l| l.rsplit(',').next().unwrap().parse().unwrap()).collect()
    };
    let files = [
        ("RL", "table1.csv"),
        ("Micro-F1", "table1.csv"),
        ("HL", "appendix_f.csv"),
        ("CE", "appendix_f.csv"),
    ];
    for (metric, file) in files {
        let found = json(&["stats", &paper(file), "--metric", metric]);
        let ranks = found["average_ranks"].as_array().unwrap();
        for (rank, want) in ranks.iter().zip(printed(metric)) {
            let rank = rank.as_f64().unwrap();
            assert!((rank - want).abs() < 0.07, "{metric}: {rank}, printed {want}");
        }
    }
    // Statistics from the printed ranks.
    let cases =
        [("RL", 49.71, 17.84), ("Micro-F1", 28.32, 5.19), ("HL", 31.91, 6.37), ("CE", 37.18, 8.54)];
    for (metric, chi2, f) in cases {
        let found = json(&["stats", &paper("table2.csv"), "--metric", metric, "--datasets", "9"]);
        assert!((found["friedman_chi2"].as_f64().unwrap() - chi2).abs() < 0.005, "{metric}");
        assert!((found["iman_davenport_f"].as_f64().unwrap() - f).abs() < 0.005, "{metric}");
        assert!(found["friedman_p"].as_f64().unwrap() < 1e-3);
        assert!((found["nemenyi_cd_0.05"].as_f64().unwrap() - 4.004).abs() < 5e-4);
        assert_eq!(found["df"], serde_json::json!([8, 64]));
    }
}

#[test]
fn stats_draws_and_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let svg = dir.path().join("cd.svg");
    let table = paper("table1.csv");
    run(&["stats", &table, "--metric", "RL", "--svg", svg.to_str().unwrap()]).assert().success();
    assert!(std::fs::read_to_string(svg).unwrap().contains("POMDP-FS (1.167)"));
    let several = refused(&["stats", &table]);
    assert!(several.contains("choose one of RL, Micro-F1") && several.contains("(--metric NAME)"));
    assert!(refused(&["stats", &paper("table2.csv"), "--metric", "RL"]).contains("--datasets N"));
    assert!(refused(&["stats", &table, "--metric", "RL", "--alpha", "2"]).contains("--alpha 2"));
    assert!(refused(&["stats", &table, "--metric", "RL", "--control", "x"]).contains("PML-FSLA"));
    assert!(refused(&["stats", "no-such-file.csv"]).contains("cannot read"));
}
