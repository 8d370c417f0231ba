//! The files of a selection.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::content::page;
use super::label_table;
use super::summary::summary;
use super::{advice, suspicious};
use crate::data::cleaned;
use crate::experiment::Selection;
use crate::method::pomdp_fs::History2;
use crate::method::pomdp_fs::stage2::sequential::RolloutRecord;
use crate::method::pomdp_fs::stage2::train::Epoch2;
use crate::report::csv_bytes;
use crate::{Result, io};

/// The names of all files that a result may have.
pub const FILES: [&str; 8] = [
    "report.html",
    "ranking.csv",
    "pseudo_labels.csv",
    "cleaned.csv",
    "suspicious.csv",
    "history.csv",
    "model.safetensors",
    "config.json",
];

/// What was written.
pub struct Written {
    /// The files.
    pub files: Vec<&'static str>,
    /// Why one is missing.
    pub remark: Option<String>,
}

/// Writes all files into `dir`. `cleaned.csv` is left out where the labels collapsed, where noise was
/// added to true labels, and where the input has changed since it was read.
pub fn write(selection: &Selection<'_>, dir: &Path) -> Result<Written> {
    let mut files = FILES.to_vec();
    let mut remark = None;
    if let Err(reason) = write_cleaned(selection, dir)? {
        files.retain(|f| *f != "cleaned.csv");
        remark = Some(reason).filter(|r| !r.is_empty());
    }
    let fitted = &selection.outcome.fitted;
    let p = fitted.confidence.as_ref().expect("the method makes them");
    let pseudo = fitted.pseudo.as_ref().expect("the method makes them");
    let rows = selection.outcome.prepared.train_rows.iter().copied();
    let (ids, names) = (selection.data.ids.as_ref(), &selection.data.label_names);
    let labels = label_table(rows, ids, names, pseudo, p)?;
    io::write_atomic(&dir.join("ranking.csv"), &ranking(selection)?)?;
    io::write_atomic(&dir.join("pseudo_labels.csv"), &labels)?;
    io::write_atomic(&dir.join("suspicious.csv"), &suspicious::table(selection)?)?;
    io::write_atomic(&dir.join("history.csv"), &history(selection)?)?;
    selection.model().save(dir, about(selection))?;
    io::write_atomic(&dir.join("report.html"), page(selection).html()?.as_bytes())?;
    Ok(Written { files, remark })
}

/// Writes the input with the cleaned labels, or says why not (with no words where nobody expects it).
fn write_cleaned(selection: &Selection<'_>, dir: &Path) -> Result<Result<(), String>> {
    if !advice::cleans_the_input(selection) {
        return Ok(Err(String::new()));
    }
    if !advice::usable(selection) {
        return Ok(Err("cleaned.csv is not written: these labels must not be used".to_owned()));
    }
    let pseudo = selection.outcome.fitted.pseudo.as_ref().expect("the method makes them");
    match cleaned(selection.data, &selection.outcome.prepared.train_rows, pseudo) {
        Ok(text) => io::write_atomic(&dir.join("cleaned.csv"), &text).map(Ok),
        Err(e) => Ok(Err(format!("cleaned.csv is not written: {e}"))),
    }
}

/// What `config.json` says besides what the model needs.
fn about(selection: &Selection<'_>) -> Map<String, Value> {
    let mut result = summary(selection, Path::new(""));
    if let Some(result) = result.as_object_mut() {
        // The ranking is among the model's own keys.
        result.remove("ranking");
    }
    let about = json!({
        "dataset": selection.data.name,
        "sha256": selection.data.source.sha256,
        "seed": selection.seed,
        "noise": selection.noise,
        "result": result,
    });
    about.as_object().cloned().unwrap_or_default()
}

fn ranking(selection: &Selection<'_>) -> Result<Vec<u8>> {
    let head = ["rank", "index", "name", "score", "frequency", "mean_credit", "mean_probability"]
        .map(str::to_owned);
    let t = &selection.trained().features;
    let rows = selection.outcome.fitted.ranking.iter().enumerate().map(|(k, r)| {
        let f = r.feature;
        vec![
            (k + 1).to_string(),
            f.to_string(),
            selection.data.feature_names[f].clone(),
            r.score.to_string(),
            t.frequency[f].to_string(),
            t.credit[f].to_string(),
            t.score[f].to_string(),
        ]
    });
    csv_bytes(&head, rows)
}

fn history(selection: &Selection<'_>) -> Result<Vec<u8>> {
    let head = [
        "stage",
        "epoch",
        "bce",
        "graph",
        "reward",
        "rho",
        "held_out_loss",
        "mean_p",
        "entropy",
        "epsilon",
        "gradient_norm",
        "policy_gradient_norm",
        "loss_start",
        "loss_end",
        "policy_loss",
        "baseline",
        "certainty",
    ]
    .map(str::to_owned);
    let (first, second) = &selection.trained().history;
    let one = first.iter().enumerate().map(|(k, e)| {
        let mut row = vec!["1".to_owned(), (k + 1).to_string()];
        row.extend([e.bce, e.graph, e.reward].map(|v| v.to_string()));
        let known = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
        row.extend([known(e.rho), known(e.held_out)]);
        row.extend([e.mean_p, e.entropy].map(|v| v.to_string()));
        row.push(known(e.epsilon));
        row.extend([e.gradient_norm, e.policy_gradient_norm].map(|v| v.to_string()));
        row.extend(std::iter::repeat_n(String::new(), 5));
        row
    });
    // Gradient norm, loss before and after, policy loss, baseline, certainty.
    let numbers: Vec<[Option<f64>; 6]> = match second {
        History2::Epochs(epochs) => {
            let of = |e: &Epoch2| {
                let known = [e.gradient_norm, e.loss_start, e.loss_end, e.policy, e.baseline];
                let [norm, start, end, policy, baseline] = known.map(Some);
                [norm, start, end, policy, baseline, None]
            };
            epochs.iter().map(of).collect()
        }
        History2::Rollouts(rollouts) => {
            let of = |r: &RolloutRecord| {
                let [start, end, certainty] = [r.loss_start, r.loss_end, r.certainty].map(Some);
                [None, start, end, None, None, certainty]
            };
            rollouts.iter().map(of).collect()
        }
    };
    let two = numbers.into_iter().enumerate().map(|(k, values)| {
        let mut row = vec!["2".to_owned(), (k + 1).to_string()];
        row.extend(std::iter::repeat_n(String::new(), 8));
        let [norm, rest @ ..] = values.map(|v| v.map_or(String::new(), |v| v.to_string()));
        row.extend([norm, String::new()]);
        row.extend(rest);
        row
    });
    csv_bytes(&head, one.chain(two))
}
