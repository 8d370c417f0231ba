//! What `report.html` says about a run.

use serde_json::Value;

use super::page::{
    FeatureBar, Figure, LabelBar, MetricTable, SelectPage, SuspiciousRow, Tile, VerdictBox, grouped,
};
use super::summary::{candidates_and_kept, stability_text};
use super::{emptied_rows, next_steps, suspicious};
use crate::experiment::{Score, Selection};
use crate::measure::METRICS;
use crate::method::pomdp_fs::{Config, Preset, Ranking};
use crate::report::{Colour, LineChart, Series};

/// Number of features with a bar of their own.
const SHOWN_FEATURES: usize = 30;

/// Suspicious labels with a line of their own.
const SHOWN_CELLS: usize = 20;
/// Rows without a label that are named.
const SHOWN_ROWS: usize = 20;

pub(super) fn page(selection: &Selection<'_>) -> SelectPage {
    let (mut stage1, mut stage2) = curves(selection);
    // Two charts stand side by side; one that is left over takes the whole line.
    if (stage1.len() + stage2.len()) % 2 == 1
        && let Some(last) = stage2.last_mut().or(stage1.last_mut())
    {
        last.chart.wide = true;
    }
    let verdict = selection.outcome.result.verdict.as_ref();
    let cells = suspicious(selection);
    let ids = selection.data.ids.as_ref();
    let id = |row: usize| ids.map(|ids| ids.values[row].clone());
    let emptied = emptied_rows(selection);
    SelectPage {
        dataset: selection.data.name.clone(),
        verdict: verdict.map(|v| VerdictBox {
            status: v.status.name().to_owned(),
            text: v.text.clone(),
            warnings: v.warnings.clone(),
        }),
        next: next_steps(selection),
        suspicious: cells
            .iter()
            .take(SHOWN_CELLS)
            .map(|c| SuspiciousRow {
                row: c.row,
                id: id(c.row),
                label: selection.data.label_names[c.label].clone(),
                probability: c.shown_probability(),
            })
            .collect(),
        all_suspicious: cells.len(),
        id_name: ids.map(|ids| ids.name.clone()),
        emptied: (
            emptied
                .iter()
                .take(SHOWN_ROWS)
                .map(|&r| id(r).unwrap_or_else(|| r.to_string()))
                .collect(),
            emptied.len(),
        ),
        story: story(selection),
        tiles: tiles(selection),
        stage1,
        stage2,
        features: features(selection),
        budget: selection.budget,
        score: meaning(&selection.config).to_owned(),
        scores_by_rank: scores_by_rank(selection),
        labels: labels(selection),
        metrics: metrics(selection),
        provenance: provenance(selection),
        notes: selection.data.source.notes.clone(),
        settings: settings(selection),
    }
}

fn story(selection: &Selection<'_>) -> Vec<String> {
    let d = &selection.data;
    let (all, kept) = candidates_and_kept(selection);
    let mut story = vec![format!(
        "{} rows with {} and {}.",
        grouped(d.n()),
        several(d.d(), "feature"),
        several(d.labels(), "label"),
    )];
    if let Some(rate) = selection.noise {
        story.push(format!(
            "The true labels are known. {} rows were used for training, with {:.1} % of their \
             irrelevant labels added as noise; {} rows were held out.",
            grouped(selection.outcome.prepared.train_rows.len()),
            100.0 * rate,
            grouped(selection.outcome.prepared.test_rows.len())
        ));
    }
    story.push(format!(
        "Stage 1 judged every candidate label and removed {} of {} ({:.1} %). Stage 2 then learned \
         which features tell the remaining labels apart and selected {} of {}.",
        grouped(all - kept),
        grouped(all),
        percent(all - kept, all),
        grouped(selection.budget),
        grouped(d.d())
    ));
    if let Some(s) = &selection.outcome.fitted.stability {
        story.push(stability_text(s) + ".");
    }
    if let Some(e) = selection.outcome.result.epsilon
        && let (Some(after), Some(judgement)) = (e.pseudo, e.judgement())
    {
        story.push(format!(
            "{:.2} % of all label cells are wrong with all candidates, {:.2} % without any label, \
             {:.2} % with the labels that were kept: {judgement}.",
            100.0 * e.candidate,
            100.0 * e.drop_all,
            100.0 * after
        ));
    }
    if selection.config.preset == Preset::Paper {
        story.push(
            "This run follows the printed objective to the letter (preset paper), which does not \
             tell noise from truth; docs/method.md shows why."
                .to_owned(),
        );
    }
    story
}

