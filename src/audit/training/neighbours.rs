//! The neighbour graph and its heat weights, against a version that sorts all distances.

use crate::Result;
use crate::audit::check::{Check, Limit};
use crate::graph::Graph;
use crate::linalg::Mat;
use crate::num::Real;
use crate::rng::Streams;

const K: usize = 5;
const EXACT: Limit = Limit::AtMost(1e-12);

/// Edges (i, j, w) with i < j; σ is the mean distance to a neighbour, counted from both ends or, as a
/// mistake, once per edge.
pub(super) fn slow(x: &Mat<f64>, k: usize, once_per_edge: bool) -> Vec<(usize, usize, f64)> {
    let distance = |i: usize, j: usize| -> f64 {
        x.row(i).iter().zip(x.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    };
    let mut found = Vec::new();
    for i in 0..x.rows() {
        let mut others: Vec<usize> = (0..x.rows()).filter(|&j| j != i).collect();
        others.sort_by(|&a, &b| distance(i, a).total_cmp(&distance(i, b)).then(a.cmp(&b)));
        found.extend(others.into_iter().take(k).map(|j| (i.min(j), i.max(j))));
    }
    let mut edges = found.clone();
    edges.sort_unstable();
    edges.dedup();
    let counted = if once_per_edge { &edges } else { &found };
    let width = counted.iter().map(|&(i, j)| distance(i, j)).sum::<f64>() / counted.len() as f64;
    let weight = |i, j| {
        let d = distance(i, j) / width;
        Real::exp(-0.5 * d * d)
    };
    edges.into_iter().map(|(i, j)| (i, j, weight(i, j))).collect()
}

/// Number of edges that only one side has, and the largest difference of the weights of the others.
fn compare<T: Real>(graph: &Graph<T>, slow: &[(usize, usize, f64)]) -> (f64, f64) {
    let (mut missing, mut gap) = (0, 0.0f64);
    for &(i, j, w) in slow {
        match graph.edges().iter().find(|e| (e.0, e.1) == (i, j)) {
            Some(e) => gap = gap.max((e.2.to_f64() - w).abs()),
            None => missing += 1,
        }
    }
    let extra = graph.edges().len() + missing - slow.len();
    ((missing + extra) as f64, gap)
}

pub(super) fn checks(streams: &Streams) -> Result<Vec<Check>> {
    let mut rng = streams.stream("points");
    let small = Mat::from_fn(61, 7, |_, _| rng.normal());
    let large = Mat::from_fn(300, 7, |_, _| rng.normal());
    // Few whole numbers: many ties, and distances that f32 knows exactly.
    let tied = Mat::from_fn(90, 3, |_, _| rng.below(4) as f64);
    let (by_pairs, by_blocks) = (Graph::new(&small, K)?, Graph::new(&large, K)?);
    let pairs = compare(&by_pairs, &slow(&small, K, false));
    let blocks = compare(&by_blocks, &slow(&large, K, false));
    let single = compare(&Graph::<f32>::new(&tied.cast(), K)?, &slow(&tied, K, false));
    let wrong_width = compare(&by_pairs, &slow(&small, K, true));
    let fewer = compare(&by_pairs, &slow(&small, K - 1, false));
    Ok(vec![
        Check::new(
            "graph/edges",
            "edges that a full sort of all distances does not have, or has more (both searches)",
            pairs.0 + blocks.0,
            Limit::Exactly(0.0),
        ),
        Check::new(
            "graph/ties",
            "the same in f32 where many distances are equal: ties go to the lower index",
            single.0,
            Limit::Exactly(0.0),
        ),
        Check::new(
            "graph/weights",
            "heat weights exp(−d²/2σ²) against the slow version, f64",
            pairs.1.max(blocks.1),
            EXACT,
        ),
        Check::new("graph/weights-f32", "the same in f32", single.1, Limit::AtMost(1e-6)),
        Check::control(
            "graph/edges",
            "a graph with one neighbour fewer",
            fewer.0,
            Limit::Exactly(0.0),
        ),
        Check::control(
            "graph/weights",
            "σ counts each edge once instead of each neighbour",
            wrong_width.1,
            EXACT,
        ),
    ])
}
