//! What the printed tables say about each other.

use crate::Result;
use crate::audit::{Check, Limit};
use crate::data::catalog;
use crate::experiment::printed::{PRINTED_METRICS, Printed, ROUNDING, metric_index, our_name};
use crate::linalg::Mat;
use crate::measure::METRICS;
use crate::measure::statistics::Friedman;

/// Half a unit of the last digit of a printed rank, of χ² and of F.
const RANK_ROUNDING: f64 = 0.0005;
const TEST_ROUNDING: f64 = 0.005;

const OURS: &str = "POMDP-FS";

/// All checks.
pub fn check(printed: &Printed) -> Result<Vec<Check>> {
    let mut checks = ranks(printed);
    checks.extend(tests(printed)?);
    checks.extend(bold(printed));
    checks.extend(best(printed));
    checks.extend(sizes(printed)?);
    checks.extend(nothing(printed)?);
    Ok(checks)
}

fn higher(metric: &str) -> bool {
    METRICS[metric_index(metric)].higher_is_better
}

/// Smallest and largest average rank of each method if every printed mean may be off by its rounding.
fn rank_ranges(means: &Mat<f64>, higher: bool) -> Vec<(f64, f64)> {
    let n = means.rows() as f64;
    let better = |a: f64, b: f64, slack: f64| {
        if higher { a - b > slack } else { b - a > slack }
    };
    let range = |j: usize| {
        let (mut low, mut high) = (0.0, 0.0);
        for row in means.rows_iter() {
            let others = || (0..row.len()).filter(|&k| k != j);
            // A hair less, because differences of printed numbers are not exact in binary.
            let slack = 2.0 * ROUNDING - 1e-9;
            low += 1.0 + others().filter(|&k| better(row[k], row[j], slack)).count() as f64;
            high += 1.0 + others().filter(|&k| !better(row[j], row[k], slack)).count() as f64;
        }
        (low / n, high / n)
    };
    (0..means.cols()).map(range).collect()
}

/// How far printed ranks lie outside of what the printed means allow.
fn outside(ranges: &[(f64, f64)], ranks: &[(String, f64)]) -> f64 {
    let distances = ranges.iter().zip(ranks).map(|((low, high), (_, rank))| {
        (low - RANK_ROUNDING - rank).max(rank - high - RANK_ROUNDING).max(0.0)
    });
    distances.fold(0.0, f64::max)
}

/// Table 2 from Table 1 and Appendix F.
fn ranks(printed: &Printed) -> Vec<Check> {
    let mut checks = Vec::new();
    let ranges = |metric: &str| rank_ranges(&printed.matrix(metric), higher(metric));
    for metric in PRINTED_METRICS {
        let Some(ranks) = printed.ranks.get(metric) else { continue };
        checks.push(Check::new(
            format!("table2/{metric}"),
            "the average ranks follow from the printed means; largest distance from what their \
             rounding allows",
            outside(&ranges(metric), ranks),
            Limit::AtMost(0.0),
        ));
    }
    if let Some(ranks) = printed.ranks.get("HL") {
        checks.push(Check::control(
            "table2/RL",
            "the ranks of HL in the place of those of RL",
            outside(&ranges("RL"), ranks),
            Limit::AtMost(0.0),
        ));
    }
    checks
}

/// Table 3 from Table 2, within the rounding of the ranks.
fn tests(printed: &Printed) -> Result<Vec<Check>> {
    let sets = printed.datasets().len();
    let from_ranks = |metric: &str| -> Result<Friedman> {
        let ranks = printed.ranks.get(metric).into_iter().flatten().map(|(_, r)| *r);
        Friedman::of_average_ranks(&ranks.collect::<Vec<f64>>(), sets)
    };
    let mut checks = Vec::new();
    for test in &printed.tests {
        let found = from_ranks(&test.metric)?;
        let k = (found.df[0] + 1) as f64;
        let n = sets as f64;
        // dχ² = 12N/(k(k+1)) Σ 2 R_j dR_j with Σ R_j = k(k+1)/2; dF from F = (N−1)χ²/(N(k−1)−χ²).
        let chi2_rounding = 12.0 * n * RANK_ROUNDING;
        let room = n * (k - 1.0) - found.chi2;
        let f_rounding = (n - 1.0) * n * (k - 1.0) / (room * room) * chi2_rounding;
        let parts = [
            ("chi2", "Friedman's χ²", found.chi2, test.values[0], chi2_rounding),
            ("F", "Iman and Davenport's F", found.f, test.values[2], f_rounding),
        ];
        for (name, what, ours, print, rounding) in parts {
            checks.push(Check::new(
                format!("table3/{}/{name}", test.metric),
                format!("{what} follows from the printed ranks ({ours:.2}; printed {print:.2})"),
                (ours - print).abs(),
                Limit::AtMost(rounding + TEST_ROUNDING),
            ));
        }
    }
    let rl = from_ranks("RL")?;
    let ce = printed.tests.iter().find(|t| t.metric == "CE").map_or(f64::NAN, |t| t.values[0]);
    checks.push(Check::control(
        "table3/RL/chi2",
        "χ² of the ranks of RL against the printed one of CE",
        (rl.chi2 - ce).abs(),
        Limit::AtMost(0.06),
    ));
    Ok(checks)
}

/// Whether a value is the best of its row, ties included.
fn is_best(printed: &Printed, metric: &str, dataset: &str, mean: f64) -> bool {
    let row = printed.values.iter().filter(|v| v.metric == metric && v.dataset == dataset);
    row.into_iter().all(|v| if higher(metric) { v.mean <= mean } else { v.mean >= mean })
}

