//! Table 1 and the appendix tables, and the printed values beside ours.

use super::sheet::{Section, Sheet, digits, plus_minus};
use crate::experiment::grid::{At, RunSet, RunSummary, View};
use crate::experiment::printed::{
    PRINTED_METRICS, Printed, PrintedValue, ROUNDING, metric_index, our_name,
};
use crate::measure::{METRICS, Metric};
use crate::report::TextTable;
use crate::report::plot::{Cloud, INKS, Plot};
use crate::report::reproduction::sheet::Drawing;

fn arrow(metric: &Metric) -> &'static str {
    if metric.higher_is_better { "larger is better" } else { "smaller is better" }
}

/// Heading of a set's column.
pub fn heading(set: &RunSet) -> String {
    let mark = if set.partial { " (partial)" } else { "" };
    format!("{}{mark}", set.title)
}

/// All methods on all sets under both protocols.
pub fn section(run: &RunSummary) -> Section {
    let mut sheets = Vec::new();
    for view in View::PROTOCOLS {
        for name in PRINTED_METRICS {
            let k = metric_index(name);
            let metric = &METRICS[k];
            let table = means(run, view, k);
            let place = if k < 2 { "Table 1" } else { "Appendix F" };
            let sheet = Sheet::new(
                format!("{}_{}", view.name(), metric.key),
                format!("{place}, {name}, {}", view.name()),
                format!("Mean ± standard deviation over folds and seeds; {}.", arrow(metric)),
                table,
            );
            sheets.push(if k < 2 { sheet } else { sheet.folded() });
        }
    }
    Section {
        id: "scores",
        title: "Scores",
        text: vec![
            "Two protocols, always named. Selection: a linear SVM learns the true labels from the \
             selected features, so only the ranking comes from noisy data. End-to-end: the SVM learns \
             what a user has, the best labels that the method makes, else the candidates."
                .to_owned(),
        ],
        sheets,
        drawings: Vec::new(),
    }
}

fn means(run: &RunSummary, view: View, metric: usize) -> TextTable {
    let heads = run.sets.iter().map(heading);
    let mut table = TextTable::new(["method".to_owned()].into_iter().chain(heads));
    for method in &run.methods {
        let cells = run.sets.iter().map(|set| {
            let found = run.moments(set, method, view, At::Paper, metric);
            found.map_or_else(|| "-".to_owned(), plus_minus)
        });
        table.push([method.clone()].into_iter().chain(cells));
    }
    table
}

/// How near our value is to a printed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Nearer than half a unit of the last printed digit.
    Rounding,
    /// Nearer than one standard deviation, printed or ours.
    OneStd,
    /// Ours is better by more.
    Better,
    /// Ours is worse by more.
    Worse,
}

impl Agreement {
    /// Word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Agreement::Rounding => "within rounding",
            Agreement::OneStd => "within one std",
            Agreement::Better => "ours is better",
            Agreement::Worse => "ours is worse",
        }
    }

    /// Compares.
    pub fn of(printed: &PrintedValue, (mean, std): (f64, f64)) -> Self {
        let distance = (mean - printed.mean).abs();
        // A hair more, because 0.225 − 0.22 is not 0.005 in binary.
        let rounding = ROUNDING + 1e-9;
        let higher = METRICS[metric_index(&printed.metric)].higher_is_better;
        match () {
            () if distance <= rounding => Agreement::Rounding,
            () if distance <= printed.std.max(std) + rounding => Agreement::OneStd,
            () if (mean > printed.mean) == higher => Agreement::Better,
            () => Agreement::Worse,
        }
    }
}

/// A printed value and ours under the selection protocol.
pub struct Beside<'a> {
    /// What is printed.
    pub printed: &'a PrintedValue,
    /// Our mean and standard deviation.
    pub ours: (f64, f64),
    /// How they agree.
    pub agreement: Agreement,
}

/// All printed values that this run has.
pub fn beside<'a>(run: &RunSummary, printed: &'a Printed) -> Vec<Beside<'a>> {
    let found = printed.values.iter().filter_map(|value| {
        let set = run.printed_set(&value.dataset)?;
        let (method, k) = (our_name(&value.method), metric_index(&value.metric));
        let ours = run.moments(set, &method, View::Selection, At::Paper, k)?;
        Some(Beside { printed: value, ours, agreement: Agreement::of(value, ours) })
    });
    found.collect()
}

