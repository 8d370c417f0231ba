//! What a run of the grid says about the printed claims.

use crate::Result;
use crate::audit::{Check, Limit};
use crate::experiment::grid::{At, RunSet, RunSummary, View};
use crate::experiment::printed::{PRINTED_METRICS, Printed, ROUNDING, metric_index, our_name};
use crate::linalg::Mat;
use crate::measure::METRICS;
use crate::measure::statistics::{Friedman, average_ranks};

const PRINTED_FORM: &str = "pomdp-fs-paper";

/// All checks that the run has the cells for.
pub fn check(run: &RunSummary, printed: &Printed) -> Result<Vec<Check>> {
    let mut checks = random(run, printed);
    checks.extend(objective(run));
    for view in View::PROTOCOLS {
        checks.extend(significance(run, printed, view)?);
    }
    Ok(checks)
}

/// Printed values of POMDP-FS that random features reach with an SVM on the true labels.
fn random(run: &RunSummary, printed: &Printed) -> Vec<Check> {
    let mut checks = Vec::new();
    for dataset in printed.datasets() {
        let Some(set) = run.printed_set(&dataset) else { continue };
        let reached = |metric: &&&str| {
            let k = metric_index(metric);
            let value = printed.find(metric, &dataset, "POMDP-FS").map(|v| v.mean);
            let chance = run.moments(set, "random", View::Selection, At::Paper, k);
            value.zip(chance).is_some_and(|(value, (chance, _))| {
                let sign = if METRICS[k].higher_is_better { 1.0 } else { -1.0 };
                sign * (chance - value) >= -ROUNDING
            })
        };
        if run.cells(set, "random").is_none() {
            continue;
        }
        let names: Vec<&str> = PRINTED_METRICS.iter().filter(reached).copied().collect();
        let list =
            if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        checks.push(Check::new(
            format!("random/{dataset}"),
            format!("printed values of POMDP-FS that random features reach{list}"),
            names.len() as f64,
            Limit::AtMost(0.0),
        ));
    }
    checks
}

/// Does the printed objective disambiguate? A coin for each candidate has the mean of the two trivial ε.
fn objective(run: &RunSummary) -> Vec<Check> {
    let mut checks = Vec::new();
    for set in run.sets.iter().filter(|s| !s.real) {
        let found = run.cells(set, PRINTED_FORM).and_then(RunSummary::epsilon);
        let Some((Some(epsilon), candidates, drop_all)) = found else { continue };
        checks.push(Check::new(
            format!("objective/{}", set.title),
            format!(
                "Stage 1 as printed leaves fewer wrong labels than the candidates and than no label \
                 (ε; a coin for each candidate: {:.3})",
                0.5 * (candidates + drop_all)
            ),
            epsilon,
            Limit::AtMost(candidates.min(drop_all)),
        ));
    }
    checks
}

/// "The null hypothesis is rejected", and the best average rank, on our numbers.
fn significance(run: &RunSummary, printed: &Printed, view: View) -> Result<Vec<Check>> {
    let datasets = printed.datasets();
    let sets: Vec<&RunSet> = datasets.iter().filter_map(|name| run.printed_set(name)).collect();
    let mut methods: Vec<String> = printed.methods().iter().map(|m| our_name(m)).collect();
    methods.retain(|m| sets.iter().all(|set| run.cells(set, m).is_some()));
    if sets.len() < 2 || methods.len() < 2 {
        return Ok(Vec::new());
    }
    let mut checks = Vec::new();
    for metric in PRINTED_METRICS {
        let k = metric_index(metric);
        let values = Mat::from_fn(sets.len(), methods.len(), |i, j| {
            let found = run.moments(sets[i], &methods[j], view, At::Paper, k);
            found.map_or(f64::NAN, |(mean, _)| mean)
        });
        let ranks = average_ranks(&values, METRICS[k].higher_is_better);
        let test = Friedman::of(&ranks)?;
        checks.push(Check::new(
            format!("significance/{}/{metric}", view.name()),
            format!(
                "{} printed methods differ on {} sets of our run (p of Iman and Davenport)",
                methods.len(),
                sets.len()
            ),
            test.f_p,
            Limit::AtMost(0.05),
        ));
        let ours = methods.iter().position(|m| m == "pomdp-fs").map(|j| ranks.average[j]);
        let best = ranks.average.iter().copied().fold(f64::INFINITY, f64::min);
        if let Some(ours) = ours {
            checks.push(Check::new(
                format!("rank/{}/{metric}", view.name()),
                "POMDP-FS has the best average rank of the printed methods in our run",
                ours,
                Limit::AtMost(best),
            ));
        }
    }
    Ok(checks)
}
