//! `pomdp-fs apply`: what `select` learned, for new rows.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::Context;
use super::folder::{Folder, Progress};
use super::input::Input;
use crate::data::{Dataset, Ids, Labels, save};
use crate::experiment::Epsilon;
use crate::linalg::Mat;
use crate::measure::{Comparison, Convention, CoverageForm, METRICS, Scores, Summary};
use crate::method::pomdp_fs::{Matched, Model};
use crate::report::selection::label_table;
use crate::text::{name, printable};
use crate::{Error, Result, io};

/// The names of all files that a result may hold.
const FILES: [&str; 3] = ["pseudo_labels.csv", "label_scores.csv", "reduced.csv"];
/// Number of metrics shown on the screen.
const SHOWN_METRICS: usize = 4;

/// Disambiguate, score and reduce new rows with a model of 'select'
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    pomdp-fs apply --model pomdp-fs-mine new.csv\n  \
    pomdp-fs apply --model pomdp-fs-mine known.csv --role truth --features 50\n\n\
    The model knows its columns: features and labels are found by name, in any order, and all\n\
    other columns are left out, whatever they hold. Rows with candidate labels get pseudo labels,\n\
    other rows a probability for each label and 0 or 1. True labels (--role truth) are never used\n\
    for that; they only judge the result.")]
pub struct Apply {
    /// A file, or the name of a data set of the catalog
    data: String,
    /// Folder that 'select' wrote
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// Folder for the results [default: pomdp-fs-NAME-applied]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Number of features in reduced.csv [default: as many as were selected]
    #[arg(long, value_name = "N")]
    features: Option<usize>,
    #[command(flatten)]
    input: Input,
}

/// New rows in the order of the model.
struct Rows {
    x: Mat<f64>,
    candidates: Option<Labels>,
    truth: Option<Labels>,
}

impl Apply {
    /// Runs the command; true when it is done.
    pub fn run(&self, context: &Context) -> Result<bool> {
        let model = Model::load(&self.model)?;
        let count = self.count(&model)?;
        let impute = model.description.reading.impute;
        let dataset = self.input.open_for(&self.data, model.needs(), impute)?;
        context.say(format!("{}: {} rows", name(&dataset.name), dataset.n()));
        for note in &dataset.source.notes {
            context.note(format!("  {}", printable(note)));
        }
        let (columns, matched) =
            model.description.feature_columns(&dataset).map_err(|e| e.in_file(&self.data))?;
        let rows = rows(&model, &dataset, &columns).map_err(|e| e.in_file(&self.data))?;
        if matched == Matched::Position {
            context.say(format!(
                "the columns have no names: the {} features are taken by position",
                columns.len()
            ));
        } else if columns.len() < dataset.d() {
            context.note(format!(
                "  {} columns are no features of the model and are left out",
                dataset.d() - columns.len()
            ));
        }

        let out = match &self.out {
            Some(out) => out.clone(),
            None => PathBuf::from(format!("pomdp-fs-{}-applied", dataset.name)),
        };
        let labelled = label(&model, &rows, dataset.ids.as_ref(), context)
            .map_err(|e| e.in_file(&self.data))?;
        let selected = model.best(count);
        let reduced = reduced(&dataset, &columns, selected);
        let folder = Folder::new(&out, &FILES, Progress::None)?;
        let file = labelled.file;
        io::write_atomic(&folder.path().join(file), &labelled.table)?;
        save(&reduced, &folder.path().join("reduced.csv"), None)?;
        folder.finish()?;

        context.say(format!(
            "Results in {}/: {file}, reduced.csv (the best {} of {} features, best first)",
            out.display(),
            selected.len(),
            columns.len()
        ));
        let mut result = json!({
            "dataset": dataset.name,
            "model": self.model,
            "n": dataset.n(),
            "matched_by": match matched { Matched::Name => "name", Matched::Position => "position" },
            "selected": reduced.feature_names,
            "labels_file": out.join(file),
            "reduced_file": out.join("reduced.csv"),
        });
        result.as_object_mut().expect("an object").extend(labelled.result);
        context.emit(&result)?;
        Ok(true)
    }

    fn count(&self, model: &Model) -> Result<usize> {
        let d = model.description.features.len();
        match self.features {
            None => Ok(model.description.budget),
            Some(count) if (1..=d).contains(&count) => Ok(count),
            Some(count) => {
                Err(Error::config(format!("--features is {count}, the model has 1 to {d}")))
            }
        }
    }
}

