//! Average ranks, tests and comparisons in pairs: Tables 2 and 3, on the printed numbers and on ours.

use std::collections::BTreeSet;

use super::sheet::{Drawing, Section, Sheet, digits};
use crate::Result;
use crate::experiment::grid::{RunSet, RunSummary, View};
use crate::experiment::moments;
use crate::experiment::printed::{PRINTED_METRICS, Printed, metric_index, our_name};
use crate::linalg::Mat;
use crate::measure::METRICS;
use crate::measure::statistics::{
    Friedman, average_ranks, critical_difference, groups, holm, nemenyi_q, wilcoxon,
};
use crate::report::{CdDiagram, TextTable, cd_diagram};

/// The sets on which ranks are taken, and the methods that have a result on all of them.
pub struct Field<'a> {
    /// Sets.
    pub sets: Vec<&'a RunSet>,
    /// Methods.
    pub methods: Vec<String>,
    /// Seeds that all of these methods have on all of these sets.
    pub seeds: BTreeSet<u64>,
}

/// Controls that are no method: they ignore the budget or the features.
const NOT_RANKED: [&str; 3] = ["all", "zeros", "drop-all"];

impl<'a> Field<'a> {
    /// The paper's nine sets and nine methods, as far as they are there.
    pub fn printed(run: &'a RunSummary, printed: &Printed) -> Self {
        let sets = printed.datasets().iter().filter_map(|name| run.printed_set(name)).collect();
        Self::complete(run, sets, printed.methods().iter().map(|m| our_name(m)).collect())
    }

    /// All sets with injected noise and all methods that select features.
    pub fn all(run: &'a RunSummary) -> Self {
        let sets = run.sets.iter().filter(|s| !s.real).collect();
        let methods = run.methods.iter().filter(|m| !NOT_RANKED.contains(&m.as_str()));
        Self::complete(run, sets, methods.cloned().collect())
    }

    fn complete(run: &RunSummary, sets: Vec<&'a RunSet>, mut methods: Vec<String>) -> Self {
        methods.retain(|m| sets.iter().all(|s| run.cells(s, m).is_some()));
        let names: Vec<&str> = methods.iter().map(String::as_str).collect();
        let seeds = run.common_seeds(&sets, &names);
        Field { sets, methods, seeds }
    }

    /// Sets × methods.
    pub fn matrix(&self, run: &RunSummary, view: View, metric: usize) -> Mat<f64> {
        Mat::from_fn(self.sets.len(), self.methods.len(), |i, j| {
            let (set, method) = (self.sets[i], &self.methods[j]);
            let found = run.values_of(&self.seeds, set, method, view, metric);
            found.map_or(f64::NAN, |values| moments(&values).0)
        })
    }

    /// Whether there is enough to compare.
    pub fn is_comparable(&self) -> bool {
        self.sets.len() > 1 && self.methods.len() > 1 && !self.seeds.is_empty()
    }

    /// Average ranks per metric, and their mean over the four metrics.
    pub fn ranks(&self, run: &RunSummary, view: View) -> Vec<(String, Vec<f64>, f64)> {
        let by_metric: Vec<Vec<f64>> = PRINTED_METRICS
            .iter()
            .map(|name| {
                let k = metric_index(name);
                average_ranks(&self.matrix(run, view, k), METRICS[k].higher_is_better).average
            })
            .collect();
        let row = |j: usize| -> (String, Vec<f64>, f64) {
            let ranks: Vec<f64> = by_metric.iter().map(|r| r[j]).collect();
            let mean = ranks.iter().sum::<f64>() / ranks.len() as f64;
            (self.methods[j].clone(), ranks, mean)
        };
        (0..self.methods.len()).map(row).collect()
    }
}

/// Ranks, tests, diagrams and pairs.
pub fn section(run: &RunSummary, printed: &Printed) -> Result<Section> {
    let mut sheets = Vec::new();
    let mut drawings = Vec::new();
    for view in View::PROTOCOLS {
        let field = Field::printed(run, printed);
        if field.is_comparable() {
            sheets.push(printed_ranks(run, printed, &field, view));
            sheets.push(tests(run, printed, &field, view)?);
        }
        let field = Field::all(run);
        if field.is_comparable() {
            sheets.push(all_ranks(run, &field, view));
            sheets.push(pairs(run, &field, view));
            for name in PRINTED_METRICS {
                drawings.push(diagram(run, &field, view, name)?);
            }
        }
    }
    Ok(Section {
        id: "ranks",
        title: "Ranks and significance",
        text: vec![
            "Ranks are taken on unrounded means over the seeds that all methods have, best = 1. Two methods further apart than the critical \
             difference (CD) differ at 0.05; a bar joins those that do not."
                .to_owned(),
        ],
        sheets,
        drawings,
    })
}

fn printed_ranks(run: &RunSummary, printed: &Printed, field: &Field<'_>, view: View) -> Sheet {
    let mut head = vec!["method".to_owned()];
    for name in PRINTED_METRICS.iter().chain(&["Avg."]) {
        head.extend([format!("{name} printed"), format!("{name} ours")]);
    }
    let mut table = TextTable::new(head);
    for (method, ranks, mean) in field.ranks(run, view) {
        let mut row = vec![method.clone()];
        let ours = ranks.iter().chain([&mean]);
        for (name, rank) in PRINTED_METRICS.iter().chain(&["Avg."]).zip(ours) {
            let in_print = printed.ranks.get(*name).into_iter().flatten();
            let found = in_print.clone().find(|(m, _)| our_name(m) == method).map(|(_, r)| *r);
            row.extend([digits(found, 3), digits(Some(*rank), 3)]);
        }
        table.push(row);
    }
    Sheet::new(
        format!("table2_{}", view.name()),
        format!("Table 2, {}", view.name()),
        format!("Average ranks of the printed methods over {} sets.", field.sets.len()),
        table,
    )
}

