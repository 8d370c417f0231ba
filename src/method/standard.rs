//! Features on one scale: row norms of a weight matrix are comparable only then.

use super::factorise::row_norms;
use super::{Ranked, rank};
use crate::Result;
use crate::classify::check_width;
use crate::data::{Scaler, Scaling};
use crate::linalg::Mat;

/// Share of entries beside the majority value up to which features count as sparse.
const SPARSE_BELOW: f64 = 0.2;
/// Deviations from mean 0 and standard deviation 1 that are worth a note: beyond f32's rounding.
const WORTH_A_NOTE: f64 = 1e-3;

/// A z-score learned from the training rows, to be repeated on new rows.
#[derive(Clone, Debug)]
pub(super) struct Standard(Scaler);

impl Standard {
    /// Mean 0 and standard deviation 1; constant columns become 0.
    pub fn centred(x: &Mat<f32>) -> Self {
        Standard(Scaler::fit(&x.cast(), &all(x), Scaling::ZScore))
    }

    /// Standard deviation 1, and 0 where most rows have the same value, if that leaves few other
    /// entries; else as [`Standard::centred`]. For models with a bias, which makes up for any
    /// shift: sparse features that were centred are sparse again.
    pub fn sparse(x: &Mat<f32>) -> Self {
        let Standard(centred) = Standard::centred(x);
        let majority: Vec<f32> = majority(x);
        let beside: usize = x
            .rows_iter()
            .map(|row| row.iter().zip(&majority).filter(|(v, m)| v != m).count())
            .sum();
        if beside as f64 > SPARSE_BELOW * x.as_slice().len() as f64 {
            return Standard(centred);
        }
        let shifted = centred.columns().iter().zip(&majority);
        let shifted = shifted.map(|(&(_, factor), &m)| (f64::from(m), factor));
        Standard(Scaler::from_columns(shifted.collect()))
    }

    /// The scaled rows. Refuses another number of features and values that are not finite.
    pub fn apply(&self, x: &Mat<f32>) -> Result<Mat<f64>> {
        x.check_finite("features")?;
        let x: Mat<f64> = x.cast();
        check_width(&x, self.0.columns().len())?;
        Ok(self.0.apply(&x, &(0..x.rows()).collect::<Vec<_>>()))
    }

    /// A sentence for the reader if this changed more than rounding errors.
    pub fn note(x: &Mat<f32>) -> Vec<String> {
        let Standard(scaler) = Standard::centred(x);
        let varying = scaler.columns().iter().filter(|(_, factor)| *factor != 0.0);
        let moved = varying
            .filter(|(centre, factor)| {
                centre.abs() > WORTH_A_NOTE || (factor - 1.0).abs() > WORTH_A_NOTE
            })
            .count();
        if moved == 0 {
            return Vec::new();
        }
        vec![format!("{moved} features were put to mean 0 and standard deviation 1")]
    }
}

fn all(x: &Mat<f32>) -> Vec<usize> {
    (0..x.rows()).collect()
}

/// The value that more than half of the rows share, column by column (Boyer and Moore's vote); some
/// value of the column where there is none.
fn majority(x: &Mat<f32>) -> Vec<f32> {
    let mut votes = vec![(0.0f32, 0usize); x.cols()];
    for row in x.rows_iter() {
        for ((held, count), &v) in votes.iter_mut().zip(row) {
            match (*held == v, *count) {
                (true, _) => *count += 1,
                (false, 0) => (*held, *count) = (v, 1),
                (false, _) => *count -= 1,
            }
        }
    }
    votes.into_iter().map(|(held, _)| held).collect()
}

/// Ranks the first d rows of W by their norms: rows of W beyond (a bias) are no features.
pub(super) fn rank_by_rows(w: &Mat<f64>, d: usize) -> Vec<Ranked> {
    rank(&row_norms(w)[..d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_features_become_sparse_again() {
        let x = Mat::from_fn(50, 4, |i, j| if (i + 7 * j) % 9 == 0 { 3.0 } else { -0.4 });
        let sparse = Standard::sparse(&x).apply(&x).unwrap();
        let centred = Standard::centred(&x).apply(&x).unwrap();
        assert!(sparse.as_slice().iter().filter(|v| **v == 0.0).count() > 170);
        for j in 0..4 {
            let shift = sparse[(0, j)] - centred[(0, j)];
            let same = (0..50).all(|i| (sparse[(i, j)] - centred[(i, j)] - shift).abs() < 1e-12);
            assert!(same, "a shift and nothing else");
        }
        let dense = Mat::from_fn(50, 4, |i, j| (i * (j + 2) % 11) as f32);
        let (a, b) = (Standard::sparse(&dense), Standard::centred(&dense));
        assert_eq!(a.apply(&dense).unwrap(), b.apply(&dense).unwrap());
    }

    #[test]
    fn only_a_change_is_noted() {
        let raw = Mat::from_fn(50, 3, |i, j| (i * (j + 2) % 11) as f32 + 5.0);
        assert_eq!(
            Standard::note(&raw),
            ["3 features were put to mean 0 and standard deviation 1"]
        );
        let scaled = Standard::centred(&raw).apply(&raw).unwrap().cast();
        assert!(Standard::note(&scaled).is_empty());
    }

    #[test]
    fn the_bias_is_no_feature() {
        let w = Mat::from_vec(3, 2, vec![0.0, 1.0, 3.0, 4.0, 9.0, 9.0]);
        let ranking = rank_by_rows(&w, 2);
        assert_eq!((ranking[0].feature, ranking[0].score), (1, 5.0));
        assert_eq!(ranking.len(), 2);
    }
}
