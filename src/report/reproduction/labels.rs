//! ε of the labels with its trivial controls: at the paper's noise, at other noise, on real annotations.

use super::scores::heading;
use super::sheet::{Drawing, Section, Sheet, digits};
use super::targets::by_seed;
use crate::experiment::grid::{PAPER_NOISE, RunSet, RunSummary, StoredCell, noise_name};
use crate::experiment::moments;
use crate::report::TextTable;
use crate::report::plot::{Band, INKS, Plot};

/// Methods that make labels, in the order of tables.
const LABELLERS: [&str; 5] =
    ["pomdp-fs", "pomdp-fs-soft", "pomdp-fs-paper", "logistic", "logistic-context"];

/// Rates of the noise curves.
const RATES: [f64; 4] = [0.1, 0.2, 0.3, 0.4];

/// What ε says about labels.
fn judgement(pseudo: f64, candidates: f64, drop_all: f64) -> &'static str {
    match (pseudo < candidates, pseudo < drop_all) {
        (true, true) => "below both",
        (true, false) => "below candidates only",
        (false, true) => "below drop-all only",
        (false, false) => "below neither",
    }
}

/// ε at the paper's noise.
pub fn section(run: &RunSummary) -> Section {
    let labellers: Vec<&str> =
        LABELLERS.into_iter().filter(|m| run.methods.iter().any(|n| n == m)).collect();
    let mut head = vec!["set".to_owned(), "candidates".to_owned(), "drop-all".to_owned()];
    head.extend(labellers.iter().map(|m| (*m).to_owned()));
    head.extend(["ρ − true, mean / largest".to_owned(), "pomdp-fs is".to_owned()]);
    let mut table = TextTable::new(head);
    for set in run.sets.iter().filter(|s| !s.real) {
        let Some(row) = epsilon_row(run, set, &labellers) else { continue };
        table.push(row);
    }
    let mut sheets = vec![Sheet::new(
        "epsilon",
        "Share of wrong labels, ε",
        "On the training rows at 20 % noise. Doing nothing gives the ε of the candidates, removing \
         everything that of drop-all; both need no method. ± is the standard deviation over seeds, \
         whose number follows in brackets; ρ − true is over the folds of all seeds.",
        table,
    )];
    sheets.extend(noise_sheet(run));
    sheets.extend(real_sheet(run));
    Section {
        id: "labels",
        title: "Labels",
        text: vec![
            "ε is the share of label cells of the training rows that are wrong. Labels are called \
             cleaner only where ε is below both trivial answers."
                .to_owned(),
        ],
        sheets,
        drawings: noise_curves(run),
    }
}

fn epsilon_row(run: &RunSummary, set: &RunSet, labellers: &[&str]) -> Option<Vec<String>> {
    let first = labellers.iter().find_map(|m| run.cells(set, m))?;
    let (_, candidates, drop_all) = RunSummary::epsilon(first)?;
    let mut row = vec![heading(set), digits(Some(candidates), 4), digits(Some(drop_all), 4)];
    row.extend(labellers.iter().map(|m| {
        let seeds = by_seed(run.cells(set, m).unwrap_or_default());
        let all: Option<Vec<f64>> = seeds.iter().map(|s| RunSummary::epsilon(s)?.0).collect();
        match all.as_deref() {
            None | Some([]) => "-".to_owned(),
            Some([one]) => digits(Some(*one), 4),
            Some(all) => {
                let (mean, std) = moments(all);
                format!("{mean:.4}±{std:.4} ({})", all.len())
            }
        }
    }));
    row.push(rates(run.cells(set, "pomdp-fs").unwrap_or_default()));
    let pseudo = run.cells(set, "pomdp-fs").and_then(|cells| RunSummary::epsilon(cells)?.0);
    let words = pseudo.map_or("-", |p| judgement(p, candidates, drop_all));
    row.push(words.to_owned());
    Some(row)
}

/// The estimated noise rate less the true one: mean, and the largest distance of a fold. Of the cells
/// that are not true labels, the share that became candidates is ε of the candidates / (1 − density).
fn rates(cells: &[StoredCell]) -> String {
    let error = |cell: &StoredCell| {
        let epsilon = cell.result.epsilon?;
        Some(cell.result.rho? - epsilon.candidate / (1.0 - epsilon.drop_all))
    };
    let errors: Option<Vec<f64>> = cells.iter().map(error).collect();
    match errors {
        Some(errors) if !errors.is_empty() => {
            let largest = errors.iter().fold(0.0, |m: f64, e| m.max(e.abs()));
            format!("{:+.3} / {largest:.3}", moments(&errors).0)
        }
        _ => "-".to_owned(),
    }
}

