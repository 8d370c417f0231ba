//! The rows that Newton's method reads: with the bias in place, or, where a second copy of the features
//! would be felt, the features as they are and the bias put beside them in chunks.
//!
//! A product adds blocks of 256 rows in order (`linalg::gemm`) and a chunk holds whole blocks, so both
//! forms give the same bits.

use super::design::Design;
use crate::linalg::{Acc, Mat, View, gemm_parallel};

/// Rows of a chunk, whole blocks of a product's sums.
const CHUNK: usize = 4 * 256;
/// Features from this many values on (32 MB) are not copied.
const LARGE: usize = 1 << 22;

/// n × d′ values.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    /// The bias is the last column, if there is one.
    Whole(&'a Mat<f64>),
    /// The bias stands beside.
    Beside(&'a Mat<f64>, f64),
}

impl<'a> Rows<'a> {
    /// Features that are better not copied.
    pub(super) fn large(x: &'a Mat<f64>, bias: Option<f64>) -> Option<Self> {
        (x.as_slice().len() >= LARGE).then_some(match bias {
            Some(bias) => Rows::Beside(x, bias),
            None => Rows::Whole(x),
        })
    }

    pub(super) fn n(self) -> usize {
        match self {
            Rows::Whole(x) | Rows::Beside(x, _) => x.rows(),
        }
    }

    pub(super) fn width(self) -> usize {
        match self {
            Rows::Whole(x) => x.cols(),
            Rows::Beside(x, _) => x.cols() + 1,
        }
    }

    /// Rows that are read together.
    pub(super) fn chunk(self) -> usize {
        match self {
            Rows::Whole(x) => x.rows().max(1),
            Rows::Beside(..) => CHUNK,
        }
    }

    /// The rows `from..to`; `buffer` holds them if they have to be put together.
    pub(super) fn view<'b>(self, from: usize, to: usize, buffer: &'b mut Mat<f64>) -> View<'b, f64>
    where
        'a: 'b,
    {
        match self {
            Rows::Whole(x) => x.view().slice_rows(from, to),
            Rows::Beside(x, bias) => {
                buffer.reshape(to - from, x.cols() + 1);
                (from..to).enumerate().for_each(|(k, i)| put(buffer.row_mut(k), x.row(i), bias));
                buffer.view()
            }
        }
    }

    /// The given rows.
    pub(super) fn select(self, rows: &[usize]) -> Mat<f64> {
        match self {
            Rows::Whole(x) => x.select_rows(rows),
            Rows::Beside(x, bias) => {
                let mut selected = Mat::zeros(rows.len(), x.cols() + 1);
                let copy = |(k, &i)| put(selected.row_mut(k), x.row(i), bias);
                rows.iter().enumerate().for_each(copy);
                selected
            }
        }
    }

    /// Margins X·Wᵀ, n × L, for weights W of shape L × d′: [`Design::margins`] without a copy of X.
    pub(super) fn margins(self, weights: &Mat<f64>) -> Mat<f64> {
        let mut margins = Mat::zeros(self.n(), weights.rows());
        let mut buffer = Mat::default();
        for from in (0..self.n()).step_by(self.chunk()) {
            let to = self.n().min(from + self.chunk());
            let rows = self.view(from, to, &mut buffer);
            let out = margins.view_mut().slice_rows(from, to);
            gemm_parallel(Acc::Set, out, rows, weights.view().t());
        }
        margins
    }
}

/// Margins of new instances.
pub(super) fn margins(x: &Mat<f64>, bias: Option<f64>, weights: &Mat<f64>) -> Mat<f64> {
    match Rows::large(x, bias) {
        Some(rows) => rows.margins(weights),
        None => Design::dense(x, bias).margins(weights),
    }
}

fn put(row: &mut [f64], features: &[f64], bias: f64) {
    let (last, first) = row.split_last_mut().expect("a place for the bias");
    first.copy_from_slice(features);
    *last = bias;
}

#[cfg(test)]
mod tests {
    use super::super::{Costs, Loss, Stop, newton};
    use super::*;
    use crate::classify::Targets;
    use crate::rng::Streams;

    /// The bias beside the features against the bias in place, over several chunks, with `==`.
    #[test]
    fn both_forms_have_the_same_bits() {
        let mut r = Streams::new(3).stream("rows");
        let x = Mat::from_fn(2500, 9, |_, _| r.normal());
        let p = Mat::from_fn(2500, 3, |i, j| {
            let clear = f64::from(u8::from(x[(i, j)] + x[(i, j + 1)] + 0.5 * r.normal() > 0.4));
            if j == 0 { (0.8 * clear + 0.1) as f32 } else { clear as f32 }
        });
        let costs = Costs::new(Targets::Confidence(&p), 0.7);
        let Design::Dense(whole) = Design::dense(&x, Some(2.0)) else { panic!("dense rows") };
        let rows = [Rows::Whole(&whole), Rows::Beside(&x, 2.0)];
        assert_eq!(rows.map(|r| (r.n(), r.width())), [(2500, 10); 2]);
        for loss in [Loss::Squared, Loss::Hinge] {
            let [a, b] =
                rows.map(|r| newton::solve(r, &costs, &costs.varying(), loss, Stop::default()));
            assert!(a == b, "{loss:?}");
            let margins = Design::dense(&x, Some(2.0)).margins(&a.weights);
            assert!(rows.iter().all(|r| r.margins(&a.weights) == margins));
        }
        assert!(Rows::large(&x, None).is_none());
        let large = Mat::zeros(LARGE, 1);
        assert!(matches!(Rows::large(&large, Some(1.0)), Some(Rows::Beside(..))));
        assert!(matches!(Rows::large(&large, None), Some(Rows::Whole(_))));
    }
}