fn tests(run: &RunSummary, printed: &Printed, field: &Field<'_>, view: View) -> Result<Sheet> {
    let mut table = TextTable::new([
        "metric",
        "χ² printed",
        "χ² ours",
        "p printed",
        "p ours",
        "F printed",
        "F ours",
        "p(F) printed",
        "p(F) ours",
    ]);
    for test in &printed.tests {
        let k = metric_index(&test.metric);
        let ranks = average_ranks(&field.matrix(run, view, k), METRICS[k].higher_is_better);
        let ours = Friedman::of(&ranks)?;
        let ours = [ours.chi2, ours.p, ours.f, ours.f_p];
        let mut row = vec![test.metric.clone()];
        for (k, (print, our)) in test.values.iter().zip(ours).enumerate() {
            row.extend([*print, our].map(|v| match k % 2 {
                0 => format!("{v:.2}"),
                _ => format!("{v:.2e}"),
            }));
        }
        table.push(row);
    }
    Ok(Sheet::new(
        format!("table3_{}", view.name()),
        format!("Table 3, {}", view.name()),
        format!(
            "Friedman and Iman-Davenport of {} printed methods on {} sets.",
            field.methods.len(),
            field.sets.len()
        ),
        table,
    ))
}

fn all_ranks(run: &RunSummary, field: &Field<'_>, view: View) -> Sheet {
    let head = ["method"].into_iter().chain(PRINTED_METRICS).chain(["mean"]);
    let mut table = TextTable::new(head);
    let mut rows = field.ranks(run, view);
    rows.sort_by(|a, b| a.2.total_cmp(&b.2));
    for (method, ranks, mean) in rows {
        let numbers = ranks.iter().chain([&mean]).map(|r| format!("{r:.2}"));
        table.push([method].into_iter().chain(numbers));
    }
    Sheet::new(
        format!("ranks_{}", view.name()),
        format!("Average ranks of all methods, {}", view.name()),
        format!("Over {} sets; best mean first.", field.sets.len()),
        table,
    )
}

/// Wins, ties and losses of POMDP-FS against every other method, over the sets.
fn pairs(run: &RunSummary, field: &Field<'_>, view: View) -> Sheet {
    let mut head = vec!["against".to_owned()];
    for name in PRINTED_METRICS {
        head.extend([format!("{name} w/t/l"), "Holm p".to_owned()]);
    }
    let mut table = TextTable::new(head);
    let others: Vec<&String> = field.methods.iter().filter(|m| *m != "pomdp-fs").collect();
    let mut rows: Vec<Vec<String>> = others.iter().map(|m| vec![(*m).clone()]).collect();
    let at = |name: &str| field.methods.iter().position(|m| m == name);
    if let Some(ours) = at("pomdp-fs") {
        for name in PRINTED_METRICS {
            let k = metric_index(name);
            let matrix = field.matrix(run, view, k);
            let sign = if METRICS[k].higher_is_better { 1.0 } else { -1.0 };
            let column = |j: usize| -> Vec<f64> {
                (0..matrix.rows()).map(|i| sign * matrix[(i, j)]).collect()
            };
            let us = column(ours);
            let them: Vec<Vec<f64>> = others.iter().filter_map(|m| at(m)).map(column).collect();
            let p = holm(&them.iter().map(|t| wilcoxon(&us, t).p).collect::<Vec<_>>());
            for ((row, them), p) in rows.iter_mut().zip(&them).zip(p) {
                // Equal in the third digit is a tie.
                let close = |(a, b): (&f64, &f64)| (a - b).abs() < 5e-4;
                let tied = us.iter().zip(them).filter(|(a, b)| close((a, b))).count();
                let won = us.iter().zip(them).filter(|(a, b)| !close((a, b)) && a > b).count();
                row.extend([format!("{won}/{tied}/{}", us.len() - won - tied), format!("{p:.3}")]);
            }
        }
        rows.into_iter().for_each(|row| table.push(row));
    }
    Sheet::new(
        format!("pairs_{}", view.name()),
        format!("Wins, ties, losses of pomdp-fs, {}", view.name()),
        "Over the sets; p of Wilcoxon's signed-rank test with Holm's correction over the methods.",
        table,
    )
    .folded()
}

fn diagram(run: &RunSummary, field: &Field<'_>, view: View, name: &str) -> Result<Drawing> {
    let k = metric_index(name);
    let ranks = average_ranks(&field.matrix(run, view, k), METRICS[k].higher_is_better).average;
    let (methods, sets) = (field.methods.len(), field.sets.len());
    let cd = critical_difference(nemenyi_q(methods, 0.05), methods, sets);
    let title = format!("{name}, {}: average ranks over {sets} sets, Nemenyi at 0.05", view.name());
    let svg = cd_diagram(&CdDiagram {
        title: &title,
        methods: &field.methods,
        ranks: &ranks,
        cd,
        groups: &groups(&ranks, cd),
    })?;
    let file = format!("cd_{}_{}", view.name(), METRICS[k].key);
    Ok(Drawing { file, title, keys: Vec::new(), svg, long: true })
}
