//! `select --seeds`: several fits of the same rows.

use serde_json::Value;

use super::{refused, select, text, toy, write};

#[test]
fn several_seeds_give_a_consensus_and_say_how_much_they_agree() {
    let dir = tempfile::tempdir().unwrap();
    write(&toy(120), dir.path(), "toy.csv");
    let read =
        |file: &str| -> Value { serde_json::from_str(&text(&dir.path().join(file))).unwrap() };
    select(dir.path(), &["toy.csv", "--out", "one", "--json", "one.json"]);
    let said =
        select(dir.path(), &["toy.csv", "--out", "three", "--seeds", "3", "--json", "three.json"]);
    assert!(said.contains("3 fits with other random numbers"), "{said}");
    let (one, three) = (read("one.json"), read("three.json"));
    assert!(one["stability"].is_null(), "a single fit has nothing to agree with");
    let s = &three["stability"];
    let fits = s["fits"].as_array().unwrap();
    assert_eq!((s["seeds"].as_u64(), fits.len()), (Some(3), 3));
    assert_eq!(fits[0]["kept"], one["kept"], "the first fit is that of a run without --seeds");
    assert_eq!(fits[0]["epsilon_pseudo"], one["epsilon_pseudo"]);
    for key in ["label_agreement", "candidate_agreement", "unanimous", "selected_agreement"] {
        assert!((0.0..=1.0).contains(&s[key].as_f64().unwrap()), "{key}: {s}");
    }
    assert!((-1.0..=1.0).contains(&s["ranking_correlation"].as_f64().unwrap()));
    let labels = |run: &str| text(&dir.path().join(run).join("pseudo_labels.csv"));
    assert_ne!(labels("one"), labels("three"), "mean confidences");
    let (code, message) = refused(dir.path(), &["select", "toy.csv", "--seeds", "0"]);
    assert!(code == Some(2) && message.contains("--seeds"), "{message}");
}
