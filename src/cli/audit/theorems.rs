//! `pomdp-fs audit theorems`: the checks, and the drawings behind them.

use std::path::PathBuf;

use clap::Args;

use super::Context;
use super::page::{self, Part};
use crate::Result;
use crate::audit::check::number;
use crate::audit::theorems::decomposition;
use crate::audit::theorems::excess_risk::Slack;
use crate::audit::theorems::prediction::Loss;
use crate::audit::theorems::stationarity::Curves as Gradient;
use crate::audit::theorems::{self, TheoremReport};
use crate::audit::{Check, CheckReport, Limit};
use crate::cli::input::Place;
use crate::data::catalog::{self, Cut};
use crate::data::{Dataset, ReadOptions};
use crate::method::pomdp_fs::Preset;
use crate::report::{AuditFigure, Axis, Colour, Curve, Curves};

/// Check the paper's theorems 5.2, 5.3 and 5.5 on worlds that are small enough to enumerate
#[derive(Args)]
#[command(after_help = "Examples:\n  pomdp-fs audit theorems\n  \
    pomdp-fs audit theorems --html theorems.html --json theorems.json\n  \
    pomdp-fs audit theorems --data yeast,emotions       # fits both presets: minutes\n\n\
    docs/theory.md says what is proved, what is checked, and where a statement needs a repair.")]
pub(super) struct Theorems {
    /// Write a page with every claim, figure and limit, and the curves behind them
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also the two terms of 5.5 on these data sets (names of the catalog or files), for each preset
    #[arg(long, value_name = "SET,…", value_delimiter = ',')]
    data: Vec<String>,
    #[command(flatten)]
    place: Place,
}

impl Theorems {
    pub fn run(&self, context: &Context) -> Result<bool> {
        let open = |name: &String| {
            catalog::open(name, Cut::Paper, &self.place.folders(), &ReadOptions::default())
        };
        let sets = self.data.iter().map(open).collect::<Result<Vec<_>>>()?;
        page::alone("Audit of the theorems", &self.html, context, |context| {
            let mut part = part(context)?;
            if !sets.is_empty() {
                let checks = on_data(&sets, context)?;
                context.say(&checks);
                part.report.checks.extend(checks.checks);
                part.report = CheckReport::new(part.report.checks);
            }
            Ok(part)
        })
    }
}

/// The two terms of the bound of 5.5 on real data. The lines say what is; they have no limit to keep
/// but the bound itself.
fn on_data(sets: &[Dataset], context: &Context) -> Result<CheckReport> {
    let mut checks = Vec::new();
    for data in sets {
        for preset in [Preset::Observation, Preset::Paper] {
            context.note(format!("{}: fitting preset {preset:?}", data.name));
            let t = decomposition::terms(data, preset, context.streams.root())?;
            let rules =
                if t.label_term > t.generalisation { "label noise" } else { "generalisation" };
            let says = if t.bound() < 1.0 {
                "below 1"
            } else {
                "at least 1, the largest possible loss: it says nothing"
            };
            checks.push(Check::new(
                format!("5.5/data/{}/{}", t.dataset, t.preset),
                format!(
                    "excess risk over bound, n = {}: excess {}, 2 L ε = {}, 2 Gen = {} (of which {} for any class), W = {}; \
                     {rules} rules; the bound is {}, {says}",
                    t.n,
                    number(t.excess),
                    number(t.label_term),
                    number(t.generalisation),
                    number(t.unavoidable),
                    number(t.norm),
                    number(t.bound()),
                ),
                t.excess / t.bound(),
                Limit::AtMost(1.0),
            ));
        }
    }
    Ok(CheckReport::new(checks))
}

/// Runs the checks.
pub(super) fn part(context: &Context) -> Result<Part> {
    let report = theorems::check(&context.streams)?;
    context.say(&report.checks);
    let figures = figures(&report);
    Ok(Part {
        title: "Theorems",
        command: "pomdp-fs audit theorems",
        text: "Theorems 5.2, 5.3 and 5.5 on finite worlds: both sides by enumeration, estimators by a million \
               samples, bounds over many draws."
            .into(),
        information: false,
        report: report.checks,
        figures,
    })
}

fn curve(k: usize, name: impl Into<String>, points: Vec<(f64, f64)>) -> Curve {
    Curve { name: name.into(), colour: Colour::ALL[k % Colour::ALL.len()], points }
}

