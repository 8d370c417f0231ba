//! Scaling of features, learned from the training instances alone.
//!
//! Each column becomes (x − centre) / spread. A column that is constant in the training instances
//! becomes 0 everywhere: it says nothing, and dividing by its spread would say too much.

use super::choice::choice;
use crate::linalg::Mat;
use crate::num::Real;

/// How to scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// Mean 0, standard deviation 1 (population form, divided by n).
    ZScore,
    /// Smallest training value 0, largest 1.
    MinMax,
    /// Leave the values as they are.
    None,
}

choice!(Scaling { ZScore => "z-score", MinMax => "min-max", None => "none" });

/// A scaling that knows its columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaler {
    /// Centre and reciprocal of the spread of each column; the factor of a constant column is 0.
    columns: Vec<(f64, f64)>,
}

impl Scaler {
    /// Learns from the given rows of `x`.
    pub fn fit(x: &Mat<f64>, rows: &[usize], scaling: Scaling) -> Self {
        let columns = (0..x.cols()).map(|j| column(x, rows, j, scaling)).collect();
        Scaler { columns }
    }

    /// Centre and factor of each column: x becomes (x − centre) · factor.
    pub fn columns(&self) -> &[(f64, f64)] {
        &self.columns
    }

    /// The same spread without centring: zeros stay zeros.
    pub fn without_centres(self) -> Self {
        Scaler { columns: self.columns.into_iter().map(|(_, factor)| (0.0, factor)).collect() }
    }

    /// A scaling with known columns, as [`Scaler::columns`] gives them.
    pub fn from_columns(columns: Vec<(f64, f64)>) -> Self {
        Scaler { columns }
    }

    /// The given rows of `x`, scaled.
    pub fn apply<T: Real>(&self, x: &Mat<f64>, rows: &[usize]) -> Mat<T> {
        let mut data = Vec::with_capacity(rows.len() * x.cols());
        for &i in rows {
            let scaled = x.row(i).iter().zip(&self.columns);
            data.extend(
                scaled.map(|(v, (centre, factor))| T::from_f64(shrink(*v, *centre) * factor)),
            );
        }
        Mat::from_vec(rows.len(), x.cols(), data)
    }

    /// The given columns of the given rows of `x`, scaled.
    pub fn apply_columns(&self, x: &Mat<f64>, rows: &[usize], columns: &[usize]) -> Mat<f64> {
        Mat::from_fn(rows.len(), columns.len(), |i, j| {
            let (centre, factor) = self.columns[columns[j]];
            shrink(x[(rows[i], columns[j])], centre) * factor
        })
    }
}

/// `v − centre`, or the largest number if that leaves the finite ones.
fn shrink(v: f64, centre: f64) -> f64 {
    (v - centre).clamp(f64::MIN, f64::MAX)
}

fn column(x: &Mat<f64>, rows: &[usize], j: usize, scaling: Scaling) -> (f64, f64) {
    if scaling == Scaling::None {
        return (0.0, 1.0);
    }
    let values = || rows.iter().map(|&i| x[(i, j)]);
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    // Exactly constant, or no rows at all. The mean of equal values can miss them by a rounding
    // error, so the standard deviation is not asked.
    if low >= high || rows.is_empty() {
        return (0.0, 0.0);
    }
    if scaling == Scaling::MinMax {
        return (low, 1.0 / shrink(high, low));
    }
    // Measured in units of the largest value, squares cannot overflow or vanish.
    let unit = low.abs().max(high.abs());
    let n = rows.len() as f64;
    let mean = values().map(|v| v / unit).sum::<f64>() / n;
    let variance = values().map(|v| (v / unit - mean) * (v / unit - mean)).sum::<f64>() / n;
    let spread = variance.sqrt() * unit;
    match spread > 0.0 && (1.0 / spread).is_finite() {
        true => (mean * unit, 1.0 / spread),
        false => (0.0, 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn learns_from_training_rows_only() {
        let x = Mat::from_vec(4, 2, vec![0.0, 5.0, 2.0, 5.0, 4.0, 5.0, 100.0, 7.0]);
        let z: Mat<f64> = Scaler::fit(&x, &[0, 1, 2], Scaling::ZScore).apply(&x, &[0, 1, 2, 3]);
        let s = (8.0f64 / 3.0).sqrt();
        assert!((z[(0, 0)] + 2.0 / s).abs() < 1e-15 && z[(1, 0)] == 0.0);
        assert!((z[(3, 0)] - 98.0 / s).abs() < 1e-12);
        assert_eq!([z[(0, 1)], z[(3, 1)]], [0.0, 0.0], "constant in training");
        let m: Mat<f32> = Scaler::fit(&x, &[0, 1, 2], Scaling::MinMax).apply(&x, &[2, 3]);
        assert_eq!(m.as_slice(), [1.0, 0.0, 25.0, 0.0]);
        let raw: Mat<f64> = Scaler::fit(&x, &[0], Scaling::None).apply(&x, &[3]);
        assert_eq!(raw.as_slice(), [100.0, 7.0]);
    }

    #[test]
    fn constants_that_have_no_exact_mean_are_still_constant() {
        let x = Mat::from_fn(7, 1, |_, _| 0.1);
        let z: Mat<f64> =
            Scaler::fit(&x, &[0, 1, 2, 3, 4, 5, 6], Scaling::ZScore).apply(&x, &[0, 6]);
        assert_eq!(z.as_slice(), [0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn never_leaves_the_finite_numbers(values in proptest::collection::vec(-1.7e308f64..1.7e308, 2..20)) {
            let n = values.len();
            let x = Mat::from_vec(n, 1, values);
            let rows: Vec<usize> = (0..n).collect();
            for scaling in Scaling::ALL {
                let z: Mat<f64> = Scaler::fit(&x, &rows[..n - 1], scaling).apply(&x, &rows);
                prop_assert!(z.as_slice().iter().all(|v| v.is_finite()));
            }
        }
    }
}
