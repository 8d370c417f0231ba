use super::*;
use crate::experiment::{About, CellResult, Epsilon, Failure, Score, TrainLabels, Values};
use crate::measure::METRICS;

/// Two folds of one method with a hostile name, and a failure.
fn results() -> Results {
    let cell = |fold: usize| CellResult {
        id: format!("id{fold}"),
        configuration: serde_json::Value::Null,
        method: "a_b & <i>|".into(),
        settings: serde_json::json!({}),
        repeat: 0,
        fold: Some(fold),
        fits: 1,
        epsilon: Some(Epsilon { candidate: 0.5, drop_all: 0.25, pseudo: None }),
        rho: None,
        verdict: None,
        notes: vec!["a remark".into()],
        ranking: vec![0],
        scores: vec![Score {
            trained_on: TrainLabels::Truth,
            classifier: "svm".into(),
            budget: 3,
            features: 3,
            measures: vec![Values([0.25 + fold as f64 / 2.0; METRICS.len()])],
            by_chance: vec![Values([0.125; METRICS.len()])],
            c: None,
            threshold: None,
            nan_scores: 0,
        }],
        seconds: 1.5,
    };
    let about = About {
        dataset: "set".into(),
        sha256: "hash".into(),
        n: 10,
        d: 5,
        labels: 2,
        seed: 7,
        folds: 2,
        repeats: 1,
        split: "k-fold".into(),
        noise: Some(0.2),
        noise_scheme: "uniform".into(),
        scaling: "z-score".into(),
        measures: vec![("sklearn".into(), "over-labels".into())],
        version: "0".into(),
    };
    let failure =
        Failure { method: "bad".into(), repeat: 0, fold: Some(1), reason: "of 50 %\n_x".into() };
    Results { about, cells: vec![cell(0), cell(1)], failures: vec![failure] }
}

fn export(exporter: &dyn Exporter) -> String {
    exporter.export(&results()).unwrap()
}

#[test]
fn every_form_has_the_numbers_and_the_failure() {
    for exporter in FILES.into_iter().chain([&Terminal as &dyn Exporter]) {
        let text = export(exporter);
        let raw = ["results.json", "results.csv"].contains(&exporter.file());
        let mean = if raw { "0.75" } else { "0.500" };
        assert!(text.contains(mean), "{}: {text}", exporter.file());
        if exporter.file() != "results.csv" {
            assert!(text.contains("bad") && text.contains("a remark"), "{text}");
        }
    }
}

#[test]
fn names_are_no_markup() {
    let html = export(&Html);
    assert!(html.contains("a_b &amp; &lt;i&gt;|") && !html.contains("<i>"), "{html}");
    let latex = export(&Latex);
    assert!(latex.contains("a\\_b \\& <i>| & truth & 0.500$\\pm$0.354"), "{latex}");
    assert!(latex.lines().all(|l| !l.starts_with("_x")), "a comment stays one line");
    let markdown = export(&Markdown);
    assert!(markdown.contains("| a\\_b & \\<i>\\| | truth | 0.500±0.354"), "{markdown}");
}

#[test]
fn tables_have_as_many_cells_in_every_line() {
    let csv = export(&Csv);
    let mut reader = ::csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(reader.headers().unwrap().len(), 12 + METRICS.len() + 6);
    let rows: Vec<_> = reader.records().map(|r| r.unwrap()).collect();
    let by: Vec<&str> = rows.iter().map(|r| &r[3]).collect();
    assert_eq!(by, ["method", "chance", "method", "chance"]);
    let json: serde_json::Value = serde_json::from_str(&export(&Json)).unwrap();
    let entry = &json["methods"][0];
    assert_eq!(entry["ranking_loss"]["folds"], serde_json::json!([0.25, 0.75]));
    assert_eq!(entry["epsilon_drop_all"]["mean"], 0.25);
    assert_eq!(entry["by_chance"]["ranking_loss"]["mean"], 0.125);
    assert!(entry["epsilon_pseudo"].is_null());
    assert_eq!(json["failures"][0]["method"], "bad");
    assert_eq!((&json["noise"], &json["seed"]), (&0.2.into(), &7.into()));
}
