//! What a run tells: text for people, JSON for programs.

use std::path::Path;

use serde_json::{Value, json};

use super::files::FILES;
use super::job::{Scores, Seconds, Setting};
use crate::Result;
use crate::cli::Context;
use crate::data::Labels;
use crate::measure::METRICS;
use crate::method::Fitted;
use crate::method::pomdp_fs::Trained;

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
pub(super) fn errors(setting: &Setting, outcome: &Fitted) -> Option<(f64, f64)> {
    let truth = setting.truth.as_ref()?;
    Some((setting.candidates.hamming_distance(truth), pseudo(outcome).hamming_distance(truth)))
}

pub(super) fn trained(outcome: &Fitted) -> &Trained {
    outcome.trained.as_ref().expect("the method is POMDP-FS")
}

pub(super) fn pseudo(outcome: &Fitted) -> &Labels {
    outcome.pseudo.as_ref().expect("the method makes them")
}

/// The result on the screen and as JSON.
pub(super) fn report(
    setting: &Setting,
    outcome: &Fitted,
    scores: &[Scores],
    seconds: &Seconds,
    out: &Path,
    context: &Context,
) -> Result<()> {
    let (kept, all) = (pseudo(outcome).count(), setting.candidates.count());
    // The printed form has no observation model, and so no noise rate.
    let rate =
        trained(outcome).rho.map_or(String::new(), |rho| format!("; learned noise rate {rho:.3}"));
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
    for (k, r) in outcome.ranking.iter().take(SHOWN_FEATURES.min(setting.budget)).enumerate() {
        context.say(format!(
            "  {:>3}. {:<32} score {:.5}, selected in {:.0} % of the rollouts",
            k + 1,
            setting.dataset.feature_names[r.feature],
            r.score,
            100.0 * trained(outcome).features.frequency[r.feature]
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
        "\nStage 1 {:.1} s, Stage 2 {:.1} s, all {:.1} s. Results in {}/: {}",
        seconds.stage1,
        seconds.stage2,
        seconds.total,
        out.display(),
        FILES.join(", ")
    ));
    let mut result = summary(setting, outcome, scores, out);
    result["seconds"] = json!({
        "stage1": seconds.stage1,
        "stage2": seconds.stage2,
        "total": seconds.total,
    });
    context.emit(&result)
}

/// The machine-readable result, without the times: those differ from run to run, files must not.
pub(super) fn summary(setting: &Setting, outcome: &Fitted, scores: &[Scores], out: &Path) -> Value {
    let d = &setting.dataset;
    let ranking: Vec<Value> = outcome
        .ranking
        .iter()
        .map(|r| json!({"feature": d.feature_names[r.feature], "index": r.feature, "score": r.score}))
        .collect();
    let selected: Vec<usize> =
        outcome.ranking[..setting.budget].iter().map(|r| r.feature).collect();
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
        "rho": trained(outcome).rho,
        "noise": setting.noise,
        "epsilon_pseudo": errors.map(|e| e.1),
        "epsilon_candidate": errors.map(|e| e.0),
        "metrics": (!scores.is_empty()).then_some(metrics),
    })
}
