//! `pomdp-fs evaluate`: methods over folds, scored on the truth.

use std::path::PathBuf;

use clap::Args;
use serde_json::Map;

use super::Context;
use super::classifier::SvmOptions;
use super::input::Input;
use super::interrupt;
use super::memory::in_words;
use super::progress::CellBar;
use super::settings::Settings;
use super::setup::Setup;
use crate::classify::mlknn::Variant;
use crate::classify::svm::{ConstantLabel, Loss};
use crate::data::Role;
use crate::experiment::{
    ClassifierConfig, ClassifierKind, MethodRun, Plan, Results, Scoring, Store, TrainLabels,
    parse_budgets,
};
use crate::measure::{Convention, CoverageForm};
use crate::method::pomdp_fs::Config;
use crate::report::{Exporter, FILES, Json, Terminal};
use crate::{Error, Result, io, method};

/// Evaluate methods by cross-validation: noise, fit, rank, classify, score
///
/// Noise reaches the training labels only; scores are taken on the true labels of the test part. A
/// method is fitted once per fold; every kind of training labels, classifier, budget and convention
/// is scored from that fit.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pomdp-fs evaluate --methods random,all,zeros --train-labels truth\n  \
                  pomdp-fs evaluate birds.arff --budgets 1%..20% --classifier svm,mlknn --out birds\n  \
                  pomdp-fs evaluate --train-labels candidate,pseudo,confidence,truth --set epochs1=20"
)]
pub struct Evaluate {
    /// A file, or the name of a data set of the catalog
    #[arg(value_name = "DATA", default_value = "yeast")]
    data: String,
    /// Methods, separated by commas; 'all' is also a control: alone it means every method
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = ["pomdp-fs", "random", "all", "zeros"])]
    methods: Vec<String>,
    /// Number of folds
    #[arg(long, value_name = "K", default_value_t = 5)]
    folds: usize,
    /// Repeat with other splits and other noise
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeats: usize,
    /// Numbers of features: 'paper', '15%', '30', a list, or a range '1%..20%'
    #[arg(long, alias = "budget", value_name = "LIST", default_value = "paper")]
    budgets: String,
    /// Folder for the results: results.json, .csv, .md, .tex and .html, and one file per finished cell
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Take the cells that an earlier run finished from --out
    #[arg(long, requires = "out")]
    resume: bool,
    /// Also choose each method's settings inside the training part, with at most N fits per fold
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "8")]
    tune: Option<usize>,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    setup: Setup,
    #[command(flatten)]
    scoring: ScoringOptions,
    #[command(flatten)]
    input: Input,
}

/// Labels, classifiers and measures.
#[derive(Args)]
#[command(next_help_heading = "Scoring")]
struct ScoringOptions {
    /// Classifiers on the selected features, separated by commas; 'own' is the method's own predictor
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "svm")]
    classifier: Vec<ClassifierKind>,
    /// Labels that train the classifier, separated by commas [default: the best that the method makes]
    #[arg(long, value_name = "WHICH", value_delimiter = ',')]
    train_labels: Vec<TrainLabels>,
    #[command(flatten)]
    svm: SvmOptions,
    /// Loss of the linear SVM (the gap to the optimum is at most 1e-6 of the objective)
    #[arg(long, value_name = "LOSS", default_value = "l2")]
    svm_loss: Loss,
    /// Score of a label that is constant in training: -1/+1 (margin) or 0/1 (sklearn)
    #[arg(long, value_name = "HOW", default_value = "margin")]
    constant_label: ConstantLabel,
    /// Turn SVM scores into probabilities (changes ranks between labels)
    #[arg(long)]
    platt: bool,
    /// Neighbours of ML-kNN
    #[arg(long, value_name = "K", default_value_t = 10)]
    neighbours: usize,
    /// Whose ML-kNN
    #[arg(long, value_name = "WHOSE", default_value = "published")]
    mlknn: Variant,
    /// Whose definition of the metrics
    #[arg(long, value_name = "WHOSE", default_value = "sklearn")]
    convention: Convention,
    /// What coverage means
    #[arg(long, value_name = "FORM", default_value = "over-labels")]
    coverage: CoverageForm,
    /// Show every metric under every convention
    #[arg(long)]
    all_conventions: bool,
    /// Also score as many random features with the same training labels (mean of ten choices)
    #[arg(long)]
    chance: bool,
}

