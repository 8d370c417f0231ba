//! What a run tells: text for people, files for everyone, JSON for programs.

use std::collections::HashMap;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};

use super::job::{Scores, Seconds, Setting};
use crate::cli::Context;
use crate::data::Labels;
use crate::measure::METRICS;
use crate::method::pomdp_fs::{Network, Outcome, Preset};
use crate::num::little_endian;
use crate::{Error, Result, io};

/// Number of features and of metrics shown on the screen.
const SHOWN_FEATURES: usize = 10;
const SHOWN_METRICS: usize = 4;

/// What is about to happen.
pub(super) fn introduce(setting: &Setting, context: &Context) {
    let d = &setting.dataset;
    context.say(format!("{}: {} rows, {} features, {} labels", d.name, d.n(), d.d(), d.labels()));
    for note in &d.source.notes {
        context.note(format!("  {note}"));
    }
    if let Some(rate) = setting.noise {
        context.say(format!(
            "true labels are known: {} rows train with {:.1} % of their irrelevant labels added as \
             noise, {} rows are held out",
            setting.train.len(),
            100.0 * rate,
            setting.test.len()
        ));
    }
}

/// ε of the candidates and of the pseudo labels, if the truth is known.
fn errors(setting: &Setting, outcome: &Outcome) -> Option<(f64, f64)> {
    let truth = setting.truth.as_ref()?;
    Some((setting.candidates.hamming_distance(truth), pseudo(outcome).hamming_distance(truth)))
}

fn pseudo(outcome: &Outcome) -> &Labels {
    outcome.fitted.pseudo.as_ref().expect("the method makes them")
}

/// The result on the screen and as JSON.
pub(super) fn report(
    setting: &Setting,
    outcome: &Outcome,
    scores: &[Scores],
    seconds: &Seconds,
    out: &Path,
    context: &Context,
) -> Result<()> {
    let (kept, all) = (pseudo(outcome).count(), setting.candidates.count());
    // The printed form has no observation model, and so no noise rate.
    let rate = match setting.config.preset {
        Preset::Observation => format!("; learned noise rate {:.3}", outcome.rho),
        Preset::Paper => String::new(),
    };
    context.say(format!(
        "\nLabels: {} of {all} candidate labels removed ({:.1} %), {kept} kept{rate}",
        all - kept,
        100.0 * (all - kept) as f64 / all.max(1) as f64,
    ));
    if let Some((before, after)) = errors(setting, outcome) {
        let change = 100.0 * (after / before.max(f64::MIN_POSITIVE) - 1.0);
        let direction = if change > 0.0 { "more" } else { "fewer" };
        context.say(format!(
            "  wrong label cells: {before:.4} with all candidates, {after:.4} after ({:.0} % {direction})",
            change.abs()
        ));
    }
    context.say(format!("\nFeatures: the best {} of {}", setting.budget, setting.dataset.d()));
    for (k, r) in outcome.fitted.ranking.iter().take(SHOWN_FEATURES.min(setting.budget)).enumerate()
    {
        context.say(format!(
            "  {:>3}. {:<32} score {:.5}, selected in {:.0} % of the rollouts",
            k + 1,
            setting.dataset.feature_names[r.feature],
            r.score,
            100.0 * outcome.treatment.frequency[r.feature]
        ));
    }
    if !scores.is_empty() {
        context.say(format!(
            "\nScores of a linear SVM on the selected features, {} held-out rows with true labels:",
            setting.test.len()
        ));
        let head: String =
            METRICS.iter().take(SHOWN_METRICS).map(|m| format!("{:>10}", m.name)).collect();
        context.say(format!("  {:<22}{head}", "trained on"));
        for s in scores {
            let row: String =
                s.summary.values.iter().take(SHOWN_METRICS).map(|v| format!("{v:>10.4}")).collect();
            context.say(format!("  {:<22}{row}", s.name));
        }
        context.say("  (RL, HL, CE: lower is better; Micro-F1: higher; CE is coverage / labels)");
    }
    context.say(format!(
        "\nStage 1 {:.1} s, Stage 2 {:.1} s, all {:.1} s. Results in {}/: ranking.csv, \
         pseudo_labels.csv, model.safetensors, config.json, history.csv",
        seconds.stage1,
        seconds.stage2,
        seconds.total,
        out.display()
    ));
    context.emit(&summary(setting, outcome, scores, seconds, out))
}

