//! Pairs of features that tell together what neither tells alone.
//!
//! A linear probe cannot see an exclusive or: each feature alone is useless, and so are both. Their
//! product is not. [`find`] looks for such pairs in three steps, so that ordinary data have none:
//!
//! 1. E, the errors of a ridge on all features: what is linear is taken away.
//! 2. On one half of the rows, for every pair: Σ_j (Σ_i z_a z_b e_j)² / Σ_i (z_a z_b)². L + 1 products
//!    of d × m matrices; m is cut so that m·d²·(L + 1) stays within `COST`, and where fewer than
//!    `LEAST_ROWS` rows remain there is no search.
//! 3. On the other half, for the `SCREENED` best: the product, without what is linear in its two
//!    features, must go with some label's error by t ≥ `LEAST_T`, with the sign it had before. t
//!    allows for errors of unequal size (White's variance).

use crate::linalg::{Acc, Mat, gemm_parallel};
use crate::method::factorise::product;
use crate::method::probe::columns::Columns;
use crate::method::probe::penalty::{WIDEST, ridge};
use crate::rng::Streams;

/// Most multiplications of the search.
const COST: usize = 4_000_000_000;
/// Fewest rows of either half.
const LEAST_ROWS: usize = 50;
/// Pairs that are looked at twice.
const SCREENED: usize = 16;
/// Smallest t on the second half: by chance once in a million.
const LEAST_T: f64 = 5.0;

/// Rows whose errors are taken together.
const CHUNK: usize = 1024;

/// Two features whose product matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The one with the lower index.
    pub first: usize,
    /// The other.
    pub second: usize,
    /// Largest |t| over the labels, on rows that did not choose the pair.
    pub t: f64,
}

impl Pair {
    /// The other feature, if a is one of the two.
    pub fn other(&self, a: usize) -> Option<usize> {
        match a {
            _ if a == self.first => Some(self.second),
            _ if a == self.second => Some(self.first),
            _ => None,
        }
    }
}

/// The pairs of `x` that matter for the targets, strongest first; λ of the ridge is factor × n.
pub fn find(
    x: &Mat<f32>,
    columns: &Columns<'_>,
    targets: &Mat<f64>,
    factor: f64,
    streams: &Streams,
) -> Vec<Pair> {
    let (n, d, labels) = (x.rows(), x.cols(), targets.cols());
    let most = COST / (d * d * (labels + 1)).max(1);
    if d > WIDEST || (n / 2).min(most) < LEAST_ROWS {
        return Vec::new();
    }
    let errors = errors(x, columns, targets, factor);
    let order = streams.stream("pairs").permutation(n);
    let (screens, judges) = order.split_at(n / 2);
    let screens = &screens[..screens.len().min(most)];
    let mut pairs: Vec<Pair> = screen(x, &errors, screens)
        .into_iter()
        .filter_map(|((first, second), signs)| {
            let product = net_product(x, (first, second), judges);
            let t = |j: usize| signs[j] * t_value(&product, judges.iter().map(|&i| errors[(i, j)]));
            let t = (0..labels).map(t).fold(0.0, f64::max);
            (t >= LEAST_T).then_some(Pair { first, second, t })
        })
        .collect();
    pairs.sort_by(|p, q| q.t.total_cmp(&p.t));
    pairs
}

/// `x` with a column more per pair: its product without what is linear in its two features.
pub fn with_products(x: &Mat<f32>, pairs: &[Pair]) -> Mat<f32> {
    let rows: Vec<usize> = (0..x.rows()).collect();
    let products: Vec<Vec<f64>> =
        pairs.iter().map(|p| net_product(x, (p.first, p.second), &rows)).collect();
    let d = x.cols();
    Mat::from_fn(x.rows(), d + pairs.len(), |i, a| match a.checked_sub(d) {
        None => x[(i, a)],
        Some(k) => products[k][i] as f32,
    })
}

