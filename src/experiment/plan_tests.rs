use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::super::fixture::small;
use super::super::{Budget, ClassifierConfig, ClassifierKind, TrainLabels, parse_budgets};
use super::*;
use crate::classify::Prediction;
use crate::linalg::Mat;
use crate::measure::METRICS;
use crate::method::settings::{Settings, changed, object, within};
use crate::method::{Context, Fitted, Predictor, Training, by_name, rank};

/// Ranks the features by index, or the other way round; counts how often it is fitted.
#[derive(Clone, Default)]
struct Counting {
    fits: Arc<AtomicUsize>,
    settings: Order,
    own: bool,
    prior: bool,
    revision: u32,
}

#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
struct Order {
    backwards: bool,
    fails: bool,
    weight: f64,
}

impl Settings for Order {
    fn check(&self) -> Result<()> {
        within("weight", self.weight, 0.0, 1.0)
    }
}

#[derive(Debug)]
struct Nothing;

impl Predictor for Nothing {
    fn predict(&self, x: &Mat<f32>) -> Result<Prediction> {
        Ok(Prediction::at_threshold(Mat::zeros(x.rows(), 3), 0.5, true))
    }
}

impl Method for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn settings(&self) -> Value {
        object(&self.settings)
    }

    fn with(&self, changes: &Value) -> Result<Box<dyn Method>> {
        let settings = changed(&self.settings, changes)?;
        Ok(Box::new(Counting { settings, ..self.clone() }))
    }

    fn fit(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        self.fits.fetch_add(1, Ordering::SeqCst);
        if self.settings.fails {
            return Err(Error::numeric("it was told to fail"));
        }
        context.observer.progress("all", 1, 1);
        let sign = if self.settings.backwards { 1.0 } else { -1.0 };
        let scores: Vec<f64> = (0..training.x.cols()).map(|j| sign * j as f64).collect();
        let c = training.candidates;
        Ok(Fitted {
            ranking: rank(&scores),
            pseudo: Some(c.clone()),
            confidence: Some(Mat::from_fn(c.rows(), c.cols(), |i, j| match c.get(i, j) {
                true if i % 4 == 0 => 0.2,
                true => 0.9,
                false => 0.0,
            })),
            prior: self.prior.then(|| Mat::from_fn(c.rows(), c.cols(), |i, _| 0.02 * i as f32)),
            predictor: self.own.then(|| Arc::new(Nothing) as Arc<dyn Predictor>),
            ..Fitted::default()
        })
    }

    fn grid(&self) -> Vec<Value> {
        vec![json!({"backwards": true}), json!({"weight": 0.5})]
    }

    fn revision(&self) -> u32 {
        self.revision
    }
}

fn run(method: &Counting) -> MethodRun {
    MethodRun::new(Arc::new(method.clone()) as Arc<dyn Method>)
}

fn many_ways() -> Scoring {
    use ClassifierKind::{Mlknn, Own, Svm};
    Scoring {
        train_labels: TrainLabels::ALL.to_vec(),
        classifiers: [Svm, Mlknn, Own].map(ClassifierConfig::new).to_vec(),
        budgets: vec![Budget::Count(2), Budget::Count(4), Budget::Percent(80.0)],
        by_chance: true,
        ..Scoring::default()
    }
}

fn plan<'a>(data: &'a Dataset, scoring: Scoring, runs: Vec<MethodRun>) -> Plan<'a> {
    Plan::new(data, Protocol { folds: 4, ..Protocol::default() }, scoring, runs, true).unwrap()
}

#[test]
fn one_fit_per_fold_whatever_is_scored() {
    let data = small(|_, _| true);
    let method = Counting { own: true, ..Counting::default() };
    let results = plan(&data, many_ways(), vec![run(&method)]).evaluate(None, &Unwatched).unwrap();
    assert_eq!(method.fits.load(Ordering::SeqCst), 4);
    // 4 kinds of labels × 2 classifiers × 2 different budgets, and the method's own predictor.
    let entries = results.entries();
    assert_eq!(entries.len(), 4 * 2 * 2 + 1);
    assert!(entries.iter().all(|e| e.folds.len() == 4));
    let first: Vec<_> =
        entries[..4].iter().map(|e| (e.trained_on, e.classifier, e.budget)).collect();
    use TrainLabels::Candidate;
    let expected = [("svm", 2), ("svm", 4), ("mlknn", 2), ("mlknn", 4)];
    assert_eq!(first, expected.map(|(c, b)| (Candidate, c, b)));
    assert_eq!(entries[16].classifier, "own");
    // By chance it is another choice of features, with the same labels.
    let chance = entries[0].by_chance(0, 0).unwrap();
    assert!(chance != entries[0].values(0, 0) && entries[16].by_chance(0, 0).is_none());
    assert!(results.notes().is_empty());
}

