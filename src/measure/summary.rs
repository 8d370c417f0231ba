//! All metrics of one comparison at once, in a fixed order.

use super::{Comparison, Convention, CoverageForm};

/// A metric: its key in results, its name in tables, and which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Key in JSON and CSV.
    pub key: &'static str,
    /// Name in tables.
    pub name: &'static str,
    /// True when a larger value is better.
    pub higher_is_better: bool,
}

const fn metric(key: &'static str, name: &'static str, higher_is_better: bool) -> Metric {
    Metric { key, name, higher_is_better }
}

/// The metrics, in the order of [`Summary::values`].
pub const METRICS: [Metric; 9] = [
    metric("ranking_loss", "RL", false),
    metric("micro_f1", "Micro-F1", true),
    metric("hamming_loss", "HL", false),
    metric("coverage_error", "CE", false),
    metric("average_precision", "AP", true),
    metric("one_error", "One-error", false),
    metric("macro_f1", "Macro-F1", true),
    metric("example_f1", "Example-F1", true),
    metric("subset_accuracy", "Subset acc.", true),
];

impl Metric {
    /// Finds a metric by key or by table name, in upper or lower case.
    pub fn find(name: &str) -> Option<Metric> {
        METRICS
            .into_iter()
            .find(|m| m.key.eq_ignore_ascii_case(name) || m.name.eq_ignore_ascii_case(name))
    }
}

/// The value of each metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// In the order of [`METRICS`]; NaN where a convention drops every instance.
    pub values: [f64; METRICS.len()],
}

impl Summary {
    /// Measures everything.
    pub fn of(compared: &Comparison<'_>, convention: Convention, form: CoverageForm) -> Self {
        Summary {
            values: [
                super::ranking_loss(compared, convention),
                super::micro_f1(compared, convention),
                super::hamming_loss(compared),
                super::coverage(compared, convention, form),
                super::average_precision(compared, convention),
                super::one_error(compared, convention),
                super::macro_f1(compared, convention),
                super::example_f1(compared, convention),
                super::subset_accuracy(compared),
            ],
        }
    }

    /// The value with this key.
    pub fn get(&self, key: &str) -> Option<f64> {
        let at = METRICS.iter().position(|m| m.key == key)?;
        Some(self.values[at])
    }
}
