//! Budget curves: scores against the number of features, with bands.

use super::scores::heading;
use super::sheet::{Drawing, Section};
use crate::experiment::grid::{At, RunSet, RunSummary, View};
use crate::experiment::moments;
use crate::experiment::printed::{PRINTED_METRICS, metric_index};
use crate::measure::METRICS;
use crate::report::plot::{Band, INKS, Plot};

/// Methods of the curves, in the order of the colours.
const SHOWN: [&str; 7] = [
    "pomdp-fs",
    "forward",
    "mutual-information",
    "pml-fsla",
    "pml-fsmir",
    "pomdp-fs-paper",
    "random",
];

/// Sets whose curves the paper prints.
const PRINTED: [&str; 3] = ["birds", "humanpseaac", "mediamill"];

/// Largest share of the features on a curve, in percent: the paper's.
const LARGEST: f64 = 21.0;

/// One drawing per set and metric; those that the paper prints are shown at once, or those of the
/// first set if there is none of them.
pub fn section(run: &RunSummary) -> Section {
    let mut drawings = Vec::new();
    let printed = run.sets.iter().any(|s| PRINTED.contains(&&*s.name));
    for (k, set) in run.sets.iter().enumerate() {
        let open = if printed { PRINTED.contains(&&*set.name) } else { k == 0 };
        for name in PRINTED_METRICS {
            drawings.extend(curve(run, set, name).map(|d| Drawing { long: !open, ..d }));
        }
    }
    Section {
        id: "curves",
        title: "Budget curves",
        text: vec![
            "Selection protocol: a linear SVM on the true labels, with the best features of each \
             method. Bands are one standard deviation over folds and seeds."
                .to_owned(),
        ],
        sheets: Vec::new(),
        drawings,
    }
}

fn curve(run: &RunSummary, set: &RunSet, name: &str) -> Option<Drawing> {
    let k = metric_index(name);
    let mut bands = Vec::new();
    for (method, ink) in SHOWN.into_iter().zip(INKS) {
        let mut points = Vec::new();
        for budget in run.budgets(set, method) {
            let x = 100.0 * budget as f64 / set.d as f64;
            let values = run.values(set, method, View::Selection, At::Budget(budget), k);
            // Sets with few features have a larger budget in the paper.
            if let Some(values) = values.filter(|_| x <= LARGEST || set.d < 100 && budget < set.d) {
                let (mean, std) = moments(&values);
                points.push([x, mean, mean - std, mean + std]);
            }
        }
        if points.len() > 1 {
            bands.push(Band { name: method.into(), ink, dashed: method == "random", points });
        }
    }
    if bands.is_empty() {
        return None;
    }
    let keys = bands.iter().map(|b| (b.ink.to_owned(), b.name.clone())).collect();
    let plot = Plot { x: "features, %".into(), y: name.into(), bands, ..Plot::default() };
    Some(Drawing {
        file: format!("budget_{}_{}", set.name, METRICS[k].key),
        title: format!("{}: {name}", heading(set)),
        keys,
        svg: plot.svg(),
        long: false,
    })
}
