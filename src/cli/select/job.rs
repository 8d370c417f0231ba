//! The job itself: data, noise, scaling, the two stages with checkpoints, scores, results.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{Budget, Select, files, output};
use crate::classify::svm::LinearSvm;
use crate::classify::{Classifier, Targets};
use crate::cli::Context;
use crate::cli::folder::Folder;
use crate::cli::progress::Bar;
use crate::data::{Dataset, Folds, Labels, Scaler, Splitter, noise};
use crate::linalg::Mat;
use crate::measure::{Comparison, Convention, CoverageForm, Summary};
use crate::method::pomdp_fs::checkpoint::{pack, unpack};
use crate::method::pomdp_fs::{Config, Fit};
use crate::method::{Fitted, Training};
use crate::{Error, Result, checksum, io};

/// Price of an error in the SVM that scores the result.
const SVM_C: f64 = 0.01;

/// The data of a run: which rows train, which are held out, and their candidates.
pub(super) struct Setting {
    pub dataset: Dataset,
    pub config: Config,
    pub budget: usize,
    pub train: Vec<usize>,
    pub test: Vec<usize>,
    /// C of the training rows.
    pub candidates: Labels,
    /// Y of the training rows, if known.
    pub truth: Option<Labels>,
    /// Realised noise rate, if noise was added.
    pub noise: Option<f64>,
    pub scaler: Scaler,
    pub seed: u64,
}

/// Metrics on the held-out rows, by what the classifier was trained on.
pub(super) struct Scores {
    pub name: &'static str,
    pub summary: Summary,
}

/// Wall-clock seconds.
pub(super) struct Seconds {
    pub stage1: f64,
    pub stage2: f64,
    pub total: f64,
}

pub(super) fn run(select: &Select, context: &Context) -> Result<()> {
    let begin = Instant::now();
    let setting = prepare(select, context)?;
    let out = match &select.out {
        Some(out) => out.clone(),
        None => PathBuf::from(format!("pomdp-fs-{}", setting.dataset.name)),
    };
    let folder = Folder::new(&out, &files::FILES, select.resume.then_some(CHECKPOINT))?;
    output::introduce(&setting, context);

    let x: Mat<f32> = setting.scaler.apply(&setting.dataset.x, &setting.train);
    let training = Training { x: &x, candidates: &setting.candidates };
    let (outcome, mut seconds) = fit(select, &setting, training, folder.path(), context)?;
    let scores = score(&setting, &outcome, context)?;
    seconds.total = begin.elapsed().as_secs_f64();

    files::write(&setting, &outcome, &scores, folder.path())?;
    let _ = fs::remove_file(folder.path().join(CHECKPOINT));
    folder.finish()?;
    output::report(&setting, &outcome, &scores, &seconds, &out, context)
}

const CHECKPOINT: &str = "progress.safetensors";

fn prepare(select: &Select, context: &Context) -> Result<Setting> {
    let config = select.settings()?;
    let dataset = select.input.open(select.data.as_deref().unwrap_or("yeast"))?;
    let all: Vec<usize> = (0..dataset.n()).collect();
    let streams = &context.streams;
    let (train, test, candidates, realised) = match (&dataset.candidates, &dataset.truth) {
        (Some(candidates), _) => (all, Vec::new(), candidates.clone(), None),
        (None, Some(truth)) => {
            let (train, test) = if dataset.n() >= 10 {
                let folds = Folds::new(truth, 5, Splitter::KFold, &streams.child("split"))?;
                (folds.train(0), folds.test(0))
            } else {
                (all, Vec::new())
            };
            let rows = truth.select_rows(&train);
            let noise = noise::inject(&rows, select.scheme, select.noise, &streams.child("noise"))?;
            let realised = noise.realised();
            (train, test, noise.candidates, Some(realised))
        }
        (None, None) => {
            return Err(Error::input("the data have no labels")
                .hint("say which columns are labels with --labels"));
        }
    };
    let truth = dataset.truth.as_ref().map(|y| y.select_rows(&train));
    let scaler = Scaler::fit(&dataset.x, &train, select.scaling);
    let budget = Budget::features(select.budget, dataset.d());
    let seed = streams.root();
    Ok(Setting {
        budget,
        train,
        test,
        candidates,
        truth,
        noise: realised,
        scaler,
        seed,
        config,
        dataset,
    })
}

