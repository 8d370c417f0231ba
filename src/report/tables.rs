//! The tables of an evaluation: what the exporters for people have in common.

use super::TextTable;
use crate::experiment::{Entry, Epsilon, Results, moments};
use crate::measure::{Convention, METRICS};

/// A table and what it shows.
pub(super) struct Titled {
    pub title: String,
    pub table: TextTable,
}

/// Data, folds, noise and convention in one line.
pub(super) fn headline(results: &Results) -> String {
    let about = &results.about;
    let noise = about.noise.map_or_else(
        || "candidates of the data".to_owned(),
        |rate| format!("{} % noise ({})", 100.0 * rate, about.noise_scheme),
    );
    let (convention, form) = &about.measures[0];
    format!(
        "{}: {} × {}, {} labels; {} folds × {}, {noise}; seed {}; metrics as {convention} (coverage \
         {form})",
        about.dataset, about.n, about.d, about.labels, about.folds, about.repeats, about.seed,
    )
}

/// One table per budget, then one per entry under all conventions, if there are several.
pub(super) fn tables(results: &Results) -> Vec<Titled> {
    let entries = results.entries();
    let mut budgets: Vec<usize> = Vec::new();
    for entry in &entries {
        if !budgets.contains(&entry.budget) {
            budgets.push(entry.budget);
        }
    }
    let mut tables: Vec<Titled> = budgets
        .iter()
        .map(|&budget| Titled {
            title: format!("budget {budget}"),
            table: scores(&entries.iter().filter(|e| e.budget == budget).collect::<Vec<_>>()),
        })
        .collect();
    if results.about.measures.len() > 1 {
        let last = entries.iter().filter(|e| Some(&e.budget) == budgets.last());
        tables.extend(last.map(|entry| Titled {
            title: format!(
                "{}, trained on {}, {}, under all conventions",
                entry.method,
                entry.trained_on.name(),
                entry.classifier
            ),
            table: conventions(results, entry),
        }));
    }
    tables
}

/// What a reader has to know besides the tables: remarks and failures.
pub(super) fn remarks(results: &Results) -> Vec<String> {
    let mut remarks = results.notes();
    if results.about.measures.len() > 1 {
        remarks.push("* scikit-learn has no one-error; its column is NumPy's argmax.".to_owned());
    }
    remarks.extend(results.failures.iter().map(|f| {
        let fold = f.fold.map_or_else(String::new, |fold| format!(", fold {fold}"));
        format!("{} failed (repeat {}{fold}): {}", f.method, f.repeat, f.reason)
    }));
    remarks
}

/// Which ε a column shows.
type Which = fn(&Epsilon) -> Option<f64>;

/// ε of the method's labels, and of the two answers that need no method.
const EPSILON: [(&str, Which); 3] = [
    ("ε pseudo ↓", |e| e.pseudo),
    ("ε candidates", |e| Some(e.candidate)),
    ("ε drop-all", |e| Some(e.drop_all)),
];

/// Mean and standard deviation of every metric, one line per entry. The classifier is named if there
/// are several.
fn scores(entries: &[&Entry<'_>]) -> TextTable {
    let several = entries.iter().any(|e| e.classifier != entries[0].classifier);
    let mut header = vec!["method".to_owned(), "trained on".to_owned()];
    header.extend(several.then(|| "classifier".to_owned()));
    header.extend(METRICS.iter().map(|m| {
        let arrow = if m.higher_is_better { "↑" } else { "↓" };
        format!("{} {arrow}", m.name)
    }));
    header.extend(EPSILON.map(|(name, _)| name.to_owned()));
    let mut table = TextTable::new(header);
    for entry in entries {
        let mut row = vec![entry.method.to_owned(), entry.trained_on.name().to_owned()];
        row.extend(several.then(|| entry.classifier.to_owned()));
        row.extend((0..METRICS.len()).map(|k| plus_minus(&entry.values(0, k))));
        row.extend(EPSILON.map(|(_, which)| match entry.epsilon(which) {
            Some(values) => plus_minus(&values),
            None => "-".to_owned(),
        }));
        table.push(row.clone());
        let chance: Option<Vec<_>> = (0..METRICS.len()).map(|k| entry.by_chance(0, k)).collect();
        if let Some(chance) = chance {
            row[0] = format!("{}, random features", entry.method);
            let first = row.len() - EPSILON.len() - METRICS.len();
            row.truncate(first);
            row.extend(chance.iter().map(|values| plus_minus(values)));
            row.extend(EPSILON.map(|_| "-".to_owned()));
            table.push(row);
        }
    }
    table
}

/// The scores of a single budget as a table.
pub fn score_table(results: &Results) -> TextTable {
    let entries = results.entries();
    scores(&entries.iter().collect::<Vec<_>>())
}

fn conventions(results: &Results, entry: &Entry<'_>) -> TextTable {
    let measures = &results.about.measures;
    let names = measures[1..].iter().map(|(convention, _)| convention.clone());
    let mut table = TextTable::new(["metric".to_owned()].into_iter().chain(names));
    for (k, metric) in METRICS.iter().enumerate() {
        let mut row = vec![metric.name.to_owned()];
        for (m, (convention, _)) in measures.iter().enumerate().skip(1) {
            let star = *convention == Convention::ScikitLearn.name() && metric.key == "one_error";
            let mark = if star { "*" } else { "" };
            row.push(format!("{:.4}{mark}", moments(&entry.values(m, k)).0));
        }
        table.push(row);
    }
    table
}

/// Mean and standard deviation; the value alone if there is one.
fn plus_minus(values: &[f64]) -> String {
    let (mean, std) = moments(values);
    match values.len() {
        1 => format!("{mean:.4}"),
        _ => format!("{mean:.3}±{std:.3}"),
    }
}
