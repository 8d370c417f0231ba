//! `pomdp-fs select`: candidate labels in; clean labels, a feature ranking and the model out.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Map, Value, json};

use super::Context;
use super::classifier::SvmOptions;
use super::folder::{Folder, Progress};
use super::input::Input;
use super::interrupt;
use super::memory::in_words;
use super::progress::FitBar;
use super::settings::Settings;
use super::setup::Setup;
use crate::data::{Dataset, Role};
use crate::experiment::{
    Budget, Cell, Checkpoint, ClassifierKind, Outcome, Prepared, Request, Results, Selection,
};
use crate::measure::METRICS;
use crate::method::Method;
use crate::method::pomdp_fs::Config;
use crate::num::give_back;
use crate::report::score_table;
use crate::report::selection::{
    self, Written, candidates_and_kept, next_steps, stability_text, summary, suspicious,
};
use crate::text::{name, printable};
use crate::{Error, Result};

/// The fold that is held out, of as many, so that a result can be scored.
const FOLDS: usize = 5;
/// Suspicious labels shown on the screen.
const SHOWN_CELLS: usize = 3;
/// Metrics of a single line.
const SHOWN_METRICS: usize = 4;
/// Features shown on the screen.
const SHOWN_FEATURES: usize = 10;
/// Where the progress of a fit is kept.
const CHECKPOINT: &str = "progress";

/// Disambiguate candidate labels and rank the features: the main job
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    pomdp-fs select                                  # the embedded Yeast set with 20 % noise\n  \
    pomdp-fs select mine.csv --labels prefix:tag_    # your own labels, some of them wrong\n  \
    pomdp-fs select tickets.csv --labels tags:topics --id ticket --ignore subject --seeds 5\n  \
    pomdp-fs select mine.arff --role truth           # a trial on labels that are right\n\n\
    Labels of your own files are candidates: the true ones and some that are wrong. With true labels\n\
    (--role truth, --noise, or a set of the catalog) noise is added and a fifth of the rows is held\n\
    out, so that the result can be scored: the first fold of 'evaluate' with the same seed.")]
pub struct Select {
    /// A file, or the name of a data set of the catalog ('pomdp-fs data list')
    data: Option<String>,
    /// Folder for the results [default: pomdp-fs-NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with an interrupted run, if there is one
    #[arg(long)]
    resume: bool,
    /// Throw the progress of an interrupted run away
    #[arg(long, conflicts_with = "resume")]
    restart: bool,
    /// Least time between two checkpoints, from which --resume goes on
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = parse_seconds)]
    checkpoint_every: f64,
    /// Number of features to select, or a share such as 20%; 'paper': 20 % of the features, or 20 of
    /// fewer than 100
    #[arg(long, value_name = "K|P%", default_value = "paper")]
    budget: Budget,
    /// Train Stage 1 on K-1 parts and disambiguate the rest [default: 5, with preset paper off]
    #[arg(long, value_name = "K")]
    cross_fit: Option<usize>,
    /// Keep the best candidate of a row when none reaches 1/2
    #[arg(long)]
    at_least_one: bool,
    /// Ranking by frequency, score or credit (preset paper) [default: frequency]
    #[arg(long, value_name = "HOW")]
    ranking: Option<String>,
    /// Memory for Stage 2's rollouts, in MiB
    #[arg(long, value_name = "MIB")]
    memory_limit: Option<usize>,
    /// Hold out this fold (from 0) and score the result on it [default: 0 if noise is added or a
    /// split is given, else none]
    #[arg(long, value_name = "F")]
    fold: Option<usize>,
    /// Fit the same rows N times, with other random numbers each time; report how much labels and
    /// ranking agree, and use the consensus
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: u16,
    #[command(flatten)]
    svm: SvmOptions,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    setup: Setup,
    #[command(flatten)]
    input: Input,
}

