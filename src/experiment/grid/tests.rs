use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::experiment::fixture::small;
use crate::experiment::{MethodRun, Plan, Protocol, Scoring, Unwatched};
use crate::method::{Context, Fitted, Method, Training, by_name, rank};
use crate::{Error, Result};

/// Fails until it was asked often enough.
struct Fails {
    left: AtomicUsize,
}

impl Method for Fails {
    fn name(&self) -> &str {
        "fails"
    }
    fn settings(&self) -> Value {
        serde_json::json!({})
    }
    fn with(&self, _: &Value) -> Result<Box<dyn Method>> {
        Err(Error::config("no settings"))
    }
    fn fit(&self, training: &Training<'_>, _: &mut Context<'_>) -> Result<Fitted> {
        if self.left.load(Ordering::Relaxed) > 0 {
            self.left.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::numeric("not yet"));
        }
        Ok(Fitted { ranking: rank(&vec![0.0; training.x.cols()]), ..Fitted::default() })
    }
}

fn set() -> GridSet {
    let (name, title) = ("small".to_owned(), "Small".to_owned());
    GridSet { name, title, partial: false, data: small(|_, _| true) }
}

fn plan<'a>(set: &'a GridSet, methods: Vec<MethodRun>) -> Vec<GridPlan<'a>> {
    let protocol = Protocol { folds: 2, ..Protocol::default() };
    let plan = Plan::new(&set.data, protocol, Scoring::default(), methods, true).unwrap();
    vec![GridPlan { set, study: Study::Main, plan }]
}

fn choice() -> Choice {
    Choice {
        sets: vec!["small".into()],
        methods: vec!["zeros".into()],
        seeds: vec![0],
        folds: 2,
        only_folds: Vec::new(),
        studies: vec![Study::Main],
        budgets: "paper".into(),
    }
}

#[test]
fn a_failed_cell_is_kept_with_its_reason_and_can_be_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(dir.path()).unwrap();
    let set = set();
    let fails = MethodRun::new(Box::new(Fails { left: 2.into() }) as Box<dyn Method>);
    let plans = plan(&set, vec![fails, MethodRun::new(by_name("zeros").unwrap())]);
    let tasks = tasks(&plans, &choice());
    assert_eq!(tasks.len(), 4);
    let ran = run(&tasks, &folder, &Unwatched).unwrap();
    assert_eq!(ran, Ran { computed: 2, failed: 2, elsewhere: 0 });
    let failures = folder.failures().unwrap();
    assert_eq!(failures.len(), 2);
    assert!(failures.iter().all(|f| f.reason == "not yet" && f.method == "fails"));
    let ran = run(&tasks, &folder, &Unwatched).unwrap();
    assert_eq!(ran, Ran { computed: 2, failed: 0, elsewhere: 2 });
    assert!(folder.failures().unwrap().is_empty());
    assert_eq!(folder.cells().unwrap().len(), 4);
    let (stored, _) = stored_bytes(folder.path()).unwrap();
    let again = verify(&tasks, &stored, 9, &crate::rng::Streams::new(0)).unwrap();
    assert!(again.len() == 4 && again.iter().all(|v| v.same));
}

#[test]
fn a_claimed_cell_is_left_to_its_owner() {
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(dir.path()).unwrap();
    let set = set();
    let plans = plan(&set, vec![MethodRun::new(by_name("zeros").unwrap())]);
    let tasks = tasks(&plans, &choice());
    let claim = folder.claim(&tasks[0].id).unwrap().unwrap();
    assert!(folder.claim(&tasks[0].id).unwrap().is_none());
    let ran = run(&tasks, &folder, &Unwatched).unwrap();
    assert_eq!(ran, Ran { computed: 1, failed: 0, elsewhere: 1 });
    drop(claim);
    assert_eq!(run(&tasks, &folder, &Unwatched).unwrap().computed, 1);
    // A claim that is too old to be true is taken over.
    let _old = folder.claim("old").unwrap().unwrap();
    let file = std::fs::File::options().write(true).open(dir.path().join("claims/old")).unwrap();
    file.set_modified(std::time::SystemTime::now() - Duration::from_secs(7200)).unwrap();
    assert!(folder.claim("old").unwrap().is_some());
}

