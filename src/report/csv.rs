//! Results as CSV: one row per score, fold and convention, nothing averaged but repetitions.

use super::Exporter;
use crate::experiment::Results;
use crate::measure::METRICS;
use crate::{Error, Result};

/// Comma-separated values.
pub struct Csv;

const BEFORE: [&str; 12] = [
    "dataset",
    "seed",
    "method",
    "features_by",
    "repeat",
    "fold",
    "trained_on",
    "classifier",
    "budget",
    "features",
    "convention",
    "coverage_form",
];
const AFTER: [&str; 6] =
    ["svm_c", "epsilon_pseudo", "epsilon_candidate", "epsilon_drop_all", "seconds", "cell"];

impl Exporter for Csv {
    fn file(&self) -> &'static str {
        "results.csv"
    }

    fn export(&self, results: &Results) -> Result<String> {
        let metrics = METRICS.iter().map(|m| m.key);
        let head: Vec<String> =
            BEFORE.into_iter().chain(metrics).chain(AFTER).map(str::to_owned).collect();
        let number =
            |v: Option<f64>| v.filter(|v| v.is_finite()).map_or(String::new(), |v| v.to_string());
        let about = &results.about;
        let mut rows = Vec::new();
        for cell in &results.cells {
            for score in &cell.scores {
                let both = [("method", &score.measures), ("chance", &score.by_chance)];
                let all = both.into_iter().flat_map(|(by, all)| {
                    all.iter().zip(&about.measures).map(move |(values, m)| (by, values, m))
                });
                for (by, values, (convention, form)) in all {
                    let mut row = vec![
                        about.dataset.clone(),
                        about.seed.to_string(),
                        cell.method.clone(),
                        by.to_owned(),
                        cell.repeat.to_string(),
                        cell.fold.map_or(String::new(), |f| f.to_string()),
                        score.trained_on.name().to_owned(),
                        score.classifier.clone(),
                        score.budget.to_string(),
                        score.features.to_string(),
                        convention.clone(),
                        form.clone(),
                    ];
                    row.extend(values.0.map(|v| number(Some(v))));
                    let epsilon = cell.epsilon.as_ref();
                    row.extend([
                        number(score.c),
                        number(epsilon.and_then(|e| e.pseudo)),
                        number(epsilon.map(|e| e.candidate)),
                        number(epsilon.map(|e| e.drop_all)),
                        number(Some(cell.seconds)),
                        cell.id.clone(),
                    ]);
                    rows.push(row);
                }
            }
        }
        let bytes = csv_bytes(&head, rows.into_iter())?;
        String::from_utf8(bytes).map_err(|e| Error::numeric(format!("cannot write a table: {e}")))
    }
}

/// A head and rows as the bytes of a CSV file.
pub fn csv_bytes(head: &[String], rows: impl Iterator<Item = Vec<String>>) -> Result<Vec<u8>> {
    let failed = |e: ::csv::Error| Error::numeric(format!("cannot write a table: {e}"));
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(head).map_err(failed)?;
    for row in rows {
        writer.write_record(row).map_err(failed)?;
    }
    writer.into_inner().map_err(|e| Error::numeric(format!("cannot write a table: {e}")))
}