fn rows(model: &Model, dataset: &Dataset, columns: &[usize]) -> Result<Rows> {
    let block = |labels: &Option<Labels>| match labels {
        None => Ok(None),
        Some(y) => Ok(Some(y.select_cols(&model.description.label_columns(dataset)?))),
    };
    Ok(Rows {
        x: dataset.x.select_cols(columns),
        candidates: block(&dataset.candidates)?,
        truth: block(&dataset.truth)?,
    })
}

/// What the model says about the labels of new rows.
struct Labelled {
    file: &'static str,
    table: Vec<u8>,
    result: Map<String, Value>,
}

/// Pseudo labels where there are candidates, else scores; says how good they are as far as that can
/// be known.
fn label(model: &Model, rows: &Rows, ids: Option<&Ids>, context: &Context) -> Result<Labelled> {
    match &rows.candidates {
        Some(candidates) => disambiguate(model, rows, candidates, ids, context),
        None => score(model, rows, ids, context),
    }
}

fn disambiguate(
    model: &Model,
    rows: &Rows,
    candidates: &Labels,
    ids: Option<&Ids>,
    context: &Context,
) -> Result<Labelled> {
    let (pseudo, p) = model.disambiguate(&rows.x, candidates)?;
    let (all, kept) = (candidates.count(), pseudo.count());
    context.say(format!(
        "Labels: {} of {all} candidate labels removed ({:.1} %), {kept} kept",
        all - kept,
        100.0 * (all - kept) as f64 / all.max(1) as f64
    ));
    let mut result =
        Map::from_iter([("candidates".into(), json!(all)), ("kept".into(), json!(kept))]);
    if let Some(truth) = &rows.truth {
        let e = Epsilon::of(truth, candidates, Some(&pseudo));
        if let (Some(after), Some(judgement)) = (e.pseudo, e.judgement()) {
            context.say(format!(
                "  wrong label cells, by the true labels: {:.4} with all candidates, {:.4} with no \
                 label, {after:.4} after: {judgement}",
                e.candidate, e.drop_all
            ));
        }
        result.insert("epsilon_candidate".into(), json!(e.candidate));
        result.insert("epsilon_drop_all".into(), json!(e.drop_all));
        result.insert("epsilon_pseudo".into(), json!(e.pseudo));
    }
    let labels = &model.description.labels;
    let table = label_table(0..rows.x.rows(), ids, labels, &pseudo, &p)?;
    Ok(Labelled { file: FILES[0], table, result })
}

fn score(model: &Model, rows: &Rows, ids: Option<&Ids>, context: &Context) -> Result<Labelled> {
    let p = model.score(&rows.x)?;
    let hard = Labels::from_fn(p.rows(), p.cols(), |i, j| p[(i, j)] >= 0.5);
    context.say(format!(
        "Labels: no candidates are given, so each label got a probability, and 1 from 1/2 on: {} labels in \
         {} rows",
        hard.count(),
        hard.rows()
    ));
    let mut result = Map::from_iter([("predicted".into(), json!(hard.count()))]);
    if let Some(truth) = &rows.truth {
        let summary = judge(truth, &p, &hard)?;
        let shown = METRICS.iter().zip(summary.values).take(SHOWN_METRICS);
        let shown: Vec<String> = shown.map(|(m, v)| format!("{} {v:.4}", m.name)).collect();
        context.say(format!(
            "  judged by the true labels (otherwise unused; a label counts from 1/2 on): {}",
            shown.join(", ")
        ));
        let all = METRICS.iter().zip(summary.values).map(|(m, v)| (m.key.into(), json!(v)));
        result.insert("metrics".into(), Value::Object(all.collect()));
    }
    let table = label_table(0..rows.x.rows(), ids, &model.description.labels, &hard, &p)?;
    Ok(Labelled { file: FILES[1], table, result })
}

fn judge(truth: &Labels, p: &Mat<f32>, hard: &Labels) -> Result<Summary> {
    let scores = Scores::new(p.cast());
    let case = Comparison::new(truth, &scores, hard)?;
    Ok(Summary::of(&case, Convention::default(), CoverageForm::OverLabels))
}

/// The rows with the selected features only, as they were read, under the names of the data.
fn reduced(dataset: &Dataset, columns: &[usize], selected: &[usize]) -> Dataset {
    let columns: Vec<usize> = selected.iter().map(|&f| columns[f]).collect();
    Dataset {
        name: dataset.name.clone(),
        x: dataset.x.select_cols(&columns),
        truth: dataset.truth.clone(),
        candidates: dataset.candidates.clone(),
        ids: dataset.ids.clone(),
        feature_names: columns.iter().map(|&c| dataset.feature_names[c].clone()).collect(),
        label_names: dataset.label_names.clone(),
        ..Dataset::default()
    }
}
