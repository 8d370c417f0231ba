//! Two reports side by side, with the noise of both taken into account.
//!
//! A piece of work counts as changed when its fastest and its median run moved the same way by more than
//! a margin: 3 %, or the spread of either report (how far the median lies above the fastest run), if
//! that is larger. A busy machine spreads the runs and so widens the margin instead of raising alarms.

use serde::Serialize;

use super::Report;
use super::timing::Timed;

/// Smallest change that is believed.
const MARGIN: f64 = 0.03;

/// How a piece of work changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Beyond the noise.
    Faster,
    /// Beyond the noise.
    Slower,
    /// Within the noise.
    Same,
    /// Only one of the reports has it.
    Missing,
}

/// One piece of work in both reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Stable id.
    pub id: String,
    /// New time / old time, fastest runs.
    pub ratio: Option<f64>,
    /// The same, median runs.
    pub ratio_median: Option<f64>,
    /// Changes below this are noise.
    pub margin: Option<f64>,
    /// What follows.
    pub change: Change,
}

/// Every piece of work of either report.
pub fn compare(old: &Report, new: &Report) -> Vec<Compared> {
    let (old, new) = (times(old), times(new));
    let find = |list: &[(String, Timed)], id: &str| {
        list.iter().find(|(other, _)| other == id).map(|(_, time)| *time)
    };
    let mut ids: Vec<&String> = new.iter().map(|(id, _)| id).collect();
    ids.extend(old.iter().map(|(id, _)| id).filter(|id| find(&new, id).is_none()));
    ids.into_iter()
        .map(|id| match (find(&old, id), find(&new, id)) {
            (Some(old), Some(new)) => both(id, old, new),
            _ => Compared {
                id: id.clone(),
                ratio: None,
                ratio_median: None,
                margin: None,
                change: Change::Missing,
            },
        })
        .collect()
}

fn both(id: &str, old: Timed, new: Timed) -> Compared {
    let (ratio, ratio_median) = (new.ms / old.ms, new.ms_median / old.ms_median);
    let margin = MARGIN.max(old.spread()).max(new.spread());
    let change = match ratio.min(ratio_median) > 1.0 + margin {
        true => Change::Slower,
        false if ratio.max(ratio_median) < 1.0 / (1.0 + margin) => Change::Faster,
        false => Change::Same,
    };
    let (ratio, ratio_median, margin) = (Some(ratio), Some(ratio_median), Some(margin));
    Compared { id: id.to_owned(), ratio, ratio_median, margin, change }
}

fn times(report: &Report) -> Vec<(String, Timed)> {
    let kernels = report.kernels.iter().map(|k| (k.id.clone(), k.time));
    let steps = report.train_step.iter().map(|s| (s.id.clone(), s.time));
    let rollout = report.rollout.iter().map(|r| (r.id.clone(), r.time));
    let other = report.other.iter().map(|o| (o.id.clone(), o.time));
    kernels.chain(steps).chain(rollout).chain(other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(ms: f64, ms_median: f64) -> Timed {
        Timed { ms, ms_median, runs: 9 }
    }

    #[test]
    fn noise_is_not_a_change() {
        let change = |old, new| both("a", old, new).change;
        let quiet = timed(1.0, 1.01);
        assert_eq!(change(quiet, timed(1.02, 1.03)), Change::Same, "below the margin");
        assert_eq!(change(quiet, timed(1.10, 1.11)), Change::Slower);
        assert_eq!(change(quiet, timed(0.80, 0.81)), Change::Faster);
        assert_eq!(change(quiet, timed(1.10, 1.60)), Change::Same, "a busy machine");
        assert_eq!(change(quiet, timed(1.50, 1.60)), Change::Slower, "beyond even that");
        assert_eq!(change(timed(1.0, 1.5), timed(1.1, 1.3)), Change::Same, "no common direction");
    }
}
