//! Which points can still be among the k nearest of each query, while approximate distances come in.

use super::Mat;
use crate::num::{Real, squared_distance, vectorize};

/// A neighbour: index of the point and squared distance.
pub type Neighbour<T> = (usize, T);

/// Up to this k the limit of a query falls with every point; beyond it all points are measured.
const TRACKED: usize = 256;
/// Groups of points whose smallest distances give the first limit.
const GROUPS: usize = 32;
/// Distances looked at together: most chunks hold nothing within the limit and are passed over.
const CHUNK: usize = 16;

/// Shortlists of a block of queries: rows `first ..` of `queries`, against rows of `points`.
///
/// An approximate distance is off by at most `slack`. So with k points seen at distances up to b, no
/// point beyond the limit b + 2·slack can be among the k nearest, whatever the order of arrival.
pub(super) struct Shortlists<'a, T> {
    queries: &'a Mat<T>,
    points: &'a Mat<T>,
    pub(super) first: usize,
    k: usize,
    slack: f32,
    limits: Vec<f32>,
    /// The k smallest approximate distances of each query, sorted.
    best: Vec<f32>,
    /// Points within the limit at their arrival, not measured yet.
    pending: Vec<Vec<(f32, u32)>>,
    /// The k nearest of those that are measured.
    measured: Vec<Vec<Neighbour<T>>>,
}

impl<'a, T: Real> Shortlists<'a, T> {
    pub(super) fn new(
        (queries, points): (&'a Mat<T>, &'a Mat<T>),
        (first, count): (usize, usize),
        k: usize,
        slack: f32,
    ) -> Self {
        let tracked = if k <= TRACKED { k } else { 0 };
        Shortlists {
            queries,
            points,
            first,
            k,
            slack,
            limits: vec![f32::INFINITY; count],
            best: vec![f32::INFINITY; tracked * count],
            pending: vec![Vec::new(); count],
            measured: vec![Vec::new(); count],
        }
    }

    /// One query (counted from `first`) against the points `from ..`.
    #[inline(always)]
    pub(super) fn compare_points(&mut self, query: usize, distances: &[f32], from: usize) {
        if self.limits[query] == f32::INFINITY {
            self.limits[query] = first_limit(distances, self.k) + 2.0 * self.slack;
        }
        for (c, chunk) in distances.chunks(CHUNK).enumerate() {
            let limit = self.limits[query];
            let near = chunk.iter().fold(false, |any, &d| any | (d <= limit));
            if near {
                for (l, &d) in chunk.iter().enumerate() {
                    self.offer(query, d, from + c * CHUNK + l);
                }
            }
        }
    }

    /// All queries against one point.
    #[inline(always)]
    pub(super) fn compare_queries(&mut self, distances: &[f32], point: usize) {
        for from in (0..distances.len()).step_by(CHUNK) {
            let to = distances.len().min(from + CHUNK);
            let pairs = distances[from..to].iter().zip(&self.limits[from..to]);
            if pairs.fold(false, |any, (d, limit)| any | (d <= limit)) {
                for query in from..to {
                    self.offer(query, distances[query], point);
                }
            }
        }
    }

    #[inline(always)]
    fn offer(&mut self, query: usize, distance: f32, point: usize) {
        if distance <= self.limits[query] && distance < f32::INFINITY {
            self.accept(query, distance, point);
        }
    }

    fn accept(&mut self, query: usize, distance: f32, point: usize) {
        self.pending[query].push((distance, point as u32));
        if self.k <= TRACKED {
            let best = &mut self.best[query * self.k..][..self.k];
            let mut at = self.k - 1;
            if distance < best[at] {
                while at > 0 && best[at - 1] > distance {
                    best[at] = best[at - 1];
                    at -= 1;
                }
                best[at] = distance;
                let limit = best[self.k - 1] + 2.0 * self.slack;
                self.limits[query] = self.limits[query].min(limit);
            }
        }
        // Many equal distances would fill the memory.
        if self.pending[query].len() >= 8 * self.k + 64 {
            self.measure(query);
        }
    }

    /// Measures the pending points directly and keeps the k nearest, ties by lower index.
    fn measure(&mut self, query: usize) {
        let (limit, row) = (self.limits[query], self.queries.row(self.first + query));
        let (pending, measured) = (&mut self.pending[query], &mut self.measured[query]);
        let within = pending.drain(..).filter(|(d, _)| *d <= limit);
        vectorize(
            #[inline(always)]
            || {
                for (_, point) in within {
                    let point = point as usize;
                    measured.push((point, squared_distance(row, self.points.row(point))));
                }
            },
        );
        if measured.len() > self.k {
            measured.select_nth_unstable_by(self.k - 1, by_distance);
            measured.truncate(self.k);
        }
    }

    /// The k nearest points of each query, nearest first.
    pub(super) fn finish(mut self) -> Vec<Vec<Neighbour<T>>> {
        for query in 0..self.limits.len() {
            self.measure(query);
            self.measured[query].sort_unstable_by(by_distance);
        }
        self.measured
    }
}

fn by_distance<T: Real>(a: &Neighbour<T>, b: &Neighbour<T>) -> std::cmp::Ordering {
    a.1.partial_cmp(&b.1).expect("finite distances").then(a.0.cmp(&b.0))
}

/// At least k of the distances are not above it: the k-th of the smallest in each of many groups.
/// It costs little and spares most of the points that would come and go while a list fills.
#[inline(always)]
fn first_limit(distances: &[f32], k: usize) -> f32 {
    if k > GROUPS {
        return f32::INFINITY;
    }
    let mut smallest = [f32::INFINITY; GROUPS];
    for chunk in distances.chunks_exact(GROUPS) {
        for (s, &d) in smallest.iter_mut().zip(chunk) {
            *s = if d < *s { d } else { *s };
        }
    }
    smallest.select_nth_unstable_by(k - 1, f32::total_cmp);
    smallest[k - 1]
}
