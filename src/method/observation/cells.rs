//! The likelihood of all cells at once, and its slope.
//!
//! Same bits as [`NoiseRate`] cell by cell, several times faster: labels that nobody asks for are left
//! out, what only candidates have is computed for candidates alone, and cells are gathered in blocks
//! that are long enough for vector instructions however few the labels are.

use std::ops::Range;

use super::likelihood::NoiseRate;
use crate::linalg::Mat;
use crate::num::{Real, vectorize};

/// Cells of a block, about.
const BLOCK: usize = 1024;
/// Place of a label that is not asked for.
const ABSENT: usize = usize::MAX;

/// Where the candidates are, row by row.
pub struct Cells<'a> {
    noise: &'a [NoiseRate<f64>],
    used: &'a [bool],
    begins: Vec<usize>,
    labels: Vec<usize>,
}

/// Some of the labels.
struct Asked<'a> {
    labels: &'a [usize],
    /// Where in `labels` a label is.
    place: Vec<usize>,
}

/// Logits of some rows: of all cells, and of the candidates with ln ρ taken away.
#[derive(Default)]
struct Block {
    all: Vec<f64>,
    candidates: Vec<f64>,
    /// Which cells of the block are candidates, and their labels.
    at: Vec<(usize, usize)>,
}

impl<'a> Cells<'a> {
    /// Of candidates `c` (n × L, 0 and 1); rows that are not `used` count nothing.
    pub fn new(c: &Mat<f64>, noise: &'a [NoiseRate<f64>], used: &'a [bool]) -> Self {
        let (mut begins, mut labels) = (vec![0], Vec::new());
        for row in c.rows_iter() {
            labels.extend((0..row.len()).filter(|&j| row[j] > 0.5));
            begins.push(labels.len());
        }
        Cells { noise, used, begins, labels }
    }

    /// Σ_i −ln P(C_ij | u_ij) of each label asked for, with u = `logits + steps · along`.
    pub fn losses(
        &self,
        labels: &[usize],
        logits: &Mat<f64>,
        along: Option<(&Mat<f64>, &[f64])>,
    ) -> Vec<f64> {
        let asked = self.asked(labels);
        let ln_rest: Vec<f64> = labels.iter().map(|&j| self.noise[j].ln_rest).collect();
        let rows: Vec<usize> = (0..logits.rows()).filter(|&i| self.used[i]).collect();
        let mut totals = vec![0.0; labels.len()];
        let (mut block, mut given) = (Block::default(), Vec::new());
        for rows in rows.chunks(asked.rows_of_block()) {
            block.clear();
            for &i in rows {
                let u = logits.row(i);
                match along {
                    None => block.push(self, &asked, i, |j| u[j]),
                    Some((along, steps)) => {
                        let way = along.row(i);
                        block.push(self, &asked, i, |j| u[j] + steps[j] * way[j]);
                    }
                }
            }
            block.map(Real::softplus);
            // What is taken from softplus(u): ln(e^u + ρ) of a candidate, else ln(1 − ρ).
            given.clear();
            rows.iter().for_each(|_| given.extend_from_slice(&ln_rest));
            for (&(cell, j), second) in block.at.iter().zip(&block.candidates) {
                given[cell] = self.noise[j].ln_rho + second;
            }
            let cells = block.all.chunks(labels.len()).zip(given.chunks(labels.len()));
            for (first, given) in cells {
                for (total, (first, given)) in totals.iter_mut().zip(first.iter().zip(given)) {
                    *total += first - given;
                }
            }
        }
        totals
    }

    /// `weight` times the derivatives of [`Cells::losses`] in the logits of `rows`, for the labels asked
    /// for; 0 for the others and in rows that are not used.
    pub fn slopes(
        &self,
        out: &mut Mat<f64>,
        labels: &[usize],
        logits: &Mat<f64>,
        rows: Range<usize>,
        weight: f64,
    ) {
        let (asked, start) = (self.asked(labels), rows.start);
        for i in rows.clone() {
            out.row_mut(i - start).fill(0.0);
        }
        let rows: Vec<usize> = rows.filter(|&i| self.used[i]).collect();
        let mut block = Block::default();
        for rows in rows.chunks(asked.rows_of_block()) {
            block.clear();
            for &i in rows {
                let u = logits.row(i);
                block.push(self, &asked, i, |j| u[j]);
            }
            block.map(Real::sigmoid);
            for (&(cell, _), second) in block.at.iter().zip(&block.candidates) {
                block.all[cell] -= second;
            }
            for (&i, slopes) in rows.iter().zip(block.all.chunks(labels.len())) {
                let row = out.row_mut(i - start);
                for (&j, slope) in labels.iter().zip(slopes) {
                    row[j] = weight * slope;
                }
            }
        }
    }