fn bold(printed: &Printed) -> Vec<Check> {
    let mut checks = Vec::new();
    for metric in PRINTED_METRICS {
        let of = || printed.values.iter().filter(|v| v.metric == metric);
        let best = |v: &crate::experiment::printed::PrintedValue| {
            is_best(printed, metric, &v.dataset, v.mean)
        };
        let name =
            |v: &crate::experiment::printed::PrintedValue| format!("{} {}", v.dataset, v.method);
        let wrong: Vec<String> = of().filter(|v| v.bold && !best(v)).map(name).collect();
        let plain: Vec<String> = of().filter(|v| !v.bold && best(v)).map(name).collect();
        let list = |names: &[String]| {
            if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
        };
        checks.push(Check::new(
            format!("bold/{metric}"),
            format!("bold entries that are not the best of their row{}", list(&wrong)),
            wrong.len() as f64,
            Limit::AtMost(0.0),
        ));
        checks.push(Check::new(
            format!("bold/{metric}/ties"),
            format!("entries as good as the best of their row that are not bold{}", list(&plain)),
            plain.len() as f64,
            Limit::AtMost(0.0),
        ));
    }
    checks
}

/// The sentences of Section 6 that count sets.
fn best(printed: &Printed) -> Vec<Check> {
    let count = |metric: &str| {
        let ours = printed.values.iter().filter(|v| v.metric == metric && v.method == OURS);
        ours.filter(|v| is_best(printed, metric, &v.dataset, v.mean)).count() as f64
    };
    let sentences = [
        ("RL", "the lowest RL, or tied for it, on eight sets", Limit::Exactly(8.0)),
        ("Micro-F1", "the best Micro-F1 on seven sets", Limit::Exactly(7.0)),
        ("HL", "\"the same overall trend\" in HL: best on most sets", Limit::AtLeast(5.0)),
        ("CE", "\"the same overall trend\" in CE: best on most sets", Limit::AtLeast(5.0)),
    ];
    let check = |(metric, claim, limit): (&str, &str, Limit)| {
        Check::new(format!("best/{metric}"), claim, count(metric), limit)
    };
    sentences.into_iter().map(check).collect()
}

/// Appendix E against the files.
fn sizes(printed: &Printed) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for size in &printed.sizes {
        let paper = catalog::find(&our_name(&size.dataset))?.paper;
        let ours = [paper.n, paper.d, paper.labels];
        let text = |s: [usize; 3]| format!("{} × {}, {} labels", s[0], s[1], s[2]);
        let how = match size.dataset.as_str() {
            "Slashdot" => ", on its 22 true label columns; the printed size is that of the last 22",
            "HumanPseAAC" => ", all columns of the file",
            _ => "",
        };
        checks.push(Check::words(
            format!("sizes/{}", size.dataset),
            format!("the printed size is that of the public file, cut by one rule{how}"),
            text(ours),
            text(size.size),
            ours == size.size,
        ));
    }
    Ok(checks)
}

/// Entries that are what predicting no label at all gives: Micro-F1 0.00, and HL the density of the
/// labels.
fn nothing(printed: &Printed) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for dataset in printed.datasets() {
        let density = printed.label_counts(&dataset).density();
        let methods = printed.methods();
        let same = methods.iter().filter(|method| {
            let value = |metric: &str| printed.find(metric, &dataset, method).map(|v| v.mean);
            value("Micro-F1").is_some_and(|f1| f1 <= ROUNDING)
                && value("HL").is_some_and(|hl| (hl - density).abs() <= ROUNDING + 1e-9)
        });
        let same: Vec<&str> = same.map(String::as_str).collect();
        let names = if same.is_empty() { String::new() } else { format!(" ({})", same.join(", ")) };
        checks.push(Check::new(
            format!("nothing/{dataset}"),
            format!(
                "rows that equal \"predict nothing\": Micro-F1 0 and HL {density:.3}, the density of \
                 the labels{names}"
            ),
            same.len() as f64,
            Limit::AtMost(0.0),
        ));
    }
    Ok(checks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(checks: &[Check], name: &str) -> bool {
        checks.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("{name}")).holds
    }

    #[test]
    fn the_printed_tables_as_they_are() {
        let printed = Printed::load().unwrap();
        let checks = check(&printed).unwrap();
        for name in ["table3/RL/chi2", "table3/CE/F", "best/RL", "best/Micro-F1", "sizes/Yeast"] {
            assert!(holds(&checks, name), "{name}");
        }
        for name in ["table3/HL/chi2", "table3/HL/F", "best/CE", "sizes/Slashdot"] {
            assert!(!holds(&checks, name), "{name}");
        }
        assert!(!holds(&checks, "nothing/Mediamill") && holds(&checks, "nothing/Birds"));
        let controls = checks.iter().filter(|c| c.name.ends_with("/control"));
        assert!(controls.clone().count() == 2 && controls.into_iter().all(|c| c.holds));
    }

    /// Each kind of check sees a table that was spoilt.
    #[test]
    fn spoilt_tables_are_caught() {
        let mut printed = Printed::load().unwrap();
        printed.ranks.get_mut("RL").unwrap()[0].1 = 3.0;
        printed.sizes[1].size[0] += 1;
        let worst = printed.values.iter_mut().find(|v| v.dataset == "Birds" && v.bold).unwrap();
        worst.mean = 0.99;
        let checks = check(&printed).unwrap();
        for name in ["table2/RL", "table3/RL/chi2", "bold/RL", "best/RL", "sizes/Birds"] {
            assert!(!holds(&checks, name), "{name}");
        }
    }
}
