//! The report of one `select`: a page that needs nothing but itself.
//!
//! No script, no font, no image from elsewhere, no date: the same run gives the same bytes, and the
//! page can be mailed, printed and archived. Names come from the user's file and are escaped by the
//! template engine; only the drawings, which hold no names, are inserted as they are.

use minijinja::{Value, context};

use crate::Result;
use crate::report::spoken::spoken;
use crate::report::{LineChart, render};
use crate::text::printable;

/// What the page says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelectPage {
    /// Name of the data.
    pub dataset: String,
    /// What the method thinks of its labels: a word, a text, what else was noticed.
    pub verdict: Option<VerdictBox>,
    /// What to do next, the most important first.
    pub next: Vec<String>,
    /// What was done and what came out, one paragraph each.
    pub story: Vec<String>,
    /// The numbers to remember.
    pub tiles: Vec<Tile>,
    /// Curves of Stage 1.
    pub stage1: Vec<Figure>,
    /// Curves of Stage 2; none if it was not trained.
    pub stage2: Vec<Figure>,
    /// The best features.
    pub features: Vec<FeatureBar>,
    /// How many features were selected.
    pub budget: usize,
    /// What the score of a feature is.
    pub score: String,
    /// Scores of all features by rank.
    pub scores_by_rank: Figure,
    /// Labels before and after.
    pub labels: Vec<LabelBar>,
    /// Labels that are most likely wrong, the worst first.
    pub suspicious: Vec<SuspiciousRow>,
    /// How many there are in all.
    pub all_suspicious: usize,
    /// What the column of ids is called, if there is one.
    pub id_name: Option<String>,
    /// Rows that keep no label, the first few, and how many there are.
    pub emptied: (Vec<String>, usize),
    /// Scores, if there are held-out rows with true labels.
    pub metrics: Option<MetricTable>,
    /// Where everything came from.
    pub provenance: Vec<(String, String)>,
    /// Remarks of the reader.
    pub notes: Vec<String>,
    /// Every setting.
    pub settings: Vec<(String, String)>,
}

/// A verdict in words.
#[derive(Clone, Debug, PartialEq)]
pub struct VerdictBox {
    /// One word.
    pub status: String,
    /// What it means.
    pub text: String,
    /// What else was noticed.
    pub warnings: Vec<String>,
}

/// A label that is likely wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct SuspiciousRow {
    /// Row of the data.
    pub row: usize,
    /// Its id, if it has one.
    pub id: Option<String>,
    /// The label.
    pub label: String,
    /// Probability that it is true.
    pub probability: String,
}

/// Scores by what a classifier was trained on.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricTable {
    /// What the table shows.
    pub note: String,
    /// What was trained on.
    pub head: Vec<String>,
    /// Name of a metric, and its values.
    pub rows: Vec<(String, Vec<String>)>,
}

/// A number with its meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// The number.
    pub value: String,
    /// What it is.
    pub name: String,
    /// What to compare it with.
    pub note: String,
}

/// A chart with its words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Heading.
    pub title: String,
    /// What to look for.
    pub text: String,
    /// What the dashed line is, if there is one.
    pub dashed: Option<String>,
    /// The drawing.
    pub chart: LineChart,
}

/// A feature and its score.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureBar {
    /// Name.
    pub name: String,
    /// Score.
    pub score: f64,
    /// Share of the rollouts in which it was selected.
    pub frequency: f64,
}

/// A label's instances before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelBar {
    /// Name.
    pub name: String,
    /// Instances with the label as a candidate.
    pub candidates: usize,
    /// Instances that keep it.
    pub kept: usize,
    /// Instances that have it in truth, if that is known.
    pub truth: Option<usize>,
}

impl SelectPage {
    /// The page as HTML.
    pub fn html(&self) -> Result<String> {
        let figures = |all: &[Figure]| all.iter().map(Figure::value).collect::<Result<Vec<_>>>();
        let tiles = self.tiles.iter();
        let tiles = tiles.map(|t| context! { value => &t.value, name => &t.name, note => &t.note });
        let metrics = self.metrics.as_ref().map(MetricTable::value);
        render(
            include_str!("select.html"),
            context! {
                dataset => printable(&self.dataset),
                verdict => self.verdict.as_ref().map(|v| {
                    context! { status => &v.status, text => &v.text, warnings => list(&v.warnings) }
                }),
                next => list(&self.next),
                suspicious => self.suspicious_rows(),
                all_suspicious => grouped(self.all_suspicious),
                id_name => self.id_name.as_deref().map(printable),
                emptied => list(&self.emptied.0),
                all_emptied => grouped(self.emptied.1),
                more_emptied => self.emptied.1 > self.emptied.0.len(),
                story => list(&self.story),
                tiles => Value::from_iter(tiles),
                stage1 => figures(&self.stage1)?,
                stage2 => figures(&self.stage2)?,
                features => self.feature_rows(),
                budget => grouped(self.budget),
                unshown => grouped(self.budget.saturating_sub(self.features.len())),
                score => &self.score,
                scores_by_rank => self.scores_by_rank.value()?,
                labels => self.label_rows(),
                truth_known => self.labels.iter().any(|l| l.truth.is_some()),
                metrics,
                provenance => pairs(&self.provenance),
                notes => list(&self.notes),
                settings => pairs(&self.settings),
                version => env!("CARGO_PKG_VERSION"),
            },
        )
    }