    fn asked<'l>(&self, labels: &'l [usize]) -> Asked<'l> {
        let mut place = vec![ABSENT; self.noise.len()];
        for (at, &j) in labels.iter().enumerate() {
            place[j] = at;
        }
        Asked { labels, place }
    }
}

impl Asked<'_> {
    fn rows_of_block(&self) -> usize {
        (BLOCK / self.labels.len().max(1)).max(1)
    }
}

impl Block {
    fn clear(&mut self) {
        self.all.clear();
        self.candidates.clear();
        self.at.clear();
    }

    /// Row i, whose logit of label j is `logit(j)`.
    #[inline(always)]
    fn push(
        &mut self,
        cells: &Cells<'_>,
        asked: &Asked<'_>,
        i: usize,
        logit: impl Fn(usize) -> f64,
    ) {
        let start = self.all.len();
        self.all.extend(asked.labels.iter().map(|&j| logit(j)));
        for &j in &cells.labels[cells.begins[i]..cells.begins[i + 1]] {
            if asked.place[j] != ABSENT {
                let cell = start + asked.place[j];
                self.at.push((cell, j));
                self.candidates.push(self.all[cell] - cells.noise[j].ln_rho);
            }
        }
    }

    #[inline(always)]
    fn map(&mut self, f: impl Fn(f64) -> f64 + Copy) {
        let Block { all, candidates, .. } = self;
        vectorize(
            #[inline(always)]
            || {
                all.iter_mut().for_each(|u| *u = f(*u));
                candidates.iter_mut().for_each(|u| *u = f(*u));
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    #[test]
    fn the_bits_are_those_of_one_cell_after_another() {
        let mut rng = Streams::new(5).stream("cells");
        for (n, labels) in [(70, 1), (300, 7), (41, 60)] {
            let mut draw = |scale: f64| Mat::from_fn(n, labels, |_, _| scale * rng.uniform());
            let c = draw(1.0);
            let c = Mat::from_fn(n, labels, |i, j| f64::from(u8::from(c[(i, j)] > 0.7)));
            let (logits, along) = (draw(9.0), draw(-20.0));
            let steps: Vec<f64> = (0..labels).map(|j| 0.1 * j as f64).collect();
            let noise: Vec<_> = (0..labels).map(|j| NoiseRate::new(0.5 / (j + 1) as f64)).collect();
            let used: Vec<bool> = (0..n).map(|i| i % 5 != 2).collect();
            let cells = Cells::new(&c, &noise, &used);
            let asked: Vec<usize> = (0..labels).filter(|j| j % 3 != 1).collect();
            let found = cells.losses(&asked, &logits, Some((&along, &steps)));
            let plain = cells.losses(&asked, &logits, None);
            let mut slopes = Mat::from_fn(n - 10, labels, |_, _| f64::NAN);
            cells.slopes(&mut slopes, &asked, &logits, 10..n, 0.25);
            for (at, &j) in asked.iter().enumerate() {
                let sum = |u: &dyn Fn(usize) -> f64| {
                    let rows = (0..n).filter(|&i| used[i]);
                    rows.fold(0.0, |t, i| t + noise[j].negative_log_likelihood(u(i), c[(i, j)]))
                };
                let moved = sum(&|i| logits[(i, j)] + steps[j] * along[(i, j)]);
                assert_eq!(found[at].to_bits(), moved.to_bits());
                assert_eq!(plain[at].to_bits(), sum(&|i| logits[(i, j)]).to_bits());
            }
            for (r, j) in (0..n - 10).flat_map(|r| (0..labels).map(move |j| (r, j))) {
                let i = r + 10;
                let slope = 0.25 * noise[j].slope(logits[(i, j)], c[(i, j)]);
                let expected = if used[i] && asked.contains(&j) { slope } else { 0.0 };
                assert_eq!(slopes[(r, j)].to_bits(), expected.to_bits(), "{i} {j}");
            }
        }
    }
}