/// A method that gives another result than before has cells of its own; the old ones are told and left out.
#[test]
fn cells_of_former_revisions_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&dir.path().join("run")).unwrap();
    let set = set();
    let plans = plan(&set, vec![MethodRun::new(by_name("zeros").unwrap())]);
    run(&tasks(&plans, &choice()), &folder, &Unwatched).unwrap();
    let archive = dir.path().join("run.gz");
    let read = |source: &std::path::Path| {
        let mut data = RunData::default();
        data.add(source).unwrap();
        (data.cells.len(), data.outdated)
    };
    assert_eq!(read(folder.path()), (2, 0));
    let mut old = folder.cells().unwrap().remove(0);
    assert!(old.is_current());
    old.result.configuration["revision"] = 9.into();
    old.result.id = "former".to_owned();
    assert!(!old.is_current());
    folder.save("former", &old.bytes().unwrap(), None).unwrap();
    assert_eq!(read(folder.path()), (2, 1));
    crate::io::write_atomic(&archive, &pack(&folder).unwrap()).unwrap();
    assert_eq!(read(&archive), (2, 0), "archives do not carry them on");
    old.result.configuration["method"] = "of another program".into();
    assert!(old.is_current());
}

#[test]
fn ids_follow_everything_that_a_result_depends_on() {
    let set = set();
    let zeros = || vec![MethodRun::new(by_name("zeros").unwrap())];
    let id = |protocol: Protocol, scoring: Scoring| {
        let plan = Plan::new(&set.data, protocol, scoring, zeros(), true).unwrap();
        plan.cells()[0].id()
    };
    let base = id(Protocol::default(), Scoring::default());
    assert_eq!(base, id(Protocol::default(), Scoring::default()));
    assert_ne!(base, id(Protocol { seed: 1, ..Protocol::default() }, Scoring::default()));
    assert_ne!(base, id(Protocol { noise: 0.3, ..Protocol::default() }, Scoring::default()));
    assert_ne!(base, id(Protocol::default(), Scoring { by_chance: true, ..Scoring::default() }));
}

/// Cells whose weights are right but for a common factor: the time left is right within 25 % from
/// the first minute on, whatever the factor.
#[test]
fn the_time_left_is_right_when_weights_are_right() {
    let weights: Vec<f64> = (1..200).map(|k| f64::from(k % 17 + 1)).collect();
    for (factor, workers) in [(0.3, 1), (1.0, 2), (4.0, 2)] {
        let total: f64 = weights.iter().sum();
        let whole = factor * total / workers as f64;
        let mut eta = Eta::new(total, workers);
        let mut done = 0.0;
        for weight in &weights {
            done += weight;
            eta.set_done(done);
            let elapsed = factor * done / workers as f64;
            let left = eta.left(Duration::from_secs_f64(elapsed)).as_secs_f64();
            let error = (left - (whole - elapsed)).abs();
            let late = done > 0.4 * total || factor == 1.0;
            assert!(!late || error <= 0.25 * whole, "{factor} {elapsed}: {left} {whole}");
        }
        assert_eq!(eta.share(), 1.0);
    }
}

#[test]
fn finished_cells_refine_the_estimates() {
    let set = set();
    let plans = plan(&set, vec![MethodRun::new(by_name("zeros").unwrap())]);
    let task = &tasks(&plans, &choice())[0];
    let time = Timed::new(task, 7.5);
    let again = Timed { seconds: 2.5, ..time.clone() };
    assert_eq!(Estimates::refined(&[time, again]).seconds(task), 5.0);
    assert!(Estimates::built_in().seconds(task) < 1.0);
}

#[test]
fn a_set_that_was_never_measured_costs_what_its_methods_cost_elsewhere() {
    let set = set();
    let runs = ["zeros", "pomdp-fs"].map(|name| MethodRun::new(by_name(name).unwrap()));
    let plans = plan(&set, runs.to_vec());
    let seconds = |name: &str| {
        let all = tasks(&plans, &choice());
        let task = all.iter().find(|t| t.method() == name).unwrap();
        Estimates::built_in().seconds(task)
    };
    assert!(seconds("zeros") > 0.0);
    assert!(seconds("pomdp-fs") > 20.0 * seconds("zeros"));
}

#[test]
fn old_temporary_files_are_taken_away_and_new_ones_stay() {
    let dir = tempfile::tempdir().unwrap();
    RunFolder::create(dir.path()).unwrap();
    let file = |name: &str| dir.path().join("cells").join(name);
    for name in [".a.json.1.part", ".b.json.2.part"] {
        std::fs::write(file(name), "").unwrap();
    }
    let old = std::time::SystemTime::now() - Duration::from_secs(3600);
    let open = std::fs::File::options().write(true).open(file(".a.json.1.part")).unwrap();
    open.set_modified(old).unwrap();
    let folder = RunFolder::create(dir.path()).unwrap();
    assert!(!file(".a.json.1.part").exists() && file(".b.json.2.part").exists());
    assert!(folder.finished().unwrap().is_empty());
}
