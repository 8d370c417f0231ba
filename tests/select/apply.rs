//! A model for new rows.

use std::path::Path;

use pomdp_fs::data::{Dataset, LabelSpec, ReadOptions, load};
use serde_json::Value;

use super::{contents, refused, run, select, text, toy, unknown_truth, write};

/// A folder with a model of the toy's candidates in `model`.
fn trained() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(&unknown_truth(120), dir.path(), "train.csv");
    select(dir.path(), &["train.csv", "--out", "model"]);
    dir
}

fn apply(dir: &Path, args: &[&str]) -> Value {
    let args = [&["apply", "--model", "model", "--out", "out", "--json", "-"], args].concat();
    serde_json::from_str(&run(dir, &args)).unwrap()
}

/// Features and labels in another order, and a column that the model does not know.
fn shuffled(data: &Dataset) -> Dataset {
    let (features, labels) = ([5, 2, 7, 0, 1, 3, 6, 4], [2, 0, 1]);
    let mut x = data.x.select_cols(&features);
    let names = |all: &[String], order: &[usize]| order.iter().map(|&j| all[j].clone()).collect();
    let mut feature_names: Vec<String> = names(&data.feature_names, &features);
    feature_names.push("stranger".into());
    x = pomdp_fs::linalg::Mat::from_fn(x.rows(), 9, |i, j| if j < 8 { x[(i, j)] } else { 7.0 });
    Dataset {
        x,
        truth: data.truth.as_ref().map(|y| y.select_cols(&labels)),
        candidates: data.candidates.as_ref().map(|c| c.select_cols(&labels)),
        feature_names,
        label_names: names(&data.label_names, &labels),
        ..Dataset::default()
    }
}

/// `select` judges a row by models that never saw it, `apply` by the mean of all models: nearly all
/// hard labels agree.
#[test]
fn training_rows_get_nearly_the_labels_that_select_gave_them() {
    let dir = trained();
    let selected = text(&dir.path().join("model/pseudo_labels.csv"));
    let result = apply(dir.path(), &["train.csv"]);
    let expected = text(&dir.path().join("out/pseudo_labels.csv"));
    let hard = |table: &str| -> Vec<String> {
        let rows = table.lines().skip(1);
        rows.flat_map(|row| row.split(',').skip(1).take(3).map(str::to_owned)).collect()
    };
    let (ours, theirs) = (hard(&selected), hard(&expected));
    assert_eq!(ours.len(), 360);
    let agree = ours.iter().zip(&theirs).filter(|(a, b)| a == b).count();
    assert!(agree >= 324, "{agree} of 360 cells agree");
    assert_eq!((result["n"].as_u64(), &result["matched_by"]), (Some(120), &"name".into()));
    write(&shuffled(&toy(120)), dir.path(), "shuffled.csv");
    let result = apply(dir.path(), &["shuffled.csv"]);
    assert_eq!(text(&dir.path().join("out/pseudo_labels.csv")), expected, "by name");
    let (before, after) = (&result["epsilon_candidate"], &result["epsilon_pseudo"]);
    assert!(before.as_f64().unwrap() > 0.0 && after.is_f64());
}

#[test]
fn rows_without_labels_get_scores_and_fewer_columns() {
    let dir = trained();
    let features = Dataset { candidates: None, truth: None, label_names: Vec::new(), ..toy(30) };
    write(&features, dir.path(), "new.csv");
    let result = apply(dir.path(), &["new.csv", "--features", "5"]);
    let files = contents(&dir.path().join("out"));
    assert_eq!(files.keys().collect::<Vec<_>>(), ["label_scores.csv", "reduced.csv"]);
    let scores = text(&dir.path().join("out/label_scores.csv"));
    assert!(
        scores.starts_with("row,role 0,role 1,role 2,p(role 0),p(role 1),p(role 2)\n0,"),
        "{scores}"
    );
    assert_eq!(scores.lines().count(), 31);
    let options = ReadOptions { labels: Some(LabelSpec::None), ..ReadOptions::default() };
    let reduced = load(dir.path().join("out/reduced.csv"), &options).unwrap();
    assert_eq!((reduced.n(), reduced.d()), (30, 5));
    let ranking = text(&dir.path().join("model/ranking.csv"));
    let best: Vec<&str> =
        ranking.lines().skip(1).take(5).map(|l| l.split(',').nth(2).unwrap()).collect();
    assert_eq!(reduced.feature_names, best, "best first");
    for (j, name) in best.iter().enumerate() {
        let column = features.feature_names.iter().position(|n| n == name).unwrap();
        assert_eq!(reduced.x[(7, j)], features.x[(7, column)], "values are not scaled");
    }
    assert_eq!(result["selected"].as_array().unwrap().len(), 5);
}

