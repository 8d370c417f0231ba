//! The rows that Newton's method reads: with the bias in place, or, where a second copy of the features
//! would be felt, the features as they are and the bias put beside them in chunks.
//!
//! A product adds blocks of 256 rows in order (`linalg::gemm`) and a chunk holds whole blocks, so both
//! forms give the same bits.

use super::design::{Design, SPARSE_BELOW};
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
    /// The bias stands beside; of the features all rows count, or those of a list.
    Beside(&'a Mat<f64>, Option<&'a [usize]>, Option<f64>),
}

impl<'a> Rows<'a> {
    /// Features that are better not copied; of them all rows, or those of a list.
    pub(super) fn large(
        x: &'a Mat<f64>,
        rows: Option<&'a [usize]>,
        bias: Option<f64>,
    ) -> Option<Self> {
        let size = rows.map_or(x.rows(), <[usize]>::len) * x.cols();
        (size >= LARGE).then_some(match (rows, bias) {
            (None, None) => Rows::Whole(x),
            _ => Rows::Beside(x, rows, bias),
        })
    }

    pub(super) fn n(self) -> usize {
        match self {
            Rows::Whole(x) | Rows::Beside(x, None, _) => x.rows(),
            Rows::Beside(_, Some(rows), _) => rows.len(),
        }
    }

    pub(super) fn width(self) -> usize {
        match self {
            Rows::Whole(x) => x.cols(),
            Rows::Beside(x, _, bias) => x.cols() + usize::from(bias.is_some()),
        }
    }

    /// Whether at most a fifth of the features is non-zero, as [`Design::is_sparse`] sees their copy.
    pub(super) fn is_sparse(self) -> bool {
        match self {
            Rows::Whole(x) | Rows::Beside(x, None, _) => Design::is_sparse(x),
            Rows::Beside(x, Some(rows), _) => {
                let filled = |&i: &usize| x.row(i).iter().filter(|v| **v != 0.0).count();
                let filled: usize = rows.iter().map(filled).sum();
                filled as f64 <= SPARSE_BELOW * (rows.len() * x.cols()) as f64
            }
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
            Rows::Beside(..) => {
                self.put(from..to, buffer);
                buffer.view()
            }
        }
    }

    /// The given rows.
    pub(super) fn select(self, rows: &[usize]) -> Mat<f64> {
        let mut selected = Mat::default();
        self.put(rows.iter().copied(), &mut selected);
        selected
    }

    /// Puts the given rows together.
    fn put(self, rows: impl ExactSizeIterator<Item = usize>, out: &mut Mat<f64>) {
        let (x, list, bias) = match self {
            Rows::Whole(x) => (x, None, None),
            Rows::Beside(x, list, bias) => (x, list, bias),
        };
        out.reshape(rows.len(), self.width());
        for (k, i) in rows.enumerate() {
            let (features, last) = out.row_mut(k).split_at_mut(x.cols());
            features.copy_from_slice(x.row(list.map_or(i, |list| list[i])));
            last.fill(bias.unwrap_or_default());
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
    match Rows::large(x, None, bias) {
        Some(rows) => rows.margins(weights),
        None => Design::dense(x, bias).margins(weights),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Costs, Loss, Stop, newton};
    use super::*;
    use crate::classify::Targets;
    use crate::rng::Streams;

    /// The bias beside the features, and some rows of more, against the bias in place, over several
    /// chunks, with `==`.
    #[test]
    fn all_forms_have_the_same_bits() {
        let mut r = Streams::new(3).stream("rows");
        let more = Mat::from_fn(2700, 9, |_, _| r.normal());
        let list: Vec<usize> = (0..2700).rev().filter(|i| i % 13 > 0).take(2400).collect();
        let x = more.select_rows(&list);
        let p = Mat::from_fn(2400, 3, |i, j| {
            let clear = f64::from(u8::from(x[(i, j)] + x[(i, j + 1)] + 0.5 * r.normal() > 0.4));
            if j == 0 { (0.8 * clear + 0.1) as f32 } else { clear as f32 }
        });
        let costs = Costs::new(Targets::Confidence(&p), 0.7);
        let Design::Dense(whole) = Design::dense(&x, Some(2.0)) else { panic!("dense rows") };
        let beside = |x, list| Rows::Beside(x, list, Some(2.0));
        let rows = [Rows::Whole(&whole), beside(&x, None), beside(&more, Some(&list))];
        assert_eq!(rows.map(|r| (r.n(), r.width())), [(2400, 10); 3]);
        for loss in [Loss::Squared, Loss::Hinge] {
            let [a, b, c] =
                rows.map(|r| newton::solve(r, &costs, &costs.varying(), loss, Stop::default()));
            assert!(a == b && a == c, "{loss:?}");
            let margins = Design::dense(&x, Some(2.0)).margins(&a.weights);
            assert!(rows.iter().all(|r| r.margins(&a.weights) == margins));
        }
        let large = Mat::zeros(LARGE, 1);
        assert!(Rows::large(&x, None, None).is_none());
        assert!(Rows::large(&large, Some(&list), None).is_none());
        assert!(matches!(Rows::large(&large, None, Some(1.0)), Some(Rows::Beside(..))));
        assert!(matches!(Rows::large(&large, None, None), Some(Rows::Whole(_))));
    }
}
