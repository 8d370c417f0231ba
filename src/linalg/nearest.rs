//! Exact nearest neighbours: squared Euclidean distances by blocked GEMM, ties to the lower index.
//!
//! ‖a − b‖² = ‖a‖² + ‖b‖² − 2 a·b is fast but cancels. The expansion only *preselects*, in f32
//! whatever the precision of the data: the candidates that could be among the k nearest, given its
//! error bound, are measured again directly, so the answer is that of the plain double loop.

use rayon::prelude::*;

use super::{Acc, Mat, gemm};
use crate::num::{Real, dot, squared_distance, vectorize};

/// Queries handled together: one GEMM of this many rows against all points.
const QUERY_BLOCK: usize = 128;

/// A neighbour: index of the point and squared distance.
pub type Neighbour<T> = (usize, T);

/// For each row of `queries` its `k` nearest rows of `points`, nearest first, ties by lower index.
///
/// With `exclude_self` the queries *are* the points and row i never sees point i. Fewer than `k`
/// are returned when there are not enough points. All values must be finite.
pub fn nearest<T: Real>(
    queries: &Mat<T>,
    points: &Mat<T>,
    k: usize,
    exclude_self: bool,
) -> Vec<Vec<Neighbour<T>>> {
    assert_eq!(queries.cols(), points.cols(), "nearest: number of columns");
    let available = points.rows().saturating_sub(usize::from(exclude_self));
    let k = k.min(available);
    if k == 0 {
        return vec![Vec::new(); queries.rows()];
    }
    let sketch = Sketch::new(queries, points);
    let blocks: Vec<usize> = (0..queries.rows()).step_by(QUERY_BLOCK).collect();
    let found: Vec<Vec<Vec<Neighbour<T>>>> = blocks
        .into_par_iter()
        .map(|from| {
            let to = queries.rows().min(from + QUERY_BLOCK);
            let mut products = Mat::zeros(to - from, points.rows());
            let rows = sketch.queries.view().slice_rows(from, to);
            gemm(Acc::Set, products.view_mut(), rows, sketch.points.view().t());
            let (mut order, mut best) = (Vec::new(), Vec::new());
            (from..to)
                .map(|i| {
                    let skip = exclude_self.then_some(i);
                    let row = products.row_mut(i - from);
                    let limit = sketch.limit(i, row, k, skip, &mut best);
                    k_nearest(queries.row(i), points, row, limit, k, skip, &mut order)
                })
                .collect()
        })
        .collect();
    found.into_iter().flatten().collect()
}

/// Queries and points in f32, scaled so that no norm exceeds 1, with the points' squared norms.
struct Sketch {
    queries: Mat<f32>,
    points: Mat<f32>,
    norms: Vec<f32>,
}

impl Sketch {
    fn new<T: Real>(queries: &Mat<T>, points: &Mat<T>) -> Self {
        let norm = |m: &Mat<T>| {
            let squares = m.rows_iter().map(|r| r.iter().map(|v| v.to_f64() * v.to_f64()).sum());
            squares.fold(0.0, f64::max)
        };
        let largest = norm(queries).max(norm(points));
        let scale = if largest > 0.0 { 1.0 / largest.sqrt() } else { 1.0 };
        let cast = |m: &Mat<T>| {
            Mat::from_fn(m.rows(), m.cols(), |i, j| (m[(i, j)].to_f64() * scale) as f32)
        };
        let points = cast(points);
        let norms = (0..points.rows()).map(|i| dot(points.row(i), points.row(i))).collect();
        Sketch { queries: cast(queries), points, norms }
    }

    /// Turns the products of query i into approximate distances; no point beyond the returned limit
    /// can be among the k nearest.
    fn limit(
        &self,
        i: usize,
        approximate: &mut [f32],
        k: usize,
        skip: Option<usize>,
        best: &mut Vec<f32>,
    ) -> f32 {
        let query = self.queries.row(i);
        let own = dot(query, query);
        vectorize(
            #[inline(always)]
            || {
                for (a, &norm) in approximate.iter_mut().zip(&self.norms) {
                    *a = (own + norm) - 2.0 * *a;
                }
            },
        );
        if let Some(i) = skip {
            approximate[i] = f32::MAX;
        }
        // The roundings of the inputs and of d products and sums, each of terms no larger than 1.
        let slack = 4.0 * f32::EPSILON * (query.len() + 8) as f32;
        kth_smallest(approximate, k, best) + 2.0 * slack
    }
}