fn tiles(selection: &Selection<'_>) -> Vec<Tile> {
    let (all, kept) = candidates_and_kept(selection);
    let tile = |value: String, name: &str, note: String| Tile { value, name: name.into(), note };
    let mut tiles = vec![
        tile(
            format!("{:.1} %", percent(all - kept, all)),
            "of the candidates removed",
            format!("{} of {}", grouped(all - kept), grouped(all)),
        ),
        tile(
            grouped(selection.budget),
            "features selected",
            format!("of {}", grouped(selection.data.d())),
        ),
    ];
    if let Some(e) = selection.outcome.result.epsilon
        && let Some(after) = e.pseudo
    {
        tiles.push(tile(
            format!("{after:.4}"),
            "wrong label cells (ε)",
            format!("{:.4} with all candidates, {:.4} with no label", e.candidate, e.drop_all),
        ));
    }
    if let Some(rho) = selection.trained().rho {
        let note = match selection.noise {
            Some(rate) => format!("{rate:.3} was added"),
            None => "chance that a wrong label is a candidate".to_owned(),
        };
        tiles.push(tile(format!("{rho:.3}"), "noise rate (ρ)", note));
    }
    tiles
}

fn curves(selection: &Selection<'_>) -> (Vec<Figure>, Vec<Figure>) {
    let (first, second) = &selection.trained().history;
    let one = |f: fn(&_) -> f64| first.iter().map(f).collect::<Vec<f64>>();
    // The linear belief, which comes first, is not trained by this loss.
    let linear = usize::from(selection.config.preset == Preset::Observation);
    let losses = first.iter().skip(linear).map(|e| e.bce + e.graph).collect();
    let mut stage1 = vec![figure(
        "Stage 1: loss",
        "How well the labels that the policy keeps can be predicted while learning.",
        vec![line("loss", Colour::Blue, losses)],
    )];
    if selection.config.preset == Preset::Observation {
        stage1.push(figure(
            "Stage 1: held-out loss",
            "−ln P(C) per cell of rows that the models had not seen. The first value is the linear \
             belief; training ends when it falls no more, and the best value decides.",
            vec![line("held out", Colour::Blue, first.iter().filter_map(|e| e.held_out).collect())],
        ));
    }
    stage1.push(figure(
        "Stage 1: confidence",
        "Mean probability of keeping a candidate, and how undecided the policy is (entropy in nats, \
         at most 0.69).",
        vec![
            line("mean p", Colour::Blue, one(|e| e.mean_p)),
            line("entropy", Colour::Orange, one(|e| e.entropy)),
        ],
    ));
    let epsilon: Vec<f64> = first.iter().filter_map(|e| e.epsilon).collect();
    if let Some(e) = selection.outcome.result.epsilon {
        let (before, none) = (e.candidate, e.drop_all);
        let mut wrong = figure(
            "Stage 1: wrong label cells ε",
            "Measured with the true labels, which the method never sees. Below the dashed line the \
             labels are cleaner than both the candidates and no label at all.",
            vec![line("pseudo labels", Colour::Blue, epsilon)],
        );
        wrong.chart.reference = Some(before.min(none));
        wrong.dashed = Some(match before <= none {
            true => format!("all candidates: {before:.4}"),
            false => format!("no label: {none:.4}"),
        });
        stage1.push(wrong);
    }
    let losses = second.losses();
    let mut stage2 = Vec::new();
    if !losses.is_empty() {
        stage2.push(figure(
            "Stage 2: loss",
            "Loss of predicting the labels with no feature and with those that a trial selection (a \
             rollout of the policy) ends with: the gap is what the features tell.",
            vec![
                line("nothing selected", Colour::Orange, losses.iter().map(|l| l.0).collect()),
                line("end of a trial selection", Colour::Blue, losses.iter().map(|l| l.1).collect()),
            ],
        ));
    }
    (stage1, stage2)
}

