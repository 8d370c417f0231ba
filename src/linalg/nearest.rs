//! Exact nearest neighbours: squared Euclidean distances by blocked GEMM, ties to the lower index.
//!
//! ‖a − b‖² = ‖a‖² + ‖b‖² − 2 a·b is fast but cancels. The expansion only *preselects*, in f32
//! whatever the precision of the data: the candidates that could be among the k nearest, given its
//! error bound, are measured again directly, so the answer is that of the plain double loop.

use rayon::prelude::*;

pub use super::shortlist::Neighbour;
use super::shortlist::Shortlists;
use super::{Acc, Mat, gemm};
use crate::num::{Real, dot, vectorize};

/// Rows handled together: the distances of two blocks fit into the cache.
const BLOCK: usize = 256;
/// Rows that are transposed together.
const TILE: usize = 16;

/// For each row of `queries` its `k` nearest rows of `points`, nearest first, ties by lower index.
/// Fewer than `k` are returned when there are not enough points. All values must be finite.
pub fn nearest<T: Real>(queries: &Mat<T>, points: &Mat<T>, k: usize) -> Vec<Vec<Neighbour<T>>> {
    assert_eq!(queries.cols(), points.cols(), "nearest: number of columns");
    let k = k.min(points.rows());
    if k == 0 {
        return vec![Vec::new(); queries.rows()];
    }
    let scale = scale(largest_square(queries).max(largest_square(points)));
    let (asked, seen) = (scaled(queries, scale), scaled(points, scale));
    let answer = |rows: &ScaledBlock| {
        let mut lists =
            Shortlists::new((queries, points), (rows.first, rows.count()), k, slack(points.cols()));
        for columns in &seen {
            let mut products = rows.products(columns);
            vectorize(
                #[inline(always)]
                || {
                    for i in 0..rows.count() {
                        let distances = rows.distances(i, columns, products.row_mut(i));
                        lists.compare_points(i, distances, columns.first);
                    }
                },
            );
        }
        lists.finish()
    };
    let found: Vec<Vec<Vec<Neighbour<T>>>> = asked.par_iter().map(answer).collect();
    found.into_iter().flatten().collect()
}

/// For each row of `points` its `k` nearest rows, as [`nearest`]; whether a row is its own neighbour
/// says `itself`. Every distance serves both of its ends, so it takes half the work.
pub fn nearest_among<T: Real>(points: &Mat<T>, k: usize, itself: bool) -> Vec<Vec<Neighbour<T>>> {
    let k = k.min(points.rows().saturating_sub(usize::from(!itself)));
    if k == 0 {
        return vec![Vec::new(); points.rows()];
    }
    let mut blocks: Vec<Block<'_, T>> = scaled(points, scale(largest_square(points)))
        .into_iter()
        .map(|scaled| {
            let rows = (scaled.first, scaled.count());
            let lists = Shortlists::new((points, points), rows, k, slack(points.cols()));
            Some((scaled, lists))
        })
        .collect();
    blocks.par_iter_mut().flatten().for_each(|block| compare_within(block, itself));
    // A round-robin tournament: in each round every block is compared with one other, so the pairs of
    // a round can share the threads. With an odd number of blocks one has no partner.
    if blocks.len() % 2 == 1 {
        blocks.push(None);
    }
    let half = blocks.len() / 2;
    for _ in 1..blocks.len() {
        let (left, right) = blocks.split_at_mut(half);
        left.par_iter_mut().zip(right.par_iter_mut().rev()).for_each(|pair| {
            if let (Some(a), Some(b)) = pair {
                compare(a, b);
            }
        });
        blocks[1..].rotate_right(1);
    }
    // After that many turns every block is back in its place.
    blocks.into_iter().flatten().flat_map(|(_, lists)| lists.finish()).collect()
}

/// A block of points and their shortlists, or the place of a block without a partner.
type Block<'a, T> = Option<(ScaledBlock, Shortlists<'a, T>)>;

