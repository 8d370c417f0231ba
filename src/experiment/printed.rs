//! The paper's printed tables, from `data/paper`.

use std::collections::BTreeMap;

use crate::linalg::Mat;
use crate::measure::METRICS;
use crate::{Error, Result};

const TABLES: [(&str, &str); 2] = [
    ("table1.csv", include_str!("../../data/paper/table1.csv")),
    ("appendix_f.csv", include_str!("../../data/paper/appendix_f.csv")),
];
const RANKS: &str = include_str!("../../data/paper/table2.csv");
const TESTS: &str = include_str!("../../data/paper/table3.csv");
const ABLATION: &str = include_str!("../../data/paper/table4.csv");
const SIZES: &str = include_str!("../../data/paper/appendix_e.csv");
const BOLD: &str = include_str!("../../data/paper/bold.csv");
const LABEL_COUNTS: &str = include_str!("../../data/paper/label_counts.csv");

/// Half a unit of the last printed digit.
pub const ROUNDING: f64 = 0.005;

/// A printed mean and standard deviation.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintedValue {
    /// RL, Micro-F1, HL or CE.
    pub metric: String,
    /// As printed.
    pub dataset: String,
    /// As printed.
    pub method: String,
    /// Mean of five folds.
    pub mean: f64,
    /// Their standard deviation.
    pub std: f64,
    /// Set in bold face.
    pub bold: bool,
}

/// A row of Table 3.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintedTest {
    /// RL, Micro-F1, HL or CE.
    pub metric: String,
    /// Friedman's χ² and p, Iman and Davenport's F and p.
    pub values: [f64; 4],
}

/// A row of the appendix with the sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedSize {
    /// As printed.
    pub dataset: String,
    /// Instances, features, labels.
    pub size: [usize; 3],
}

/// All printed tables.
#[derive(Clone, Debug)]
pub struct Printed {
    /// Table 1 and Appendix F, in the printed order.
    pub values: Vec<PrintedValue>,
    /// Table 2: average ranks by metric, methods in the printed order.
    pub ranks: BTreeMap<String, Vec<(String, f64)>>,
    /// Table 3.
    pub tests: Vec<PrintedTest>,
    /// Table 4; the method is `soft` or `hard`.
    pub ablation: Vec<PrintedValue>,
    /// Appendix E.
    pub sizes: Vec<PrintedSize>,
    /// Of the data, not of the paper: how many instances of a set have how many labels.
    counts: Vec<(String, usize, usize)>,
}

/// How many instances of a set have how many labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelCounts {
    /// Labels of the set.
    pub labels: usize,
    /// Number of labels, number of instances that have so many.
    pub rows: Vec<(usize, usize)>,
}

impl LabelCounts {
    /// Share of the label cells that are on.
    pub fn density(&self) -> f64 {
        let on: usize = self.rows.iter().map(|(labels, rows)| labels * rows).sum();
        let all: usize = self.rows.iter().map(|(_, rows)| self.labels * rows).sum();
        on as f64 / all as f64
    }
}

/// The four printed metrics.
pub const PRINTED_METRICS: [&str; 4] = ["RL", "Micro-F1", "HL", "CE"];

impl Printed {
    /// Reads what is in the program.
    pub fn load() -> Result<Self> {
        let bold = rows("bold.csv", BOLD)?;
        let values = |name: &str, text: &str| -> Result<Vec<PrintedValue>> {
            let parse = |row: Vec<String>| {
                let is_bold = bold.iter().any(|b| b[..] == row[..3]);
                Ok(PrintedValue {
                    mean: number(name, &row[3])?,
                    std: number(name, &row[4])?,
                    bold: is_bold,
                    metric: row[0].clone(),
                    dataset: row[1].clone(),
                    method: row[2].clone(),
                })
            };
            rows(name, text)?.into_iter().map(parse).collect()
        };
        let mut all = Vec::new();
        for (name, text) in TABLES {
            all.extend(values(name, text)?);
        }
        let mut ranks: BTreeMap<String, Vec<(String, f64)>> = BTreeMap::new();
        for row in rows("table2.csv", RANKS)? {
            let rank = number("table2.csv", &row[2])?;
            ranks.entry(row[0].clone()).or_default().push((row[1].clone(), rank));
        }
        let mut tests = Vec::new();
        for row in rows("table3.csv", TESTS)? {
            let mut values = [0.0; 4];
            for (value, text) in values.iter_mut().zip(&row[1..]) {
                *value = number("table3.csv", text)?;
            }
            tests.push(PrintedTest { metric: row[0].clone(), values });
        }
        let mut sizes = Vec::new();
        for row in rows("appendix_e.csv", SIZES)? {
            let mut size = [0; 3];
            for (value, text) in size.iter_mut().zip(&row[2..]) {
                *value = number("appendix_e.csv", text)? as usize;
            }
            sizes.push(PrintedSize { dataset: row[0].clone(), size });
        }
        let ablation = values("table4.csv", ABLATION)?;
        let mut counts = Vec::new();
        for row in rows("label_counts.csv", LABEL_COUNTS)? {
            let count = |k: usize| number("label_counts.csv", &row[k]).map(|v| v as usize);
            counts.push((row[0].clone(), count(1)?, count(2)?));
        }
        Ok(Printed { values: all, ranks, tests, ablation, sizes, counts })
    }

