//! What `select` says when it has learned nothing, or too much.

use pomdp_fs::data::{Dataset, Labels};
use pomdp_fs::linalg::Mat;
use pomdp_fs::rng::Streams;
use serde_json::Value;

use super::{select, text, toy, write};

fn result(dir: &std::path::Path, data: &Dataset) -> (String, Value, String) {
    write(data, dir, "mine.csv");
    let said = select(dir, &["mine.csv", "--out", "out", "--json", "r.json"]);
    let json = serde_json::from_str(&text(&dir.join("r.json"))).unwrap();
    (said, json, text(&dir.join("out/report.html")))
}

/// Candidates that are a function of the features, with nothing wrong that features could tell.
#[test]
fn nothing_learned_is_said_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let known = toy(300);
    let data = Dataset { candidates: known.truth.clone(), truth: None, ..known };
    let (said, json, html) = result(dir.path(), &data);
    let status = json["verdict"]["status"].as_str().unwrap();
    assert!(["unchanged", "uncertain"].contains(&status), "{said}");
    assert!(said.contains(&format!("Verdict: {status}.")), "{said}");
    assert!(html.contains(&format!("Verdict: {status}.")));
    let next = json["next"].as_array().unwrap();
    assert!(!next.is_empty() && said.contains(next[0].as_str().unwrap()), "{said}");
    assert!(html.contains("What to do next"));
}

/// Labels that no feature knows anything about, and many of them.
#[test]
fn labels_without_features_are_never_called_clean() {
    let dir = tempfile::tempdir().unwrap();
    let mut rng = Streams::new(8).stream("noise");
    let data = Dataset {
        x: Mat::from_fn(300, 8, |_, _| rng.normal()),
        candidates: Some(Labels::from_fn(300, 3, |_, _| rng.bernoulli(0.4))),
        truth: None,
        ..toy(300)
    };
    let (said, json, _) = result(dir.path(), &data);
    let status = json["verdict"]["status"].as_str().unwrap();
    assert_ne!(status, "cleaned", "{said}");
    let written = dir.path().join("out/cleaned.csv").exists();
    assert_eq!(written, status != "collapsed", "no file to use without labels to use");
    assert_eq!(json["cleaned_file"].is_null(), !written);
}
