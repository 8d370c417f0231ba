//! `pomdp-fs audit` from outside: exit codes, JSON keys, messages.
#![cfg(feature = "cli")]

use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use serde_json::Value;

fn audit(arguments: &[&str]) -> Output {
    let mut command = Command::cargo_bin("pomdp-fs").unwrap();
    command.arg("audit").args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("nothing but JSON on stdout")
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn gradients_as_json() {
    let output = audit(&["gradients", "--case", "linear", "--json", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = json(&output);
    assert_eq!(report["pass"], true);
    for key in ["cases", "negative_control", "unreached_parameters"] {
        assert!(keys(&report).contains(&key), "{key}");
    }
    let cases = report["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let wanted =
            ["checked", "exact_rel_err", "max_rel_err", "name", "parameters", "shape", "worst"];
        assert!(wanted.iter().all(|k| keys(case).contains(k)), "{case}");
        assert!(case["name"].as_str().unwrap().contains("linear"));
        assert_eq!(case["checked"], case["parameters"], "every coordinate");
        assert!(case["max_rel_err"].as_f64().unwrap() <= 1e-7);
        assert!(case["exact_rel_err"].as_f64().unwrap() <= 1e-11);
        assert!(case["asymmetry"].as_f64().unwrap() <= 1e-11);
        assert_eq!(keys(&case["worst"]), ["analytic", "exact", "index", "numeric", "parameter"]);
    }
    assert!(report["negative_control"]["injected"].is_u64());
    assert!(report["negative_control"]["caught"].is_u64());
    assert!(report["negative_control"]["caught_exact"].is_u64());
    assert_eq!(report["unreached_parameters"].as_array().unwrap().len(), 0);
}

#[test]
fn gradients_for_people() {
    let output = audit(&["gradients", "--case", "linear"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(text.contains("linear/"), "{text}");
    assert!(text.contains("\nPASS: "), "{text}");
}

#[test]
fn an_injected_control_fails() {
    let arguments = ["gradients", "--case", "linear", "--inject", "LinearBiasDropped"];
    let output = audit(&arguments);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(text.contains("FAILED") && text.contains("\nFAIL: "), "{text}");
    assert!(text.contains("injected: LinearBiasDropped"), "{text}");
    let output = audit(&[&arguments[..], &["--json", "-"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    assert_eq!(report["pass"], false);
    assert_eq!(report["injected_fault"], "LinearBiasDropped");
    let unreached = report["unreached_parameters"].as_array().unwrap();
    assert!(unreached.iter().any(|u| u.as_str().unwrap().ends_with(".b")), "{unreached:?}");
}

#[test]
fn an_unknown_control_is_refused_with_the_list() {
    let output = audit(&["gradients", "--inject", "NoSuchControl"]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(text.contains("found control 'NoSuchControl', expected one of:"), "{text}");
    for name in
        ["LinearBiasDropped", "SoftmaxRankOneMissing", "AdamDecayCoupled", "PolicyNotDetached"]
    {
        assert!(text.contains(name), "{name} in {text}");
    }
    assert!(output.stdout.is_empty());
}

#[test]
fn an_unknown_case_is_refused() {
    let output = audit(&["gradients", "--case", "no-such-case"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "error: no case has 'no-such-case' in its name\n");
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new");
    let output = audit(&["export", "--case", "no-such-case", "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(text.contains("there is no case 'no-such-case', expected one of: pre-gelu"), "{text}");
    assert!(!out.exists(), "nothing is written");
}

#[test]
fn rounding_as_json_and_for_people() {
    let output = audit(&["rounding", "--case", "block/pre", "--json", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = json(&output);
    assert_eq!(report["pass"], true);
    assert!(report["negative_control"]["injected"].is_u64());
    let tensors = report["cases"].as_array().unwrap();
    // Four cases: two tensors of each of five linear layers and two norms, and the input.
    assert_eq!(tensors.len(), 4 * (2 * 7 + 1));
    for t in tensors {
        let number = |key: &str| t[key].as_f64().unwrap_or_else(|| panic!("{key} in {t}"));
        assert!(t["name"].as_str().unwrap().starts_with("block/pre") && t["tensor"].is_string());
        assert!(number("worst_share_of_bound") <= 1.0, "{t}");
        assert!(number("max_rel_err_f64") < 1e-12 && number("max_rel_err_f32") < 1e-3, "{t}");
        assert!(number("median_rel_err_f32") <= number("max_rel_err_f32"));
        assert!(number("unexplained") <= 1e-9 && number("max_bound_f32") > 0.0, "{t}");
        assert!(t.get("bounded_at").is_none(), "every number has its bound");
    }
    // A sample says which numbers it is: the worst and five random ones.
    let report = json(&audit(&["rounding", "--case", "full-size/stage1", "--json", "-"]));
    let tensors = report["cases"].as_array().unwrap();
    let sampled: Vec<&Value> = tensors.iter().filter(|t| t.get("bounded_at").is_some()).collect();
    assert!(sampled.len() > 30, "{}", sampled.len());
    for t in sampled {
        let at: Vec<u64> =
            t["bounded_at"].as_array().unwrap().iter().map(|k| k.as_u64().unwrap()).collect();
        assert!(at.len() <= 6 && at.iter().all(|k| *k < t["numbers"].as_u64().unwrap()), "{t}");
        assert_eq!(t["bounded"], at.len() as u64);
    }
    let output = audit(&["rounding", "--case", "linear"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(text.contains("linear/3x5x2: linear.w") && text.contains("\nPASS: "), "{text}");
    let output = audit(&["rounding", "--case", "no-such-case"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "error: no case has 'no-such-case' in its name\n");
}

#[test]
fn determinism_holds() {
    let output = audit(&["determinism", "--json", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = json(&output);
    assert_eq!(report["pass"], true);
    let runs = report["runs"].as_array().unwrap();
    let threads: Vec<u64> = runs.iter().map(|r| r["threads"].as_u64().unwrap()).collect();
    assert_eq!(threads, [1, 2, 4]);
    assert!(runs.iter().all(|r| r["hashes"] == runs[0]["hashes"]));
    assert_ne!(report["control"]["hashes"], runs[0]["hashes"]);
}

#[test]
fn export_writes_two_files() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("case");
    let path = out.to_str().unwrap();
    let output = audit(&["export", "--case", "post-relu", "--out", path]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut files: Vec<String> = std::fs::read_dir(&out)
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["case.json", "case.safetensors"]);
    let config = std::fs::read(out.join("case.json")).unwrap();
    let config: Value = serde_json::from_slice(&config).unwrap();
    assert_eq!((&config["case"], &config["precision"]), (&"post-relu".into(), &"f64".into()));
    let tensors = |dir: &Path| std::fs::read(dir.join("case.safetensors")).unwrap();
    let first = tensors(&out);
    // Again, and in f32: the same bytes, other bytes.
    audit(&["export", "--case", "post-relu", "--out", path]);
    assert_eq!(tensors(&out), first);
    audit(&["export", "--case", "post-relu", "--out", path, "--single"]);
    assert_ne!(tensors(&out), first);
}

#[test]
fn an_unwritable_json_path_is_refused_before_any_work() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("missing/report.json");
    let start = Instant::now();
    // All cases, with the full-size models: seconds of work, if it were begun.
    let output = audit(&["gradients", "--json", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("report.json"), "{}", stderr(&output));
    assert!(output.stdout.is_empty(), "no case was run");
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// The form that every audit of claims shares.
fn check_lines(report: &Value) -> &Vec<Value> {
    assert_eq!(keys(report), ["checks", "pass"]);
    let checks = report["checks"].as_array().unwrap();
    for check in checks {
        assert_eq!(keys(check), ["claim", "figure", "holds", "limit", "name"]);
    }
    let holds = checks.iter().all(|c| c["holds"] == true);
    assert_eq!(report["pass"], holds && !checks.is_empty());
    checks
}

#[test]
fn training_as_json_and_as_a_page() {
    let dir = tempfile::tempdir().unwrap();
    let html = dir.path().join("training.html");
    let output = audit(&["training", "--html", html.to_str().unwrap(), "--json", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = json(&output);
    let checks = check_lines(&report);
    let names: Vec<&str> = checks.iter().map(|c| c["name"].as_str().unwrap()).collect();
    for part in [
        "stage1/paper/",
        "stage1/observation/",
        "rho/",
        "belief/",
        "decision/",
        "consensus/",
        "stage2/",
        "sampling/",
        "noise/",
        "graph/",
        "adam/",
        "clip",
    ] {
        let own = || names.iter().filter(|n| n.starts_with(part));
        assert!(own().count() > 0, "{part}");
        assert!(own().any(|n| n.ends_with("/control")), "no control: {part}");
    }
    let page = std::fs::read_to_string(&html).unwrap().replace("&#x2f;", "/");
    assert!(page.contains("✓ holds") && !page.contains("✗ failed"));
    assert!(names.iter().all(|name| page.contains(name)), "every line is on the page");
}

#[test]
fn theorems_hold_and_every_control_is_caught() {
    let dir = tempfile::tempdir().unwrap();
    let html = dir.path().join("theorems.html");
    let output = audit(&["theorems", "--html", html.to_str().unwrap(), "--json", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = json(&output);
    let checks = check_lines(&report);
    for (theorem, mistakes) in [("5.2/", 3), ("5.3/", 4), ("5.5/", 2)] {
        let of = checks.iter().filter(|c| c["name"].as_str().unwrap().starts_with(theorem));
        let controls = of.filter(|c| c["name"].as_str().unwrap().ends_with("/control"));
        assert!(controls.count() >= mistakes, "{theorem}");
    }
    let page = std::fs::read_to_string(&html).unwrap();
    assert_eq!(page.matches("<figure").count(), 5, "the curves behind the figures");
}

/// The audits of this program decide; what the paper prints is shown and decides nothing.
#[test]
fn all_audits_on_one_page() {
    let dir = tempfile::tempdir().unwrap();
    let html = dir.path().join("all.html");
    let output = audit(&["all", "--html", html.to_str().unwrap(), "--json", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = json(&output);
    assert_eq!(keys(&report), ["checks", "information", "pass"]);
    let lines = |key: &str| report[key].as_array().unwrap();
    let name = |line: &Value| line["name"].as_str().unwrap().to_owned();
    for part in ["gradients/", "rounding/", "training/", "theorems/", "determinism/"] {
        assert!(lines("checks").iter().any(|l| name(l).starts_with(part)), "{part}");
    }
    assert!(lines("checks").iter().all(|l| l["holds"] == true));
    assert!(lines("information").iter().all(|l| name(l).starts_with("paper/")));
    let fails = lines("information").iter().filter(|l| l["holds"] == false).count();
    assert!(fails > 0, "a printed table that does not add up");
    let page = std::fs::read_to_string(&html).unwrap().replace("&#x2f;", "/");
    assert_eq!(page.matches("✗ does not").count(), fails);
    assert!(page.contains("PASS") && !page.contains("✗ failed"));
    let every = || lines("checks").iter().chain(lines("information"));
    let shown = |l: &Value| page.contains(name(l).split_once('/').unwrap().1);
    assert!(every().all(shown), "every line is on the page");
}

#[test]
fn an_unwritable_page_or_an_unknown_set_is_refused_before_any_work() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("missing/page.html");
    for command in ["theorems", "training", "all"] {
        let output = audit(&[command, "--html", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(stderr(&output).contains("page.html"), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
    let output = audit(&["theorems", "--data", "no-such-set"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no-such-set"), "{}", stderr(&output));
}
