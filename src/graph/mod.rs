//! The structural regulariser: a k-nearest-neighbour graph over a batch and its Laplacian penalty.
//!
//! Edges join each instance to its k nearest others (Euclidean, exact, ties by lower index); an
//! edge counts if either end chose it. Weights are the heat kernel w = exp(−d² / (2σ²)) with σ the
//! mean distance to a neighbour, so that the scale of the features does not matter. The penalty is
//!
//! ```text
//! R_graph(U) = Σ_{edges {i,j}} w_ij ‖U_i − U_j‖² = tr(Uᵀ (D − W) U),   ∂R/∂U_i = 2 Σ_j w_ij (U_i − U_j).
//! ```
//!
//! The graph is made from X and does not depend on U, so nothing is differentiated through the
//! choice of neighbours.

use crate::linalg::Mat;
use crate::linalg::nearest::{Neighbour, nearest_among};
use crate::num::{Real, all_finite, dot, squared_distance, vectorize};
use crate::{Error, Result};

/// Batches up to this size are searched pair by pair, in memory that is used again; larger ones by
/// blocked products, which cost less time and need memory of their own. Both find the same.
const PAIRWISE: usize = 256;

/// An undirected weighted graph over the rows of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph<T> {
    /// (i, j, w) with i < j, sorted.
    edges: Vec<(usize, usize, T)>,
}

impl<T: Real> Graph<T> {
    /// The graph over the rows of `x`. With k ≥ B all other rows are neighbours; one row has none.
    /// Refuses values that are not finite, or so large that a distance would not be.
    pub fn new(x: &Mat<T>, k: usize) -> Result<Self> {
        let mut graph = Graph::default();
        graph.rebuild(&mut Vec::new(), x, k)?;
        Ok(graph)
    }

    /// The same in the memory of this graph; `row` is room for the neighbours of one row.
    pub fn rebuild(&mut self, row: &mut Vec<Neighbour<T>>, x: &Mat<T>, k: usize) -> Result<()> {
        self.edges.clear();
        x.check_finite("features")?;
        // ‖a − b‖² is at most four times the larger ‖·‖².
        let norm = x.rows_iter().map(|r| dot(r, r)).fold(T::ZERO, T::maximum);
        if !(T::from_f64(4.0) * norm).is_finite() {
            return Err(Error::numeric(format!(
                "the features are too large: distances between rows overflow {}",
                T::NAME
            ))
            .hint("scale the features"));
        }
        // Σ of all distances to a neighbour; d² is kept in the place of the weight until it is known.
        let mut sum = T::ZERO;
        let mut found = 0usize;
        let mut take = |i: usize, neighbours: &[Neighbour<T>]| {
            for &(j, d2) in neighbours {
                sum += d2.sqrt();
                found += 1;
                self.edges.push((i.min(j), i.max(j), d2));
            }
        };
        if x.rows() <= PAIRWISE {
            for i in 0..x.rows() {
                nearest_of(row, x, i, k);
                take(i, row);
            }
        } else {
            for (i, row) in nearest_among(x, k, false).iter().enumerate() {
                take(i, row);
            }
        }
        self.edges.sort_unstable_by_key(|&(i, j, _)| (i, j));
        self.edges.dedup_by_key(|&mut (i, j, _)| (i, j));
        let width = sum / T::from_f64(found.max(1) as f64);
        let factor = T::from_f64(-0.5) / (width * width);
        for (_, _, w) in &mut self.edges {
            // Identical rows have distance 0 and full weight, also when all rows are identical.
            *w = if *w == T::ZERO { T::ONE } else { (*w * factor).exp() };
        }
        debug_assert!(self.edges.iter().all(|e| all_finite(&[e.2])));
        Ok(())
    }

    /// The edges (i, j, w), i < j.
    pub fn edges(&self) -> &[(usize, usize, T)] {
        &self.edges
    }

    /// weight · R_graph(U); its gradient is added to `du`.
    pub fn penalty(&self, du: &mut Mat<T>, u: &Mat<T>, weight: T) -> T {
        let mut total = T::ZERO;
        for &(i, j, w) in &self.edges {
            let slope = T::from_f64(2.0) * weight * w;
            for c in 0..u.cols() {
                let difference = u[(i, c)] - u[(j, c)];
                total += w * difference * difference;
                du[(i, c)] += slope * difference;
                du[(j, c)] -= slope * difference;
            }
        }
        weight * total
    }
}

