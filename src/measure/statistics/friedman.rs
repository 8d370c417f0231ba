//! Friedman's test: do k methods have the same average rank R_j over N data sets?
//!
//! χ²_F = 12N/(k(k+1)) · (Σ_j R_j² − k(k+1)²/4), χ² with k−1 degrees of freedom; Iman and Davenport:
//! F_F = (N−1) χ²_F / (N(k−1) − χ²_F), F with (k−1, (k−1)(N−1)). Demšar does not correct for ties;
//! SciPy divides χ²_F by 1 − Σ(t³−t)/(N(k³−k)). Both are given.

use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor};

use super::Ranks;
use crate::{Error, Result};

/// The outcome of the test.
#[derive(Clone, Debug, PartialEq)]
pub struct Friedman {
    /// χ²_F, not corrected for ties.
    pub chi2: f64,
    /// P(χ² > chi2).
    pub p: f64,
    /// χ²_F corrected for ties; None when only average ranks are known, NaN when all methods tie
    /// everywhere.
    pub chi2_tie_corrected: Option<f64>,
    /// Iman and Davenport's F_F; infinite when all data sets agree on the order.
    pub f: f64,
    /// P(F > f).
    pub f_p: f64,
    /// Degrees of freedom of F; the first is also that of χ².
    pub df: [usize; 2],
}

impl Friedman {
    /// From ranks of full results.
    pub fn of(ranks: &Ranks) -> Result<Self> {
        let mut test = Friedman::of_average_ranks(&ranks.average, ranks.datasets)?;
        let k = ranks.average.len() as f64;
        let correction = 1.0 - ranks.tie_term / (ranks.datasets as f64 * (k * k * k - k));
        test.chi2_tie_corrected = Some(test.chi2 / correction);
        Ok(test)
    }

    /// From printed average ranks over `datasets` data sets.
    pub fn of_average_ranks(average: &[f64], datasets: usize) -> Result<Self> {
        let (k, n) = (average.len() as f64, datasets as f64);
        if average.len() < 2 || datasets < 2 {
            return Err(Error::found(
                format!("{} methods on {datasets} data sets", average.len()),
                "at least two of each for a comparison",
            ));
        }
        let squares: f64 = average.iter().map(|r| r * r).sum();
        let chi2 =
            (12.0 * n / (k * (k + 1.0)) * (squares - k * (k + 1.0) * (k + 1.0) / 4.0)).max(0.0);
        let room = n * (k - 1.0) - chi2;
        // A perfect agreement misses 0 by rounding only.
        let f = if room <= 1e-9 * n * k { f64::INFINITY } else { (n - 1.0) * chi2 / room };
        let df = [average.len() - 1, (average.len() - 1) * (datasets - 1)];
        Ok(Friedman {
            chi2,
            p: chi_squared_tail(chi2, df[0]),
            chi2_tie_corrected: None,
            f,
            f_p: f_tail(f, df),
            df,
        })
    }
}

/// P(χ² > x) with `df` degrees of freedom.
pub(super) fn chi_squared_tail(x: f64, df: usize) -> f64 {
    ChiSquared::new(df as f64).map_or(f64::NAN, |d| d.sf(x))
}

fn f_tail(f: f64, df: [usize; 2]) -> f64 {
    if f.is_infinite() {
        return 0.0;
    }
    FisherSnedecor::new(df[0] as f64, df[1] as f64).map_or(f64::NAN, |d| d.sf(f))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::average_ranks;
    use super::*;
    use crate::linalg::Mat;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance * want.abs(), "{got}, expected {want}");
    }

    /// The C4.5 example of Demšar (2006), table 6.
    pub fn demsar() -> Mat<f64> {
        let rows = "
            .763 .768 .771 .798  .599 .591 .590 .569  .954 .971 .968 .967  .628 .661 .654 .657
            .882 .888 .886 .898  .936 .931 .916 .931  .661 .668 .609 .685  .583 .583 .563 .625
            .775 .838 .866 .875  1 1 1 1  .940 .962 .965 .962  .619 .666 .614 .669
            .972 .981 .9751 .975  .957 .978 .946 .970";
        let values = rows.split_whitespace().map(|v| v.parse().unwrap());
        Mat::from_vec(14, 4, values.collect())
    }

    #[test]
    fn reproduces_demsar_and_scipy() {
        let ranks = average_ranks(&demsar(), true);
        let want = [3.142857142857143, 2.0, 2.892857142857143, 1.9642857142857142];
        assert_eq!(ranks.average, want);
        let test = Friedman::of(&ranks).unwrap();
        // SciPy 1.17: chi2.sf, f.sf, friedmanchisquare.
        close(test.chi2, 9.278571428571432, 1e-12);
        close(test.p, SCIPY[0], 1e-11);
        close(test.chi2_tie_corrected.unwrap(), SCIPY[1], 1e-11);
        close(test.f, 3.6863130320890654, 1e-12);
        close(test.f_p, SCIPY[2], 1e-11);
        assert_eq!(test.df, [3, 39]);
    }

    /// `chi2.sf(9.278571428571432, 3)`, `friedmanchisquare`, `f.sf(3.6863130320890654, 3, 39)`.
    const SCIPY: [f64; 3] = [0.025807496707063254, 10.228346456692925, 0.019823006192249106];

    /// Table 2 of the paper (printed average ranks) against its Table 3.
    #[test]
    fn the_papers_ranks_give_its_statistics() {
        let cases: [(&str, [f64; 9], f64, f64); 4] = [
            ("RL", [1.167, 3.333, 3.556, 3.556, 8.0, 5.333, 5.722, 6.556, 7.778], 49.71, 17.84),
            ("Micro-F1", [1.333, 3.556, 4.667, 6.722, 6.889, 6.0, 5.611, 5.222, 5.0], 28.32, 5.19),
            ("HL", [1.667, 8.111, 5.0, 4.167, 4.333, 6.333, 6.5, 4.333, 4.556], 31.91, 6.37),
            ("CE", [3.5, 3.278, 1.833, 3.611, 7.222, 5.722, 6.667, 6.056, 7.111], 37.18, 8.54),
        ];
        for (metric, ranks, chi2, f) in cases {
            let test = Friedman::of_average_ranks(&ranks, 9).unwrap();
            assert!((test.chi2 - chi2).abs() < 0.005, "{metric}: {}", test.chi2);
            assert!((test.f - f).abs() < 0.005, "{metric}: {}", test.f);
            assert_eq!(test.df, [8, 64]);
        }
    }

    #[test]
    fn agreement_and_indifference() {
        let agree = Mat::from_fn(5, 4, |i, j| (i + 10 * j) as f64);
        let test = Friedman::of(&average_ranks(&agree, false)).unwrap();
        assert_eq!((test.chi2, test.f, test.f_p), (15.0, f64::INFINITY, 0.0));
        let equal = Mat::from_fn(5, 4, |_, _| 1.0);
        let test = Friedman::of(&average_ranks(&equal, false)).unwrap();
        assert_eq!((test.chi2, test.p, test.f, test.f_p), (0.0, 1.0, 0.0, 1.0));
        assert!(test.chi2_tie_corrected.unwrap().is_nan());
        assert!(Friedman::of_average_ranks(&[1.0], 5).is_err());
        assert!(Friedman::of_average_ranks(&[1.0, 2.0], 1).is_err());
    }
}