/// The printed values beside ours.
pub fn printed_section(run: &RunSummary, printed: &Printed) -> Section {
    let all = beside(run, printed);
    let mut counts = TextTable::new([
        "metric",
        "within rounding",
        "within one std",
        "ours is better",
        "ours is worse",
        "compared",
    ]);
    let mut long = TextTable::new(["metric", "set", "method", "printed", "ours", "agreement"]);
    for name in PRINTED_METRICS {
        let of: Vec<&Beside<'_>> = all.iter().filter(|b| b.printed.metric == name).collect();
        let count = |a: Agreement| of.iter().filter(|b| b.agreement == a).count().to_string();
        counts.push([
            name.to_owned(),
            count(Agreement::Rounding),
            count(Agreement::OneStd),
            count(Agreement::Better),
            count(Agreement::Worse),
            of.len().to_string(),
        ]);
        for Beside { printed, ours, agreement } in of {
            long.push([
                name.to_owned(),
                printed.dataset.clone(),
                printed.method.clone(),
                format!("{:.2}±{:.2}", printed.mean, printed.std),
                plus_minus(*ours),
                agreement.name().to_owned(),
            ]);
        }
    }
    let drawings = PRINTED_METRICS.iter().map(|name| scatter(&all, name)).collect();
    Section {
        id: "printed",
        title: "Printed and ours",
        text: vec![
            "Our values under the selection protocol, which is the reading of the print that its \
             numbers support. The printed Slashdot is compared with the columns that its printed size \
             implies. Agreement within rounding: at most half a unit of the second digit apart."
                .to_owned(),
        ],
        sheets: vec![
            Sheet::new("printed_agreement", "Agreement with the printed values", "", counts),
            Sheet::new(
                "printed_cells",
                "Every printed value beside ours",
                "Mean ± standard deviation of five folds, printed and ours.",
                long,
            )
            .folded(),
        ],
        drawings,
    }
}

fn scatter(all: &[Beside<'_>], metric: &str) -> Drawing {
    let part = |ours: bool| -> Vec<[f64; 2]> {
        let of = all.iter().filter(|b| b.printed.metric == metric);
        let of = of.filter(|b| (b.printed.method == "POMDP-FS") == ours);
        of.map(|b| [b.printed.mean, b.ours.0]).collect()
    };
    let clouds = vec![
        Cloud { name: "compared methods".into(), ink: INKS[6], points: part(false) },
        Cloud { name: "POMDP-FS".into(), ink: INKS[0], points: part(true) },
    ];
    let keys = clouds.iter().map(|c| (c.ink.to_owned(), c.name.clone())).collect();
    let plot = Plot {
        x: format!("{metric}, printed"),
        y: format!("{metric}, ours"),
        bands: Vec::new(),
        clouds,
        diagonal: true,
    };
    let file = format!("printed_{}", METRICS[metric_index(metric)].key);
    Drawing { file, title: metric.to_owned(), keys, svg: plot.svg(), long: false }
}

/// Share of the gap from candidates to truth that the method's own labels close, over the sums of all
/// sets: (candidates − ours)/(candidates − truth).
pub struct Gap {
    /// Sums over the sets: with candidates, with the method's labels, with the truth.
    pub sums: [f64; 3],
    /// Sets where the truth is better than the candidates and the method's labels are worse than them.
    pub worse: Vec<String>,
    /// How many sets count.
    pub sets: usize,
}

impl Gap {
    /// For the features of `method` at a budget.
    pub fn of(run: &RunSummary, method: &str, at: At, metric: usize) -> Self {
        use crate::experiment::TrainLabels::{Candidate, Truth};
        let higher = METRICS[metric].higher_is_better;
        let mut gap = Gap { sums: [0.0; 3], worse: Vec::new(), sets: 0 };
        for set in run.sets.iter().filter(|s| !s.real) {
            let value = |view| run.moments(set, method, view, at, metric).map(|(mean, _)| mean);
            let views = [View::Labels(Candidate), View::EndToEnd, View::Labels(Truth)];
            let [Some(candidates), Some(ours), Some(truth)] = views.map(value) else { continue };
            let better = |a: f64, b: f64| if higher { a > b } else { a < b };
            gap.sets += 1;
            for (sum, v) in gap.sums.iter_mut().zip([candidates, ours, truth]) {
                *sum += v;
            }
            if better(truth, candidates) && better(candidates, ours) {
                gap.worse.push(set.title.clone());
            }
        }
        gap
    }

    /// The share; None without a gap.
    pub fn share(&self) -> Option<f64> {
        let [candidates, ours, truth] = self.sums;
        let gap = candidates - truth;
        (self.sets > 0 && gap != 0.0).then(|| (candidates - ours) / gap)
    }
}

/// The table of the gap for POMDP-FS.
pub fn gap_sheet(run: &RunSummary) -> Sheet {
    let mut table = TextTable::new([
        "metric",
        "features",
        "candidates",
        "own labels",
        "truth",
        "share closed",
        "worse than candidates on",
    ]);
    for name in PRINTED_METRICS {
        for (at, words) in [(At::All, "all"), (At::Paper, "paper's budget")] {
            let gap = Gap::of(run, "pomdp-fs", at, metric_index(name));
            if gap.sets == 0 {
                continue;
            }
            let [candidates, ours, truth] = gap.sums.map(|v| digits(Some(v), 3));
            let worse = if gap.worse.is_empty() { "-".to_owned() } else { gap.worse.join(", ") };
            let share = digits(gap.share(), 2);
            table.push([name.to_owned(), words.to_owned(), candidates, ours, truth, share, worse]);
        }
    }
    Sheet::new(
        "gap",
        "What clean labels are worth: the gap from candidates to truth",
        "Sums over the sets, the features of pomdp-fs for all three kinds of labels.",
        table,
    )
}
