//! The machine-readable result of a selection.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{emptied_rows, next_steps, suspicious};
use crate::experiment::{Selection, Values};
use crate::measure::METRICS;
use crate::method::pomdp_fs::Stability;

/// Number of candidates, and of those that were kept.
pub fn candidates_and_kept(selection: &Selection<'_>) -> (usize, usize) {
    let pseudo = selection.outcome.fitted.pseudo.as_ref().expect("the method makes them");
    (selection.outcome.prepared.candidates.count(), pseudo.count())
}

/// How much several fits agree, in a sentence.
pub fn stability_text(s: &Stability) -> String {
    format!(
        "{} fits with other random numbers: two of them agree on {:.2} % of the label cells ({:.1} % of \
         the candidates), their rankings correlate at {:.2}, and they share {:.0} % of the selected \
         features; all agree on {:.1} % of the candidates",
        s.seeds,
        100.0 * s.label_agreement,
        100.0 * s.candidate_agreement,
        s.ranking_correlation,
        100.0 * s.selected_agreement,
        100.0 * s.unanimous
    )
}

/// All metrics by key.
fn by_key(values: &Values) -> Value {
    let all = METRICS.iter().zip(values.0).map(|(m, v)| (m.key.to_owned(), json!(v)));
    Value::Object(all.collect())
}

/// The result under stable keys, without the times: those differ from run to run, files must not.
pub fn summary(selection: &Selection<'_>, out: &Path) -> Value {
    let (data, result) = (selection.data, &selection.outcome.result);
    let ranking: Vec<Value> = selection
        .outcome
        .fitted
        .ranking
        .iter()
        .map(|r| {
            json!({"feature": data.feature_names[r.feature], "index": r.feature, "score": r.score})
        })
        .collect();
    let metrics: Map<String, Value> = result
        .scores
        .iter()
        .map(|s| (s.trained_on.name().to_owned(), by_key(&s.measures[0])))
        .collect();
    let (candidates, kept) = candidates_and_kept(selection);
    let warnings: Vec<&String> =
        result.verdict.iter().flat_map(|v| &v.warnings).chain(&result.notes).collect();
    json!({
        "dataset": data.name,
        "n": data.n(),
        "d": data.d(),
        "labels": data.labels(),
        "preset": selection.config.preset,
        "seed": selection.seed,
        "cell": result.id,
        "budget": selection.budget,
        "ranking": ranking,
        "selected": selection.selected(),
        "pseudo_labels_file": out.join("pseudo_labels.csv"),
        "suspicious_file": out.join("suspicious.csv"),
        "rho": selection.trained().rho,
        "candidates": candidates,
        "kept": kept,
        "verdict": result.verdict.as_ref().map(|v| json!({"status": v.status, "text": v.text})),
        "warnings": warnings,
        "next": next_steps(selection),
        "suspicious": suspicious(selection).len(),
        "rows_emptied": emptied_rows(selection).len(),
        "stability": selection.outcome.fitted.stability,
        "noise": selection.noise,
        "epsilon_pseudo": result.epsilon.and_then(|e| e.pseudo),
        "epsilon_candidate": result.epsilon.map(|e| e.candidate),
        "epsilon_drop_all": result.epsilon.map(|e| e.drop_all),
        "metrics": (!metrics.is_empty()).then_some(metrics),
        "metrics_all_features": selection.all_features.as_ref().map(|s| by_key(&s.measures[0])),
    })
}
