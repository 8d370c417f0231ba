//! What `report.html` says about a run.

use serde_json::Value;

use super::job::{Scores, Setting};
use super::output::{errors, pseudo, trained};
use crate::measure::METRICS;
use crate::method::Fitted;
use crate::method::pomdp_fs::{Preset, Ranking};
use crate::report::{
    Colour, FeatureBar, Figure, LabelBar, LineChart, MetricTable, SelectPage, Series, Tile, grouped,
};

/// Number of features with a bar of their own.
const SHOWN_FEATURES: usize = 30;

pub(super) fn page(setting: &Setting, outcome: &Fitted, scores: &[Scores]) -> SelectPage {
    let (stage1, stage2) = curves(setting, outcome);
    SelectPage {
        dataset: setting.dataset.name.clone(),
        story: story(setting, outcome),
        tiles: tiles(setting, outcome),
        stage1,
        stage2,
        features: features(setting, outcome),
        budget: setting.budget,
        score: meaning(setting.config.ranking).to_owned(),
        scores_by_rank: scores_by_rank(setting, outcome),
        labels: labels(setting, outcome),
        metrics: metrics(setting, scores),
        provenance: provenance(setting),
        notes: setting.dataset.source.notes.clone(),
        settings: settings(setting),
    }
}

fn story(setting: &Setting, outcome: &Fitted) -> Vec<String> {
    let d = &setting.dataset;
    let (all, kept) = (setting.candidates.count(), pseudo(outcome).count());
    let mut story = vec![format!(
        "{} rows with {} and {}.",
        grouped(d.n()),
        several(d.d(), "feature"),
        several(d.labels(), "label"),
    )];
    if let Some(rate) = setting.noise {
        story.push(format!(
            "The true labels are known. {} rows were used for training, with {:.1} % of their \
             irrelevant labels added as noise; {} rows were held out.",
            grouped(setting.train.len()),
            100.0 * rate,
            grouped(setting.test.len())
        ));
    }
    story.push(format!(
        "Stage 1 judged every candidate label and removed {} of {} ({:.1} %). Stage 2 then learned \
         which features tell the remaining labels apart and selected {} of {}.",
        grouped(all - kept),
        grouped(all),
        percent(all - kept, all),
        grouped(setting.budget),
        grouped(d.d())
    ));
    if let Some((before, after)) = errors(setting, outcome) {
        let verdict = match after {
            a if a < before => "The labels became cleaner",
            a if a > before => "The labels became worse",
            _ => "The labels are as wrong as before",
        };
        story.push(format!(
            "{verdict}: {:.2} % of all label cells are wrong with all candidates, {:.2} % after.",
            100.0 * before,
            100.0 * after
        ));
    }
    if setting.config.preset == Preset::Paper {
        story.push(
            "This run follows the printed objective to the letter (preset paper), which does not \
             tell noise from truth; docs/method.md shows why."
                .to_owned(),
        );
    }
    story
}

fn tiles(setting: &Setting, outcome: &Fitted) -> Vec<Tile> {
    let (all, kept) = (setting.candidates.count(), pseudo(outcome).count());
    let tile = |value: String, name: &str, note: String| Tile { value, name: name.into(), note };
    let mut tiles = vec![
        tile(
            format!("{:.1} %", percent(all - kept, all)),
            "of the candidates removed",
            format!("{} of {}", grouped(all - kept), grouped(all)),
        ),
        tile(
            grouped(setting.budget),
            "features selected",
            format!("of {}", grouped(setting.dataset.d())),
        ),
    ];
    if let Some((before, after)) = errors(setting, outcome) {
        tiles.push(tile(
            format!("{after:.4}"),
            "wrong label cells (ε)",
            format!("{before:.4} with all candidates"),
        ));
    }
    if let Some(rho) = trained(outcome).rho {
        let note = match setting.noise {
            Some(rate) => format!("{rate:.3} was added"),
            None => "chance that a wrong label is a candidate".to_owned(),
        };
        tiles.push(tile(format!("{rho:.3}"), "learned noise rate (ρ)", note));
    }
    tiles
}