#[test]
fn labels_that_a_method_does_not_make_are_not_scored_twice() {
    let data = small(|_, _| true);
    let random = MethodRun::new(by_name("random").unwrap());
    let results = plan(&data, many_ways(), vec![random]).evaluate(None, &Unwatched).unwrap();
    let mut kinds: Vec<&str> = results.entries().iter().map(|e| e.trained_on.name()).collect();
    kinds.dedup();
    assert_eq!(kinds, ["candidate", "truth"]);
    assert!(results.notes()[0].contains("no predictor of its own"));
    assert_eq!(results.cells[0].fits, 10, "chance is averaged");
}

/// What a method believed before it heard the candidates teaches the SVM that learns its confidences, and
/// nobody else.
#[test]
fn a_prior_reaches_the_machine_that_learns_confidences() {
    let data = small(|i, j| i % 3 != j);
    let entries = |prior: bool, prior_share: f64, candidate_share: f64| {
        let of =
            |kind| ClassifierConfig { prior_share, candidate_share, ..ClassifierConfig::new(kind) };
        let classifiers = [ClassifierKind::Svm, ClassifierKind::Mlknn].map(of).to_vec();
        let scoring = Scoring { classifiers, ..many_ways() };
        let method = Counting { prior, ..Counting::default() };
        let results = plan(&data, scoring, vec![run(&method)]).evaluate(None, &Unwatched).unwrap();
        let all = results.entries();
        let key = |e: &crate::experiment::Entry<'_>| {
            let all: Vec<_> = (0..METRICS.len()).map(|k| e.values(0, k)).collect();
            (e.trained_on.name(), e.classifier.to_owned(), e.budget, all)
        };
        all.iter().map(key).collect::<Vec<_>>()
    };
    let without = entries(false, 0.5, 0.2);
    for (prior_share, candidate_share) in [(0.5, 0.0), (0.0, 0.5)] {
        let with = entries(true, prior_share, candidate_share);
        let differ = without.iter().zip(&with).filter(|(a, b)| a != b).map(|(a, _)| a);
        let differ: Vec<_> = differ.map(|e| (e.0, e.1.as_str())).collect();
        assert!(!differ.is_empty(), "{prior_share} {candidate_share}");
        assert!(differ.iter().all(|e| *e == ("confidence", "svm")), "{differ:?}");
    }
    assert_eq!(entries(true, 0.0, 0.0), without);
}

#[test]
fn a_failure_loses_nothing_else() {
    let data = small(|_, _| true);
    let (good, mut bad) = (Counting::default(), Counting::default());
    bad.settings.fails = true;
    let runs = vec![MethodRun::new(by_name("all").unwrap()), run(&bad)];
    let results = plan(&data, Scoring::default(), runs).evaluate(None, &Unwatched).unwrap();
    assert_eq!((results.cells.len(), results.failures.len()), (4, 4));
    assert_eq!(results.failures[0].reason, "it was told to fail");
    assert_eq!(results.entries().len(), 1);
    // A method of which one fold failed has no mean.
    let mut results =
        plan(&data, Scoring::default(), vec![run(&good)]).evaluate(None, &Unwatched).unwrap();
    assert_eq!(results.entries().len(), 1);
    let (method, reason) = ("counting".to_owned(), String::new());
    results.failures.push(Failure { method, repeat: 0, fold: Some(0), reason });
    assert!(results.entries().is_empty());
}

#[test]
fn finished_cells_are_taken_from_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let data = small(|_, _| true);
    let method = Counting::default();
    let evaluate = |data: &Dataset, resume: bool| {
        let store = Store::new(dir.path(), resume).unwrap();
        let plan = plan(data, Scoring::default(), vec![run(&method)]);
        plan.evaluate(Some(&store), &Unwatched).unwrap()
    };
    let fits = || method.fits.swap(0, Ordering::SeqCst);
    let first = evaluate(&data, false);
    assert_eq!(fits(), 4);
    assert_eq!(evaluate(&data, true), first, "seconds too: nothing was computed");
    assert_eq!(fits(), 0);
    // One cell is missing, one is damaged.
    let file = |k: usize| dir.path().join(format!("cells/{}.json", first.cells[k].id));
    std::fs::remove_file(file(1)).unwrap();
    std::fs::write(file(2), "{").unwrap();
    evaluate(&data, true);
    assert_eq!(fits(), 2);
    // Other data, other cells; without resuming everything is computed again.
    evaluate(&small(|i, j| i + j > 0), true);
    assert_eq!(fits(), 4);
    evaluate(&data, false);
    assert_eq!(fits(), 4);
}

