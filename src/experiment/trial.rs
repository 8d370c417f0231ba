//! One fold, ready to be learned from: split, noise and scaling done.

use super::Protocol;
use crate::data::{Dataset, Folds, Labels, Scaler, Scaling, noise};
use crate::linalg::Mat;
use crate::rng::Streams;
use crate::{Error, Result};

/// Share of non-zero features up to which the classifier's features are scaled without being
/// centred, so that zeros stay zeros.
const SPARSE_BELOW: f64 = 0.2;

/// Training and test part of a fold.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Training features for the method, scaled.
    pub features: Mat<f32>,
    /// Training features for the classifier, scaled.
    pub train: Mat<f64>,
    /// Test features for the classifier, scaled as the training features were.
    pub test: Mat<f64>,
    /// Candidate labels of the training instances.
    pub candidates: Labels,
    /// True labels of the training instances: only for control and for ε.
    pub truth: Labels,
    /// True labels of the test instances.
    pub test_truth: Labels,
}

impl Trial {
    /// Number `cell` of `folds · repeats`. Everything random comes from streams named after it.
    pub fn new(
        data: &Dataset,
        protocol: &Protocol,
        cell: usize,
        streams: &Streams,
    ) -> Result<Self> {
        let truth = data.truth.as_ref().ok_or_else(|| {
            Error::input("found no true labels, expected them: without truth nothing can be scored")
                .in_file(&data.source.origin)
                .hint("'select' needs candidate labels only")
        })?;
        let (repeat, fold) = (cell / protocol.folds, cell % protocol.folds);
        let streams = streams.child(&format!("repeat/{repeat}"));
        let folds = Folds::new(truth, protocol.folds, protocol.splitter, &streams)?;
        let (train, test) = (folds.train(fold), folds.test(fold));
        let truth_there = truth.select_rows(&train);
        let candidates = match &data.candidates {
            Some(given) => given.select_rows(&train),
            None => {
                let streams = streams.child(&format!("fold/{fold}"));
                noise::inject(&truth_there, protocol.scheme, protocol.noise, &streams)?.candidates
            }
        };
        let scaler = Scaler::fit(&data.x, &train, protocol.scaling);
        let filled = data.x.as_slice().iter().filter(|v| **v != 0.0).count() as f64;
        let sparse = filled <= SPARSE_BELOW * data.x.as_slice().len() as f64;
        let keep_zeros = sparse && protocol.scaling == Scaling::ZScore;
        let scaled = |rows: &[usize]| {
            let mut x = scaler.apply::<f64>(&data.x, rows);
            if keep_zeros {
                uncentre(&mut x, &scaler);
            }
            x
        };
        Ok(Trial {
            features: scaler.apply(&data.x, &train),
            train: scaled(&train),
            test: scaled(&test),
            candidates,
            truth: truth_there,
            test_truth: truth.select_rows(&test),
        })
    }
}

/// Takes the image of zero away from every row: a scaling by the spread alone.
fn uncentre(x: &mut Mat<f64>, scaler: &Scaler) {
    let zero = scaler.apply::<f64>(&Mat::zeros(1, x.cols()), &[0]);
    for i in 0..x.rows() {
        for (v, z) in x.row_mut(i).iter_mut().zip(zero.row(0)) {
            *v -= z;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Source;

    pub fn small(filled: impl Fn(usize, usize) -> bool) -> Dataset {
        Dataset {
            name: "small".into(),
            x: Mat::from_fn(20, 5, |i, j| if filled(i, j) { (i + 2 * j + 1) as f64 } else { 0.0 }),
            truth: Some(Labels::from_fn(20, 3, |i, j| (i + j) % 3 == 0)),
            candidates: None,
            feature_names: (0..5).map(|j| format!("f{j}")).collect(),
            label_names: (0..3).map(|j| format!("l{j}")).collect(),
            nominal: std::collections::BTreeMap::new(),
            source: Source::default(),
        }
    }

    #[test]
    fn noise_reaches_training_labels_only_and_zeros_stay() {
        let protocol = Protocol { noise: 0.5, ..Protocol::default() };
        let sparse = small(|i, j| (i + j) % 6 == 0);
        let trial = Trial::new(&sparse, &protocol, 3, &Streams::new(0)).unwrap();
        assert_eq!((trial.train.rows(), trial.test.rows()), (16, 4));
        assert!(trial.candidates.count() > trial.truth.count());
        let truth = trial.truth.as_slice().iter().zip(trial.candidates.as_slice());
        assert!(truth.into_iter().all(|(y, c)| *c || !y));
        assert!(trial.train.as_slice().iter().filter(|v| **v == 0.0).count() > 60);
        let dense = Trial::new(&small(|_, _| true), &protocol, 3, &Streams::new(0)).unwrap();
        let mean: f64 = (0..16).map(|i| dense.train[(i, 0)]).sum();
        assert!(mean.abs() < 1e-9);
        // Another cell, other rows; another repeat, another split.
        let other = Trial::new(&sparse, &protocol, 8, &Streams::new(0)).unwrap();
        assert_ne!(other.test_truth, trial.test_truth);
    }

    #[test]
    fn truth_is_needed() {
        let mut data = small(|_, _| true);
        data.candidates = data.truth.take();
        let e = Trial::new(&data, &Protocol::default(), 0, &Streams::new(0)).unwrap_err();
        assert!(e.to_string().contains("no true labels"));
    }
}
