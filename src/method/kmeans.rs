//! Groups of rows: Lloyd's k-means with k-means++ seeds.

use crate::linalg::Mat;
use crate::linalg::nearest::nearest;
use crate::num::{add_assign, scale, squared_distance};
use crate::rng::Rng;

const ROUNDS: usize = 50;

/// The rows of each group, at most `count` groups, empty ones dropped.
pub(super) fn groups(x: &Mat<f64>, count: usize, rng: &mut Rng) -> Vec<Vec<usize>> {
    let mut centres = x.select_rows(&seeds(x, count.min(x.rows()), rng));
    let mut member = Vec::new();
    for _ in 0..ROUNDS {
        let next: Vec<usize> = nearest(x, &centres, 1).iter().map(|list| list[0].0).collect();
        if next == member {
            break;
        }
        member = next;
        for (g, rows) in by_group(&member, centres.rows()).iter().enumerate() {
            // A group that lost its rows keeps its centre.
            if !rows.is_empty() {
                centres.row_mut(g).fill(0.0);
                rows.iter().for_each(|&i| add_assign(centres.row_mut(g), x.row(i)));
                scale(centres.row_mut(g), 1.0 / rows.len() as f64);
            }
        }
    }
    let mut groups = by_group(&member, centres.rows());
    groups.retain(|rows| !rows.is_empty());
    groups
}

fn by_group(member: &[usize], count: usize) -> Vec<Vec<usize>> {
    let mut groups = vec![Vec::new(); count];
    member.iter().enumerate().for_each(|(i, &g)| groups[g].push(i));
    groups
}

/// Rows drawn one after the other with probability proportional to the squared distance from those
/// already drawn; fewer when all others coincide with them.
fn seeds(x: &Mat<f64>, count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut seeds = vec![rng.below(x.rows())];
    let mut distances = vec![f64::INFINITY; x.rows()];
    while seeds.len() < count {
        let last = x.row(seeds[seeds.len() - 1]);
        for (i, d) in distances.iter_mut().enumerate() {
            *d = d.min(squared_distance(x.row(i), last));
        }
        if distances.iter().all(|d| *d == 0.0) {
            break;
        }
        seeds.push(rng.categorical(&distances));
    }
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    #[test]
    fn separate_clouds_are_groups() {
        let mut r = Streams::new(1).stream("kmeans");
        let x = Mat::from_fn(60, 2, |i, _| 20.0 * (i % 3) as f64 + r.uniform());
        let found = groups(&x, 3, &mut r);
        assert_eq!(found.len(), 3);
        for rows in &found {
            assert_eq!(rows.len(), 20);
            assert!(rows.iter().all(|i| i % 3 == rows[0] % 3));
        }
    }

    #[test]
    fn every_row_is_in_one_group() {
        let mut r = Streams::new(1).stream("kmeans");
        for (n, count) in [(1, 5), (7, 3), (40, 100)] {
            let x = Mat::from_fn(n, 2, |i, j| ((i * 7 + j) % 5) as f64);
            let found = groups(&x, count, &mut r);
            assert!(found.len() <= count.min(5) && found.iter().all(|g| !g.is_empty()));
            let mut rows = found.concat();
            rows.sort_unstable();
            assert_eq!(rows, (0..n).collect::<Vec<_>>());
        }
    }
}
