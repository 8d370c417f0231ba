//! The Gaussian kernel exp(−γ‖a − b‖²): all values at once while they fit, else row by row.

use crate::linalg::{Acc, Mat, gemm_parallel};
use crate::num::{Real, dot, squared_distance, vectorize};

/// Up to this many instances the whole kernel is kept (1.6 GB).
const KEPT_UP_TO: usize = 20_000;

/// Kernel values between the training instances; all labels share them.
pub(super) enum Kernel {
    /// n × n.
    Kept(Mat<f32>),
    /// Instances and γ.
    OnDemand(Mat<f64>, f64),
}

impl Kernel {
    pub(super) fn new(x: &Mat<f64>, gamma: f64) -> Self {
        if x.rows() <= KEPT_UP_TO {
            Kernel::Kept(between(x, x, gamma).cast())
        } else {
            Kernel::OnDemand(x.clone(), gamma)
        }
    }

    /// Number of instances n.
    pub(super) fn n(&self) -> usize {
        match self {
            Kernel::Kept(k) => k.rows(),
            Kernel::OnDemand(x, _) => x.rows(),
        }
    }

    /// Row i; `buffer` holds it if it has to be computed.
    pub(super) fn row<'a>(&'a self, i: usize, buffer: &'a mut Vec<f32>) -> &'a [f32] {
        match self {
            Kernel::Kept(k) => k.row(i),
            Kernel::OnDemand(x, gamma) => {
                buffer.clear();
                for j in 0..x.rows() {
                    let distance = squared_distance(x.row(i), x.row(j));
                    buffer.push(Real::exp(-gamma * distance) as f32);
                }
                buffer
            }
        }
    }
}

/// Kernel values between the rows of `a` and those of `b`.
pub(super) fn between(a: &Mat<f64>, b: &Mat<f64>, gamma: f64) -> Mat<f64> {
    let norms =
        |m: &Mat<f64>| -> Vec<f64> { (0..m.rows()).map(|i| dot(m.row(i), m.row(i))).collect() };
    let (na, nb) = (norms(a), norms(b));
    let mut values = Mat::zeros(a.rows(), b.rows());
    gemm_parallel(Acc::Set, values.view_mut(), a.view(), b.view().t());
    for i in 0..a.rows() {
        let row = values.row_mut(i);
        vectorize(
            #[inline(always)]
            || {
                for (v, &norm) in row.iter_mut().zip(&nb) {
                    let distance = (na[i] + norm) - 2.0 * *v;
                    *v = Real::exp(-gamma * if distance > 0.0 { distance } else { 0.0 });
                }
            },
        );
    }
    values
}
