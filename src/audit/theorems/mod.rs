//! The paper's theorems on worlds that are small enough to enumerate.
//!
//! * [`equivalence`], [`collapse`]: 5.2, and what it does not say;
//! * `policy_problem`, [`estimators`], [`convergence`], [`stationarity`]: 5.3;
//! * [`prediction`], `rademacher`, [`excess_risk`]: 5.5; [`decomposition`] on real data.
//!
//! `docs/theory.md` says what is proved, what is checked here, and where a statement needs a repair.

pub mod collapse;
pub mod convergence;
pub mod decomposition;
pub mod equivalence;
pub mod estimators;
pub mod excess_risk;
mod policy_problem;
pub mod prediction;
mod rademacher;
pub mod stationarity;
pub mod world;

use super::check::CheckReport;
use crate::Result;
use crate::rng::Streams;

/// The checks, and the curves behind them.
pub struct TheoremReport {
    /// All checks, by theorem.
    pub checks: CheckReport,
    /// 5.2: loss and ε of threshold rules.
    pub thresholds: Vec<collapse::Threshold>,
    /// 5.3: noise and convergence.
    pub gradient: stationarity::Curves,
    /// 5.5: both sides of the bound.
    pub bounds: Vec<excess_risk::Slack>,
}

/// Runs all checks.
pub fn check(streams: &Streams) -> Result<TheoremReport> {
    let streams = streams.child("theorems");
    let mut checks = equivalence::checks(&streams.child("5.2"))?;
    let (found, thresholds) = collapse::checks(&streams.child("5.2"))?;
    checks.extend(found);
    let (found, gradient) = stationarity::checks(&streams.child("5.3"));
    checks.extend(found);
    let (found, bounds) = excess_risk::checks(&streams.child("5.5"))?;
    checks.extend(found);
    Ok(TheoremReport { checks: CheckReport::new(checks), thresholds, gradient, bounds })
}