fn fit(
    select: &Select,
    setting: &Setting,
    training: Training<'_>,
    work: &Path,
    context: &Context,
) -> Result<(Fitted, Seconds)> {
    let file = work.join(CHECKPOINT);
    let fingerprint = fingerprint(setting);
    let streams = context.streams.child("pomdp-fs");
    let mut fit = Fit::new(&setting.config, training, setting.budget, streams)?;
    if file.exists() {
        let (progress, weights) =
            unpack(&io::read(&file)?, &fingerprint, setting.config.optimisers())
                .map_err(|e| e.in_file(&file))?;
        fit.resume(progress, weights);
        let (done, total) = fit.done();
        context.note(format!("resuming after {done} of {total} epochs"));
    }
    let bar = Bar::new(context.quiet);
    let mut seconds = Seconds { stage1: 0.0, stage2: 0.0, total: 0.0 };
    let mut stored = Instant::now();
    loop {
        let (done, total) = fit.done();
        let stage = fit.stage();
        bar.show(if stage == 1 { "Stage 1: labels  " } else { "Stage 2: features" }, done, total);
        let start = Instant::now();
        let more = fit.advance()?;
        if let Some(truth) = &setting.truth {
            fit.record_epsilon(|pseudo| Some(pseudo.hamming_distance(truth)));
        }
        let spent = start.elapsed().as_secs_f64();
        if stage == 1 {
            seconds.stage1 += spent;
        } else {
            seconds.stage2 += spent;
        }
        if !more {
            break;
        }
        if stored.elapsed().as_secs_f64() >= select.checkpoint_every {
            let (progress, weights) = fit.progress();
            io::write_atomic(&file, &pack(progress, weights, &fingerprint))?;
            stored = Instant::now();
        }
    }
    bar.clear();
    Ok((fit.finish(), seconds))
}

/// Names data, settings and seed: a checkpoint continues only its own run.
fn fingerprint(setting: &Setting) -> String {
    // The truth counts too: the history holds ε, and a second file may have given the truth.
    let blocks = [Some(&setting.candidates), setting.truth.as_ref()].into_iter().flatten();
    let cells: String =
        blocks.flat_map(Labels::as_slice).map(|&on| if on { '1' } else { '0' }).collect();
    let text = format!(
        "{} {} {} {} {} {:?}",
        env!("CARGO_PKG_VERSION"),
        setting.dataset.source.sha256,
        serde_json::to_string(&setting.config).expect("plain values"),
        setting.budget,
        setting.seed,
        setting.scaler.columns(),
    );
    checksum::sha256(format!("{text} {cells}").as_bytes())
}

/// A linear SVM on the selected features of the training rows, scored on the held-out truth.
fn score(setting: &Setting, outcome: &Fitted, context: &Context) -> Result<Vec<Scores>> {
    let (Some(truth), false) = (&setting.dataset.truth, setting.test.is_empty()) else {
        return Ok(Vec::new());
    };
    let selected: Vec<usize> =
        outcome.ranking[..setting.budget].iter().map(|r| r.feature).collect();
    let matrix = |rows: &[usize]| -> Mat<f64> {
        setting.scaler.apply::<f64>(&setting.dataset.x, rows).select_cols(&selected)
    };
    let (train, test) = (matrix(&setting.train), matrix(&setting.test));
    let expected = truth.select_rows(&setting.test);
    let pseudo = outcome.pseudo.as_ref().expect("the method makes them");
    let confidence = outcome.confidence.as_ref().expect("the method makes them");
    let known = setting.truth.as_ref().expect("the data have true labels");
    let svm = LinearSvm { c: SVM_C, ..LinearSvm::default() };
    [
        ("candidates", Targets::Labels(&setting.candidates)),
        ("pseudo labels", Targets::Labels(pseudo)),
        ("confidences", Targets::Confidence(confidence)),
        ("truth", Targets::Labels(known)),
    ]
    .into_iter()
    .map(|(name, targets)| {
        let model = svm.fit(&train, targets, &context.streams.child("svm"))?;
        let prediction = model.predict(&test)?;
        let case = Comparison::new(&expected, &prediction.scores, &prediction.labels)?;
        let summary = Summary::of(&case, Convention::default(), CoverageForm::OverLabels);
        Ok(Scores { name, summary })
    })
    .collect()
}