fn parse_seconds(text: &str) -> Result<f64> {
    let seconds = text.parse().ok().filter(|s| (0.0..=1e9).contains(s));
    seconds.ok_or_else(|| Error::config(format!("found '{text}', expected seconds, 0 or more")))
}

impl Select {
    /// Runs the job; true when it is done.
    pub fn run(&self, context: &Context) -> Result<bool> {
        let begin = Instant::now();
        let config = self.config()?;
        // Whoever asks for noise has true labels; whoever has a file of labels has doubts about them.
        let unmarked = match self.setup.asks_for_noise() {
            true => Role::Truth,
            false => Role::Candidates,
        };
        let mut data = self.input.open(self.data.as_deref().unwrap_or("yeast"), unmarked)?;
        let noise_added = data.candidates.is_none();
        self.setup.add_noise(&mut data)?;
        let request = self.request(config, &data, noise_added, context)?;
        let plan = request.plan(&data)?;
        let memory = request.config.memory(data.n(), data.d(), data.labels())?;
        self.input.check_memory(memory)?;
        self.setup.save(&plan)?;
        let cell = plan.cells()[request.hold_out.unwrap_or(0)];
        let out = match &self.out {
            Some(out) => out.clone(),
            None => PathBuf::from(format!("pomdp-fs-{}", data.name)),
        };
        let folder = Folder::new(&out, &selection::FILES, self.progress())?;
        let prepared = cell.prepare();
        let noise = prepared.realised_noise().filter(|_| noise_added);
        introduce(&data, &prepared, noise, context);
        self.say_how_labels_are_read(&data, noise_added, context);
        context.say(format!("memory: about {} at most", in_words(memory)));
        let checkpoint = folder.path().join(CHECKPOINT);
        // What reading and splitting left behind.
        give_back();
        let mut outcome = self.fit(&cell, prepared, &checkpoint, context)?;
        outcome.prepared.free_features();
        give_back();
        let all_features = cell.score_all_features(&outcome)?;
        let selection =
            Selection { all_features, ..Selection::new(&plan, request.config, noise, outcome) };
        let written = selection::write(&selection, folder.path())?;
        let _ = std::fs::remove_file(checkpoint);
        folder.finish()?;
        let results = Results {
            about: plan.about(),
            cells: vec![selection.outcome.result.clone()],
            failures: Vec::new(),
        };
        tell(&selection, &results, context);
        finish(&selection, &written, begin.elapsed(), &out, context)?;
        Ok(true)
    }

    /// Which of two readings of the labels was taken, and how to get the other.
    fn say_how_labels_are_read(&self, data: &Dataset, noise_added: bool, context: &Context) {
        // Sets of the catalog know what their labels are.
        let file = self.data.as_deref().is_some_and(|d| d == "-" || Path::new(d).is_file());
        if !noise_added && self.setup.asks_for_noise() {
            context.say(
                "no noise is added: the data have candidate labels (--role truth: true labels)",
            );
        } else if self.input.role().is_some() || !file {
            // The user knows.
        } else if data.truth.is_none() {
            context.say(
                "the labels are read as candidates: the true ones and some that are wrong (--role truth: all \
                 of them are true, for a trial with added noise)",
            );
        } else if noise_added {
            context.say(
                "the labels are read as true ones (--role candidates: some of them are wrong, clean them)",
            );
        }
    }

