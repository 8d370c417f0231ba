//! Table 4: hard, soft and as printed, and what each part of the method is worth.

use super::scores::heading;
use super::sheet::{Section, Sheet, digits, plus_minus};
use crate::experiment::TrainLabels::{Confidence, Pseudo};
use crate::experiment::grid::{At, RunSet, RunSummary, View};
use crate::experiment::moments;
use crate::experiment::printed::{Printed, metric_index};
use crate::report::TextTable;

/// Columns of the printed ablation: method, labels that train the classifier, heading.
const FORMS: [(&str, View, &str); 5] = [
    ("pomdp-fs", View::Labels(Confidence), "ours soft"),
    ("pomdp-fs", View::Labels(Pseudo), "ours hard"),
    ("pomdp-fs-soft", View::Labels(Confidence), "as printed, soft"),
    ("pomdp-fs-paper", View::Labels(Pseudo), "as printed, hard"),
    ("pomdp-fs", View::Selection, "ours, selection"),
];

/// Both tables, as far as the run has them.
pub fn section(run: &RunSummary, printed: &Printed) -> Section {
    let mut sheets = vec![printed_sheet(run, printed)];
    sheets.extend(parts(run));
    sheets.retain(|sheet| !sheet.table.rows().is_empty());
    Section {
        id: "ablation",
        title: "Ablation",
        text: vec![
            "Hard: the classifier learns 0/1 pseudo labels. Soft: it learns the probabilities. As \
             printed: the paper's objective to the letter."
                .to_owned(),
        ],
        sheets,
        drawings: Vec::new(),
    }
}

fn printed_sheet(run: &RunSummary, printed: &Printed) -> Sheet {
    let forms: Vec<_> =
        FORMS.into_iter().filter(|(m, ..)| run.methods.iter().any(|n| n == m)).collect();
    let mut head: Vec<String> =
        ["set", "metric", "printed soft", "printed hard"].map(str::to_owned).to_vec();
    head.extend(forms.iter().map(|(_, _, name)| (*name).to_owned()));
    let mut table = TextTable::new(head);
    for soft in printed.ablation.iter().filter(|v| v.method == "soft") {
        let Some(set) = run.printed_set(&soft.dataset) else { continue };
        let hard = printed
            .ablation
            .iter()
            .find(|v| (&*v.method, &v.dataset, &v.metric) == ("hard", &soft.dataset, &soft.metric));
        let Some(hard) = hard else { continue };
        let value = |(m, v): (f64, f64)| format!("{m:.2}±{v:.2}");
        let mut row = vec![
            heading(set),
            soft.metric.clone(),
            value((soft.mean, soft.std)),
            value((hard.mean, hard.std)),
        ];
        let k = metric_index(&soft.metric);
        row.extend(forms.iter().map(|(method, view, _)| {
            let found = run.moments(set, method, *view, At::Paper, k);
            found.map_or_else(|| "-".to_owned(), plus_minus)
        }));
        table.push(row);
    }
    Sheet::new(
        "table4",
        "Table 4: hard and soft disambiguation",
        "Mean ± standard deviation at the paper's budget.",
        table,
    )
}

/// ε and scores of POMDP-FS with one part changed.
fn parts(run: &RunSummary) -> Option<Sheet> {
    let variants = run.variants();
    let mut methods = vec!["pomdp-fs"];
    methods.extend(["logistic-context", "logistic"]);
    methods.extend(variants.iter().copied());
    let mut table = TextTable::new([
        "set",
        "variant",
        "ε",
        "RL selection",
        "RL end-to-end",
        "Micro-F1 end-to-end",
        "CE end-to-end",
    ]);
    let studied = |set: &&RunSet| variants.iter().any(|v| run.cells(set, v).is_some());
    for set in run.sets.iter().filter(studied) {
        let here: Vec<&str> =
            methods.iter().copied().filter(|m| run.cells(set, m).is_some()).collect();
        let seeds = run.common_seeds(&[set], &here);
        for method in here {
            let cells = run.cells(set, method).unwrap_or_default();
            let cells = cells.iter().filter(|cell| seeds.contains(&cell.seed()));
            let value = |view, name: &str| {
                let found = run.values_of(&seeds, set, method, view, metric_index(name));
                digits(found.map(|values| moments(&values).0), 4)
            };
            table.push([
                heading(set),
                method.to_owned(),
                digits(RunSummary::epsilon(cells).and_then(|e| e.0), 4),
                value(View::Selection, "RL"),
                value(View::EndToEnd, "RL"),
                value(View::EndToEnd, "Micro-F1"),
                value(View::EndToEnd, "CE"),
            ]);
        }
    }
    let note = "POMDP-FS with one setting changed; logistic-context is Stage 1 without its networks, \
                logistic without label context as well. Seeds that all of them have.";
    (!variants.is_empty()).then(|| Sheet::new("ablation", "What each part is worth", note, table))
}
