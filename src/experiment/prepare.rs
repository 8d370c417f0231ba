//! One fold, ready to be learned from: split, noise and scaling done.

use super::Repeat;
use crate::data::{Dataset, Labels, Scaler, Scaling};
use crate::linalg::Mat;

/// Share of non-zero training features up to which features are scaled without being centred, so
/// that zeros stay zeros.
const SPARSE_BELOW: f64 = 0.2;

/// Training and test part of a fold.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Rows of the data that train.
    pub train_rows: Vec<usize>,
    /// Rows of the data that are held out.
    pub test_rows: Vec<usize>,
    /// Scaling, learned from the training rows.
    pub scaler: Scaler,
    /// Training features for the method, scaled.
    pub features: Mat<f32>,
    /// Test features for the method's own predictor, scaled alike.
    pub test_features: Mat<f32>,
    /// Candidate labels of the training rows.
    pub candidates: Labels,
    /// True labels of the training rows, if known: only for control and for ε.
    pub truth: Option<Labels>,
    /// True labels of the test rows, if known.
    pub test_truth: Option<Labels>,
}

impl Prepared {
    /// Scales the rows of `fold`, or all rows for training without one.
    pub fn new(data: &Dataset, repeat: &Repeat, fold: Option<usize>, scaling: Scaling) -> Self {
        let (train_rows, test_rows) = repeat.rows(fold);
        let mut scaler = Scaler::fit(&data.x, &train_rows, scaling);
        if scaling == Scaling::ZScore && is_sparse(&data.x, &train_rows) {
            scaler = scaler.without_centres();
        }
        let truth = |rows: &[usize]| data.truth.as_ref().map(|y| y.select_rows(rows));
        Prepared {
            features: scaler.apply(&data.x, &train_rows),
            test_features: scaler.apply(&data.x, &test_rows),
            candidates: repeat.candidates.select_rows(&train_rows),
            truth: truth(&train_rows),
            test_truth: truth(&test_rows),
            train_rows,
            test_rows,
            scaler,
        }
    }

    /// Gives the method's features back: scores are made from the data.
    pub fn free_features(&mut self) {
        let d = self.features.cols();
        (self.features, self.test_features) = (Mat::zeros(0, d), Mat::zeros(0, d));
    }

    /// Some training columns of the data `x` for the classifier, scaled, in f64. They are made when they
    /// are asked for: all of them would take twice the memory of `features`.
    pub fn train(&self, x: &Mat<f64>, columns: &[usize]) -> Mat<f64> {
        self.scaler.apply_columns(x, &self.train_rows, columns)
    }

    /// The same of the test rows.
    pub fn test(&self, x: &Mat<f64>, columns: &[usize]) -> Mat<f64> {
        self.scaler.apply_columns(x, &self.test_rows, columns)
    }

    /// Share of the irrelevant training labels that are candidates, if the truth is known.
    pub fn realised_noise(&self) -> Option<f64> {
        let truth = self.truth.as_ref()?;
        let cells = truth.as_slice().iter().zip(self.candidates.as_slice());
        let (mut irrelevant, mut added) = (0usize, 0usize);
        for (_, &candidate) in cells.filter(|(y, _)| !**y) {
            irrelevant += 1;
            added += usize::from(candidate);
        }
        Some(added as f64 / (irrelevant as f64).max(1.0))
    }
}

fn is_sparse(x: &Mat<f64>, rows: &[usize]) -> bool {
    let filled: usize = rows.iter().map(|&i| x.row(i).iter().filter(|v| **v != 0.0).count()).sum();
    filled as f64 <= SPARSE_BELOW * (rows.len() * x.cols()) as f64
}

#[cfg(test)]
mod tests {
    use super::super::Protocol;
    use super::super::fixture::small;
    use super::*;

    fn prepared(data: &Dataset, protocol: &Protocol, repeat: usize, fold: usize) -> Prepared {
        let repeat = Repeat::new(data, protocol, repeat, true).unwrap();
        Prepared::new(data, &repeat, Some(fold), protocol.scaling)
    }

    #[test]
    fn noise_reaches_training_labels_only_and_zeros_stay() {
        let protocol = Protocol { noise: 0.5, ..Protocol::default() };
        let sparse = small(|i, j| (i + j) % 6 == 0);
        let part = prepared(&sparse, &protocol, 0, 3);
        let all: Vec<usize> = (0..sparse.d()).collect();
        let (train, test) = (part.train(&sparse.x, &all), part.test(&sparse.x, &all));
        assert_eq!((train.rows(), test.rows()), (16, 4));
        assert_eq!(train.select_cols(&[3, 1]), part.train(&sparse.x, &[3, 1]));
        let truth = part.truth.as_ref().unwrap();
        assert!(part.candidates.count() > truth.count());
        let cells = truth.as_slice().iter().zip(part.candidates.as_slice());
        assert!(cells.into_iter().all(|(y, c)| *c || !y));
        let held_out = sparse.truth.as_ref().unwrap().select_rows(&part.test_rows);
        assert_eq!(part.test_truth, Some(held_out));
        assert!(train.as_slice().iter().filter(|v| **v == 0.0).count() > 60);
        assert_eq!(part.features.as_slice(), train.cast::<f32>().as_slice(), "one scaling");
        assert_eq!(part.test_features, test.cast());
        let data = small(|_, _| true);
        let dense = prepared(&data, &protocol, 0, 3);
        let mean: f64 = dense.train(&data.x, &[0]).as_slice().iter().sum();
        assert!(mean.abs() < 1e-9);
        // Another repeat, another split.
        let other = prepared(&sparse, &protocol, 1, 3);
        assert_ne!(other.test_rows, part.test_rows);
        let added = part.candidates.count() - truth.count();
        let irrelevant = truth.as_slice().len() - truth.count();
        assert_eq!(part.realised_noise(), Some(added as f64 / irrelevant as f64));
    }

    /// A dense test row must not decide how the training rows are scaled.
    #[test]
    fn the_training_rows_decide_whether_data_are_sparse() {
        let protocol = Protocol { noise: 0.0, ..Protocol::default() };
        let plan = Repeat::new(&small(|_, _| true), &protocol, 0, true).unwrap();
        let (_, test) = plan.rows(Some(0));
        let data = small(|i, j| test.contains(&i) || (i + j) % 6 == 0);
        let filled = data.x.as_slice().iter().filter(|v| **v != 0.0).count();
        assert!(filled as f64 > SPARSE_BELOW * 100.0, "the whole set counts as dense");
        let part = Prepared::new(&data, &plan, Some(0), Scaling::ZScore);
        assert!(part.features.as_slice().iter().filter(|v| **v == 0.0).count() > 60);
    }
}