    /// The numbers of labels of the instances of a printed set.
    pub fn label_counts(&self, dataset: &str) -> LabelCounts {
        let labels = self.sizes.iter().find(|s| s.dataset == dataset).map_or(0, |s| s.size[2]);
        let of = self.counts.iter().filter(|(set, ..)| set == dataset);
        LabelCounts { labels, rows: of.map(|(_, labels, rows)| (*labels, *rows)).collect() }
    }

    /// The printed methods, in the printed order.
    pub fn methods(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for value in &self.values {
            if !names.contains(&value.method) {
                names.push(value.method.clone());
            }
        }
        names
    }

    /// The printed sets, in the printed order.
    pub fn datasets(&self) -> Vec<String> {
        self.sizes.iter().map(|s| s.dataset.clone()).collect()
    }

    /// The printed value of a metric.
    pub fn find(&self, metric: &str, dataset: &str, method: &str) -> Option<&PrintedValue> {
        self.values
            .iter()
            .find(|v| (&*v.metric, &*v.dataset, &*v.method) == (metric, dataset, method))
    }

    /// The printed means of a metric, sets × methods; NaN where there is none.
    pub fn matrix(&self, metric: &str) -> Mat<f64> {
        let (sets, methods) = (self.datasets(), self.methods());
        Mat::from_fn(sets.len(), methods.len(), |i, j| {
            self.find(metric, &sets[i], &methods[j]).map_or(f64::NAN, |v| v.mean)
        })
    }
}

/// Index of a printed metric in [`METRICS`].
pub fn metric_index(name: &str) -> usize {
    METRICS.iter().position(|m| m.name == name).expect("a printed metric")
}

/// The name of a printed method or set in this program.
pub fn our_name(printed: &str) -> String {
    printed.to_lowercase()
}

fn rows(name: &str, text: &str) -> Result<Vec<Vec<String>>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.records().map(|record| {
        let record = record.map_err(|e| Error::input(e.to_string()).in_file(name))?;
        Ok(record.iter().map(str::to_owned).collect())
    });
    rows.collect()
}

fn number(name: &str, text: &str) -> Result<f64> {
    text.parse().map_err(|_| Error::found(format!("'{text}'"), "a number").in_file(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printed_number_is_there() {
        let printed = Printed::load().unwrap();
        assert_eq!(printed.values.len(), 4 * 81);
        assert_eq!((printed.methods().len(), printed.datasets().len()), (9, 9));
        assert_eq!((printed.ranks.len(), printed.tests.len(), printed.ablation.len()), (5, 4, 24));
        for metric in PRINTED_METRICS {
            assert!(printed.matrix(metric).as_slice().iter().all(|v| v.is_finite()), "{metric}");
        }
        let best = printed.find("RL", "Bibtex", "PML-FSSO").unwrap();
        assert_eq!((best.mean, best.std, best.bold), (0.13, 0.15, true));
        assert!(!printed.find("RL", "Bibtex", "POMDP-FS").unwrap().bold);
        assert!((printed.label_counts("Yeast").density() - 0.3026).abs() < 1e-4);
        let bold = printed.values.iter().filter(|v| v.bold).count();
        assert_eq!(bold, 38, "nine per metric, and two more of CE on Mediamill");
    }
}