fn compare_within<T: Real>((scaled, lists): &mut (ScaledBlock, Shortlists<'_, T>), itself: bool) {
    let mut products = scaled.products(scaled);
    vectorize(
        #[inline(always)]
        || {
            for i in 0..scaled.count() {
                let distances = scaled.distances(i, scaled, products.row_mut(i));
                if !itself {
                    distances[i] = f32::INFINITY;
                }
                lists.compare_points(i, distances, scaled.first);
            }
        },
    );
}

fn compare<T: Real>(
    (a, of_a): &mut (ScaledBlock, Shortlists<'_, T>),
    (b, of_b): &mut (ScaledBlock, Shortlists<'_, T>),
) {
    let mut products = a.products(b);
    vectorize(
        #[inline(always)]
        || {
            for i in 0..a.count() {
                let distances = a.distances(i, b, products.row_mut(i));
                of_a.compare_points(i, distances, b.first);
                of_b.compare_queries(distances, a.first + i);
            }
        },
    );
}

/// A block of rows in f32, scaled so that no norm exceeds 1.
struct ScaledBlock {
    /// Index of the first row.
    first: usize,
    /// d × rows: the layout that the product reads fastest.
    columns: Mat<f32>,
    /// Squared norms.
    squares: Vec<f32>,
}

impl ScaledBlock {
    fn count(&self) -> usize {
        self.squares.len()
    }

    /// Inner products of all rows with all rows of the other block.
    fn products(&self, other: &ScaledBlock) -> Mat<f32> {
        let mut out = Mat::zeros(self.count(), other.count());
        gemm(Acc::Set, out.view_mut(), self.columns.view().t(), other.columns.view());
        out
    }

    /// Turns the products of row i with the other block into approximate squared distances.
    #[inline(always)]
    fn distances<'p>(
        &self,
        i: usize,
        other: &ScaledBlock,
        products: &'p mut [f32],
    ) -> &'p mut [f32] {
        for (p, &square) in products.iter_mut().zip(&other.squares) {
            *p = (self.squares[i] + square) - 2.0 * *p;
        }
        products
    }
}

fn scaled<T: Real>(rows: &Mat<T>, scale: f64) -> Vec<ScaledBlock> {
    let starts: Vec<usize> = (0..rows.rows()).step_by(BLOCK).collect();
    let block = |first: usize| {
        let count = BLOCK.min(rows.rows() - first);
        let mut columns = Mat::zeros(rows.cols(), count);
        let mut squares = vec![0.0; count];
        // Few rows at a time, so that what they write side by side is still in the cache.
        for from in (0..count).step_by(TILE) {
            let tile = from..count.min(from + TILE);
            for j in 0..rows.cols() {
                let column = &mut columns.row_mut(j)[tile.clone()];
                for (i, (v, square)) in
                    column.iter_mut().zip(&mut squares[tile.clone()]).enumerate()
                {
                    *v = (rows[(first + from + i, j)].to_f64() * scale) as f32;
                    *square += *v * *v;
                }
            }
        }
        ScaledBlock { first, columns, squares }
    };
    starts.into_par_iter().map(block).collect()
}

/// Largest squared norm of a row.
fn largest_square<T: Real>(rows: &Mat<T>) -> f64 {
    vectorize(
        #[inline(always)]
        || {
            let squares = rows.rows_iter().map(|r| dot(r, r).to_f64());
            squares.fold(0.0, f64::max)
        },
    )
}

/// Makes the largest norm 1.
fn scale(largest_square: f64) -> f64 {
    if largest_square > 0.0 { 1.0 / largest_square.sqrt() } else { 1.0 }
}

/// The roundings of the inputs and of d products and sums, each of terms no larger than 1.
fn slack(d: usize) -> f32 {
    4.0 * f32::EPSILON * (d + 8) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::squared_distance;
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
        for (n, d, k) in [
            (1, 3, 2),
            (2, 1, 1),
            (70, 5, 3),
            (131, 2, 131),
            (700, 17, 10),
            (900, 2, 40),
            (600, 3, 300),
        ] {
            let p = Mat::<f32>::from_fn(n, d, |_, _| r.normal() as f32);
            for itself in [true, false] {
                assert_eq!(nearest_among(&p, k, itself), slow(&p, &p, k, !itself), "{n} {d} {k}");
            }
            let q = Mat::<f32>::from_fn(9, d, |_, _| r.normal() as f32);
            assert_eq!(nearest(&q, &p, k), slow(&q, &p, k, false), "{n} {d} {k}");
        }
    }

    /// Far from the origin the expansion loses all digits of the small differences.
    #[test]
    fn survives_cancellation_and_ties() {
        let p = Mat::<f32>::from_fn(40, 2, |i, j| 1e4 + ((i * 7 + j) % 5) as f32 * 1e-2);
        assert_eq!(nearest_among(&p, 6, false), slow(&p, &p, 6, true));
        let same = Mat::<f64>::from_fn(5, 2, |_, _| 3.0);
        let got = nearest_among(&same, 2, false);
        assert_eq!(got[0], [(1, 0.0), (2, 0.0)]);
        assert_eq!(got[4], [(0, 0.0), (1, 0.0)]);
    }

    /// More equal distances than a list can hold, and one far row that makes all others look equal.
    #[test]
    fn survives_crowds_of_ties() {
        let mut r = Streams::new(2).stream("ties");
        let mut p = Mat::<f64>::from_fn(800, 3, |_, _| r.below(2) as f64);
        assert_eq!(nearest_among(&p, 5, false), slow(&p, &p, 5, true));
        p.row_mut(300).fill(1e9);
        assert_eq!(nearest_among(&p, 5, true), slow(&p, &p, 5, false));
        let q = p.select_rows(&[0, 300, 799]);
        assert_eq!(nearest(&q, &p, 5), slow(&q, &p, 5, false));
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let mut r = Streams::new(3).stream("points");
        let p = Mat::<f64>::from_fn(1100, 4, |_, _| r.normal());
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| nearest_among(&p, 7, false))
        };
        assert_eq!(run(1), run(3));
    }
}