/// Targets minus what a ridge on all features makes of them.
fn errors(x: &Mat<f32>, columns: &Columns<'_>, targets: &Mat<f64>, factor: f64) -> Mat<f64> {
    let weights = ridge(columns, targets, factor);
    let mut errors = targets.clone();
    // In chunks of rows: all of them in f64 would be the largest matrix of the run.
    for (k, part) in x.as_slice().chunks((CHUNK * x.cols()).max(1)).enumerate() {
        let z = Mat::from_vec(part.len() / x.cols(), x.cols(), part.to_vec()).cast::<f64>();
        let predicted = product(z.view(), weights.view());
        for i in 0..z.rows() {
            let errors = errors.row_mut(k * CHUNK + i).iter_mut();
            errors.zip(predicted.row(i)).for_each(|(e, p)| *e -= p);
        }
    }
    for j in 0..errors.cols() {
        let mean = (0..errors.rows()).map(|i| errors[(i, j)]).sum::<f64>() / errors.rows() as f64;
        (0..errors.rows()).for_each(|i| errors[(i, j)] -= mean);
    }
    errors
}

/// The best pairs on these rows, each with the sign of its product for every label.
fn screen(x: &Mat<f32>, errors: &Mat<f64>, rows: &[usize]) -> Vec<((usize, usize), Vec<f64>)> {
    let (z, d, labels) = (x.select_rows(rows), x.cols(), errors.cols());
    let squared = Mat::from_fn(z.rows(), d, |i, a| z[(i, a)] * z[(i, a)]);
    let weighted = |weight: &dyn Fn(usize) -> f32, z: &Mat<f32>| -> Mat<f32> {
        let scaled = Mat::from_fn(z.rows(), d, |i, a| weight(i) * z[(i, a)]);
        let mut sums = Mat::zeros(d, d);
        gemm_parallel(Acc::Set, sums.view_mut(), scaled.view().t(), z.view());
        sums
    };
    let squares = weighted(&|_| 1.0, &squared).as_slice().to_vec();
    let by_label: Vec<Mat<f32>> =
        (0..labels).map(|j| weighted(&|i| errors[(rows[i], j)] as f32, &z)).collect();
    let mut found: Vec<(f32, (usize, usize))> = Vec::new();
    for a in 0..d {
        for b in a + 1..d {
            let sum: f32 = by_label.iter().map(|m| m[(a, b)] * m[(a, b)]).sum();
            let statistic = sum / squares[a * d + b];
            if statistic.is_finite() {
                found.push((statistic, (a, b)));
            }
        }
    }
    found.sort_by(|p, q| q.0.total_cmp(&p.0));
    found.truncate(SCREENED);
    let sign = |v: f32| if v < 0.0 { -1.0 } else { 1.0 };
    let signs = |(a, b)| by_label.iter().map(|m| sign(m[(a, b)])).collect();
    found.into_iter().map(|(_, pair)| (pair, signs(pair))).collect()
}

/// z_a z_b on these rows, less its regression on z_a, z_b and a constant.
fn net_product(x: &Mat<f32>, (a, b): (usize, usize), rows: &[usize]) -> Vec<f64> {
    let n = rows.len() as f64;
    let centred = |v: Vec<f64>| -> Vec<f64> {
        let mean = v.iter().sum::<f64>() / n;
        v.into_iter().map(|v| v - mean).collect()
    };
    let column = |a: usize| centred(rows.iter().map(|&i| f64::from(x[(i, a)])).collect());
    let (za, mut zb) = (column(a), column(b));
    let mut net = centred(za.iter().zip(&zb).map(|(a, b)| a * b).collect());
    remove(&mut zb, &za);
    remove(&mut net, &za);
    remove(&mut net, &zb);
    net
}

/// v less its projection on `direction`.
fn remove(v: &mut [f64], direction: &[f64]) {
    let dot = |a: &[f64], b: &[f64]| crate::num::dot(a, b);
    let square = dot(direction, direction);
    if square > 0.0 {
        let share = dot(v, direction) / square;
        v.iter_mut().zip(direction).for_each(|(v, d)| *v -= share * d);
    }
}

/// Σ p e / √Σ (p e)²: standard normal where p and e have nothing to do with each other.
fn t_value(product: &[f64], errors: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for (p, e) in product.iter().zip(errors) {
        sum += p * e;
        squares += p * e * p * e;
    }
    if squares > 0.0 { sum / squares.sqrt() } else { 0.0 }
}
