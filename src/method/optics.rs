//! The number of clusters that OPTICS sees among the rows of a matrix, for PML-FSLA's latent
//! dimension.
//!
//! OPTICS (Ankerst, Breunig, Kriegel, Sander, SIGMOD 1999) visits the points so that neighbours
//! follow each other and notes how far each was to reach. Valleys of that plot are clusters: a
//! steep way down, then a steep way up. Settings are those of PML-FSLA's program: 5 points make a
//! core, ξ = 0.05, a cluster has at least 1 % of the points; the refinements of the valleys' ends
//! are those of scikit-learn, which that program calls. Time O(n² d), memory O(n).

use crate::linalg::Mat;
use crate::linalg::nearest::nearest_among;
use crate::num::{squared_distance, vectorize};

const CORE: usize = 5;
/// 1 − ξ.
const STEEP: f64 = 0.95;

/// How many clusters; noise is none. Fewer rows than a core needs have no cluster.
pub(super) fn clusters(x: &Mat<f64>) -> usize {
    if x.rows() < CORE {
        return 0;
    }
    let mut plot = Plot::new(x);
    let valleys = plot.valleys();
    // A cluster counts if it holds no smaller one that was counted before.
    let mut taken = vec![false; x.rows()];
    let mut count = 0;
    for (from, to) in valleys {
        if !taken[from..=to].contains(&true) {
            taken[from..=to].fill(true);
            count += 1;
        }
    }
    count
}

/// The reachability plot.
struct Plot {
    /// Points in the order of the visit.
    order: Vec<usize>,
    /// From where each point (not position) was reached.
    from: Vec<Option<usize>>,
    /// Distance at which the point at each position was reached, and ∞ at the end.
    reach: Vec<f64>,
    smallest: usize,
    /// Open ways down.
    descents: Vec<Descent>,
}

/// A steep way down, and the highest point since.
struct Descent {
    start: usize,
    end: usize,
    highest: f64,
}

impl Plot {
    fn new(x: &Mat<f64>) -> Self {
        let n = x.rows();
        let core: Vec<f64> =
            nearest_among(x, CORE, true).iter().map(|list| list[CORE - 1].1.sqrt()).collect();
        let (mut reach, mut from) = (vec![f64::INFINITY; n], vec![None; n]);
        let mut left: Vec<usize> = (0..n).collect();
        let mut order = Vec::with_capacity(n);
        while !left.is_empty() {
            let nearer = |a: &usize, b: &usize| {
                reach[left[*a]].total_cmp(&reach[left[*b]]).then(left[*a].cmp(&left[*b]))
            };
            let at = (0..left.len()).min_by(nearer).expect("a point is left");
            let p = left.swap_remove(at);
            order.push(p);
            vectorize(
                #[inline(always)]
                || {
                    for &q in &left {
                        let r = squared_distance(x.row(p), x.row(q)).sqrt().max(core[p]);
                        if r < reach[q] {
                            (reach[q], from[q]) = (r, Some(p));
                        }
                    }
                },
            );
        }
        let mut plot: Vec<f64> = order.iter().map(|&p| reach[p]).collect();
        plot.push(f64::INFINITY);
        Plot { order, from, reach: plot, smallest: (n / 100).max(2), descents: Vec::new() }
    }

    /// From position t to the next: below 1 upward, above 1 downward, NaN between infinities.
    fn ratio(&self, t: usize) -> f64 {
        self.reach[t] / self.reach[t + 1]
    }

    fn steep_up(&self, t: usize) -> bool {
        self.ratio(t) <= STEEP
    }

    fn steep_down(&self, t: usize) -> bool {
        self.ratio(t) >= 1.0 / STEEP
    }

