//! One line of an audit: a claim, the figure that was measured, the limit that it must keep.
//!
//! `audit theorems`, `audit training` and `audit paper` are lists of such lines. Whether a line holds follows
//! from its figure and its limit and is never said apart from them, except where the figure is text.

use std::fmt;

use serde::Serialize;

/// What a figure must keep. A NaN keeps nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// figure ≤ limit.
    AtMost(f64),
    /// figure ≥ limit.
    AtLeast(f64),
    /// figure = limit, bit for bit.
    Exactly(f64),
}

impl Limit {
    fn keeps(self, figure: f64) -> bool {
        match self {
            Limit::AtMost(limit) => figure <= limit,
            Limit::AtLeast(limit) => figure >= limit,
            Limit::Exactly(limit) => figure == limit,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, limit) = match self {
            Limit::AtMost(limit) => ("≤ ", limit),
            Limit::AtLeast(limit) => ("≥ ", limit),
            Limit::Exactly(limit) => ("= ", limit),
        };
        write!(f, "{sign}{}", number(*limit))
    }
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// A number.
    Number(f64),
    /// Words, where no number says it.
    Text(String),
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Number(x) => f.pad(&number(*x)),
            Figure::Text(text) => f.pad(text),
        }
    }
}

/// A claim with its figure and its limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Short name, unique in its report: parts joined by `/`, the widest first.
    pub name: String,
    /// What is claimed, in words.
    pub claim: String,
    /// What was measured.
    pub figure: Figure,
    /// What it must keep, as text: `≤ 1e-12`.
    pub limit: String,
    /// Whether it does.
    pub holds: bool,
}

impl Check {
    /// A number against its limit.
    pub fn new(
        name: impl Into<String>,
        claim: impl Into<String>,
        figure: f64,
        limit: Limit,
    ) -> Self {
        Check {
            name: name.into(),
            claim: claim.into(),
            figure: Figure::Number(figure),
            limit: limit.to_string(),
            holds: limit.keeps(figure),
        }
    }

    /// Words against words; the caller says whether they agree.
    pub fn words(
        name: impl Into<String>,
        claim: impl Into<String>,
        figure: impl Into<String>,
        limit: impl Into<String>,
        holds: bool,
    ) -> Self {
        Check {
            name: name.into(),
            claim: claim.into(),
            figure: Figure::Text(figure.into()),
            limit: limit.into(),
            holds,
        }
    }

    /// The negative control of this check: the same figure of something spoilt, which must not keep
    /// the limit. It holds when the mistake is caught.
    pub fn control(
        name: impl Into<String>,
        mistake: impl Into<String>,
        figure: f64,
        limit: Limit,
    ) -> Self {
        Check {
            name: format!("{}/control", name.into()),
            claim: format!("caught: {}", mistake.into()),
            figure: Figure::Number(figure),
            limit: format!("not {limit}"),
            holds: !limit.keeps(figure),
        }
    }
}

/// The result of an audit that is a list of checks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// Every check holds, and there is one.
    pub pass: bool,
    /// The checks.
    pub checks: Vec<Check>,
}

impl CheckReport {
    /// Judges the checks. Names are unique.
    pub fn new(checks: Vec<Check>) -> Self {
        debug_assert!(
            checks.iter().enumerate().all(|(k, c)| checks[..k].iter().all(|d| d.name != c.name)),
            "two checks of one name"
        );
        CheckReport { pass: !checks.is_empty() && checks.iter().all(|c| c.holds), checks }
    }

    /// Number of checks that do not hold.
    pub fn failed(&self) -> usize {
        self.checks.iter().filter(|c| !c.holds).count()
    }
}

/// One line per check, for terminals, and a verdict.
impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |of: fn(&Check) -> String| {
            self.checks.iter().map(|c| of(c).chars().count()).max().unwrap_or(0)
        };
        let (names, figures) = (width(|c| c.name.clone()), width(|c| c.figure.to_string()));
        let limits = width(|c| c.limit.clone());
        for c in &self.checks {
            let verdict = if c.holds { "holds " } else { "FAILED" };
            writeln!(
                f,
                "{verdict} {:<names$}  {:>figures$}  {:<limits$}  {}",
                c.name, c.figure, c.limit, c.claim
            )?;
        }
        let verdict = if self.pass { "PASS" } else { "FAIL" };
        write!(f, "{verdict}: {} checks, {} failed", self.checks.len(), self.failed())
    }
}

/// Few digits: whole numbers as they are, others with three significant digits.
pub fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || (size < 1e6 && x.fract() == 0.0) {
        format!("{x}")
    } else if (1e-3..1e4).contains(&size) {
        let digits = [1.0, 10.0, 100.0, 1000.0].iter().filter(|&&d| size >= d).count();
        let text = format!("{x:.*}", 4 - digits);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        let text = format!("{x:.2e}");
        text.replace(".00e", "e")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_holds_by_its_figure_alone() {
        let at = |figure, limit| Check::new("a", "b", figure, limit).holds;
        assert!(at(1.0, Limit::AtMost(1.0)) && !at(1.1, Limit::AtMost(1.0)));
        assert!(at(1.0, Limit::AtLeast(1.0)) && !at(0.9, Limit::AtLeast(1.0)));
        assert!(at(2.0, Limit::Exactly(2.0)) && !at(2.1, Limit::Exactly(2.0)));
        for limit in [Limit::AtMost(1.0), Limit::AtLeast(1.0), Limit::Exactly(f64::NAN)] {
            assert!(!at(f64::NAN, limit));
        }
        let caught = Check::control("a", "wrong sign", 3.0, Limit::AtMost(1.0));
        assert!(caught.holds && caught.name == "a/control" && caught.limit == "not ≤ 1");
        assert!(!Check::control("a", "wrong sign", 0.5, Limit::AtMost(1.0)).holds);
    }

    #[test]
    fn a_report_passes_when_all_hold_and_there_is_something() {
        assert!(!CheckReport::new(Vec::new()).pass);
        let good = Check::new("5.2/a", "J = −R", 2e-16, Limit::AtMost(1e-12));
        let bad = Check::words("5.2/b", "attained", "no", "yes", false);
        assert!(CheckReport::new(vec![good.clone()]).pass);
        let report = CheckReport::new(vec![good, bad]);
        assert!(!report.pass && report.failed() == 1);
        let text = report.to_string();
        assert_eq!(
            text,
            "holds  5.2/a  2e-16  ≤ 1e-12  J = −R\nFAILED 5.2/b     no  yes      attained\n\
             FAIL: 2 checks, 1 failed"
        );
        let json = serde_json::to_value(&report).unwrap();
        let want = serde_json::json!({ "pass": false, "checks": [
            { "name": "5.2/a", "claim": "J = −R", "figure": 2e-16, "limit": "≤ 1e-12", "holds": true },
            { "name": "5.2/b", "claim": "attained", "figure": "no", "limit": "yes", "holds": false },
        ] });
        assert_eq!(json, want);
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (74.0, "74"),
            (0.5, "0.5"),
            (0.012345, "0.0123"),
            (2.34567, "2.346"),
            (1234.56, "1235"),
            (1e-12, "1e-12"),
            (1.26e-15, "1.26e-15"),
            (1e6, "1e6"),
            (-2.5, "-2.5"),
        ];
        for (x, text) in cases {
            assert_eq!(number(x), text);
        }
    }
}
