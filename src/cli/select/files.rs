//! The files of a result.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::job::{Scores, Setting};
use super::output::{pseudo, summary, trained};
use super::page::page;
use crate::cli::tables::{label_table, names, table};
use crate::method::Fitted;
use crate::method::pomdp_fs::{Description, Model};
use crate::{Result, io};

/// The names of all files.
pub(super) const FILES: [&str; 6] = [
    "report.html",
    "ranking.csv",
    "pseudo_labels.csv",
    "history.csv",
    "model.safetensors",
    "config.json",
];

/// All files of a result, into `dir`.
pub(super) fn write(
    setting: &Setting,
    outcome: &Fitted,
    scores: &[Scores],
    dir: &Path,
) -> Result<()> {
    let p = outcome.confidence.as_ref().expect("the method makes them");
    let rows = setting.train.iter().copied();
    let labels = label_table(rows, &setting.dataset.label_names, Some(pseudo(outcome)), p)?;
    io::write_atomic(&dir.join("ranking.csv"), &ranking(setting, outcome)?)?;
    io::write_atomic(&dir.join("pseudo_labels.csv"), &labels)?;
    io::write_atomic(&dir.join("history.csv"), &history(outcome)?)?;
    model(setting, outcome).save(dir, about(setting, outcome, scores))?;
    let html = page(setting, outcome, scores).html()?;
    io::write_atomic(&dir.join("report.html"), html.as_bytes())
}

fn model(setting: &Setting, outcome: &Fitted) -> Model {
    let d = &setting.dataset;
    Model {
        description: Description {
            budget: setting.budget,
            features: d.feature_names.clone(),
            numbered_features: d.source.numbered_features,
            labels: d.label_names.clone(),
            nominal: d.nominal.clone(),
            ranking: outcome.ranking.iter().map(|r| r.feature).collect(),
            settings: setting.config.clone(),
        },
        scaler: setting.scaler.clone(),
        disambiguator: trained(outcome).disambiguator.clone(),
        selector: trained(outcome).selector.clone(),
    }
}

/// What `config.json` says besides what the model needs.
fn about(setting: &Setting, outcome: &Fitted, scores: &[Scores]) -> Map<String, Value> {
    let mut result = summary(setting, outcome, scores, Path::new(""));
    if let Some(result) = result.as_object_mut() {
        // The ranking is among the model's own keys.
        result.remove("ranking");
    }
    let about = json!({
        "dataset": setting.dataset.name,
        "sha256": setting.dataset.source.sha256,
        "seed": setting.seed,
        "noise": setting.noise,
        "result": result,
    });
    about.as_object().cloned().unwrap_or_default()
}

fn ranking(setting: &Setting, outcome: &Fitted) -> Result<Vec<u8>> {
    let head =
        names(["rank", "index", "name", "score", "frequency", "mean_credit", "mean_probability"]);
    let t = &trained(outcome).features;
    let rows = outcome.ranking.iter().enumerate().map(|(k, r)| {
        let f = r.feature;
        vec![
            (k + 1).to_string(),
            f.to_string(),
            setting.dataset.feature_names[f].clone(),
            r.score.to_string(),
            t.frequency[f].to_string(),
            t.credit[f].to_string(),
            t.score[f].to_string(),
        ]
    });
    table(&head, rows)
}

fn history(outcome: &Fitted) -> Result<Vec<u8>> {
    let head = names([
        "stage",
        "epoch",
        "bce",
        "graph",
        "reward",
        "rho",
        "mean_p",
        "entropy",
        "epsilon",
        "gradient_norm",
        "policy_gradient_norm",
        "loss_start",
        "loss_end",
        "policy_loss",
        "baseline",
    ]);
    let (first, second) = &trained(outcome).history;
    let one = first.iter().enumerate().map(|(k, e)| {
        let mut row = vec!["1".to_owned(), (k + 1).to_string()];
        row.extend([e.bce, e.graph, e.reward].map(|v| v.to_string()));
        row.push(e.rho.map_or(String::new(), |v| v.to_string()));
        row.extend([e.mean_p, e.entropy].map(|v| v.to_string()));
        row.push(e.epsilon.map_or(String::new(), |v| v.to_string()));
        row.extend([e.gradient_norm, e.policy_gradient_norm].map(|v| v.to_string()));
        row.extend(std::iter::repeat_n(String::new(), 4));
        row
    });
    let two = second.iter().enumerate().map(|(k, e)| {
        let mut row = vec!["2".to_owned(), (k + 1).to_string()];
        row.extend(std::iter::repeat_n(String::new(), 7));
        row.push(e.gradient_norm.to_string());
        row.push(String::new());
        row.extend([e.loss_start, e.loss_end, e.policy, e.baseline].map(|v| v.to_string()));
        row
    });
    table(&head, one.chain(two))
}