    /// Positions (first, last) of all valleys, inner ones before those around them.
    fn valleys(&mut self) -> Vec<(usize, usize)> {
        let n = self.order.len();
        let mut found = Vec::new();
        let (mut index, mut highest) = (0, 0.0f64);
        for t in 0..n {
            if t < index || !(self.steep_up(t) || self.steep_down(t)) {
                continue;
            }
            highest = self.reach[index..=t].iter().copied().fold(highest, f64::max);
            self.close(highest);
            let end = if self.steep_down(t) {
                let end = self.extend(t, Plot::steep_down, |r| r < 1.0);
                self.descents.push(Descent { start: t, end, highest: 0.0 });
                end
            } else {
                let end = self.extend(t, Plot::steep_up, |r| r > 1.0);
                let ways_down = self.descents.iter().rev();
                found.extend(ways_down.filter_map(|down| self.valley(down, t, end)));
                end
            };
            index = end + 1;
            highest = self.reach[index];
        }
        found
    }

    /// Drops the ways down that start lower than what came since; tells the others.
    fn close(&mut self, highest: f64) {
        let reach = &self.reach;
        self.descents.retain(|d| highest.is_finite() && highest <= reach[d.start] * STEEP);
        self.descents.iter_mut().for_each(|d| d.highest = d.highest.max(highest));
    }

    /// The last steep position of the area that starts at `start`: it may be flat for a few
    /// positions, but not turn.
    fn extend(
        &self,
        start: usize,
        steep: fn(&Plot, usize) -> bool,
        turns: fn(f64) -> bool,
    ) -> usize {
        let (mut end, mut flat) = (start, 0);
        for t in start..self.order.len() {
            if steep(self, t) {
                (end, flat) = (t, 0);
            } else if turns(self.ratio(t)) || flat == CORE {
                break;
            } else {
                flat += 1;
            }
        }
        end
    }

    /// The valley between a way down and the way up from `up` to `end`, if it is one.
    fn valley(&self, down: &Descent, up: usize, end: usize) -> Option<(usize, usize)> {
        let reach = &self.reach;
        let (mut first, mut last) = (down.start, end);
        let (left, right) = (reach[first], reach[last + 1]);
        if right * STEEP < down.highest {
            return None;
        }
        if left * STEEP >= right {
            while first < down.end && reach[first + 1] > right {
                first += 1;
            }
        } else if right * STEEP >= left {
            while last > up && reach[last - 1] > left {
                last -= 1;
            }
        }
        let last = self.reached_from_inside(first, last)?;
        let large = last + 1 - first >= self.smallest;
        (large && first <= down.end && last >= up).then_some((first, last))
    }

    /// Moves the end back until its point was reached from inside of the valley.
    fn reached_from_inside(&self, first: usize, last: usize) -> Option<usize> {
        (first + 1..=last).rev().find(|&e| {
            let from = self.from[self.order[e]];
            self.reach[first] > self.reach[e]
                || from.is_some_and(|p| self.order[first..e].contains(&p))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::factorise::features;
    use super::super::planted::Planted;
    use super::*;
    use crate::data::Scaling;

    #[test]
    fn counts_separate_clouds() {
        for clouds in [1, 2, 3, 6] {
            let place = |i: usize| (1000 * (i % clouds) + i / clouds) as f64;
            assert_eq!(clusters(&Mat::from_fn(40 * clouds, 1, |i, _| place(i))), clouds);
        }
    }

    /// The counts of scikit-learn 1.9 on the same rows: `OPTICS(min_samples=5, xi=0.05,
    /// min_cluster_size=0.01)`, labels from 0 on counted.
    #[test]
    fn counts_what_scikit_learn_counts() {
        for (name, rows, count) in [("emotions", 391, 3), ("yeast", 1500, 1)] {
            let set = Planted::real(name).first(rows);
            let (x, _) = features(&set.training(), Scaling::MinMax);
            assert_eq!(clusters(&x), count, "{name}");
        }
    }

    #[test]
    fn few_or_equal_points() {
        for (n, count) in [(0, 0), (1, 0), (4, 0), (5, 1), (30, 1)] {
            assert_eq!(clusters(&Mat::from_fn(n, 3, |_, _| 1.5)), count, "{n}");
        }
    }
}
