//! From real-valued label estimates to confidences and hard labels.

use crate::data::Labels;
use crate::linalg::Mat;

/// Estimates within [0, 1], and 0 where the label is no candidate.
pub(super) fn plausible(estimates: &Mat<f64>, candidates: &Labels) -> Mat<f64> {
    Mat::from_fn(estimates.rows(), estimates.cols(), |i, j| {
        if candidates.get(i, j) { estimates[(i, j)].clamp(0.0, 1.0) } else { 0.0 }
    })
}

/// Labels whose confidence is ½ or more; the largest positive one of a row in any case.
pub(super) fn hard(confidence: &Mat<f64>) -> Labels {
    Labels::from_fn(confidence.rows(), confidence.cols(), |i, j| {
        let (c, row) = (confidence[(i, j)], confidence.row(i));
        c > 0.0 && (c >= 0.5 || row.iter().all(|other| *other <= c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_candidates_are_kept_and_one_of_them_always() {
        let estimates = Mat::from_vec(3, 3, vec![1.4, 0.5, 0.9, 0.2, 0.3, 0.4, 0.8, 0.9, -1.0]);
        let mut candidates = Labels::from_fn(3, 3, |_, j| j < 2);
        candidates.set(2, 0, false);
        candidates.set(2, 1, false);
        let p = plausible(&estimates, &candidates);
        assert_eq!(p.as_slice(), [1.0, 0.5, 0.0, 0.2, 0.3, 0.0, 0.0, 0.0, 0.0]);
        let want = [true, true, false, false, true, false, false, false, false];
        assert_eq!(hard(&p).as_slice(), want);
    }
}
