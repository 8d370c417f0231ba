//! The result of `evaluate`: the stable JSON keys, and tables for people.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::data::Dataset;
use crate::experiment::{MethodResult, Protocol};
use crate::measure::{Convention, METRICS};
use crate::report::Rows;

/// What the report cannot see from protocol and results.
pub(super) struct Settings {
    pub seed: u64,
    pub classifier: String,
}

/// The JSON of a run; `methods[…]` holds every metric with mean, standard deviation and raw folds.
#[derive(Serialize)]
pub(super) struct Report {
    dataset: String,
    folds: usize,
    noise: f64,
    seed: u64,
    budget: usize,
    classifier: String,
    train_labels: &'static str,
    convention: &'static str,
    coverage_form: &'static str,
    repeats: usize,
    noise_scheme: &'static str,
    splitter: &'static str,
    n: usize,
    d: usize,
    labels: usize,
    methods: Vec<Value>,
    #[serde(skip)]
    text: String,
}

impl Report {
    pub(super) fn new(
        data: &Dataset,
        protocol: &Protocol,
        settings: Settings,
        results: &[MethodResult],
    ) -> Self {
        let budgets: Vec<usize> = protocol.budgets.iter().map(|b| b.of(data.d())).collect();
        let last = budgets.len() - 1;
        let (convention, form) = protocol.measures[0];
        Report {
            dataset: data.name.clone(),
            folds: protocol.folds,
            noise: protocol.noise,
            seed: settings.seed,
            budget: budgets[last],
            classifier: settings.classifier,
            train_labels: protocol.train_labels.map_or("default", |t| t.name()),
            convention: convention.name(),
            coverage_form: form.name(),
            repeats: protocol.repeats,
            noise_scheme: protocol.scheme.name(),
            splitter: protocol.splitter.name(),
            n: data.n(),
            d: data.d(),
            labels: data.labels(),
            methods: results.iter().map(|r| method(r, protocol, &budgets)).collect(),
            text: text(data, protocol, &budgets, results),
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Mean and sample standard deviation (0 for a single value).
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

fn statistic(values: &[f64]) -> Value {
    let (mean, std) = moments(values);
    json!({ "mean": mean, "std": std, "folds": values })
}

/// Every metric at one budget under one measure.
fn metrics(result: &MethodResult, budget: usize, measure: usize) -> Map<String, Value> {
    let cells = METRICS.iter().enumerate();
    cells.map(|(k, m)| (m.key.to_owned(), statistic(&result.values(budget, measure, k)))).collect()
}

fn method(result: &MethodResult, protocol: &Protocol, budgets: &[usize]) -> Value {
    let last = budgets.len() - 1;
    let mut object = Map::new();
    object.insert("method".into(), json!(result.method));
    object.append(&mut metrics(result, last, 0));
    let epsilon: Option<Vec<f64>> = result.folds.iter().map(|f| f.epsilon_pseudo).collect();
    let candidate: Vec<f64> = result.folds.iter().map(|f| f.epsilon_candidate).collect();
    object.insert("epsilon_pseudo".into(), epsilon.map_or(Value::Null, |e| statistic(&e)));
    object.insert("epsilon_candidate".into(), statistic(&candidate));
    let seconds: f64 = result.folds.iter().map(|f| f.seconds).sum();
    object.insert("seconds".into(), json!(seconds));
    object.insert("trained_on".into(), json!(result.folds[0].trained_on.name()));
    let at_last = || result.folds.iter().map(|f| &f.outcomes[last]);
    object.insert("features".into(), json!(at_last().next().map(|o| o.features)));
    object.insert("svm_c".into(), json!(at_last().map(|o| o.c).collect::<Vec<_>>()));
    object.insert("nan_scores".into(), json!(at_last().map(|o| o.nan_scores).sum::<usize>()));
    if budgets.len() > 1 {
        let point = |(b, k): (usize, &usize)| {
            let mut point = Map::new();
            point.insert("budget".into(), json!(k));
            point.append(&mut metrics(result, b, 0));
            Value::Object(point)
        };
        object.insert("sweep".into(), budgets.iter().enumerate().map(point).collect());
    }
    if protocol.measures.len() > 1 {
        let pairs = protocol.measures.iter().enumerate().skip(1);
        let by_convention: Map<String, Value> = pairs
            .map(|(m, (c, _))| (c.name().to_owned(), Value::Object(metrics(result, last, m))))
            .collect();
        object.insert("conventions".into(), Value::Object(by_convention));
    }
    Value::Object(object)
}

fn text(
    data: &Dataset,
    protocol: &Protocol,
    budgets: &[usize],
    results: &[MethodResult],
) -> String {
    let (convention, form) = protocol.measures[0];
    let mut text = format!(
        "{}: {} × {}, {} labels; {} folds × {}, {} % noise; metrics as {} (coverage {})\n",
        data.name,
        data.n(),
        data.d(),
        data.labels(),
        protocol.folds,
        protocol.repeats,
        100.0 * protocol.noise,
        convention.name(),
        form.name()
    );
    for (b, budget) in budgets.iter().enumerate() {
        text += &format!("\nbudget {budget}\n{}\n", main_table(results, b));
    }
    if protocol.measures.len() > 1 {
        for result in results {
            let table = convention_table(result, protocol, budgets.len() - 1);
            text += &format!("\n{} under all conventions\n{table}\n", result.method);
        }
        text += "\n* scikit-learn has no one-error; its column is NumPy's argmax.\n";
    }
    text.trim_end().to_owned()
}

fn main_table(results: &[MethodResult], budget: usize) -> Rows {
    let names = METRICS.iter().map(|m| format!("{} {}", m.name, arrow(m.higher_is_better)));
    let header = ["method".to_owned(), "trained on".to_owned()].into_iter().chain(names);
    let mut rows = Rows::new(header.chain(["ε pseudo".to_owned()]));
    for r in results {
        let mut row = vec![r.method.clone(), r.folds[0].trained_on.name().to_owned()];
        row.extend((0..METRICS.len()).map(|k| plus_minus(&r.values(budget, 0, k))));
        let epsilon: Option<Vec<f64>> = r.folds.iter().map(|f| f.epsilon_pseudo).collect();
        row.push(epsilon.map_or_else(|| "-".to_owned(), |e| plus_minus(&e)));
        rows.push(row);
    }
    rows
}

fn convention_table(result: &MethodResult, protocol: &Protocol, budget: usize) -> Rows {
    let conventions = protocol.measures[1..].iter().map(|(c, _)| c.name().to_owned());
    let mut rows = Rows::new(["metric".to_owned()].into_iter().chain(conventions));
    for (k, metric) in METRICS.iter().enumerate() {
        let mut row = vec![metric.name.to_owned()];
        for (m, (convention, _)) in protocol.measures.iter().enumerate().skip(1) {
            let star = *convention == Convention::ScikitLearn && metric.key == "one_error";
            let mark = if star { "*" } else { "" };
            row.push(format!("{:.4}{mark}", moments(&result.values(budget, m, k)).0));
        }
        rows.push(row);
    }
    rows
}

fn plus_minus(values: &[f64]) -> String {
    let (mean, std) = moments(values);
    format!("{mean:.3}±{std:.3}")
}

fn arrow(higher_is_better: bool) -> &'static str {
    if higher_is_better { "↑" } else { "↓" }
}