    fn progress(&self) -> Progress<'static> {
        match (self.resume, self.restart) {
            (true, _) => Progress::Keep(CHECKPOINT),
            (_, true) => Progress::Discard(CHECKPOINT),
            _ => Progress::Ask(CHECKPOINT),
        }
    }

    /// Preset, then the file, then `--set`, then the flags.
    fn config(&self) -> Result<Config> {
        let mut flags = Map::new();
        let mut flag = |key: &str, value: Option<Value>| {
            flags.extend(value.map(|value| (key.to_owned(), value)));
        };
        flag("cross_fit", self.cross_fit.map(Value::from));
        flag("at_least_one", self.at_least_one.then_some(true.into()));
        flag("ranking", self.ranking.as_deref().map(Value::from));
        flag("memory_limit", self.memory_limit.map(Value::from));
        let method: Box<dyn Method> = self.settings.methods(&["pomdp-fs".into()], flags)?.remove(0);
        serde_json::from_value(method.settings())
            .map_err(|e| Error::config(format!("the settings cannot be understood: {e}")))
    }

    fn request(
        &self,
        config: Config,
        data: &Dataset,
        noise_added: bool,
        context: &Context,
    ) -> Result<Request> {
        let protocol = self.setup.protocol(data, context.streams.root(), FOLDS)?;
        // Data with fewer rows than folds cannot spare any.
        let enough = data.n() >= protocol.folds;
        let hold_out = match self.fold {
            Some(fold) if fold >= protocol.folds => {
                return Err(Error::config(format!(
                    "found --fold {fold}, expected 0 to {}",
                    protocol.folds - 1
                )));
            }
            Some(fold) => Some(fold),
            None => ((noise_added || self.setup.has_files()) && enough).then_some(0),
        };
        let classifier = self.svm.classifier(ClassifierKind::Svm);
        Ok(Request {
            config,
            protocol,
            budget: self.budget,
            classifier,
            hold_out,
            seeds: self.seeds.into(),
        })
    }

    fn fit(
        &self,
        cell: &Cell<'_>,
        prepared: Prepared,
        file: &Path,
        context: &Context,
    ) -> Result<Outcome> {
        let every = Duration::from_secs_f64(self.checkpoint_every);
        let id = cell.id();
        let mut bar = FitBar::new(context);
        if self.resume && file.exists() {
            bar.resumes();
        }
        let again = "give the same data, options and seed as before, or run without --resume";
        let mut observer =
            Checkpoint::new(file, &id, every, self.resume, &mut bar).map_err(|e| e.hint(again))?;
        interrupt::listen();
        let outcome = cell.run(prepared, &mut observer);
        let kept = match file.exists() {
            true => format!("the progress is kept; to go on: {}", interrupt::again("--resume")),
            false => "nothing was done that could be kept".to_owned(),
        };
        interrupt::explain(outcome, &bar.position(), &kept)
    }
}

/// What is about to happen.
fn introduce(data: &Dataset, prepared: &Prepared, noise: Option<f64>, context: &Context) {
    context.say(format!(
        "{}: {} rows, {} features, {} labels",
        name(&data.name),
        data.n(),
        data.d(),
        data.labels()
    ));
    for note in &data.source.notes {
        context.note(format!("  {}", printable(note)));
    }
    if let Some(rate) = noise {
        context.say(format!(
            "true labels are known: {} rows train with {:.1} % of their irrelevant labels added as \
             noise, {} rows are held out",
            prepared.train_rows.len(),
            100.0 * rate,
            prepared.test_rows.len()
        ));
    }
}