/// A column that the model does not need may hold anything.
#[test]
fn columns_that_are_not_needed_are_not_read() {
    let dir = trained();
    let features = Dataset { candidates: None, truth: None, label_names: Vec::new(), ..toy(30) };
    write(&features, dir.path(), "new.csv");
    let plain = text(&dir.path().join("new.csv"));
    let with_text: String = plain
        .lines()
        .enumerate()
        .map(|(i, line)| match i {
            0 => format!("remark,{line},remark\n"),
            _ => format!("\"a, b\nc\",{line},{i} EUR\n"),
        })
        .collect();
    std::fs::write(dir.path().join("text.csv"), with_text).unwrap();
    apply(dir.path(), &["new.csv"]);
    let expected = contents(&dir.path().join("out"));
    apply(dir.path(), &["text.csv"]);
    assert_eq!(contents(&dir.path().join("out")), expected);
}

/// A model cannot do without its features: nobody is told to leave one out.
#[test]
fn a_value_that_does_not_fit_is_told_with_its_place() {
    let dir = trained();
    let head: Vec<String> = (0..8).map(|j| format!("gene {j}")).collect();
    for (value, found, remedy) in [
        ("", "found a missing value, expected a number", "--impute mean"),
        ("much", "found 'much', expected a finite number", ""),
        ("inf", "found 'inf', expected a finite number", ""),
    ] {
        let table = format!("{}\n{value},1,1,1,1,1,1,1\n", head.join(","));
        std::fs::write(dir.path().join("new.csv"), table).unwrap();
        let (code, message) = refused(dir.path(), &["apply", "--model", "model", "new.csv"]);
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains(&format!("new.csv:2:1: column 'gene 0': {found}")), "{message}");
        assert!(message.contains(remedy) && !message.contains("--ignore"), "{message}");
    }
}

#[test]
fn true_labels_only_judge() {
    let dir = trained();
    let known = Dataset { candidates: None, ..toy(60) };
    write(&known, dir.path(), "known.csv");
    let result = apply(dir.path(), &["known.csv"]);
    let loss = result["metrics"]["ranking_loss"].as_f64().unwrap();
    assert!((0.0..0.5).contains(&loss), "{loss}");
    let judged = text(&dir.path().join("out/label_scores.csv"));
    let bare = Dataset { truth: None, label_names: Vec::new(), ..known };
    write(&bare, dir.path(), "bare.csv");
    apply(dir.path(), &["bare.csv"]);
    assert_eq!(text(&dir.path().join("out/label_scores.csv")), judged);
}

#[test]
fn columns_without_names_are_taken_by_position() {
    let dir = trained();
    let rows: String = (0..40).map(|i| format!("{i},1,2,3,4,5,6,7\n")).collect();
    std::fs::write(dir.path().join("bare.csv"), &rows).unwrap();
    let args = ["bare.csv", "--no-header", "--labels", "none"];
    assert_eq!(apply(dir.path(), &args)["matched_by"], "position");
    let all = [&["apply", "--model", "model", "--out", "out"], &args[..]].concat();
    assert!(run(dir.path(), &all).contains("taken by position"));
}

#[test]
fn what_cannot_be_applied_is_refused() {
    let dir = trained();
    let path = dir.path();
    std::fs::write(path.join("few.csv"), "gene 0,gene 1\n1,2\n").unwrap();
    std::fs::write(path.join("bare.csv"), "1,2\n").unwrap();
    let renamed = Dataset { label_names: vec!["a".into(), "b".into(), "c".into()], ..toy(5) };
    write(&renamed, path, "renamed.csv");
    let cases: [(&[&str], &str); 6] = [
        (&["few.csv", "--labels", "none"], "the data have no feature 'gene 2' (and 5 more of 8)"),
        (&["bare.csv", "--labels", "none", "--no-header"], "8 features are expected and 2"),
        (&["few.csv"], "the data have no feature 'gene 2' (and 5 more of 8)"),
        (&["renamed.csv"], "the model knows no label 'a'"),
        (&["train.csv", "--features", "9"], "--features is 9, the model has 1 to 8"),
        (&["none.csv"], "none.csv"),
    ];
    for (args, expected) in cases {
        let args = [&["apply", "--model", "model", "--out", "out"], args].concat();
        let (code, message) = refused(path, &args);
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
        assert!(!path.join("out").exists() && !path.join(".out.part").exists());
    }
    let (code, message) = refused(path, &["apply", "--model", ".", "train.csv"]);
    assert!(code == Some(2) && message.contains("config.json: found no such file"), "{message}");
    let mut weights = std::fs::read(path.join("model/model.safetensors")).unwrap();
    let middle = weights.len() / 2;
    weights[middle] ^= 1;
    std::fs::write(path.join("model/model.safetensors"), weights).unwrap();
    let (code, message) = refused(path, &["apply", "--model", "model", "train.csv"]);
    assert!(code == Some(2) && message.contains("damaged"), "{message}");
}
