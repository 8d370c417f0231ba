//! How much memory a fit takes, before it begins.
//!
//! The figure is for the whole program on one thread: data, fit, and the files that are written. Its
//! factors were measured (docs/reliability.md); the terms are those of the largest arrays.

use super::{Config, Preset};
use crate::Result;
use crate::method::observation::linear_belief::PARTS;
use crate::method::probe::penalty::WIDEST;

/// Bytes of the program itself.
const PROGRAM: f64 = 19e6;
/// Bytes per row: names, folds, what is written of it.
const PER_ROW: f64 = 650.0;
/// Bytes per cell of the features: f64 as read, f32 as scaled, f32 as weighted.
const PER_FEATURE_CELL: f64 = 17.0;
/// Bytes per cell of the labels: logits, probabilities and scores.
const PER_LABEL_CELL: f64 = 59.0;
/// Bytes per cell of the labels of those rows that pass the networks together, and the same per pair
/// of labels, for the attention between them.
const PER_PASSING_CELL: (f64, f64) = (394.0, 8.0);
/// Rows of a part that pass the networks together, at most.
const PASSING: usize = 1024;
/// Bytes per weight of a part: weights, gradient, two moments, sums and best weights.
const PER_WEIGHT: f64 = 31.0;
/// Bytes per pair of the features that enter a probe's products.
const PER_PAIR: f64 = 87.0;

impl Config {
    /// Bytes that a fit of n × d features and so many labels takes at its peak, about.
    pub fn memory(&self, n: usize, d: usize, labels: usize) -> Result<u64> {
        let weights = match self.preset {
            Preset::Observation => self.belief_network(d, labels)?.layout.len(),
            Preset::Paper => super::Network::new(self.network(d, labels))?.layout.len(),
        };
        let [n, d, l, weights] = [n, d, labels, weights].map(|count| count as f64);
        let parts = self.cross_fit.unwrap_or(PARTS) as f64;
        let passing =
            l * n.min(parts * PASSING as f64) * (PER_PASSING_CELL.0 + PER_PASSING_CELL.1 * l);
        let square = d.min(WIDEST as f64) * d.min(WIDEST as f64);
        let bytes = PROGRAM
            + PER_ROW * n
            + PER_FEATURE_CELL * n * d
            + PER_LABEL_CELL * n * l
            + passing
            + PER_WEIGHT * parts * weights
            + PER_PAIR * square;
        Ok(bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_of_anything_takes_more() {
        let config = Config::default();
        let of = |n, d, labels| config.memory(n, d, labels).unwrap();
        let base = of(1000, 100, 10);
        assert!(of(2000, 100, 10) > base && of(1000, 200, 10) > base && of(1000, 100, 20) > base);
        let wider = Config { width: 2 * config.width, ..config.clone() };
        assert!(wider.memory(1000, 100, 10).unwrap() > base);
        let more = Config { cross_fit: Some(10), ..config.clone() };
        assert!(more.memory(1000, 100, 10).unwrap() > base);
        assert!(of(2, 1_000_000, 3) > 3 << 30, "the network of a million features");
    }

    /// Largest resident sizes of `select --set epochs1=1 --set rollouts=2 --budget 5 --threads 1`, as
    /// `/usr/bin/time -v` tells them, in KB.
    #[test]
    fn measured_sizes_are_met_within_a_quarter() {
        let measured = [
            ((50, 5, 3), 18_924),
            ((30_000, 5, 3), 52_640),
            ((3000, 5, 40), 100_768),
            ((40_000, 10, 40), 319_604),
            ((15_000, 10, 100), 742_872),
            ((8000, 100, 3), 56_644),
            ((100_000, 100, 15), 327_904),
            ((300, 900, 4), 94_880),
            ((2000, 1000, 10), 171_568),
            ((8, 5000, 3), 126_832),
            ((8, 20_000, 3), 211_460),
        ];
        for ((n, d, labels), kilobytes) in measured {
            let found = Config::default().memory(n, d, labels).unwrap() as f64 / 1024.0;
            let share = found / f64::from(kilobytes);
            assert!((0.75..1.25).contains(&share), "{n} x {d} x {labels}: {share:.2}");
        }
    }
}