#[test]
fn an_id_names_everything_that_the_result_depends_on() {
    let data = small(|_, _| true);
    let id = |protocol: Protocol, scoring: Scoring, method: &Counting, cell: usize| {
        let plan = Plan::new(&data, protocol, scoring, vec![run(method)], true).unwrap();
        plan.cells()[cell].id()
    };
    let method = Counting::default();
    let standard = || id(Protocol::default(), Scoring::default(), &method, 0);
    assert_eq!(standard(), standard());
    let mut others = vec![
        id(Protocol { seed: 1, ..Protocol::default() }, Scoring::default(), &method, 0),
        id(Protocol { noise: 0.3, ..Protocol::default() }, Scoring::default(), &method, 0),
        id(Protocol { folds: 4, ..Protocol::default() }, Scoring::default(), &method, 0),
        id(Protocol::default(), many_ways(), &method, 0),
        id(Protocol::default(), Scoring::default(), &method, 1),
    ];
    let mut other = Counting::default();
    other.settings.weight = 0.5;
    others.push(id(Protocol::default(), Scoring::default(), &other, 0));
    let revised = Counting { revision: 1, ..Counting::default() };
    others.push(id(Protocol::default(), Scoring::default(), &revised, 0));
    others.push(standard());
    others.sort();
    others.dedup();
    assert_eq!(others.len(), 8);
}

#[test]
fn tuning_stays_within_its_fits_and_finds_the_better_order() {
    // The label is the last feature: only the backward order puts it into a budget of one.
    let mut data = small(|_, _| true);
    let mut rng = crate::rng::Streams::new(5).stream("tune");
    data.x = Mat::from_fn(80, 5, |_, _| rng.normal());
    data.truth = Some(Labels::from_fn(80, 3, |i, j| (data.x[(i, 4)] > 0.0) == (j == 0)));
    let method = Counting::default();
    let scoring = Scoring { budgets: vec![Budget::Count(1)], ..Scoring::default() };
    let protocol = Protocol { noise: 0.0, folds: 2, ..Protocol::default() };
    let tuned = run(&method).tuned(8).unwrap().unwrap();
    let plan = Plan::new(&data, protocol, scoring, vec![tuned], true).unwrap();
    let results = plan.evaluate(None, &Unwatched).unwrap();
    assert_eq!(results.cells[0].method, "counting (tuned)");
    for cell in &results.cells {
        assert_eq!(cell.settings["backwards"], true);
        assert_eq!(cell.fits, 7, "three settings, two parts each, and the last fit");
    }
    assert_eq!(method.fits.load(Ordering::SeqCst), 14);
    assert!(run(&method).tuned(1).is_err());
    assert!(MethodRun::new(by_name("zeros").unwrap()).tuned(8).unwrap().is_none());
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let data = small(|_, _| true);
    let refused = |data: &Dataset, protocol: Protocol| {
        let plan = Plan::new(data, protocol, Scoring::default(), Vec::new(), true);
        plan.and_then(|p| p.evaluate(None, &Unwatched)).unwrap_err().to_string()
    };
    assert!(refused(&data, Protocol { repeats: 0, ..Protocol::default() }).contains("0 repeats"));
    let folds = Plan::new(&data, Protocol::default(), Scoring::default(), Vec::new(), true)
        .unwrap()
        .repeats[0]
        .folds
        .clone();
    let twice = Protocol { repeats: 2, given_folds: folds, ..Protocol::default() };
    assert!(refused(&data, twice).contains("given folds and 2 repeats"));
    let mut blind = data;
    blind.candidates = blind.truth.take();
    assert!(refused(&blind, Protocol::default()).contains("no true labels"));
}

#[test]
fn methods_are_fitted_for_the_largest_budget_that_selects() {
    let largest = |budgets: &str| {
        let budgets = parse_budgets(budgets).unwrap();
        Scoring { budgets, ..Scoring::default() }.largest(500)
    };
    assert_eq!(largest("5%,paper,100%"), 100, "all features need no rollout over all of them");
    assert_eq!(largest("100%,499"), 499);
    assert_eq!(largest("100%"), 500, "nothing else was asked for");
}