fn figure(title: &str, text: &str, series: Vec<Series>) -> Figure {
    let chart = LineChart { series, ..LineChart::default() };
    Figure { title: title.into(), text: text.into(), dashed: None, chart }
}

fn line(name: &str, colour: Colour, values: Vec<f64>) -> Series {
    Series { name: name.into(), colour, values }
}

fn features(selection: &Selection<'_>) -> Vec<FeatureBar> {
    let best = selection.outcome.fitted.ranking.iter().take(selection.budget.min(SHOWN_FEATURES));
    best.map(|r| FeatureBar {
        name: selection.data.feature_names[r.feature].clone(),
        score: r.score,
        frequency: selection.trained().features.frequency[r.feature],
    })
    .collect()
}

fn scores_by_rank(selection: &Selection<'_>) -> Figure {
    let scores = selection.outcome.fitted.ranking.iter().map(|r| r.score).collect();
    let mut all = figure(
        "Scores of all features, best first",
        "Where the curve becomes flat, features can hardly be told apart.",
        vec![line("score by rank", Colour::Blue, scores)],
    );
    all.chart.wide = true;
    if selection.budget < selection.data.d() {
        all.chart.mark = Some(selection.budget);
        all.dashed = Some(format!("the budget: {}", grouped(selection.budget)));
    }
    all
}

fn labels(selection: &Selection<'_>) -> Vec<LabelBar> {
    let candidates = selection.outcome.prepared.candidates.count_by_label();
    let kept =
        selection.outcome.fitted.pseudo.as_ref().expect("the method makes them").count_by_label();
    let truth = selection.outcome.prepared.truth.as_ref().map(|y| y.count_by_label());
    let names = selection.data.label_names.iter().enumerate();
    names
        .map(|(j, name)| LabelBar {
            name: name.clone(),
            candidates: candidates[j],
            kept: kept[j],
            truth: truth.as_ref().map(|t| t[j]),
        })
        .collect()
}

fn metrics(selection: &Selection<'_>) -> Option<MetricTable> {
    let scores = &selection.outcome.result.scores;
    if scores.is_empty() {
        return None;
    }
    let mut columns: Vec<(String, &Score)> =
        scores.iter().map(|s| (s.trained_on.name().to_owned(), s)).collect();
    columns.extend(selection.all_features.as_ref().map(|s| ("all features".to_owned(), s)));
    let rows = METRICS.iter().enumerate().map(|(k, m)| {
        let arrow = if m.higher_is_better { "↑" } else { "↓" };
        let values = columns.iter().map(|(_, s)| format!("{:.4}", s.measures[0].0[k]));
        (format!("{} {arrow}", m.name), values.collect())
    });
    Some(MetricTable {
        note: format!(
            "A linear SVM on the {} selected features, on {} held-out rows with true labels, by the labels \
             that it was trained on; the last column is trained on pseudo labels with all {} features. ↓: lower is better. CE is \
             coverage / labels.",
            grouped(selection.budget),
            grouped(selection.outcome.prepared.test_rows.len()),
            grouped(selection.data.d())
        ),
        rows: rows.collect(),
        head: columns.into_iter().map(|(name, _)| name).collect(),
    })
}

fn provenance(selection: &Selection<'_>) -> Vec<(String, String)> {
    let source = &selection.data.source;
    [
        ("Data", selection.data.name.clone()),
        ("Format", source.format.clone()),
        ("SHA-256", source.sha256.clone()),
        ("Seed", selection.seed.to_string()),
        ("Version", format!("pomdp-fs {}", env!("CARGO_PKG_VERSION"))),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .to_vec()
}

fn settings(selection: &Selection<'_>) -> Vec<(String, String)> {
    let all = serde_json::to_value(&selection.config).expect("plain values");
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let all = all.as_object().expect("a struct is an object");
    all.iter().map(|(key, value)| (key.clone(), text(value))).collect()
}

fn meaning(config: &Config) -> &'static str {
    if config.preset == Preset::Observation {
        return "how early the policy selects the feature, 1 for the first step; a feature that no trial \
                selection has scores almost 0";
    }
    match config.ranking {
        Ranking::Frequency => "share of the rollouts in which the feature was selected",
        Ranking::Score => "average probability that the policy gives the feature",
        Ranking::Credit => "how much the loss falls, on average, when the feature is selected",
    }
}

fn several(count: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
