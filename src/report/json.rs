//! Results as JSON, under stable keys.

use serde_json::{Map, Value, json};

use super::Exporter;
use crate::experiment::{Entry, Results, moments};
use crate::measure::METRICS;
use crate::{Result, io};

/// JSON: every metric with mean, standard deviation and raw folds.
pub struct Json;

impl Exporter for Json {
    fn file(&self) -> &'static str {
        "results.json"
    }

    fn export(&self, results: &Results) -> Result<String> {
        io::pretty_json(&Json::value(results))
    }
}

impl Json {
    /// The object that is written.
    pub fn value(results: &Results) -> Value {
        let mut all = json!(results.about);
        let object = all.as_object_mut().expect("a struct is an object");
        let (convention, form) = &results.about.measures[0];
        object.remove("measures");
        object.insert("convention".into(), json!(convention));
        object.insert("coverage_form".into(), json!(form));
        let methods = results.entries();
        let methods: Vec<Value> = methods.iter().map(|e| entry(e, results)).collect();
        object.insert("methods".into(), json!(methods));
        object.insert("notes".into(), json!(results.notes()));
        object.insert("failures".into(), json!(results.failures));
        all
    }
}

fn statistic(values: &[f64]) -> Value {
    let (mean, std) = moments(values);
    json!({ "mean": mean, "std": std, "folds": values })
}

fn metrics(entry: &Entry<'_>, measure: usize) -> Map<String, Value> {
    let cells = METRICS.iter().enumerate();
    cells.map(|(k, m)| (m.key.to_owned(), statistic(&entry.values(measure, k)))).collect()
}

fn entry(entry: &Entry<'_>, results: &Results) -> Value {
    let optional = |values: Option<Vec<f64>>| values.map_or(Value::Null, |v| statistic(&v));
    let cells = || entry.folds.iter().map(|(cell, _)| *cell);
    let scores = || entry.folds.iter().map(|(_, score)| *score);
    let verdicts: Vec<_> = cells().map(|c| c.verdict.as_ref().map(|v| v.status)).collect();
    let mut warnings: Vec<&String> = Vec::new();
    for warning in cells().flat_map(|c| c.verdict.iter().flat_map(|v| &v.warnings)) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    let mut all = json!({
        "method": entry.method,
        "trained_on": entry.trained_on,
        "classifier": entry.classifier,
        "budget": entry.budget,
        "features": scores().next().map(|s| s.features),
        "epsilon_pseudo": optional(entry.epsilon(|e| e.pseudo)),
        "epsilon_candidate": optional(entry.epsilon(|e| Some(e.candidate))),
        "epsilon_drop_all": optional(entry.epsilon(|e| Some(e.drop_all))),
        "rho": optional(cells().map(|c| c.rho).collect()),
        "verdict": verdicts,
        "warnings": warnings,
        "settings": cells().map(|c| &c.settings).collect::<Vec<_>>(),
        "svm_c": scores().map(|s| s.c).collect::<Vec<_>>(),
        "threshold": scores().map(|s| s.threshold).collect::<Vec<_>>(),
        "nan_scores": scores().map(|s| s.nan_scores).sum::<usize>(),
        "fits": cells().map(|c| c.fits).sum::<usize>(),
        "cells": cells().map(|c| &c.id).collect::<Vec<_>>(),
        "seconds": entry.seconds(),
    });
    let object = all.as_object_mut().expect("an object");
    object.append(&mut metrics(entry, 0));
    let by_chance = METRICS.iter().enumerate();
    let by_chance: Option<Map<String, Value>> = by_chance
        .map(|(k, m)| Some((m.key.to_owned(), statistic(&entry.by_chance(0, k)?))))
        .collect();
    object.insert("by_chance".into(), json!(by_chance));
    if results.about.measures.len() > 1 {
        let others = results.about.measures.iter().enumerate().skip(1);
        let conventions: Map<String, Value> =
            others.map(|(m, (name, _))| (name.clone(), Value::Object(metrics(entry, m)))).collect();
        object.insert("conventions".into(), Value::Object(conventions));
    }
    all
}