/// The result on the screen: the verdict, what to do, labels, features, scores.
fn tell(selection: &Selection<'_>, results: &Results, context: &Context) {
    let (all, kept) = candidates_and_kept(selection);
    let result = &selection.outcome.result;
    if let Some(verdict) = &result.verdict {
        context.say(format!("\nVerdict: {}. {}", verdict.status.name(), verdict.text));
        verdict.warnings.iter().for_each(|w| context.say(format!("  warning: {w}")));
    }
    result.notes.iter().for_each(|note| context.say(format!("  {note}")));
    next_steps(selection).iter().for_each(|step| context.say(format!("  next: {step}")));
    // The printed form has no observation model, and so no noise rate.
    let rate = selection.trained().rho.map_or(String::new(), |r| format!("; noise rate {r:.3}"));
    context.say(format!(
        "\nLabels: {} of {all} candidate labels removed ({:.1} %), {kept} kept{rate}",
        all - kept,
        100.0 * (all - kept) as f64 / all.max(1) as f64,
    ));
    if let Some(s) = &selection.outcome.fitted.stability {
        context.say(format!("  {}", stability_text(s)));
    }
    if let Some(e) = selection.outcome.result.epsilon
        && let (Some(after), Some(judgement)) = (e.pseudo, e.judgement())
    {
        context.say(format!(
            "  wrong label cells: {:.4} with all candidates, {:.4} with no label, {after:.4} after: \
             {judgement}",
            e.candidate, e.drop_all
        ));
    }
    tell_suspicious(selection, context);
    context.say(format!(
        "\nFeatures: the best {} of {}, and how many of the policy's trial selections chose them",
        selection.budget,
        selection.data.d()
    ));
    let shown = selection.outcome.fitted.ranking.iter().take(SHOWN_FEATURES.min(selection.budget));
    for (k, r) in shown.enumerate() {
        context.say(format!(
            "  {:>3}. {:<32} score {:.5}, chosen in {:.0} %",
            k + 1,
            name(&selection.data.feature_names[r.feature]),
            r.score,
            100.0 * selection.trained().features.frequency[r.feature]
        ));
    }
    if !result.scores.is_empty() {
        context.say(format!(
            "\nScores of a linear SVM on the selected features, {} held-out rows with true labels:",
            selection.outcome.prepared.test_rows.len(),
        ));
        context.say(score_table(results));
        if let Some(all) = &selection.all_features {
            let shown = METRICS.iter().zip(all.measures[0].0).take(SHOWN_METRICS);
            let shown: Vec<String> = shown.map(|(m, v)| format!("{} {v:.4}", m.name)).collect();
            context.say(format!(
                "all {} features, trained on pseudo: {}",
                all.features,
                shown.join(", ")
            ));
        }
    }
}

/// The labels that are most likely wrong.
fn tell_suspicious(selection: &Selection<'_>, context: &Context) {
    let cells = suspicious(selection);
    if cells.is_empty() {
        return;
    }
    context.say("  most suspicious (all of them are in suspicious.csv):");
    for cell in cells.iter().take(SHOWN_CELLS) {
        let ids = selection.data.ids.as_ref();
        let id = ids.map_or(String::new(), |ids| format!(" ({})", name(&ids.values[cell.row])));
        context.say(format!(
            "    row {}{id}: '{}' is true with probability {}",
            cell.row,
            name(&selection.data.label_names[cell.label]),
            cell.shown_probability()
        ));
    }
}

/// Times, files and JSON.
fn finish(
    selection: &Selection<'_>,
    written: &Written,
    total: Duration,
    out: &Path,
    context: &Context,
) -> Result<()> {
    let phase = |name: &str| -> f64 {
        let phases = selection.outcome.phases.iter();
        phases.filter(|(phase, _)| phase.starts_with(name)).map(|(_, seconds)| seconds).sum()
    };
    let (stage1, stage2, total) = (phase("Stage 1"), phase("Stage 2"), total.as_secs_f64());
    context.say(format!(
        "\nStage 1 {stage1:.1} s, Stage 2 {stage2:.1} s, all {total:.1} s. Results in {}/: {}",
        out.display(),
        written.files.join(", ")
    ));
    written.remark.iter().for_each(|remark| context.say(printable(remark)));
    let mut result = summary(selection, out);
    let cleaned = written.files.contains(&"cleaned.csv").then(|| out.join("cleaned.csv"));
    result["cleaned_file"] = json!(cleaned);
    result["seconds"] = json!({ "stage1": stage1, "stage2": stage2, "total": total });
    context.emit(&result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_between_checkpoints() {
        assert_eq!((parse_seconds("0").unwrap(), parse_seconds("1.5").unwrap()), (0.0, 1.5));
        for bad in ["-1", "NaN", "inf", "x", ""] {
            assert!(parse_seconds(bad).is_err(), "{bad}");
        }
    }
}