    fn feature_rows(&self) -> Value {
        let longest = self.features.iter().map(|f| f.score.abs()).fold(0.0, f64::max);
        let digits = digits(longest);
        let rows = self.features.iter().map(|f| {
            let share = if longest > 0.0 { 100.0 * f.score.abs() / longest } else { 0.0 };
            context! {
                name => printable(&f.name),
                score => format!("{:.digits$}", f.score),
                width => format!("{share:.2}"),
                negative => f.score < 0.0,
                frequency => format!("{:.0}", 100.0 * f.frequency),
            }
        });
        Value::from_iter(rows)
    }

    fn suspicious_rows(&self) -> Value {
        Value::from_iter(self.suspicious.iter().map(|s| {
            context! {
                row => grouped(s.row),
                id => s.id.as_deref().map(printable),
                label => printable(&s.label),
                probability => &s.probability,
            }
        }))
    }

    fn label_rows(&self) -> Value {
        let counts = self.labels.iter().map(|l| l.candidates.max(l.truth.unwrap_or(0)));
        let longest = counts.max().unwrap_or(0).max(1) as f64;
        let share = |count: usize| format!("{:.2}", 100.0 * count as f64 / longest);
        let rows = self.labels.iter().map(|l| {
            let removed = l.candidates.saturating_sub(l.kept);
            let percent = 100.0 * removed as f64 / l.candidates.max(1) as f64;
            context! {
                name => printable(&l.name),
                candidates => grouped(l.candidates),
                kept => grouped(l.kept),
                removed => format!("{percent:.0}"),
                truth => l.truth.map(grouped),
                candidates_width => share(l.candidates),
                kept_width => share(l.kept),
                truth_place => l.truth.map(share),
            }
        });
        Value::from_iter(rows)
    }
}

impl MetricTable {
    fn value(&self) -> Value {
        let rows = self.rows.iter();
        let rows = rows.map(|(name, values)| context! { name, values => list(values) });
        context! { note => &self.note, head => list(&self.head), rows => Value::from_iter(rows) }
    }
}

impl Figure {
    fn value(&self) -> Result<Value> {
        let series = self.chart.series.iter();
        let lines = series.clone().map(|s| (s.name.as_str(), s.values.clone()));
        let keys = series.map(|s| context! { class => s.colour.class(), name => &s.name });
        Ok(context! {
            title => &self.title,
            text => &self.text,
            dashed => self.dashed.as_ref(),
            keys => Value::from_iter(keys),
            spoken => spoken(&self.title, lines, self.dashed.as_deref()),
            wide => self.chart.wide,
            svg => Value::from_safe_string(self.chart.svg()?),
            // A wide drawing cannot be read on a telephone.
            narrow => match self.chart.wide {
                true => Value::from_safe_string(LineChart { wide: false, ..self.chart.clone() }.svg()?),
                false => Value::from(()),
            },
        })
    }
}

fn list(texts: &[String]) -> Value {
    Value::from_iter(texts.iter().map(Value::from))
}

fn pairs(all: &[(String, String)]) -> Value {
    Value::from_iter(all.iter().map(|(key, value)| context! { key, value }))
}

/// Decimals that show three digits of a number as large as `largest`; never fewer than two.
fn digits(largest: f64) -> usize {
    let mut digits = 2;
    let mut unit = 1.0;
    while digits < 12 && 0.0 < largest && largest < unit {
        digits += 1;
        unit /= 10.0;
    }
    digits
}

/// 12,035 for 12035.
pub fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (count, text) in cases {
            assert_eq!(grouped(count), text);
        }
    }

    #[test]
    fn small_scores_keep_their_digits() {
        let cases = [(1.0, 2), (0.5, 3), (0.0102, 4), (0.00051, 6), (0.0, 2), (1e-300, 12)];
        for (largest, expected) in cases {
            assert_eq!(digits(largest), expected, "{largest}");
        }
    }

    #[test]
    fn names_from_the_data_cannot_become_markup() {
        let evil = "<script>alert('1')</script>\"&".to_owned();
        let page = SelectPage {
            dataset: evil.clone(),
            features: vec![FeatureBar { name: evil.clone(), score: -0.5, frequency: 1.0 }],
            labels: vec![LabelBar { name: evil.clone(), candidates: 0, kept: 0, truth: None }],
            notes: vec![evil.clone()],
            suspicious: vec![SuspiciousRow {
                row: 1,
                id: Some(evil.clone()),
                label: evil.clone(),
                probability: evil.clone(),
            }],
            emptied: (vec![evil.clone()], 1),
            id_name: Some(evil.clone()),
            provenance: vec![(evil.clone(), evil.clone())],
            settings: vec![(evil.clone(), evil)],
            ..SelectPage::default()
        };
        let html = page.html().unwrap();
        assert!(!html.contains("<script"), "{html}");
        assert!(html.matches("&lt;script&gt;").count() >= 8);
        assert!(html.contains("<bdi>") && html.contains("role=\"img\""));
        let addresses = |text: &str| html.matches(text).count();
        assert_eq!(
            addresses("://"),
            addresses("xmlns=\"http://www.w3.org/"),
            "nothing from outside"
        );
        assert!(!html.contains("NaN"));
    }
}
