//! A sparse neighbour graph as an operator: weights S, degrees A, Laplacian A − S.

use rayon::prelude::*;

use crate::Result;
use crate::graph::Graph;
use crate::linalg::Mat;
use crate::num::{Real, axpy, dot, squared_distance};

/// Symmetric heat-kernel weights exp(−‖x_i − x_j‖² / (2 t²)) of the pairs in which one is among
/// the nearest neighbours of the other.
pub(super) struct Affinity {
    /// Neighbours and weights of each row, by index.
    rows: Vec<Vec<(usize, f64)>>,
    /// Row sums.
    degrees: Vec<f64>,
}

impl Affinity {
    /// `k` neighbours of each row, not counting itself; with `itself` each row is also its own
    /// neighbour, of weight 1.
    pub fn new(x: &Mat<f64>, k: usize, width: f64, itself: bool) -> Result<Self> {
        let mut rows: Vec<Vec<(usize, f64)>> = vec![Vec::new(); x.rows()];
        for &(i, j, _) in Graph::new(x, k)?.edges() {
            let w = Real::exp(-0.5 * squared_distance(x.row(i), x.row(j)) / (width * width));
            rows[i].push((j, w));
            rows[j].push((i, w));
        }
        for (i, row) in rows.iter_mut().enumerate() {
            if itself {
                row.push((i, 1.0));
            }
            row.sort_unstable_by_key(|e| e.0);
        }
        let degrees = rows.iter().map(|row| row.iter().map(|e| e.1).sum()).collect();
        Ok(Affinity { rows, degrees })
    }

    /// S U.
    pub fn weigh(&self, u: &Mat<f64>) -> Mat<f64> {
        let mut out = Mat::zeros(u.rows(), u.cols());
        let width = u.cols().max(1);
        out.as_mut_slice().par_chunks_mut(width).zip(&self.rows).for_each(|(out, row)| {
            row.iter().for_each(|&(j, w)| axpy(out, w, u.row(j)));
        });
        out
    }

    /// A U.
    pub fn degree(&self, u: &Mat<f64>) -> Mat<f64> {
        super::factorise::scale_rows(u, &self.degrees)
    }

    /// (A − S) U.
    pub fn laplacian(&self, u: &Mat<f64>) -> Mat<f64> {
        super::factorise::plus(self.degree(u), -1.0, &self.weigh(u))
    }

    /// tr(Uᵀ (A − S) U) = Σ over pairs of w ‖u_i − u_j‖².
    pub fn penalty(&self, u: &Mat<f64>) -> f64 {
        let laplacian = self.laplacian(u);
        dot(laplacian.as_slice(), u.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::super::planted::{assert_close, golden, start};
    use super::*;

    #[test]
    fn weights_are_symmetric_and_known() {
        let (x, _) = golden();
        let s = Affinity::new(&x, 2, 1.0, true).unwrap();
        let identity = Mat::from_fn(5, 5, |i, j| f64::from(u8::from(i == j)));
        let dense = s.weigh(&identity);
        assert_close(dense.row(0), &[1.0, 0.980199, 0.0, 0.0, 0.683861]);
        assert_close(dense.row(2), &[0.0, 0.0, 1.0, 0.965605, 0.532592]);
        assert_eq!(dense, dense.transposed());
        // The Laplacian does not see that a row is its own neighbour.
        let u = start(5, 3, 2, 7);
        let other = Affinity::new(&x, 2, 1.0, false).unwrap();
        assert_close(other.laplacian(&u).as_slice(), s.laplacian(&u).as_slice());
        let pairs = (0..5).flat_map(|i| (0..i).map(move |j| (i, j)));
        let sum: f64 =
            pairs.map(|(i, j)| dense[(i, j)] * squared_distance(u.row(i), u.row(j))).sum();
        assert_close(&[s.penalty(&u)], &[sum]);
    }
}
