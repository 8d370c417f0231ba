//! The report of a run of the grid: tables beside the printed ones, drawings, targets, one page.

mod ablation;
mod behind;
mod curves;
mod labels;
mod page;
mod ranks;
mod scores;
mod sheet;
mod story;
mod targets;
mod times;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

pub use targets::Target;
pub use times::times_csv;

use self::sheet::{Section, Sheet};
use super::TextTable;
use super::csv::csv_bytes;
use crate::experiment::grid::{FailedCell, RunData, RunSummary, Timed, View, score};
use crate::experiment::moments;
use crate::experiment::printed::Printed;
use crate::measure::METRICS;
use crate::{Error, Result, io};

/// The report of a run.
pub struct Report {
    run: RunSummary,
    times: Vec<Timed>,
    failures: Vec<FailedCell>,
    story: Vec<String>,
    targets: Vec<Target>,
    sections: Vec<Section>,
}

impl Report {
    /// Computes every table.
    pub fn new(data: RunData) -> Result<Self> {
        if data.cells.is_empty() && data.failures.is_empty() {
            return Err(Error::found("no finished cell", "at least one to report"));
        }
        let RunData { cells, times, failures, .. } = data;
        let run = RunSummary::new(cells.into_values().collect())?;
        let printed = Printed::load()?;
        let targets = targets::targets(&run, &printed);
        let mut end_to_end = labels::section(&run);
        end_to_end.sheets.push(scores::gap_sheet(&run));
        let mut sections = vec![
            Section {
                id: "targets",
                title: "Targets",
                sheets: vec![target_sheet(&targets)],
                ..Section::default()
            },
            end_to_end,
            scores::section(&run),
            scores::printed_section(&run, &printed),
            ranks::section(&run, &printed)?,
            ablation::section(&run, &printed),
            curves::section(&run),
            times::section(&run, &times),
        ];
        if !failures.is_empty() {
            sections.push(failed_section(&failures));
        }
        for section in &mut sections {
            section.sheets.retain(|sheet| !sheet.table.rows().is_empty());
        }
        sections.retain(|s| !s.sheets.is_empty() || !s.drawings.is_empty());
        let story = story::story(&run, &printed, &targets);
        Ok(Report { run, times, failures, story, targets, sections })
    }

    /// Cells that failed.
    pub fn failures(&self) -> &[FailedCell] {
        &self.failures
    }

    /// Writes `report.html`, `manifest.json`, `tables` and `figures`.
    pub fn write(&self, out: &Path) -> Result<()> {
        for part in ["tables", "figures"] {
            let folder = out.join(part);
            fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, "create", &e))?;
        }
        let file =
            |part: &str, name: &str, ending: &str| out.join(part).join(format!("{name}.{ending}"));
        for section in &self.sections {
            for sheet in &section.sheets {
                for (ending, bytes) in sheet.files()? {
                    io::write_atomic(&file("tables", &sheet.file, ending), &bytes)?;
                }
            }
            for drawing in &section.drawings {
                let svg = drawing.svg.as_bytes();
                io::write_atomic(&file("figures", &drawing.file, "svg"), svg)?;
            }
        }
        io::write_atomic(&file("tables", "all", "csv"), &self.all_scores()?)?;
        let manifest = io::pretty_json(&self.manifest())?;
        io::write_atomic(&out.join("manifest.json"), manifest.as_bytes())?;
        io::write_atomic(&out.join("report.md"), self.markdown().as_bytes())?;
        io::write_atomic(&out.join("report.html"), page::html(self)?.as_bytes())
    }

    /// The story and the tables that are not folded, for a terminal.
    pub fn terminal(&self) -> String {
        let mut text = self.story.join("\n");
        let shown = ["targets", "labels", "ranks"];
        for section in self.sections.iter().filter(|s| shown.contains(&s.id)) {
            for sheet in section.sheets.iter().filter(|s| !s.long) {
                text += &format!("\n\n{}\n{}", sheet.title, sheet.table);
            }
        }
        text
    }

    /// Story, targets and what the run was.
    pub fn json(&self) -> Value {
        json!({
            "story": self.story,
            "targets": self.targets,
            "failures": self.failures,
            "manifest": self.manifest(),
        })
    }

    fn markdown(&self) -> String {
        let story: String = self.story.iter().map(|line| format!("- {line}\n")).collect();
        let mut text = format!("# Reproduction\n\n{story}");
        for section in &self.sections {
            text += &format!("\n## {}\n", section.title);
            for paragraph in &section.text {
                text += &format!("\n{paragraph}\n");
            }
            for sheet in &section.sheets {
                let table = super::markdown::table(&sheet.table);
                text += &format!("\n### {}\n\n{}\n\n{table}", sheet.title, sheet.note);
            }
        }
        text
    }

    fn manifest(&self) -> Value {
        json!({
            "format": "pomdp-fs reproduction 1",
            "version": self.run.version,
            "cells": self.run.cells,
            "incomplete": self.run.incomplete,
            "failed": self.failures.len(),
            "folds": self.run.folds,
            "seeds": self.run.seeds,
            "methods": self.run.methods,
            "sets": self.run.sets,
            "seconds": self.times.iter().map(|t| t.seconds).sum::<f64>(),
        })
    }

    /// Every mean at full precision, one row per set, method, labels, budget and metric.
    fn all_scores(&self) -> Result<Vec<u8>> {
        let head = ["set", "method", "trained_on", "budget", "metric", "mean", "std", "values"];
        let mut rows = Vec::new();
        for set in &self.run.sets {
            let variants = self.run.variants();
            let methods = self.run.methods.iter().map(String::as_str).chain(variants);
            for method in methods {
                let Some(cells) = self.run.cells(set, method) else { continue };
                for like in &cells[0].result.scores {
                    let view = View::Labels(like.trained_on);
                    let at = crate::experiment::grid::At::Budget(like.budget);
                    let scores: Option<Vec<_>> =
                        cells.iter().map(|cell| score(cell, view, at)).collect();
                    for (k, metric) in METRICS.iter().enumerate() {
                        let Some(scores) = &scores else { continue };
                        let values: Vec<f64> = scores.iter().map(|s| s.measures[0].0[k]).collect();
                        let (mean, std) = moments(&values);
                        rows.push(vec![
                            set.name.clone(),
                            method.to_owned(),
                            like.trained_on.name().to_owned(),
                            like.budget.to_string(),
                            metric.key.to_owned(),
                            mean.to_string(),
                            std.to_string(),
                            values.len().to_string(),
                        ]);
                    }
                }
            }
        }
        csv_bytes(&head.map(str::to_owned), rows.into_iter())
    }
}

fn target_sheet(targets: &[Target]) -> Sheet {
    let mut table = TextTable::new(["met", "target", "found"]);
    for t in targets {
        let met = match t.met {
            Some(true) => "met",
            Some(false) => "not met",
            None => "not measured",
        };
        table.push([met, t.target.as_str(), t.found.as_str()]);
    }
    Sheet::new("targets", "Targets", "Computed from the cells of this run.", table)
}

fn failed_section(failures: &[FailedCell]) -> Section {
    let mut table = TextTable::new(["set", "method", "seed", "fold", "reason"]);
    for f in failures {
        table.push([
            f.set.clone(),
            f.method.clone(),
            f.seed.to_string(),
            f.fold.to_string(),
            f.reason.replace('\n', " "),
        ]);
    }
    let note = "These cells could not be computed; `--retry` computes them again.";
    let sheets = vec![Sheet::new("failed", "Failed cells", note, table)];
    Section { id: "failed", title: "Failed cells", sheets, ..Section::default() }
}
