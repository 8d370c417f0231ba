//! Which convention of coverage error the printed values can have.
//!
//! For an instance with P relevant and N irrelevant labels let e be the number of irrelevant labels
//! above its lowest relevant one. Then e ≤ P·N·RL and e ≥ N·RL, because each of the e labels is above
//! at least one and at most P relevant ones. The depth is P + e, so a mean ranking loss bounds the mean
//! depth; how an RL is spread over the instances is chosen so that the bound is as wide as it can be.
//! A convention is possible for a printed pair (RL, CE) when CE lies inside, rounding included.

use crate::Result;
use crate::audit::{Check, Limit};
use crate::experiment::printed::{LabelCounts, Printed, ROUNDING};

/// What can be made of depths: depth/L, (depth − 1)/L, (depth − P)/N.
const CONVENTIONS: [&str; 3] = ["depth/L", "(depth−1)/L", "(depth−P)/(L−P)"];

/// All sets.
pub fn check(printed: &Printed) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for dataset in printed.datasets() {
        let counts = printed.label_counts(&dataset);
        let pairs = pairs(printed, &dataset);
        let explained = explained(&counts, &pairs);
        let most = explained.iter().copied().max().unwrap_or(0);
        let words: Vec<String> =
            CONVENTIONS.iter().zip(explained).map(|(c, k)| format!("{c}: {k}")).collect();
        checks.push(Check::new(
            format!("coverage/{dataset}"),
            format!(
                "one convention of CE is possible for all nine methods, given their RL; methods by \
                 convention {}",
                words.join(", ")
            ),
            most as f64,
            Limit::AtLeast(pairs.len() as f64),
        ));
    }
    let counts = printed.label_counts("Yeast");
    // A perfect ranking with the coverage of the worst one.
    let impossible = explained(&counts, &[(0.0, 1.0)]);
    checks.push(Check::control(
        "coverage/Yeast",
        "RL 0 with CE 1",
        impossible.iter().copied().max().unwrap_or(0) as f64,
        Limit::AtLeast(1.0),
    ));
    Ok(checks)
}

fn pairs(printed: &Printed, dataset: &str) -> Vec<(f64, f64)> {
    let pair = |method: &String| {
        let value = |metric: &str| printed.find(metric, dataset, method).map(|v| v.mean);
        value("RL").zip(value("CE"))
    };
    printed.methods().iter().filter_map(pair).collect()
}

/// For each convention, how many of the pairs (RL, CE) are possible.
fn explained(counts: &LabelCounts, pairs: &[(f64, f64)]) -> [usize; 3] {
    [0, 1, 2].map(|convention| {
        let possible = |&&(rl, ce): &&(f64, f64)| {
            let (low, high) = bounds(counts, convention, rl);
            ce >= low - ROUNDING - 1e-9 && ce <= high + ROUNDING + 1e-9
        };
        pairs.iter().filter(possible).count()
    })
}

/// Smallest and largest CE for a mean ranking loss, which may be off by its rounding.
fn bounds(counts: &LabelCounts, convention: usize, rl: f64) -> (f64, f64) {
    let labels = counts.labels as f64;
    let total: f64 = counts.rows.iter().map(|(_, rows)| *rows as f64).sum();
    // CE of a perfect ranking, and the slopes of CE in an instance's RL.
    let mut perfect = 0.0;
    let (mut slow, mut fast) = (Vec::new(), Vec::new());
    for &(p, rows) in &counts.rows {
        let (share, p) = (rows as f64 / total, p as f64);
        let n = labels - p;
        let scale = match convention {
            0 | 1 => labels,
            _ if n > 0.0 => n,
            _ => 1.0,
        };
        perfect += share
            * match convention {
                0 => p / labels,
                // An instance without labels has depth 0; MATLAB's shift makes it −1.
                1 => (p - 1.0) / labels,
                _ => 0.0,
            };
        if p > 0.0 && n > 0.0 {
            slow.push((n / scale, share));
            // All N irrelevant labels are above the lowest relevant one from RL = 1/P on.
            fast.push((p * n / scale, share / p));
        }
    }
    slow.sort_by(|a, b| a.0.total_cmp(&b.0));
    fast.sort_by(|a, b| b.0.total_cmp(&a.0));
    let low = spread(&slow, (rl - ROUNDING).max(0.0));
    let high = spread(&fast, rl + ROUNDING);
    (perfect + low, perfect + high)
}

/// Σ slope·RL over the instances when the first ones get as much RL as they can take, until the mean is
/// reached. Each has its slope and its room.
fn spread(slopes: &[(f64, f64)], mean: f64) -> f64 {
    let (mut left, mut sum) = (mean, 0.0);
    for &(slope, room) in slopes {
        let used = left.min(room);
        sum += used * slope;
        left -= used;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_for_rankings_that_are_known() {
        // One instance, P = 2, N = 2: orders ++--, +-+-, +--+, -++-, -+-+, --++.
        let counts = LabelCounts { labels: 4, rows: vec![(2, 1)] };
        let cases = [(0.0, 2), (0.25, 3), (0.5, 4), (0.5, 3), (0.75, 4), (1.0, 4)];
        for (rl, depth) in cases {
            let depth = f64::from(depth);
            let ce = [depth / 4.0, (depth - 1.0) / 4.0, (depth - 2.0) / 2.0];
            for (convention, ce) in ce.into_iter().enumerate() {
                let (low, high) = bounds(&counts, convention, rl);
                assert!(low - 1e-9 <= ce && ce <= high + 1e-9, "{rl} {convention}: {low} {high}");
            }
        }
        assert!(bounds(&counts, 0, 0.0).1 < 0.52, "a perfect ranking has depth 2 of 4");
    }

    /// Counts of an independent program for the same bounds. CHD_49 has one convention
    /// that is possible for all, Chess has none that is possible for two.
    #[test]
    fn printed_rows_by_convention() {
        let printed = Printed::load().unwrap();
        let counts = |set: &str| explained(&printed.label_counts(set), &pairs(&printed, set));
        assert_eq!(counts("CHD_49"), [2, 8, 9]);
        assert_eq!(counts("Yeast"), [8, 8, 9]);
        assert_eq!(counts("Chess"), [1, 1, 1]);
        assert_eq!(counts("Birds"), [3, 1, 3]);
        let checks = check(&printed).unwrap();
        let holds = |name: &str| checks.iter().any(|c| c.name == name && c.holds);
        assert!(holds("coverage/CHD_49") && !holds("coverage/Chess"));
        assert!(checks.last().unwrap().holds, "the control is caught");
    }
}