fn summary(
    setting: &Setting,
    outcome: &Outcome,
    scores: &[Scores],
    seconds: &Seconds,
    out: &Path,
) -> Value {
    let d = &setting.dataset;
    let ranking: Vec<Value> = outcome
        .fitted
        .ranking
        .iter()
        .map(|r| json!({"feature": d.feature_names[r.feature], "index": r.feature, "score": r.score}))
        .collect();
    let selected: Vec<usize> =
        outcome.fitted.ranking[..setting.budget].iter().map(|r| r.feature).collect();
    let metrics: serde_json::Map<String, Value> = scores
        .iter()
        .map(|s| {
            let values =
                METRICS.iter().zip(s.summary.values).map(|(m, v)| (m.key.into(), json!(v)));
            (s.name.replace(' ', "_"), Value::Object(values.collect()))
        })
        .collect();
    let errors = errors(setting, outcome);
    json!({
        "dataset": d.name,
        "n": d.n(),
        "d": d.d(),
        "labels": d.labels(),
        "preset": setting.config.preset,
        "seed": setting.seed,
        "budget": setting.budget,
        "ranking": ranking,
        "selected": selected,
        "pseudo_labels_file": out.join("pseudo_labels.csv"),
        "rho": outcome.rho,
        "noise": setting.noise,
        "epsilon_pseudo": errors.map(|e| e.1),
        "epsilon_candidate": errors.map(|e| e.0),
        "metrics": (!scores.is_empty()).then_some(metrics),
        "seconds": {"stage1": seconds.stage1, "stage2": seconds.stage2, "total": seconds.total},
    })
}

/// All files of a result, into `dir`.
pub(super) fn write(
    setting: &Setting,
    outcome: &Outcome,
    scores: &[Scores],
    seconds: &Seconds,
    dir: &Path,
) -> Result<()> {
    io::write_atomic(&dir.join("ranking.csv"), &ranking(setting, outcome)?)?;
    io::write_atomic(&dir.join("pseudo_labels.csv"), &labels(setting, outcome)?)?;
    io::write_atomic(&dir.join("history.csv"), &history(outcome)?)?;
    io::write_atomic(&dir.join("model.safetensors"), &model(setting, outcome)?)?;
    let config = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "dataset": setting.dataset.name,
        "sha256": setting.dataset.source.sha256,
        "seed": setting.seed,
        "budget": setting.budget,
        "noise": setting.noise,
        "features": setting.dataset.feature_names,
        "labels": setting.dataset.label_names,
        "settings": setting.config,
        "result": summary(setting, outcome, scores, seconds, Path::new("")),
    });
    let text = serde_json::to_string_pretty(&without_seconds(config)).expect("plain values") + "\n";
    io::write_atomic(&dir.join("config.json"), text.as_bytes())
}

/// Times differ from run to run; files must not.
fn without_seconds(mut config: Value) -> Value {
    if let Some(result) = config["result"].as_object_mut() {
        result.remove("seconds");
        result.remove("ranking");
    }
    config
}

