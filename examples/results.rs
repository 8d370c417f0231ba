//! The measurements of `docs/results.md`: what Stage 1 removes, and whether Stage 2's features are
//! better than features by chance when the classifier learns from the same labels.
//!
//! `results SET… [--folds K] [--seed S] [--noise RATE] [--data-dir DIR] [--set KEY=JSON]…`
//! prints one line of a Markdown table for each set: means over the first K of five folds. The method runs once a fold; a
//! linear SVM with C by inner cross-validation is trained on its features and on ten random choices of
//! as many, on the true labels, the pseudo labels and the confidences, and scored on the truth of
//! the held-out fold (ranking loss).

use std::path::PathBuf;

use pomdp_fs::Result;
use pomdp_fs::classify::svm::LinearSvm;
use pomdp_fs::classify::tune::Tuned;
use pomdp_fs::classify::{Classifier, Targets};
use pomdp_fs::data::ReadOptions;
use pomdp_fs::data::catalog::{self, Cut, Folders};
use pomdp_fs::experiment::{Protocol, Trial};
use pomdp_fs::measure::{Comparison, Convention, CoverageForm, Summary};
use pomdp_fs::method::pomdp_fs::{Config, PomdpFs};
use pomdp_fs::method::settings::changed;
use pomdp_fs::method::{Context, Method, Silent, Training, paper_budget};
use pomdp_fs::rng::Streams;
use rayon::prelude::*;

const RANDOM_RANKINGS: usize = 10;
/// ε of candidates and pseudo labels, ρ, then ranking loss of Stage 2 and of chance for each kind of
/// labels.
const COLUMNS: usize = 9;

fn main() -> Result<()> {
    let (mut sets, mut folds, mut seed, mut data_dir) = (Vec::new(), 5, 0, None);
    let (mut protocol, mut changes) = (Protocol::default(), serde_json::Map::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("a value after the option");
        match argument.as_str() {
            "--folds" => folds = value().parse().expect("a number of folds"),
            "--seed" => seed = value().parse().expect("a seed"),
            "--noise" => protocol.noise = value().parse().expect("a rate"),
            "--set" => {
                let setting = value();
                let (key, value) = setting.split_once('=').expect("KEY=JSON");
                changes.insert(key.into(), serde_json::from_str(value).expect("a JSON value"));
            }
            "--data-dir" => data_dir = Some(PathBuf::from(value())),
            _ => sets.push(argument),
        }
    }
    println!(
        "| set | ε candidates | ε pseudo | ρ | RL truth: Stage 2 | random | RL pseudo: Stage 2 | \
         random | RL confidence: Stage 2 | random |\n|{}",
        " --- |".repeat(COLUMNS + 1)
    );
    let config = changed(&Config::default(), &changes.into())?;
    let folders = Folders::standard(data_dir.as_deref());
    for set in sets {
        let data = catalog::open(&set, Cut::Paper, &folders, &ReadOptions::default())?;
        let streams = Streams::new(seed);
        let rows = (0..folds.min(protocol.folds))
            .into_par_iter()
            .map(|fold| {
                let trial = Trial::new(&data, &protocol, fold, &streams)?;
                measure(&trial, &config, &streams.child(&format!("results/{fold}")))
            })
            .collect::<Result<Vec<_>>>()?;
        let mean = |k: usize| rows.iter().map(|r| r[k]).sum::<f64>() / rows.len() as f64;
        let cells: String = (0..COLUMNS).map(|k| format!(" {:.4} |", mean(k))).collect();
        println!("| {set} |{cells}");
    }
    Ok(())
}

/// One fold.
fn measure(trial: &Trial, config: &Config, streams: &Streams) -> Result<[f64; COLUMNS]> {
    let d = trial.features.cols();
    let budget = paper_budget(d);
    let training = Training { x: &trial.features, candidates: &trial.candidates };
    let mut context = Context { streams: streams.child("fit"), budget, observer: &mut Silent };
    let fitted = PomdpFs::new(config.clone()).fit(&training, &mut context)?;
    let rho = fitted.trained.as_ref().and_then(|t| t.rho).unwrap_or(f64::NAN);
    let pseudo = fitted.pseudo.as_ref().expect("the method makes them");
    let confidence = fitted.confidence.as_ref().expect("the method makes them");
    let selected: Vec<usize> = fitted.ranking[..budget].iter().map(|r| r.feature).collect();

    let epsilon = [&trial.candidates, pseudo].map(|labels| labels.hamming_distance(&trial.truth));
    let mut row = vec![epsilon[0], epsilon[1], rho];
    for targets in
        [Targets::Labels(&trial.truth), Targets::Labels(pseudo), Targets::Confidence(confidence)]
    {
        row.push(ranking_loss(trial, &selected, targets, streams)?);
        let chance = (0..RANDOM_RANKINGS)
            .map(|k| {
                let order = streams.stream(&format!("random/{k}")).permutation(d);
                ranking_loss(trial, &order[..budget], targets, streams)
            })
            .sum::<Result<f64>>()?;
        row.push(chance / RANDOM_RANKINGS as f64);
    }
    Ok(row.try_into().expect("as many as columns"))
}

fn ranking_loss(
    trial: &Trial,
    columns: &[usize],
    targets: Targets<'_>,
    streams: &Streams,
) -> Result<f64> {
    let svm = Tuned { machine: LinearSvm::default() };
    let model = svm.fit(&trial.train.select_cols(columns), targets, &streams.child("svm"))?;
    let found = model.predict(&trial.test.select_cols(columns))?;
    let case = Comparison::new(&trial.test_truth, &found.scores, &found.labels)?;
    let summary = Summary::of(&case, Convention::default(), CoverageForm::OverLabels);
    Ok(summary.values[0])
}