/// ε under other noise, if it was studied.
fn noise_sheet(run: &RunSummary) -> Option<Sheet> {
    let mut table = TextTable::new([
        "set",
        "noise",
        "candidates",
        "drop-all",
        "pomdp-fs",
        "logistic-context",
        "pomdp-fs is",
        "verdicts",
    ]);
    let noises = run.noises();
    for set in run.sets.iter().filter(|s| !s.real) {
        for noise in noises.iter().filter(|n| **n != PAPER_NOISE) {
            let Some(cells) = run.cells_at(set, noise, "pomdp-fs") else { continue };
            let Some((Some(pseudo), candidates, drop_all)) = RunSummary::epsilon(cells) else {
                continue;
            };
            let other = run.cells_at(set, noise, "logistic-context");
            let other = other.and_then(RunSummary::epsilon).and_then(|e| e.0);
            table.push([
                heading(set),
                (*noise).to_owned(),
                digits(Some(candidates), 4),
                digits(Some(drop_all), 4),
                digits(Some(pseudo), 4),
                digits(other, 4),
                judgement(pseudo, candidates, drop_all).to_owned(),
                verdicts(cells),
            ]);
        }
    }
    let note = "Uniform noise at other rates, and noise that the model does not describe.";
    let sheet = Sheet::new("noise", "Other noise", note, table).folded();
    (!sheet.table.rows().is_empty()).then_some(sheet)
}

/// How often each verdict was given.
fn verdicts(cells: &[StoredCell]) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for verdict in cells.iter().filter_map(|c| c.result.verdict.as_ref()) {
        let name = format!("{:?}", verdict.status).to_lowercase();
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let words: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

fn real_sheet(run: &RunSummary) -> Option<Sheet> {
    let mut table = TextTable::new([
        "set",
        "method",
        "ε candidates",
        "ε drop-all",
        "ε labels",
        "verdicts",
        "what was seen",
    ]);
    for set in run.sets.iter().filter(|s| s.real) {
        for method in LABELLERS {
            let Some(cells) = run.cells(set, method) else { continue };
            let Some((Some(pseudo), candidates, drop_all)) = RunSummary::epsilon(cells) else {
                continue;
            };
            let text = cells[0].result.verdict.as_ref().map_or("-", |v| v.text.as_str());
            table.push([
                set.title.clone(),
                method.to_owned(),
                digits(Some(candidates), 4),
                digits(Some(drop_all), 4),
                digits(Some(pseudo), 4),
                verdicts(cells),
                text.to_owned(),
            ]);
        }
    }
    let sheet = Sheet::new(
        "real",
        "Real annotations",
        "Sets that bring their own candidate labels: no noise was injected.",
        table,
    );
    (!sheet.table.rows().is_empty()).then_some(sheet)
}

/// ε against the rate of uniform noise, one drawing per set.
fn noise_curves(run: &RunSummary) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    for set in run.sets.iter().filter(|s| !s.real) {
        let mut lines: [(&str, &'static str, bool, Vec<[f64; 4]>); 3] = [
            ("candidates", INKS[6], true, Vec::new()),
            ("drop-all", INKS[1], true, Vec::new()),
            ("pomdp-fs", INKS[0], false, Vec::new()),
        ];
        for rate in RATES {
            let noise = noise_name("uniform", rate);
            let Some(cells) = run.cells_at(set, &noise, "pomdp-fs") else { continue };
            let Some((Some(pseudo), candidates, drop_all)) = RunSummary::epsilon(cells) else {
                continue;
            };
            let folds = cells.iter().filter_map(|c| c.result.epsilon?.pseudo);
            let (low, high) = folds.fold((pseudo, pseudo), |(l, h), v| (v.min(l), v.max(h)));
            let x = 100.0 * rate;
            lines[0].3.push([x, candidates, candidates, candidates]);
            lines[1].3.push([x, drop_all, drop_all, drop_all]);
            lines[2].3.push([x, pseudo, low, high]);
        }
        if lines[0].3.len() < 2 {
            continue;
        }
        let bands: Vec<Band> = lines
            .into_iter()
            .map(|(name, ink, dashed, points)| Band { name: name.into(), ink, dashed, points })
            .collect();
        let keys = bands.iter().map(|b| (b.ink.to_owned(), b.name.clone())).collect();
        let plot = Plot { x: "noise, %".into(), y: "ε".into(), bands, ..Plot::default() };
        drawings.push(Drawing {
            file: format!("noise_{}", set.name),
            title: format!("{}: wrong labels against noise", heading(set)),
            keys,
            svg: plot.svg(),
            long: false,
        });
    }
    drawings
}
