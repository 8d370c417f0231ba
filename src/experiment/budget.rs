//! Numbers of features, as a count or as a share.

use crate::method::paper_budget;
use crate::{Error, Result};

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

impl std::str::FromStr for Budget {
    type Err = Error;

    /// Reads `paper`, `15%` or `30`.
    fn from_str(text: &str) -> Result<Self> {
        let budget = match text.strip_suffix('%') {
            _ if text == "paper" => Some(Budget::Paper),
            Some(share) => {
                share.trim().parse().ok().filter(|p| *p > 0.0 && *p <= 100.0).map(Budget::Percent)
            }
            None => text.parse().ok().filter(|k| *k > 0).map(Budget::Count),
        };
        budget.ok_or_else(|| wrong(text))
    }
}

/// Reads `paper`, `15%`, `30`, lists `5%,10%,20%` and ranges `1%..20%` (step 1, both ends).
pub fn parse_budgets(text: &str) -> Result<Vec<Budget>> {
    let mut budgets = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once("..") {
            None => budgets.push(part.parse()?),
            Some((from, to)) => budgets.extend(range(from.parse()?, to.parse()?, part)?),
        }
    }
    Ok(budgets)
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
        assert_eq!(Budget::Percent(29.0).of(100), 29);
        assert_eq!(Budget::Count(9).of(4), 4);
        for bad in ["", "0", "0%", "101%", "x", "5..2", "5%..2", "paper..3"] {
            assert!(parse_budgets(bad).is_err(), "{bad}");
        }
    }
}
