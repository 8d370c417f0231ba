//! What `select` says when it has learned nothing, or too much.

use pomdp_fs::data::{Dataset, Labels};
use pomdp_fs::linalg::Mat;
use pomdp_fs::rng::Streams;
use serde_json::Value;

use super::made_up::{TAGS, Tickets};
use super::tickets::READING;
use super::{run, select, text, toy, write};

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

/// What a result may say of itself; the truth decides, which the method never sees.
fn broken_promise(said: &str, json: &Value, html: &str) -> Option<&'static str> {
    let number = |key: &str| json[key].as_f64().unwrap();
    let status = json["verdict"]["status"].as_str().unwrap();
    let kept = number("kept") / number("candidates");
    let told = |text: &str| said.contains(text) && html.contains(text);
    let warnings = json["warnings"].as_array().unwrap();
    if kept < 0.02 && status != "collapsed" {
        Some("nearly all candidates are gone, and the verdict is another")
    } else if kept > 0.995 && status != "unchanged" {
        Some("nothing was learned, and the verdict is another")
    } else if status == "cleaned" && number("epsilon_pseudo") >= number("epsilon_candidate") {
        Some("called clean, and no better than the candidates")
    } else if !told(&format!("Verdict: {status}.")) {
        Some("the verdict is not told everywhere")
    } else if warnings.iter().any(|w| !told(w.as_str().unwrap().split('"').next().unwrap())) {
        Some("a warning is not told everywhere")
    } else if json["next"].as_array().unwrap().is_empty() || !html.contains("What to do next") {
        Some("nothing says what to do")
    } else {
        None
    }
}

/// 400 tickets, 33 features, 8 tags and 40 % of all wrong tags: with features that tell the tags, and
/// with those of other tickets, which tell nothing.
#[test]
fn heavy_noise_on_few_rows_is_judged_rightly() {
    let dir = tempfile::tempdir().unwrap();
    let made = Tickets::new(400);
    let foreign = Labels::from_fn(400, TAGS.len(), |i, j| made.truth.get((i + 137) % 400, j));
    for (name, truth) in [("own.csv", &made.truth), ("foreign.csv", &foreign)] {
        std::fs::write(dir.path().join(name), made.csv(0..400, Some(truth))).unwrap();
        for seed in ["0", "1", "2"] {
            let trial = ["--role", "truth", "--noise", "0.4", "--seed", seed, "--json", "r.json"];
            let command =
                [&["select", name, "--out", "out"], &READING[..], &trial, &["--impute", "mean"]];
            let said = run(dir.path(), &command.concat());
            let json: Value = serde_json::from_str(&text(&dir.path().join("r.json"))).unwrap();
            let html = text(&dir.path().join("out/report.html"));
            assert_eq!(broken_promise(&said, &json, &html), None, "{name}, seed {seed}: {said}");
            if name == "foreign.csv" {
                assert_ne!(json["verdict"]["status"], "cleaned", "{said}");
            }
            // The check itself finds what it must find.
            let lie = |kept: u64, wrong: f64| {
                let mut json = json.clone();
                (json["kept"], json["epsilon_pseudo"]) = (kept.into(), wrong.into());
                json["verdict"]["status"] = "cleaned".into();
                broken_promise(&said, &json, &html).unwrap()
            };
            let all = json["candidates"].as_u64().unwrap();
            assert!(lie(0, 0.0).starts_with("nearly all"));
            assert!(lie(all, 0.0).starts_with("nothing was learned"));
            assert!(lie(all / 2, 1.0).starts_with("called clean"));
        }
    }
}