impl Evaluate {
    /// Runs everything and shows it.
    pub fn run(&self, context: &Context) -> Result<bool> {
        let runs = self.runs(context)?;
        let scoring = self.scoring.scoring(&self.budgets)?;
        let mut data = self.input.open(&self.data, Role::Truth)?;
        self.setup.add_noise(&mut data)?;
        let mut protocol = self.setup.protocol(&data, context.streams.root(), self.folds)?;
        protocol.repeats = self.repeats;
        if data.truth.is_none() {
            return Err(Error::input(
                "found no true labels, expected them: without truth nothing can be scored",
            )
            .in_file(&data.source.origin)
            .hint("'select' needs candidate labels only"));
        }
        let plan = Plan::new(&data, protocol, scoring, runs, true)?;
        let memory = memory_of(&plan)?;
        self.input.check_memory(memory)?;
        context.note(format!("memory: about {} for the data and POMDP-FS", in_words(memory)));
        self.setup.save(&plan)?;
        let (store, _lock) = match &self.out {
            Some(out) => (Some(Store::new(out, self.resume)?), Some(io::Lock::inside(out)?)),
            None => (None, None),
        };
        if let (Some(store), false) = (&store, self.resume) {
            let found = plan.cells().iter().filter(|cell| store.has(cell)).count();
            if found > 0 {
                context.note(format!(
                    "found {found} of {} cells of an earlier run: computed again, because --resume \
                     was not given",
                    plan.cells().len()
                ));
            }
        }
        let bar = CellBar::new(context, plan.runs.len(), plan.cells().len() / plan.runs.len());
        interrupt::listen();
        let results = plan.evaluate(store.as_ref(), &bar);
        bar.finish();
        let kept = match &self.out {
            Some(out) => format!(
                "finished cells are kept in {}; to go on: {}",
                out.display(),
                interrupt::again("--resume")
            ),
            None => "nothing is kept without --out DIR".to_owned(),
        };
        self.show(&interrupt::explain(results, &bar.position(), &kept)?, context)
    }

    fn runs(&self, context: &Context) -> Result<Vec<MethodRun>> {
        let names: Vec<String> = match &self.methods[..] {
            [all] if all == "all" => method::NAMES.map(str::to_owned).to_vec(),
            list => list.iter().map(|name| name.trim().to_owned()).collect(),
        };
        let mut runs = Vec::new();
        for method in self.settings.methods(&names, Map::new())? {
            let run = MethodRun::new(method);
            runs.push(run.clone());
            match self.tune.map(|fits| run.tuned(fits)).transpose()? {
                Some(Some(tuned)) => runs.push(tuned),
                Some(None) => {
                    context.note(format!("{} has no settings to choose from", run.label()));
                }
                None => {}
            }
        }
        Ok(runs)
    }

    /// Tables, JSON and files; an error if a cell failed.
    fn show(&self, results: &Results, context: &Context) -> Result<bool> {
        context.say(Terminal.export(results)?.trim_end());
        context.emit(&Json::value(results))?;
        if let Some(out) = &self.out {
            for exporter in FILES {
                io::write_atomic(&out.join(exporter.file()), exporter.export(results)?.as_bytes())?;
            }
            context.note(format!("results in {}", out.display()));
        }
        match &results.failures[..] {
            [] => Ok(true),
            [first, ..] => Err(Error::numeric(format!(
                "{} of {} cells failed, the first of them of {}: {}",
                results.failures.len(),
                results.failures.len() + results.cells.len(),
                first.method,
                first.reason
            ))),
        }
    }
}

/// Bytes that the cells take together which are computed at the same time: as far as it is known, that
/// is of POMDP-FS and of the data.
fn memory_of(plan: &Plan<'_>) -> Result<u64> {
    let (n, d, labels) = (plan.data.n(), plan.data.d(), plan.data.labels());
    let mut most = 4 * n as u64 * d as u64;
    for run in plan.runs.iter().filter(|r| r.method.name().starts_with("pomdp-fs")) {
        let config: Config = serde_json::from_value(run.method.settings())
            .map_err(|e| Error::config(format!("the settings cannot be understood: {e}")))?;
        most = most.max(config.memory(n, d, labels)?);
    }
    Ok(most * rayon::current_num_threads().min(plan.cells().len()) as u64)
}

impl ScoringOptions {
    fn scoring(&self, budgets: &str) -> Result<Scoring> {
        let mut measures = vec![(self.convention, self.coverage)];
        if self.all_conventions {
            measures.extend(Convention::ALL.map(|c| (c, CoverageForm::Native)));
        }
        let classifier = |kind: &ClassifierKind| ClassifierConfig {
            loss: self.svm_loss,
            constant: self.constant_label,
            platt: self.platt,
            neighbours: self.neighbours,
            variant: self.mlknn,
            ..self.svm.classifier(*kind)
        };
        Ok(Scoring {
            train_labels: self.train_labels.clone(),
            classifiers: self.classifier.iter().map(classifier).collect(),
            budgets: parse_budgets(budgets).map_err(|e| e.about("--budgets"))?,
            measures,
            by_chance: self.chance,
        })
    }
}
