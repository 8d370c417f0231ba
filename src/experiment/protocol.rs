//! What is done to a data set: splits, noise, scaling, budgets, labels to train on, measures.

use crate::data::noise::Scheme;
use crate::data::{Scaling, Splitter};
use crate::measure::{Convention, CoverageForm};
use crate::method::paper_budget;
use crate::{Error, Result};

/// How methods are evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Number of folds.
    pub folds: usize,
    /// Number of times everything is repeated with other splits and other noise.
    pub repeats: usize,
    /// How instances are split.
    pub splitter: Splitter,
    /// Probability that an irrelevant training label becomes a candidate.
    pub noise: f64,
    /// How the noise is drawn.
    pub scheme: Scheme,
    /// How features are scaled.
    pub scaling: Scaling,
    /// Numbers of features to evaluate, in order.
    pub budgets: Vec<Budget>,
    /// Labels that train the classifier; None for the best the method makes.
    pub train_labels: Option<TrainLabels>,
    /// Conventions to measure under; the first is the main one.
    pub measures: Vec<(Convention, CoverageForm)>,
}

impl Default for Protocol {
    /// The paper's: five folds, 20 % noise, its budget; coverage over L, as its values imply.
    fn default() -> Self {
        Protocol {
            folds: 5,
            repeats: 1,
            splitter: Splitter::KFold,
            noise: 0.2,
            scheme: Scheme::Uniform,
            scaling: Scaling::ZScore,
            budgets: vec![Budget::Paper],
            train_labels: None,
            measures: vec![(Convention::ScikitLearn, CoverageForm::OverLabels)],
        }
    }
}

/// Labels that train the classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainLabels {
    /// The noisy candidates.
    Candidate,
    /// The method's hard pseudo labels; candidates if it makes none.
    Pseudo,
    /// The method's probabilities; pseudo labels or candidates if it makes none.
    Confidence,
    /// The truth: only the ranking comes from noisy data.
    Truth,
}

impl TrainLabels {
    /// Name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            TrainLabels::Candidate => "candidate",
            TrainLabels::Pseudo => "pseudo",
            TrainLabels::Confidence => "confidence",
            TrainLabels::Truth => "truth",
        }
    }
}

/// A number of features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// 20 % of the features, or 20 below 100 of them.
    Paper,
    /// A share of the features in percent, rounded down, at least one.
    Percent(f64),
    /// That many.
    Count(usize),
}

impl Budget {
    /// The number of features, out of d.
    pub fn of(self, d: usize) -> usize {
        match self {
            Budget::Paper => paper_budget(d),
            // A hair above, so that 20 % of 50 is 10 whatever the rounding of 0.2.
            Budget::Percent(p) => ((d as f64 * p / 100.0 + 1e-9) as usize).clamp(1.min(d), d),
            Budget::Count(k) => k.min(d),
        }
    }
}

/// Reads `paper`, `15%`, `30`, lists `5%,10%,20%` and ranges `1%..20%` (step 1, both ends).
pub fn parse_budgets(text: &str) -> Result<Vec<Budget>> {
    let mut budgets = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once("..") {
            None => budgets.push(single(part)?),
            Some((from, to)) => budgets.extend(range(single(from)?, single(to)?, part)?),
        }
    }
    Ok(budgets)
}

fn single(text: &str) -> Result<Budget> {
    let budget = match text.strip_suffix('%') {
        _ if text == "paper" => Some(Budget::Paper),
        Some(share) => share.parse().ok().filter(|p| *p > 0.0 && *p <= 100.0).map(Budget::Percent),
        None => text.parse().ok().filter(|k| *k > 0).map(Budget::Count),
    };
    budget.ok_or_else(|| wrong(text))
}

fn range(from: Budget, to: Budget, text: &str) -> Result<Vec<Budget>> {
    let list: Vec<Budget> = match (from, to) {
        (Budget::Percent(a), Budget::Percent(b)) => {
            (0..).map(|k| a + f64::from(k)).take_while(|p| *p <= b).map(Budget::Percent).collect()
        }
        (Budget::Count(a), Budget::Count(b)) => (a..=b).map(Budget::Count).collect(),
        _ => Vec::new(),
    };
    if list.is_empty() { Err(wrong(text)) } else { Ok(list) }
}

fn wrong(text: &str) -> Error {
    Error::config(format!("found the budget '{text}', expected e.g. paper, 15%, 30 or 1%..20%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read_and_resolved() {
        assert_eq!(parse_budgets("paper").unwrap(), [Budget::Paper]);
        let sweep = parse_budgets("1%..20%").unwrap();
        assert_eq!(sweep.len(), 20);
        assert_eq!(sweep[19].of(1836), 367);
        let mixed = parse_budgets("3..5, 50%").unwrap();
        let sizes: Vec<usize> = mixed.iter().map(|b| b.of(8)).collect();
        assert_eq!(sizes, [3, 4, 5, 4]);
        assert_eq!(Budget::Percent(1.0).of(30), 1);
        assert_eq!(Budget::Percent(20.0).of(50), 10);
        assert_eq!(Budget::Count(9).of(4), 4);
        for bad in ["", "0", "0%", "101%", "x", "5..2", "5%..2", "paper..3"] {
            assert!(parse_budgets(bad).is_err(), "{bad}");
        }
    }
}
