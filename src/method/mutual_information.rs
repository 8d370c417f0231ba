//! Mutual information of columns of symbols: I(a; b) = H(a) + H(b) − H(a, b), in bits.

use rayon::prelude::*;

use crate::linalg::Mat;
use crate::num::Real;

/// A column whose values are numbered 0, 1, … in their order.
pub(super) struct Symbols {
    codes: Vec<u32>,
    count: usize,
    /// H in bits.
    entropy: f64,
}

impl Symbols {
    /// Equal values are one symbol.
    pub fn new(values: &[i64]) -> Self {
        let mut known = values.to_vec();
        known.sort_unstable();
        known.dedup();
        let code = |v| known.binary_search(v).expect("a known value") as u32;
        let codes: Vec<u32> = values.iter().map(code).collect();
        let mut counts = vec![0; known.len()];
        codes.iter().for_each(|&c| counts[c as usize] += 1);
        Symbols { entropy: entropy(counts.into_iter(), values.len()), codes, count: known.len() }
    }

    /// The columns of a matrix, each value rounded to 12 decimals.
    pub fn columns(m: &Mat<f64>) -> Vec<Symbols> {
        let column = |j: usize| -> Vec<i64> {
            (0..m.rows()).map(|i| (m[(i, j)] * 1e12).round() as i64).collect()
        };
        (0..m.cols()).into_par_iter().map(|j| Symbols::new(&column(j))).collect()
    }

    /// I(self; other) ≥ 0.
    pub fn information(&self, other: &Symbols) -> f64 {
        let n = self.codes.len();
        let key = |i: usize| self.codes[i] as usize * other.count + other.codes[i] as usize;
        let cells = self.count * other.count;
        // A table of all pairs where it is small, else the pairs that occur, sorted. Both count in
        // the order of the keys.
        let joint = if cells <= 4 * n {
            let mut counts = vec![0; cells];
            (0..n).for_each(|i| counts[key(i)] += 1);
            entropy(counts.into_iter(), n)
        } else {
            let mut keys: Vec<usize> = (0..n).map(key).collect();
            keys.sort_unstable();
            entropy(keys.chunk_by(|a, b| a == b).map(<[usize]>::len), n)
        };
        (self.entropy + other.entropy - joint).max(0.0)
    }
}

/// I of each column of `a` with each of `b`.
pub(super) fn between(a: &[Symbols], b: &[Symbols]) -> Mat<f64> {
    let cells = (0..a.len() * b.len()).into_par_iter();
    let cells = cells.map(|c| a[c / b.len()].information(&b[c % b.len()])).collect();
    Mat::from_vec(a.len(), b.len(), cells)
}

/// Entropy of n values with these counts: log₂ n − Σ c log₂ c / n.
fn entropy(counts: impl Iterator<Item = usize>, n: usize) -> f64 {
    let log2 = |c: usize| Real::ln(c as f64) / std::f64::consts::LN_2;
    let sum: f64 = counts.filter(|&c| c > 1).map(|c| c as f64 * log2(c)).sum();
    log2(n) - sum / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    #[test]
    fn by_hand() {
        let a = Symbols::new(&[5, 5, -1, -1]);
        let b = Symbols::new(&[0, 1, 0, 1]);
        let c = Symbols::new(&[9, 9, 9, 9]);
        let all = Symbols::new(&[1, 2, 3, 4]);
        for (x, y, want) in
            [(&a, &a, 1.0), (&a, &b, 0.0), (&a, &c, 0.0), (&a, &all, 1.0), (&all, &all, 2.0)]
        {
            assert!((x.information(y) - want).abs() < 1e-15);
        }
    }

    /// Symmetric, the diagonal is the entropy, never above either entropy; table and sort agree.
    #[test]
    fn bounds_hold() {
        let mut r = Streams::new(3).stream("symbols");
        let m = Mat::from_fn(60, 6, |_, j| r.below(2 + 9 * j) as f64);
        let s = Symbols::columns(&m);
        let i = between(&s, &s);
        for a in 0..6 {
            assert!((i[(a, a)] - s[a].entropy).abs() < 1e-12);
            for b in 0..6 {
                assert!((i[(a, b)] - i[(b, a)]).abs() < 1e-12);
                assert!(i[(a, b)] <= s[a].entropy.min(s[b].entropy) + 1e-12);
            }
        }
        assert!(s[5].count * s[5].count > 240 && s[0].count == 2);
    }
}
