//! The rest of the training step: everything between the gradients and the result.
//!
//! Each part is compared with a slow version of the same computation or with an exact enumeration, and each
//! comparison has a control: the slow version with a mistake in it must *not* agree. Random parts are
//! compared by a chi-square test at level 10⁻⁴ on fixed seeds.

mod belief;
mod consensus;
mod decision;
mod joint;
mod neighbours;
mod noise;
mod optimiser;
mod rho;
mod sampling;
mod sequential;
mod stage1;
mod stage2;

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::check::{CheckReport, Limit};
use crate::Result;
use crate::rng::Streams;

/// p-values below this fail.
const LEVEL: Limit = Limit::AtLeast(1e-4);

/// Runs all checks.
pub fn check(streams: &Streams) -> Result<CheckReport> {
    let streams = streams.child("training");
    let mut checks = stage1::checks(&streams.child("stage1"))?;
    checks.extend(rho::checks(&streams.child("rho"))?);
    checks.extend(belief::checks(&streams.child("belief"))?);
    checks.extend(joint::checks(&streams.child("joint")));
    checks.extend(decision::checks(&streams.child("decision"))?);
    checks.extend(consensus::checks(&streams.child("consensus"))?);
    checks.extend(stage2::checks(&streams.child("stage2"))?);
    checks.extend(sequential::checks(&streams.child("sequential"))?);
    checks.extend(sampling::checks(&streams.child("sampling"))?);
    checks.extend(noise::checks(&streams.child("noise"))?);
    checks.extend(neighbours::checks(&streams.child("neighbours"))?);
    checks.extend(optimiser::checks(&streams.child("optimiser")));
    Ok(CheckReport::new(checks))
}

/// Chance that counts are at least so far from their expectations, if these are true; cells of
/// expectation 0 must be empty.
fn p_value(counts: &[f64], expected: &[f64]) -> f64 {
    let cells = || counts.iter().zip(expected);
    if cells().any(|(&count, &e)| e == 0.0 && count != 0.0) {
        return 0.0;
    }
    let open = || cells().filter(|(_, e)| **e > 0.0);
    upper_tail(open().map(|(c, e)| (c - e) * (c - e) / e).sum(), open().count() - 1)
}

/// The same for independent counts of Bernoulli cells: (observed, Σ p, Σ p(1 − p)).
fn p_value_of_sums(sums: &[(f64, f64, f64)]) -> f64 {
    upper_tail(sums.iter().map(|(o, e, v)| (o - e) * (o - e) / v).sum(), sums.len())
}

fn upper_tail(statistic: f64, freedom: usize) -> f64 {
    let law = ChiSquared::new(freedom as f64).expect("a positive number of degrees of freedom");
    law.sf(statistic)
}

/// Largest |a − b| over the largest |b|.
fn relative_gap(a: impl IntoIterator<Item = f64>, b: &[f64]) -> f64 {
    let largest = b.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let gap = a.into_iter().zip(b).map(|(a, b)| (a - b).abs());
    // A NaN is the largest gap of all.
    let gap = gap.fold(0.0, |m: f64, g| if g > m || g.is_nan() { g } else { m });
    gap / largest.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_knows_chance_from_error() {
        assert!(p_value(&[48.0, 52.0, 0.0], &[50.0, 50.0, 0.0]) > 0.5);
        assert!(p_value(&[20.0, 80.0], &[50.0, 50.0]) < 1e-8);
        assert_eq!(p_value(&[50.0, 49.0, 1.0], &[50.0, 50.0, 0.0]), 0.0);
        assert!(p_value_of_sums(&[(21.0, 20.0, 16.0)]) > 0.5);
        assert!(relative_gap([1.0, f64::NAN, 1.0], &[1.0; 3]).is_nan());
    }

    #[test]
    fn every_part_of_the_training_step_holds_and_every_mistake_is_caught() {
        let report = check(&Streams::new(0)).unwrap();
        assert!(report.pass, "{report}");
        assert!(report.checks.iter().filter(|c| c.name.ends_with("/control")).count() >= 35);
    }
}