fn figures(report: &TheoremReport) -> Vec<AuditFigure> {
    let threshold = |of: fn(&theorems::collapse::Threshold) -> f64| {
        report.thresholds.iter().map(|t| (t.at.min(1.0), of(t))).collect()
    };
    let collapse = AuditFigure {
        title: "5.2: what each loss rewards".into(),
        text: "Across: candidates are kept where their posterior is at least this; at 1 everything is dropped. Up: loss \
               per label with the best U(x), and the share of wrong cells. The printed loss is least where everything \
               is dropped and the error is largest."
            .into(),
        dashed: None,
        curves: Curves {
            curves: vec![
                curve(0, "printed loss", threshold(|t| t.printed)),
                curve(1, "with the observation model", threshold(|t| t.observed)),
                curve(5, "ε", threshold(|t| t.epsilon)),
            ],
            ..Curves::default()
        },
    };
    [collapse]
        .into_iter()
        .chain(gradient_figures(&report.gradient))
        .chain(bound_figures(&report.bounds))
        .collect()
}

fn gradient_figures(gradient: &Gradient) -> [AuditFigure; 2] {
    let points =
        |n: &theorems::stationarity::Noise| n.points.iter().map(|&(b, s)| (b as f64, s)).collect();
    let norms = |path: &theorems::convergence::Path| {
        path.points.iter().map(|p| (p.step as f64, p.norm)).collect()
    };
    let noise = AuditFigure {
        title: "5.3: why the printed form does not learn".into(),
        text: "Across: rows of a batch. Up: ‖mean‖ over the standard deviation of one batch's gradient. With one reward \
               for the batch a row is weighted by the losses of all others: noise that no mean feels. Credit per row or \
               label gains with every row."
            .into(),
        dashed: None,
        curves: Curves {
            curves: gradient.noise.iter().enumerate().map(|(k, n)| curve(k, n.credit.name(), points(n))).collect(),
            across: Axis::Logarithmic,
            up: Axis::Logarithmic,
            reference: None,
        },
    };
    let convergence = AuditFigure {
        title: "5.3: steps that converge and steps that do not".into(),
        text: "Across: steps. Up: mean of ‖∇F‖ over 16 runs. Decreasing steps drive it to 0, a constant step of 0.05 stays. A \
               constant step of 1 silences it too, by collapse: the policy becomes certain, of the wrong actions."
            .into(),
        dashed: None,
        curves: Curves {
            curves: vec![
                curve(0, "0.1 (1 + t/100)^(−3/4)", norms(&gradient.decreasing)),
                curve(1, "constant 0.05", norms(&gradient.constant)),
                curve(5, "constant 1", norms(&gradient.large)),
            ],
            across: Axis::Logarithmic,
            up: Axis::Logarithmic,
            reference: None,
        },
    };
    [noise, convergence]
}

/// Both sides of the bound by n, for the best and the worst rule.
fn bound_figures(bounds: &[Slack]) -> Vec<AuditFigure> {
    let of = |rule: &'static str, value: fn(&Slack) -> f64| -> Vec<(f64, f64)> {
        let own = bounds.iter().filter(|s| s.rule == rule && s.loss == Loss::Absolute);
        own.map(|s| (s.n as f64, value(s))).collect()
    };
    let figure = |rule: &'static str, text: &str| AuditFigure {
        title: format!("5.5: both sides of the bound, rule {rule}"),
        text: format!(
            "Across: rows of the sample. Up: risk, absolute loss, means of 400 draws. {text}"
        ),
        dashed: Some("largest possible loss".into()),
        curves: Curves {
            curves: vec![
                curve(0, "bound", of(rule, |s| s.label_term + s.generalisation)),
                curve(1, "2 L ε", of(rule, |s| s.label_term)),
                curve(2, "2 Gen", of(rule, |s| s.generalisation)),
                curve(5, "excess risk", of(rule, |s| s.excess.max(1e-4))),
            ],
            across: Axis::Logarithmic,
            up: Axis::Logarithmic,
            reference: Some(1.0),
        },
    };
    vec![
        figure(
            "posterior",
            "Above the dashed line the bound says nothing. Values below 0.0001 are drawn there.",
        ),
        figure("drop-all", "The label term does not fall with n: here it is above 1 at any n."),
    ]
}