/// The k nearest among the points within the limit, measured directly.
fn k_nearest<T: Real>(
    query: &[T],
    points: &Mat<T>,
    approximate: &[f32],
    limit: f32,
    k: usize,
    skip: Option<usize>,
    order: &mut Vec<Neighbour<T>>,
) -> Vec<Neighbour<T>> {
    order.clear();
    vectorize(
        #[inline(always)]
        || {
            for (j, &a) in approximate.iter().enumerate() {
                if a <= limit && skip != Some(j) {
                    order.push((j, squared_distance(query, points.row(j))));
                }
            }
        },
    );
    let by_distance = |a: &Neighbour<T>, b: &Neighbour<T>| {
        a.1.partial_cmp(&b.1).expect("finite distances").then(a.0.cmp(&b.0))
    };
    if order.len() > k {
        order.select_nth_unstable_by(k - 1, by_distance);
        order.truncate(k);
    }
    order.sort_unstable_by(by_distance);
    order.clone()
}

/// Values looked at together: most chunks hold nothing below the limit and are passed over.
const CHUNK: usize = 16;

/// The k-th smallest value (k ≥ 1), by keeping the k smallest seen in a sorted buffer.
fn kth_smallest(values: &[f32], k: usize, best: &mut Vec<f32>) -> f32 {
    best.clear();
    let mut limit = f32::MAX;
    let mut consider = |v: f32| {
        if best.len() < k || v < limit {
            let at = best.partition_point(|b| *b <= v);
            best.insert(at, v);
            best.truncate(k);
            if best.len() == k {
                limit = best[k - 1];
            }
        }
        limit
    };
    let mut below = f32::MAX;
    for chunk in values.chunks(CHUNK) {
        let smallest = chunk.iter().fold(f32::MAX, |m, &v| if v < m { v } else { m });
        if smallest < below || below == f32::MAX {
            for &v in chunk {
                below = consider(v);
            }
        }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    fn slow<T: Real>(q: &Mat<T>, p: &Mat<T>, k: usize, exclude: bool) -> Vec<Vec<Neighbour<T>>> {
        (0..q.rows())
            .map(|i| {
                let mut all: Vec<Neighbour<T>> = (0..p.rows())
                    .filter(|&j| !(exclude && i == j))
                    .map(|j| (j, squared_distance(q.row(i), p.row(j))))
                    .collect();
                all.sort_by(|a, b| a.1.partial_cmp(&b.1).unwrap().then(a.0.cmp(&b.0)));
                all.truncate(k);
                all
            })
            .collect()
    }

    #[test]
    fn equals_the_double_loop() {
        let mut r = Streams::new(1).stream("points");
        for (n, d, k) in [(1, 3, 2), (2, 1, 1), (70, 5, 3), (200, 17, 10), (131, 2, 131)] {
            let p = Mat::<f32>::from_fn(n, d, |_, _| r.normal() as f32);
            assert_eq!(nearest(&p, &p, k, true), slow(&p, &p, k, true), "{n} {d} {k}");
            let q = Mat::<f32>::from_fn(9, d, |_, _| r.normal() as f32);
            assert_eq!(nearest(&q, &p, k, false), slow(&q, &p, k, false), "{n} {d} {k}");
        }
    }

    /// Far from the origin the expansion loses all digits of the small differences.
    #[test]
    fn survives_cancellation_and_ties() {
        let p = Mat::<f32>::from_fn(40, 2, |i, j| 1e4 + ((i * 7 + j) % 5) as f32 * 1e-2);
        assert_eq!(nearest(&p, &p, 6, true), slow(&p, &p, 6, true));
        let same = Mat::<f64>::from_fn(5, 2, |_, _| 3.0);
        let got = nearest(&same, &same, 2, true);
        assert_eq!(got[0], [(1, 0.0), (2, 0.0)]);
        assert_eq!(got[4], [(0, 0.0), (1, 0.0)]);
    }
}
