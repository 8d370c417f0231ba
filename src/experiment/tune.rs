//! Settings chosen inside the training part, by one rule for all methods.
//!
//! The default and the settings of [`Method::grid`] compete. Each is fitted on the candidates of a
//! part of the training rows; a linear SVM learns the same candidates from the selected features;
//! the ranking loss against the candidates of the other training rows is its price. The smallest
//! wins, the earlier one of equals, the default being the first. No true label is used.

use std::sync::Arc;

use super::classifier::TEMPER;
use super::observe::CellObserver;
use super::{Cell, MethodRun, Prepared};
use crate::Result;
use crate::classify::judge::Judge;
use crate::classify::svm::LinearSvm;
use crate::classify::threshold::Threshold;
use crate::classify::tune::{Rule, Tuned};
use crate::classify::{Classifier, Targets, inner_folds};
use crate::linalg::Mat;
use crate::measure::{Comparison, Convention, ranking_loss};
use crate::method::{Context, Method, Training};
use crate::rng::Streams;

/// Into how many parts the training rows are cut. As many of them are held out, one after another,
/// as the number of fits allows.
const PARTS: usize = 4;

/// The changes that compete with the default, as many as can be tried at least once.
pub(super) fn settings(run: &MethodRun) -> Vec<serde_json::Value> {
    let mut grid = run.tuning_fits.map_or_else(Vec::new, |_| run.method.grid());
    grid.truncate(run.tuning_fits.unwrap_or(0).saturating_sub(1));
    grid
}

/// Number of fits that choosing among the default and `changes` others takes.
pub(super) fn fits(changes: usize, run: &MethodRun) -> usize {
    (changes + 1) * rounds(changes, run)
}

fn rounds(changes: usize, run: &MethodRun) -> usize {
    (run.tuning_fits.unwrap_or(0) / (changes + 1)).clamp(1, PARTS)
}

/// The method with the settings that won.
pub(super) fn choose(
    cell: &Cell<'_>,
    prepared: &Prepared,
    streams: &Streams,
    observer: &mut CellObserver<'_>,
) -> Result<Arc<dyn Method>> {
    let changes = settings(cell.run);
    let mut parts = inner_folds(prepared.features.rows(), PARTS, streams)?;
    parts.truncate(rounds(changes.len(), cell.run));
    let mut methods = vec![Arc::clone(&cell.run.method)];
    for change in &changes {
        methods.push(Arc::from(cell.run.method.with(change)?));
    }
    let budget = cell.plan.scoring.largest(cell.plan.data.d());
    let mut best = (f64::INFINITY, 0);
    for (k, method) in methods.iter().enumerate() {
        let mut total = 0.0;
        for (p, part) in parts.iter().enumerate() {
            let streams = streams.child(&format!("part/{p}"));
            let data = &cell.plan.data.x;
            total += price(method.as_ref(), (data, prepared), part, budget, &streams, observer)?;
        }
        if total < best.0 {
            best = (total, k);
        }
    }
    Ok(methods.swap_remove(best.1))
}

/// Ranking loss on held-out candidates.
fn price(
    method: &dyn Method,
    (data, prepared): (&Mat<f64>, &Prepared),
    (train, test): &(Vec<usize>, Vec<usize>),
    budget: usize,
    streams: &Streams,
    observer: &mut CellObserver<'_>,
) -> Result<f64> {
    let features = prepared.features.select_rows(train);
    let candidates = prepared.candidates.select_rows(train);
    let training = Training { x: &features, candidates: &candidates };
    observer.next_fit();
    let mut context = Context { streams: streams.child("fit"), budget, observer };
    let fitted = method.fit(&training, &mut context)?;
    let used = method.selected(budget, features.cols()).max(1);
    let columns: Vec<usize> = fitted.ranking[..used].iter().map(|r| r.feature).collect();
    let x = prepared.train(data, &columns);
    let judge = Judge::Ranking(&candidates);
    let rule = Rule { c: None, judge, threshold: Threshold::Fixed, temper: TEMPER, believed: None };
    let svm = Tuned { machine: LinearSvm::default(), rule };
    let targets = Targets::Labels(&candidates);
    let model = svm.fit(&x.select_rows(train), targets, &streams.child("classify"))?;
    let found = model.predict(&x.select_rows(test))?;
    let held_out = prepared.candidates.select_rows(test);
    let case = Comparison::new(&held_out, &found.scores, &found.labels)?;
    Ok(ranking_loss(&case, Convention::default()))
}
