//! What holds and what does not, in a few lines that are computed from the run.

use super::ranks::Field;
use super::scores::{Agreement, Gap, beside};
use super::targets::Target;
use crate::experiment::grid::{At, RunSummary, View};
use crate::experiment::printed::{PRINTED_METRICS, Printed, metric_index};
use crate::measure::METRICS;

const METHOD: &str = "pomdp-fs";

/// At most ten lines.
pub fn story(run: &RunSummary, printed: &Printed, targets: &[Target]) -> Vec<String> {
    let mut lines = vec![extent(run)];
    lines.extend(against_print(run, printed));
    lines.extend(labels(run, METHOD, "POMDP-FS"));
    lines.extend(labels(run, "pomdp-fs-paper", "The printed objective (pomdp-fs-paper)"));
    lines.extend(rank(run, View::Selection));
    lines.extend(rank(run, View::EndToEnd));
    lines.extend(random(run));
    lines.extend(gap(run));
    let measured = targets.iter().filter(|t| t.met.is_some()).count();
    let met = targets.iter().filter(|t| t.met == Some(true)).count();
    lines.push(format!("Of {measured} targets that this run measures, {met} are met."));
    lines
}

fn extent(run: &RunSummary) -> String {
    let seeds: Vec<String> = run.seeds.iter().map(u64::to_string).collect();
    let partial = run.sets.iter().filter(|s| s.partial).map(|s| s.title.as_str());
    let partial: Vec<&str> = partial.collect();
    let partial = match partial.len() {
        0 => String::new(),
        _ => format!("; only a part of {} was there", partial.join(", ")),
    };
    let left_out = match run.incomplete {
        0 => String::new(),
        some => format!("; {some} cells of unfinished sets of folds are left out"),
    };
    format!(
        "{} sets, {} methods, {} folds, seed{} {}: {} cells{partial}{left_out}.",
        run.sets.len(),
        run.methods.len(),
        run.folds,
        if run.seeds.len() == 1 { "" } else { "s" },
        seeds.join(", "),
        run.cells
    )
}

fn against_print(run: &RunSummary, printed: &Printed) -> Option<String> {
    let all = beside(run, printed);
    let ours: Vec<_> = all.iter().filter(|b| b.printed.method == "POMDP-FS").collect();
    if ours.is_empty() {
        return None;
    }
    let count = |of: &[Agreement]| ours.iter().filter(|b| of.contains(&b.agreement)).count();
    Some(format!(
        "{} printed values of POMDP-FS under the selection protocol: {} reached within rounding or \
         one standard deviation, {} exceeded, {} not reached.",
        ours.len(),
        count(&[Agreement::Rounding, Agreement::OneStd]),
        count(&[Agreement::Better]),
        count(&[Agreement::Worse])
    ))
}

fn labels(run: &RunSummary, method: &str, name: &str) -> Option<String> {
    let mut below = 0;
    let mut all = Vec::new();
    for set in run.sets.iter().filter(|s| !s.real) {
        let found = run.cells(set, method).and_then(RunSummary::epsilon);
        if let Some((Some(p), c, d)) = found {
            below += usize::from(p < c && p < d);
            all.push([p, c, d]);
        }
    }
    let mean = |k: usize| all.iter().map(|e| e[k]).sum::<f64>() / all.len() as f64;
    (!all.is_empty()).then(|| {
        format!(
            "{name}: the share of wrong labels is below both trivial answers on {below} of {} sets \
             (mean {:.3}; candidates {:.3}, no label {:.3}).",
            all.len(),
            mean(0),
            mean(1),
            mean(2)
        )
    })
}

fn rank(run: &RunSummary, view: View) -> Option<String> {
    let field = Field::all(run);
    if !field.is_comparable() {
        return None;
    }
    let mut rows = field.ranks(run, view);
    rows.sort_by(|a, b| a.2.total_cmp(&b.2));
    let place = rows.iter().position(|(m, ..)| m == METHOD)?;
    let before: Vec<&str> = rows[..place].iter().map(|(m, ..)| m.as_str()).collect();
    let before = match before.len() {
        0 => String::new(),
        _ => format!(", behind {}", before.join(", ")),
    };
    Some(format!(
        "{}: mean rank {:.2} over four metrics and {} sets, place {} of {}{before}.",
        match view {
            View::Selection => "Selection protocol",
            _ => "End-to-end protocol",
        },
        rows[place].2,
        field.sets.len(),
        place + 1,
        rows.len()
    ))
}

/// How often the selected features are better than as many random ones.
fn random(run: &RunSummary) -> Option<String> {
    let (mut better, mut count) = (0, 0);
    for set in run.sets.iter().filter(|s| !s.real) {
        for name in PRINTED_METRICS {
            let k = metric_index(name);
            let value = |m: &str| run.moments(set, m, View::Selection, At::Paper, k);
            if let (Some((ours, _)), Some((chance, _))) = (value(METHOD), value("random")) {
                let is_better =
                    if METRICS[k].higher_is_better { ours > chance } else { ours < chance };
                better += usize::from(is_better);
                count += 1;
            }
        }
    }
    (count > 0).then(|| {
        format!(
            "Its features are better than as many random ones in {better} of {count} comparisons \
             (sets × metrics)."
        )
    })
}

fn gap(run: &RunSummary) -> Option<String> {
    let shares: Option<Vec<String>> = PRINTED_METRICS
        .iter()
        .map(|name| {
            let share = Gap::of(run, METHOD, At::All, metric_index(name)).share()?;
            Some(format!("{name} {share:.2}"))
        })
        .collect();
    shares.map(|shares| {
        format!(
            "With all features, training on its labels instead of the candidates closes this share \
             of the gap to the truth: {}.",
            shares.join(", ")
        )
    })
}