/// The k nearest other rows of row i, nearest first, ties by lower index.
fn nearest_of<T: Real>(row: &mut Vec<Neighbour<T>>, x: &Mat<T>, i: usize, k: usize) {
    row.clear();
    vectorize(
        #[inline(always)]
        || {
            for j in 0..x.rows() {
                if j != i {
                    row.push((j, squared_distance(x.row(i), x.row(j))));
                }
            }
        },
    );
    let by_distance = |a: &Neighbour<T>, b: &Neighbour<T>| {
        a.1.partial_cmp(&b.1).expect("finite distances").then(a.0.cmp(&b.0))
    };
    if k < row.len() {
        row.select_nth_unstable_by(k, by_distance);
        row.truncate(k);
    }
    row.sort_unstable_by(by_distance);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    fn line() -> Mat<f64> {
        Mat::from_vec(4, 1, vec![0.0, 1.0, 3.0, 7.0])
    }

    #[test]
    fn neighbours_and_weights_by_hand() {
        let g = Graph::new(&line(), 1).unwrap();
        // 0→1, 1→0, 2→1, 3→2; distances 1, 1, 2, 4, mean 2.
        let w = |d: f64| libm::exp(-d * d / 8.0);
        let want = [(0, 1, w(1.0)), (1, 2, w(2.0)), (2, 3, w(4.0))];
        for (got, want) in g.edges().iter().zip(want) {
            assert_eq!((got.0, got.1), (want.0, want.1));
            assert!((got.2 - want.2).abs() < 1e-15);
        }
        assert_eq!(g.edges().len(), 3);
    }

    /// tr(Uᵀ L U) with the matrix written out.
    #[test]
    fn equals_the_quadratic_form() {
        let mut r = Streams::new(8).stream("graph");
        let x = Mat::from_fn(13, 3, |_, _| r.normal());
        let u = Mat::from_fn(13, 4, |_, _| r.normal());
        let g = Graph::new(&x, 5).unwrap();
        let mut laplacian = Mat::<f64>::zeros(13, 13);
        for &(i, j, w) in g.edges() {
            laplacian[(i, i)] += w;
            laplacian[(j, j)] += w;
            laplacian[(i, j)] -= w;
            laplacian[(j, i)] -= w;
        }
        let lu: Mat<f64> =
            Mat::from_fn(13, 4, |i, c| (0..13).map(|j| laplacian[(i, j)] * u[(j, c)]).sum());
        let form: f64 = lu.as_slice().iter().zip(u.as_slice()).map(|(a, b)| a * b).sum();
        let mut du = Mat::from_fn(13, 4, |_, _| 1.0);
        let value = g.penalty(&mut du, &u, 0.25);
        assert!((value - 0.25 * form).abs() < 1e-12);
        for (d, l) in du.as_slice().iter().zip(lu.as_slice()) {
            assert!((d - 1.0 - 0.5 * l).abs() < 1e-12);
        }
    }

    #[test]
    fn small_and_degenerate_batches() {
        let one = Graph::new(&Mat::<f32>::zeros(1, 3), 5).unwrap();
        assert!(one.edges().is_empty());
        assert!(Graph::new(&Mat::<f32>::zeros(0, 3), 5).unwrap().edges().is_empty());
        let same = Graph::new(&Mat::<f32>::zeros(3, 2), 5).unwrap();
        assert_eq!(same.edges(), &[(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0)]);
        let all = Graph::new(&line(), 99).unwrap();
        assert_eq!(all.edges().len(), 6);
        let mut bad = line();
        bad[(2, 0)] = f64::NAN;
        let e = Graph::new(&bad, 1).unwrap_err();
        assert_eq!(e.message(), "found NaN in row 2, column 0 (from 0), expected finite features");
        let huge = Mat::<f32>::from_fn(3, 2, |i, _| 1e19 * i as f32);
        let e = Graph::new(&huge, 1).unwrap_err();
        let want = "the features are too large: distances between rows overflow f32";
        assert_eq!(e.message(), want);
        // ‖a‖² is finite and ‖a − b‖² is not.
        let opposite = Mat::<f32>::from_fn(2, 1, |i, _| if i == 0 { 1.5e19 } else { -1.5e19 });
        assert_eq!(Graph::new(&opposite, 1).unwrap_err().message(), want);
        let large = Mat::<f32>::from_fn(3, 2, |i, _| 1e18 * i as f32);
        assert!(Graph::new(&large, 1).unwrap().edges().iter().all(|e| e.2 > 0.0 && e.2 < 1.0));
    }

    /// Pair by pair and by blocked products: the same neighbours at the same distances.
    #[test]
    fn both_searches_agree() {
        let mut r = Streams::new(8).stream("search");
        // Few distinct values: many ties.
        let x = Mat::from_fn(70, 3, |_, _| r.below(4) as f64);
        for k in [0, 1, 5, 69, 200] {
            let blocked = nearest_among(&x, k, false);
            let mut row = Vec::new();
            for i in 0..70 {
                nearest_of(&mut row, &x, i, k);
                assert_eq!(row, blocked[i], "row {i}, k {k}");
            }
        }
        let large = Mat::from_fn(PAIRWISE + 1, 2, |_, _| r.normal());
        let graph = Graph::new(&large, 4).unwrap();
        let mut ends = vec![0; PAIRWISE + 1];
        graph.edges().iter().for_each(|&(i, j, _)| (ends[i], ends[j]) = (ends[i] + 1, ends[j] + 1));
        assert!(ends.iter().all(|&n| n >= 4));
    }

    #[test]
    fn memory_is_used_again() {
        let (mut graph, mut row) = (Graph::new(&line(), 3).unwrap(), Vec::new());
        graph.rebuild(&mut row, &line(), 1).unwrap();
        assert_eq!(graph, Graph::new(&line(), 1).unwrap());
        assert!(graph.rebuild(&mut row, &Mat::from_vec(1, 1, vec![f64::NAN]), 1).is_err());
    }

    #[test]
    fn the_scale_of_the_features_does_not_matter() {
        let mut r = Streams::new(8).stream("scale");
        let x = Mat::from_fn(9, 2, |_, _| r.normal());
        let scaled = Mat::from_fn(9, 2, |i, j| 64.0 * x[(i, j)]);
        assert_eq!(Graph::new(&x, 3).unwrap(), Graph::new(&scaled, 3).unwrap());
    }
}
