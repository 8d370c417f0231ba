//! The page of an audit: each line with the claim, the figure and the limit, and the curves behind them.

use minijinja::{Value, context};

use super::spoken::spoken;
use super::{Curves, render};
use crate::Result;

/// What the page says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditPage {
    /// Heading.
    pub title: String,
    /// What was done and what came out.
    pub story: Vec<String>,
    /// The audits.
    pub sections: Vec<AuditSection>,
}

/// One audit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditSection {
    /// Heading.
    pub title: String,
    /// The command that repeats it.
    pub command: String,
    /// What is checked.
    pub text: String,
    /// Whether its lines are claims of others, which decide nothing.
    pub information: bool,
    /// Its lines.
    pub rows: Vec<AuditRow>,
    /// Its drawings.
    pub figures: Vec<AuditFigure>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditRow {
    /// Name.
    pub name: String,
    /// What is claimed.
    pub claim: String,
    /// What was measured.
    pub figure: String,
    /// What it must keep.
    pub limit: String,
    /// Whether it does.
    pub holds: bool,
}

/// A drawing with its words.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditFigure {
    /// Heading.
    pub title: String,
    /// The axes, and what to look for.
    pub text: String,
    /// What the dashed line is, if there is one.
    pub dashed: Option<String>,
    /// The curves.
    pub curves: Curves,
}

impl AuditPage {
    /// The page as HTML, without scripts or outside resources.
    pub fn html(&self) -> Result<String> {
        let sections = self.sections.iter().map(AuditSection::value).collect::<Result<Vec<_>>>()?;
        let rows = || self.sections.iter().filter(|s| !s.information).flat_map(|s| &s.rows);
        let controls = rows().filter(|r| r.name.ends_with("/control"));
        render(
            include_str!("audit.html"),
            context! {
                title => &self.title,
                story => &self.story,
                checks => rows().count(),
                failed => rows().filter(|r| !r.holds).count(),
                controls => controls.clone().count(),
                caught => controls.filter(|r| r.holds).count(),
                sections,
                version => env!("CARGO_PKG_VERSION"),
            },
        )
    }
}

impl AuditSection {
    fn value(&self) -> Result<Value> {
        let figures = self.figures.iter().map(AuditFigure::value).collect::<Result<Vec<_>>>()?;
        let rows = self.rows.iter().map(|r| {
            context! { name => &r.name, claim => &r.claim, figure => &r.figure, limit => &r.limit, holds => r.holds }
        });
        Ok(context! {
            title => &self.title,
            command => &self.command,
            text => &self.text,
            information => self.information,
            failed => self.rows.iter().filter(|r| !r.holds).count(),
            rows => Value::from_iter(rows),
            figures,
        })
    }
}

impl AuditFigure {
    fn value(&self) -> Result<Value> {
        let curves = self.curves.curves.iter();
        let lines = curves
            .clone()
            .map(|c| (c.name.as_str(), c.points.iter().map(|point| point.1).collect()));
        let keys = curves.map(|c| context! { class => c.colour.class(), name => &c.name });
        Ok(context! {
            title => &self.title,
            text => &self.text,
            dashed => &self.dashed,
            spoken => spoken(&self.title, lines, self.dashed.as_deref()),
            keys => Value::from_iter(keys),
            svg => Value::from_safe_string(self.curves.svg()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Colour, Curve};

    #[test]
    fn a_page_counts_what_fails_and_escapes_what_it_is_told() {
        let row = |name: &str, holds| AuditRow {
            name: name.into(),
            claim: "a < b & c".into(),
            figure: "1e-9".into(),
            limit: "≤ 1".into(),
            holds,
        };
        let curve =
            Curve { name: "f".into(), colour: Colour::Green, points: vec![(1.0, 2.0), (2.0, 4.0)] };
        let figure = AuditFigure {
            title: "norm".into(),
            text: "falls".into(),
            dashed: Some("limit".into()),
            curves: Curves { curves: vec![curve], reference: Some(3.0), ..Curves::default() },
        };
        let section = AuditSection {
            title: "5.2".into(),
            rows: vec![row("a", true), row("a/control", false)],
            figures: vec![figure],
            ..AuditSection::default()
        };
        let others = AuditSection {
            title: "printed".into(),
            information: true,
            rows: vec![row("b", true), row("c", false), row("d", false)],
            ..AuditSection::default()
        };
        let sections = vec![section, others];
        let page = AuditPage { title: "Audit".into(), sections, ..AuditPage::default() };
        let html = page.html().unwrap();
        assert!(html.contains("a &lt; b &amp; c") && html.contains("<svg"), "{html}");
        assert!(html.contains("role=\"img\" aria-label=\"norm: a line chart."), "{html}");
        assert!(html.contains("1 of 2 checks failed") && html.contains("0 of 1"), "{html}");
        // What others claim is shown and counted apart.
        assert!(html.contains("2 of 3 do not hold") && html.contains("1 failed"), "{html}");
        assert_eq!((html.matches("✗ failed").count(), html.matches("✗ does not").count()), (1, 2));
        assert_eq!(html, page.html().unwrap());
        assert!(!html.contains("<script") && !html.contains("http://www.example"));
    }
}