fn table(head: &[String], rows: impl Iterator<Item = Vec<String>>) -> Result<Vec<u8>> {
    let failed = |e: csv::Error| Error::numeric(format!("cannot write a table: {e}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(head).map_err(failed)?;
    for row in rows {
        writer.write_record(row).map_err(failed)?;
    }
    writer.into_inner().map_err(|e| Error::numeric(format!("cannot write a table: {e}")))
}

fn names<const N: usize>(head: [&str; N]) -> Vec<String> {
    head.map(str::to_owned).to_vec()
}

fn ranking(setting: &Setting, outcome: &Outcome) -> Result<Vec<u8>> {
    let head =
        names(["rank", "index", "name", "score", "frequency", "mean_credit", "mean_probability"]);
    let t = &outcome.treatment;
    let rows = outcome.fitted.ranking.iter().enumerate().map(|(k, r)| {
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

/// Row number in the source (from 0), then for each label its pseudo label and its probability.
fn labels(setting: &Setting, outcome: &Outcome) -> Result<Vec<u8>> {
    let mut head = names(["row"]);
    head.extend(setting.dataset.label_names.iter().cloned());
    head.extend(setting.dataset.label_names.iter().map(|n| format!("p({n})")));
    let p = outcome.fitted.confidence.as_ref().expect("the method makes them");
    let rows = setting.train.iter().enumerate().map(|(i, row)| {
        let mut cells = vec![row.to_string()];
        cells.extend(pseudo(outcome).row(i).iter().map(|&on| u8::from(on).to_string()));
        cells.extend(p.row(i).iter().map(f32::to_string));
        cells
    });
    table(&head, rows)
}

fn history(outcome: &Outcome) -> Result<Vec<u8>> {
    let head = names([
        "stage",
        "epoch",
        "bce",
        "graph",
        "reward",
        "rho",
        "mean_p",
        "entropy",
        "gradient_norm",
        "policy_gradient_norm",
        "loss_start",
        "loss_end",
        "policy_loss",
        "baseline",
    ]);
    let (first, second) = &outcome.history;
    let one = first.iter().enumerate().map(|(k, e)| {
        let values = [
            e.bce,
            e.graph,
            e.reward,
            e.rho,
            e.mean_p,
            e.entropy,
            e.gradient_norm,
            e.policy_gradient_norm,
        ];
        let mut row = vec!["1".to_owned(), (k + 1).to_string()];
        row.extend(values.map(|v| v.to_string()));
        row.extend(std::iter::repeat_n(String::new(), 4));
        row
    });
    let two = second.iter().enumerate().map(|(k, e)| {
        let mut row = vec!["2".to_owned(), (k + 1).to_string()];
        row.extend(std::iter::repeat_n(String::new(), 6));
        row.push(e.gradient_norm.to_string());
        row.push(String::new());
        row.extend([e.loss_start, e.loss_end, e.policy, e.baseline].map(|v| v.to_string()));
        row
    });
    table(&head, one.chain(two))
}

/// `disambiguator.*` are the weights after Stage 1, `selector.*` after Stage 2, `scale.*` the
/// features' centres and factors.
fn model(setting: &Setting, outcome: &Outcome) -> Result<Vec<u8>> {
    let d = &setting.dataset;
    let network = Network::new(setting.config.network(d.d(), d.labels()))?;
    let mut tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
    for (group, weights) in
        [("disambiguator", &outcome.disambiguator), ("selector", &outcome.selector)]
    {
        for (name, param) in network.layout.iter() {
            let (rows, cols) = param.shape();
            let bytes = little_endian(param.slice(weights));
            tensors.push((format!("{group}.{name}"), Dtype::F32, vec![rows, cols], bytes));
        }
    }
    let columns = setting.scaler.columns();
    let centre: Vec<f64> = columns.iter().map(|c| c.0).collect();
    let factor: Vec<f64> = columns.iter().map(|c| c.1).collect();
    for (name, values) in [("scale.centre", centre), ("scale.factor", factor)] {
        let bytes = little_endian(&values);
        tensors.push((name.into(), Dtype::F64, vec![values.len()], bytes));
    }
    let views = tensors.iter().map(|(name, dtype, shape, bytes)| {
        let view = TensorView::new(*dtype, shape.clone(), bytes).expect("sizes agree");
        (name.as_str(), view)
    });
    let metadata = HashMap::from([("format".to_owned(), "pomdp-fs model 1".to_owned())]);
    safetensors::serialize(views, Some(metadata))
        .map_err(|e| Error::numeric(format!("cannot pack the model: {e}")))
}
