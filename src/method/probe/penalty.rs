//! λ of the ridge, by cross-validation; and the ridge itself on all features.
//!
//! λ = n × the factor of [`GRID`] with the least squared error of held-out targets over three folds. As
//! the error has one valley along the grid, the search starts in its middle and walks downhill. Cost
//! per grid point and fold: d³/3 for the factorisation, once n·d² for the Gram matrices; above
//! [`WIDEST`] features those with the largest gain alone take part.

use std::borrow::Cow;

use rayon::prelude::*;

use super::all_rows::AllRows;
use super::columns::Columns;
use super::folds::{Moments, centred_square, centred_times, partition};
use crate::linalg::{Mat, cholesky};
use crate::method::factorise::{inner, plus, product, solve_rows};
use crate::rng::Streams;

/// Factors of n.
const GRID: [f64; 8] = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

/// Most features of a problem on which λ is chosen.
pub const WIDEST: usize = 1024;

/// Normal equations on some rows.
struct Equations {
    /// ZᵀZ and ZᵀB, centred.
    gram: Mat<f64>,
    times: Mat<f64>,
    rows: f64,
}

impl Equations {
    fn new(gram: &Mat<f64>, times: &Mat<f64>, own: &Moments, centre: &Moments) -> Self {
        let d = gram.rows();
        let centred = |a: usize, b: usize| own.centre_product(gram[(a, b)], (a, b), centre);
        let gram = Mat::from_fn(d, d, centred);
        Equations { gram, times: centred_times(times, own, centre), rows: own.rows() }
    }

    /// W of min ‖B − Z W‖² + λ‖W‖² with λ = factor × rows, as Wᵀ (L × d).
    fn solve(&self, factor: f64) -> Mat<f64> {
        let mut gram = self.gram.clone();
        (0..gram.rows()).for_each(|a| gram[(a, a)] += factor * self.rows.max(1.0));
        let positive = cholesky::cholesky(&mut gram);
        assert!(positive, "a Gram matrix with λ > 0 on its diagonal");
        let mut weights = self.times.transposed();
        solve_rows(&gram, &mut weights);
        weights
    }
}

/// W of the ridge on all rows and features, d × L; λ = factor × n.
pub fn ridge(columns: &Columns<'_>, targets: &Mat<f64>, factor: f64) -> Mat<f64> {
    let all = Moments::new(columns, targets);
    Equations::new(&columns.gram(), &columns.times(targets), &all, &all).solve(factor).transposed()
}

/// λ / n by 3-fold squared error of the targets.
pub fn choose_factor(x: &Mat<f32>, targets: &Mat<f64>, streams: &Streams) -> f64 {
    let columns = widest(x, targets);
    let parts = partition(x.rows(), 3, &mut streams.stream("ridge/folds"));
    let (gram, times) = (columns.gram(), columns.times(targets));
    let all = Moments::new(&columns, targets);
    let folds: Vec<(Equations, Equations, f64)> = parts
        .iter()
        .map(|rows| {
            let (part, b) = (columns.select_rows(rows), targets.select_rows(rows));
            let own = Moments::new(&part, &b);
            let rest = all.without(&own);
            let (own_gram, own_times) = (part.gram(), part.times(&b));
            let learns = Equations::new(
                &plus(gram.clone(), -1.0, &own_gram),
                &plus(times.clone(), -1.0, &own_times),
                &rest,
                &rest,
            );
            let judges = Equations::new(&own_gram, &own_times, &own, &rest);
            (learns, judges, centred_square(&b, &own, &rest))
        })
        .collect();
    let error = |factor: f64| -> f64 {
        let fold = |(learns, judges, square): &(Equations, Equations, f64)| {
            let w = learns.solve(factor);
            // ‖B − Z W‖² = ‖B‖² − 2 ⟨W, ZᵀB⟩ + ⟨W, ZᵀZ W⟩.
            let quadratic = inner(&product(w.view(), judges.gram.view()), &w);
            square - 2.0 * inner(&w, &judges.times.transposed()) + quadratic
        };
        folds.par_iter().map(fold).collect::<Vec<f64>>().iter().sum()
    };
    walk(&GRID, error)
}

/// The grid point at the bottom of the valley that its middle lies in.
fn walk(grid: &[f64], mut error: impl FnMut(f64) -> f64) -> f64 {
    let (lower, upper) = grid.split_at(grid.len() / 2);
    let (mut best, mut least) = (upper[0], error(upper[0]));
    let mut downhill = |side: &mut dyn Iterator<Item = &f64>| {
        let start = best;
        for &factor in side {
            let found = error(factor);
            if found >= least {
                break;
            }
            (best, least) = (factor, found);
        }
        best != start
    };
    if !downhill(&mut lower.iter().rev()) {
        downhill(&mut upper[1..].iter());
    }
    best
}

/// All columns, or the [`WIDEST`] with the largest gain as the only feature.
fn widest<'a>(x: &'a Mat<f32>, targets: &Mat<f64>) -> Columns<'a> {
    let columns = Columns::new(x);
    if columns.count() <= WIDEST {
        return columns;
    }
    let probe = AllRows::new(&columns, targets, 1.0);
    let gains: Vec<f64> = (0..columns.count()).map(|a| probe.gain(a)).collect();
    let mut kept: Vec<usize> =
        crate::method::rank(&gains)[..WIDEST].iter().map(|r| r.feature).collect();
    kept.sort_unstable();
    Columns::of(Cow::Owned(x.select_cols(&kept)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_finds_the_bottom_from_the_middle() {
        for bottom in 0..8 {
            let mut asked = Vec::new();
            let error = |f: f64| {
                asked.push(f);
                GRID.iter().position(|g| *g == f).unwrap().abs_diff(bottom) as f64
            };
            assert_eq!(walk(&GRID, error), GRID[bottom]);
            assert!(asked.len() <= 6, "{asked:?}");
        }
        // No difference anywhere: the middle, not an edge.
        assert_eq!(walk(&GRID, |_| 1.0), 0.3);
        assert_eq!(walk(&[2.0], |_| 1.0), 2.0);
    }
}
