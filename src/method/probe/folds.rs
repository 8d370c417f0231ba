//! Probes on the folds of a partition: each learns from the other folds and is judged on its own.

use rayon::prelude::*;

use super::columns::Columns;
use super::state::{HeldOut, Probe};
use crate::linalg::Mat;
use crate::method::factorise::{plus, product};
use crate::num::{add_assign, vectorize};
use crate::rng::Rng;

/// `count` disjoint parts of 0..n in random order, as equal as can be; fewer where n is smaller.
pub fn partition(n: usize, count: usize, rng: &mut Rng) -> Vec<Vec<usize>> {
    let order = rng.permutation(n);
    let count = count.min(n);
    (0..count).map(|k| order.iter().copied().skip(k).step_by(count).collect()).collect()
}

/// Sums over rows that centred products are made of.
#[derive(Clone)]
pub struct Moments {
    rows: f64,
    columns: Vec<f64>,
    targets: Vec<f64>,
}

impl Moments {
    /// Of these columns and targets.
    pub fn new(columns: &Columns, targets: &Mat<f64>) -> Self {
        let ones = Mat::from_fn(1, targets.rows(), |_, _| 1.0);
        let targets = product(ones.view(), targets.view());
        Moments {
            rows: columns.rows() as f64,
            columns: columns.sums(),
            targets: targets.as_slice().to_vec(),
        }
    }

    /// Of the rows of `self` that are not among those of `part`.
    pub fn without(&self, part: &Moments) -> Moments {
        let minus = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
        Moments {
            rows: self.rows - part.rows,
            columns: minus(&self.columns, &part.columns),
            targets: minus(&self.targets, &part.targets),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> f64 {
        self.rows
    }

    fn mean(&self, a: usize) -> f64 {
        self.columns[a] / self.rows.max(1.0)
    }

    fn mean_target(&self, j: usize) -> f64 {
        self.targets[j] / self.rows.max(1.0)
    }

    /// From Σ z_a z_b over the rows of `self` to Σ (z_a − m_a)(z_b − m_b), m the means in `centre`.
    pub fn centre_product(&self, product: f64, (a, b): (usize, usize), centre: &Moments) -> f64 {
        let (ma, mb) = (centre.mean(a), centre.mean(b));
        product - mb * self.columns[a] - ma * self.columns[b] + self.rows * ma * mb
    }

    /// The same for feature a and target j.
    pub fn centre_target(&self, product: f64, (a, j): (usize, usize), centre: &Moments) -> f64 {
        let (ma, mj) = (centre.mean(a), centre.mean_target(j));
        product - mj * self.columns[a] - ma * self.targets[j] + self.rows * ma * mj
    }

    /// The same for target j and itself.
    pub fn centre_square(&self, square: f64, j: usize, centre: &Moments) -> f64 {
        let mj = centre.mean_target(j);
        square - 2.0 * mj * self.targets[j] + self.rows * mj * mj
    }
}

/// ZᵀB, centred.
pub fn centred_times(times: &Mat<f64>, own: &Moments, centre: &Moments) -> Mat<f64> {
    Mat::from_fn(times.rows(), times.cols(), |a, j| {
        own.centre_target(times[(a, j)], (a, j), centre)
    })
}

/// ‖B‖² of centred targets.
pub fn centred_square(targets: &Mat<f64>, own: &Moments, centre: &Moments) -> f64 {
    let square = |j: usize| (0..targets.rows()).map(|i| targets[(i, j)] * targets[(i, j)]).sum();
    (0..targets.cols()).map(|j| own.centre_square(square(j), j, centre)).sum()
}

struct Fold {
    columns: Columns,
    /// Of the rows that this fold holds out, and of those that its probe learns from.
    own: Moments,
    learns: Moments,
    probe: Probe,
    held_out: HeldOut,
    /// Products with the feature that is being selected.
    products: Vec<f64>,
}

/// One probe per fold.
pub struct Folds {
    folds: Vec<Fold>,
    rows: f64,
}

impl Folds {
    /// Nothing is selected. Each probe has λ = `factor` × its rows.
    pub fn new(columns: &Columns, targets: &Mat<f64>, parts: &[Vec<usize>], factor: f64) -> Self {
        let (all, times, squares) =
            (Moments::new(columns, targets), columns.times(targets), columns.squares());
        let fold = |rows: &Vec<usize>| {
            let (part, b) = (columns.select_rows(rows), targets.select_rows(rows));
            let own = Moments::new(&part, &b);
            let learns = all.without(&own);
            let (own_times, own_squares) = (part.times(&b), part.squares());
            let rest = plus(times.clone(), -1.0, &own_times);
            let square =
                |a: usize| learns.centre_product(squares[a] - own_squares[a], (a, a), &learns);
            let d = part.count();
            let probe = Probe::new(
                centred_times(&rest, &learns, &learns),
                (0..d).map(square).collect(),
                factor * learns.rows.max(1.0),
            );
            let held_out = HeldOut::new(
                centred_times(&own_times, &own, &learns),
                (0..d).map(|a| own.centre_product(own_squares[a], (a, a), &learns)).collect(),
                centred_square(&b, &own, &learns),
            );
            Fold { columns: part, own, learns, probe, held_out, products: vec![0.0; d] }
        };
        Folds { folds: parts.par_iter().map(fold).collect(), rows: columns.rows() as f64 }
    }

    /// Mean squared error of a held-out row, over all its labels.
    pub fn error(&self) -> f64 {
        self.folds.iter().map(|f| f.held_out.error()).sum::<f64>() / self.rows
    }

    /// How much [`Folds::error`] falls when each feature is selected.
    pub fn gains(&self, out: &mut [f64]) {
        vectorize(
            #[inline(always)]
            || {
                for (a, out) in out.iter_mut().enumerate() {
                    let gain = |f: &Fold| f.held_out.gain(&f.probe, a);
                    *out = self.folds.iter().map(gain).sum::<f64>() / self.rows;
                }
            },
        );
    }

    /// Selects a in every fold. Cost: n·d (less where columns are sparse) and d·(3t + 4L) per fold.
    pub fn select(&mut self, a: usize) {
        self.folds.par_iter_mut().for_each(|f| f.columns.products(a, &mut f.products));
        let mut total = vec![0.0; self.folds.first().map_or(0, |f| f.products.len())];
        self.folds.iter().for_each(|f| add_assign(&mut total, &f.products));
        self.folds.par_iter_mut().for_each(|f| {
            let Fold { own, learns, probe, held_out, products, .. } = f;
            let pairs = total.iter().zip(products.iter()).enumerate();
            let rest: Vec<f64> = pairs
                .map(|(b, (all, own))| learns.centre_product(all - own, (a, b), learns))
                .collect();
            let products = products.iter().enumerate();
            let own = products.map(|(b, p)| own.centre_product(*p, (a, b), learns)).collect();
            held_out.select(probe, a, rest, own);
        });
    }
}
