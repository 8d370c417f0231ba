//! `pomdp-fs bench`: the keys of its report, and the comparison of two reports.

use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};

const WORK: &str = "gemm/64x128x128-nn";

fn bench(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pomdp-fs").unwrap();
    command.arg("bench").args(arguments);
    command
}

fn report(arguments: &[&str]) -> Value {
    let all = [&["--only", WORK, "--rounds", "1", "--threads", "1", "--json", "-"], arguments];
    let out = bench(&all.concat()).assert().success().get_output().stdout.clone();
    serde_json::from_slice(&out).unwrap()
}

fn change(report: &Value) -> &str {
    report["compared"][0]["change"].as_str().unwrap()
}

/// The old report with all times multiplied.
fn scaled(path: &Path, report: &Value, factor: f64) {
    let mut old = report.clone();
    for key in ["ms", "ms_median"] {
        let value = &mut old["kernels"][0][key];
        *value = json!(factor * value.as_f64().unwrap());
    }
    std::fs::write(path, old.to_string()).unwrap();
}

#[test]
fn the_report_has_its_keys_and_is_compared() {
    let first = report(&[]);
    for key in ["cpu", "threads", "peak_gflops", "bandwidth_gbs", "kernels", "train_step"] {
        assert!(!first[key].is_null(), "{key}");
    }
    let entry = &first["kernels"][0];
    assert_eq!((&entry["id"], &entry["shape"]), (&json!(WORK), &json!([64, 128, 128])));
    for key in ["ms", "ms_median", "gflops", "share_of_peak"] {
        assert!(entry[key].as_f64().is_some_and(|v| v > 0.0), "{key}");
    }
    let [ms, gflops] = ["ms", "gflops"].map(|key| entry[key].as_f64().unwrap());
    assert!((gflops * ms * 1e6 / f64::from(2 * 64 * 128 * 128) - 1.0).abs() < 1e-9);

    // Times a thousand apart are beyond any noise, in both directions.
    let dir = tempfile::tempdir().unwrap();
    let old = dir.path().join("old.json");
    let compared = || report(&["--compare", old.to_str().unwrap()]);
    scaled(&old, &first, 1e-3);
    assert_eq!(change(&compared()), "slower");
    scaled(&old, &first, 1e3);
    assert_eq!(change(&compared()), "faster");
}

#[test]
fn unknown_work_and_broken_reports_are_refused() {
    let message = |arguments: &[&str]| {
        let output = bench(arguments).assert().code(2).get_output().clone();
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(message(&["--only", "nothing", "--rounds", "1"]).contains("'nothing'"));
    assert!(message(&["--only", "nothing", "--repeat", "2"]).contains("'nothing'"));
    let dir = tempfile::tempdir().unwrap();
    let old = dir.path().join("old.json");
    std::fs::write(&old, "{}").unwrap();
    assert!(message(&["--compare", old.to_str().unwrap()]).contains("old.json"));
    bench(&["--only", WORK, "--repeat", "2"]).assert().success();
}

/// Another program must find weights, inputs and what they give.
#[test]
fn the_cases_are_written_for_other_programs() {
    let dir = tempfile::tempdir().unwrap();
    bench(&["--export", dir.path().to_str().unwrap()]).assert().success();
    let bytes = std::fs::read(dir.path().join("train_64x2.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(file.tensor("x").unwrap().shape(), [64, 103]);
    assert_eq!(file.tensor("param.block0.up.w").unwrap().shape(), [128, 512]);
    let losses = file.tensor("losses").unwrap().data().to_vec();
    let losses: Vec<f32> =
        losses.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    assert!(losses.len() == 5 && losses.windows(2).all(|w| w[1] < w[0]), "it learns: {losses:?}");
    assert!(dir.path().join("rollout.safetensors").exists());
}
