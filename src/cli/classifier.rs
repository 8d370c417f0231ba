//! The options of the classifier, spelled alike in `select` and `evaluate`.

use clap::Args;

use crate::classify::judge::CostRule;
use crate::experiment::{ClassifierConfig, ClassifierKind, ThresholdRule};
use crate::{Error, Result};

/// C and threshold of an SVM.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Scoring")]
pub struct SvmOptions {
    /// C of the SVM: a number, or 'auto' for cross-validation inside the training part
    #[arg(long, value_name = "C", default_value = "auto")]
    svm_c: Price,
    /// What 'auto' judges a C by: the ranking loss against held-out candidates (candidates; against
    /// the truth where that trains), or three metrics against the held-out training labels (labels)
    #[arg(long, value_name = "RULE", default_value = CostRule::Candidates.name())]
    svm_c_rule: CostRule,
    /// Score from which on a label is predicted: the one with the best expected Micro-F1 on held-out
    /// training rows (f1), 0, with --platt 1/2 (fixed), or fixed where candidates train and f1
    /// elsewhere (auto); ML-kNN keeps 1/2
    #[arg(long, value_name = "RULE", default_value = ThresholdRule::Auto.name())]
    threshold: ThresholdRule,
    /// Confidences train the SVM as p^POWER, from 0 (candidates) to 1 (p as it is). 0.5 often helps
    /// Micro-F1 and costs ranking loss. Not used with --platt
    #[arg(long, value_name = "POWER", default_value = "1")]
    temper: Fraction,
    /// Share of the prior, what a method believes before it hears a cell's candidate, in what its
    /// confidences teach the SVM; 0 for the confidences alone. Methods without a prior: no effect. Not used
    /// with --platt
    #[arg(long, value_name = "SHARE", default_value = "0.5")]
    prior_share: Fraction,
    /// Share of a second SVM, which learns the candidates, beside one that learns confidences of a method
    /// with a prior; 0 for one SVM. Not used with --platt
    #[arg(long, value_name = "SHARE", default_value = "0.2")]
    candidate_share: Fraction,
}

impl SvmOptions {
    /// A classifier of this kind with these options and the defaults of all others.
    pub fn classifier(&self, kind: ClassifierKind) -> ClassifierConfig {
        ClassifierConfig {
            c: self.svm_c.0,
            c_rule: self.svm_c_rule,
            threshold: self.threshold,
            temper: self.temper.0,
            prior_share: self.prior_share.0,
            candidate_share: self.candidate_share.0,
            ..ClassifierConfig::new(kind)
        }
    }
}

/// C of an SVM; None: by cross-validation.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Price(Option<f64>);

impl std::str::FromStr for Price {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        if text == "auto" {
            return Ok(Price(None));
        }
        let c = text.parse().ok().filter(|c: &f64| *c > 0.0 && c.is_finite());
        c.map(|c| Price(Some(c))).ok_or_else(|| {
            Error::config(format!("found '{text}', expected 'auto' or a positive number"))
        })
    }
}

/// A number between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fraction(f64);

impl std::str::FromStr for Fraction {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let share = text.parse().ok().filter(|p: &f64| (0.0..=1.0).contains(p));
        share.map(Fraction).ok_or_else(|| {
            Error::config(format!("found '{text}', expected a number between 0 and 1"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices() {
        assert_eq!("auto".parse::<Price>().unwrap(), Price(None));
        assert_eq!("0.5".parse::<Price>().unwrap(), Price(Some(0.5)));
        for bad in ["120%", "-1", "0", "x", "", "NaN", "inf"] {
            assert!(bad.parse::<Price>().is_err(), "{bad}");
        }
        assert_eq!("0.5".parse::<Fraction>().unwrap(), Fraction(0.5));
        for bad in ["-0.1", "1.1", "x", "", "NaN"] {
            assert!(bad.parse::<Fraction>().is_err(), "{bad}");
        }
    }
}