fn curves(setting: &Setting, outcome: &Fitted) -> (Vec<Figure>, Vec<Figure>) {
    let (first, second) = &trained(outcome).history;
    let one = |f: fn(&_) -> f64| first.iter().map(f).collect::<Vec<f64>>();
    let mut stage1 = vec![figure(
        "Stage 1: loss",
        "How well the labels that were kept can be predicted from the features, with the penalty \
         for neighbours that differ.",
        vec![line("loss", Colour::Blue, one(|e| e.bce + e.graph))],
    )];
    if setting.config.preset == Preset::Observation {
        let mut rho = figure(
            "Stage 1: noise rate ρ",
            "It should settle. A rate that keeps falling says that the model has begun to believe \
             the noise.",
            vec![line("learned", Colour::Blue, first.iter().filter_map(|e| e.rho).collect())],
        );
        if let Some(rate) = setting.noise {
            (rho.chart.reference, rho.dashed) = (Some(rate), Some(format!("added: {rate:.3}")));
        }
        stage1.push(rho);
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
    if let Some((before, _)) = errors(setting, outcome) {
        let mut wrong = figure(
            "Stage 1: wrong label cells ε",
            "Measured with the true labels, which the method never sees. Below the dashed line the \
             labels are cleaner than the candidates.",
            vec![line("pseudo labels", Colour::Blue, epsilon)],
        );
        wrong.chart.reference = Some(before);
        wrong.dashed = Some(format!("all candidates: {before:.4}"));
        stage1.push(wrong);
    }
    let two = |f: fn(&_) -> f64| second.iter().map(f).collect::<Vec<f64>>();
    let mut stage2 = Vec::new();
    if !second.is_empty() {
        stage2.push(figure(
            "Stage 2: loss",
            "Loss of predicting the labels with no feature and with those that a rollout selects: the \
             gap is what the features tell.",
            vec![
                line("nothing selected", Colour::Orange, two(|e| e.loss_start)),
                line("end of a rollout", Colour::Blue, two(|e| e.loss_end)),
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

fn features(setting: &Setting, outcome: &Fitted) -> Vec<FeatureBar> {
    let best = outcome.ranking.iter().take(setting.budget.min(SHOWN_FEATURES));
    best.map(|r| FeatureBar {
        name: setting.dataset.feature_names[r.feature].clone(),
        score: r.score,
        frequency: trained(outcome).features.frequency[r.feature],
    })
    .collect()
}

fn scores_by_rank(setting: &Setting, outcome: &Fitted) -> Figure {
    let scores = outcome.ranking.iter().map(|r| r.score).collect();
    let mut all = figure(
        "Scores of all features, best first",
        "Where the curve becomes flat, features can hardly be told apart.",
        vec![line("score by rank", Colour::Blue, scores)],
    );
    all.chart.wide = true;
    if setting.budget < setting.dataset.d() {
        all.chart.mark = Some(setting.budget);
        all.dashed = Some(format!("the budget: {}", grouped(setting.budget)));
    }
    all
}

fn labels(setting: &Setting, outcome: &Fitted) -> Vec<LabelBar> {
    let candidates = setting.candidates.count_by_label();
    let kept = pseudo(outcome).count_by_label();
    let truth = setting.truth.as_ref().map(|y| y.count_by_label());
    let names = setting.dataset.label_names.iter().enumerate();
    names
        .map(|(j, name)| LabelBar {
            name: name.clone(),
            candidates: candidates[j],
            kept: kept[j],
            truth: truth.as_ref().map(|t| t[j]),
        })
        .collect()
}

fn metrics(setting: &Setting, scores: &[Scores]) -> Option<MetricTable> {
    if scores.is_empty() {
        return None;
    }
    let cells = |s: &Scores| s.summary.values.iter().map(|v| format!("{v:.4}")).collect();
    Some(MetricTable {
        note: format!(
            "A linear SVM on the selected features, on {} held-out rows with true labels, by what it \
             was trained on. RL, HL, CE and One-error: lower is better; the others: higher. CE is \
             coverage / labels.",
            grouped(setting.test.len())
        ),
        head: METRICS.iter().map(|m| m.name.to_owned()).collect(),
        rows: scores.iter().map(|s| (s.name.to_owned(), cells(s))).collect(),
    })
}

fn provenance(setting: &Setting) -> Vec<(String, String)> {
    let source = &setting.dataset.source;
    [
        ("Data", setting.dataset.name.clone()),
        ("Format", source.format.clone()),
        ("SHA-256", source.sha256.clone()),
        ("Seed", setting.seed.to_string()),
        ("Version", format!("pomdp-fs {}", env!("CARGO_PKG_VERSION"))),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .to_vec()
}

fn settings(setting: &Setting) -> Vec<(String, String)> {
    let all = serde_json::to_value(&setting.config).expect("plain values");
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let all = all.as_object().expect("a struct is an object");
    all.iter().map(|(key, value)| (key.clone(), text(value))).collect()
}

fn meaning(ranking: Ranking) -> &'static str {
    match ranking {
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
