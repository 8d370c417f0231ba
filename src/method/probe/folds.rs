//! Probes on the folds of a partition: each learns from the other folds and is judged on its own.

use rayon::prelude::*;

use super::columns::Columns;
use super::held_out::{HeldOut, Panel};
use super::state::Probe;
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
    /// Σ and mean of each column.
    columns: Vec<f64>,
    means: Vec<f64>,
    targets: Vec<f64>,
}

impl Moments {
    /// Of these columns and targets.
    pub fn new(columns: &Columns<'_>, targets: &Mat<f64>) -> Self {
        let ones = Mat::from_fn(1, targets.rows(), |_, _| 1.0);
        let targets = product(ones.view(), targets.view());
        Moments::of(columns.rows() as f64, columns.sums(), targets.as_slice().to_vec())
    }

    fn of(rows: f64, columns: Vec<f64>, targets: Vec<f64>) -> Self {
        let means = columns.iter().map(|sum| sum / rows.max(1.0)).collect();
        Moments { rows, columns, means, targets }
    }

    /// Of the rows of `self` that are not among those of `part`.
    pub fn without(&self, part: &Moments) -> Moments {
        let minus = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
        Moments::of(
            self.rows - part.rows,
            minus(&self.columns, &part.columns),
            minus(&self.targets, &part.targets),
        )
    }

    /// Number of rows.
    pub fn rows(&self) -> f64 {
        self.rows
    }

    fn mean_target(&self, j: usize) -> f64 {
        self.targets[j] / self.rows.max(1.0)
    }

    /// From Σ z_a z_b over the rows of `self` to Σ (z_a − m_a)(z_b − m_b), m the means in `centre`.
    pub fn centre_product(&self, product: f64, (a, b): (usize, usize), centre: &Moments) -> f64 {
        let (ma, mb) = (centre.means[a], centre.means[b]);
        product - mb * self.columns[a] - ma * self.columns[b] + self.rows * ma * mb
    }

    /// The same for feature a and target j.
    pub fn centre_target(&self, product: f64, (a, j): (usize, usize), centre: &Moments) -> f64 {
        let (ma, mj) = (centre.means[a], centre.mean_target(j));
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
    centred_square_of(0..targets.rows(), targets, own, centre)
}

/// The same of some rows of the targets.
fn centred_square_of(
    rows: impl Iterator<Item = usize> + Clone,
    targets: &Mat<f64>,
    own: &Moments,
    centre: &Moments,
) -> f64 {
    let square = |j: usize| rows.clone().map(|i| targets[(i, j)] * targets[(i, j)]).sum();
    (0..targets.cols()).map(|j| own.centre_square(square(j), j, centre)).sum()
}

struct Fold<'a> {
    columns: Columns<'a>,
    /// Of the rows that this fold holds out, and of those that its probe learns from.
    own: Moments,
    learns: Moments,
    probe: Probe,
    held_out: HeldOut,
    /// Features that are selected next.
    panel: Option<Panel>,
    /// By how much the squared error falls when each feature is selected.
    gains: Vec<f64>,
}

impl Fold<'_> {
    /// Rows that are held out per row that is learned from.
    fn share(&self) -> f64 {
        if self.learns.rows > 0.0 { self.own.rows / self.learns.rows } else { 0.0 }
    }

    fn error(&self) -> f64 {
        0.5 * (self.held_out.error() + self.share() * self.probe.objective())
    }

    /// `own` and `total`: a row of products per feature, over the rows of this fold and over all.
    fn announce(&mut self, features: &[usize], own: Mat<f64>, total: &Mat<f64>) {
        let centred = |i: usize, b: usize, product: f64, of: &Moments| {
            of.centre_product(product, (features[i], b), &self.learns)
        };
        let (rows, d) = (own.rows(), own.cols());
        let rest =
            Mat::from_fn(rows, d, |i, b| centred(i, b, total[(i, b)] - own[(i, b)], &self.learns));
        let own = Mat::from_fn(rows, d, |i, b| centred(i, b, own[(i, b)], &self.own));
        self.panel = Some(self.held_out.panel(&self.probe, features, rest, own));
    }

    fn select(&mut self) {
        let panel = self.panel.as_mut().expect("a feature was announced");
        self.held_out.select(&mut self.probe, panel);
        self.measure();
    }

    fn measure(&mut self) {
        let share = self.share();
        let Fold { probe, held_out, gains, .. } = self;
        let gain = |a| 0.5 * (held_out.gain(probe, a) + share * probe.gain(a));
        vectorize(
            #[inline(always)]
            || gains.iter_mut().enumerate().for_each(|(a, g)| *g = gain(a)),
        );
    }
}

/// One probe per fold.
pub struct Folds<'a> {
    folds: Vec<Fold<'a>>,
    rows: f64,
}

impl<'a> Folds<'a> {
    /// Nothing is selected. Each probe has λ = `factor` × its rows.
    pub fn new(
        columns: &'a Columns<'_>,
        targets: &Mat<f64>,
        parts: &[Vec<usize>],
        factor: f64,
    ) -> Self {
        let (all, times, squares) =
            (Moments::new(columns, targets), columns.times(targets), columns.squares());
        let others = |rows: &[usize]| -> Vec<bool> {
            let mut other = vec![true; columns.rows()];
            rows.iter().for_each(|&i| other[i] = false);
            other
        };
        let fold = |rows: &Vec<usize>| {
            let (part, b) = (columns.select_rows(rows), targets.select_rows(rows));
            let own = Moments::new(&part, &b);
            let learns = all.without(&own);
            let (own_times, own_squares) = (part.times(&b), part.squares());
            let rest = plus(times.clone(), -1.0, &own_times);
            let square =
                |a: usize| learns.centre_product(squares[a] - own_squares[a], (a, a), &learns);
            let d = part.count();
            let other = others(rows);
            let others = (0..columns.rows()).filter(|&i| other[i]);
            let probe = Probe::new(
                centred_times(&rest, &learns, &learns),
                (0..d).map(square).collect(),
                centred_square_of(others, targets, &learns, &learns),
                factor * learns.rows.max(1.0),
            );
            let held_out = HeldOut::new(
                centred_times(&own_times, &own, &learns),
                (0..d).map(|a| own.centre_product(own_squares[a], (a, a), &learns)).collect(),
                centred_square(&b, &own, &learns),
            );
            let gains = vec![0.0; d];
            let mut fold = Fold { columns: part, own, learns, probe, held_out, panel: None, gains };
            fold.measure();
            fold
        };
        Folds { folds: parts.par_iter().map(fold).collect(), rows: columns.rows() as f64 }
    }

    /// ℓ per row: the mean of the squared error of held-out rows and of the objective on the rows
    /// that are learned from. The first is an honest estimate that a few rows can upset; the second
    /// is too low for every feature, but steady.
    pub fn error(&self) -> f64 {
        self.folds.iter().map(Fold::error).sum::<f64>() / self.rows
    }

    /// How much [`Folds::error`] falls when each feature is selected.
    pub fn gains(&self, out: &mut [f64]) {
        out.fill(0.0);
        self.folds.iter().for_each(|f| add_assign(out, &f.gains));
        out.iter_mut().for_each(|g| *g /= self.rows);
    }

    /// The next features, in the order in which they will be selected: what they have in common with
    /// those selected already is then taken out of all of them at once. Cost for k features: k·n·d
    /// (less where columns are sparse) and 3·k·d·t per fold, in products of matrices.
    pub fn announce(&mut self, features: &[usize]) {
        let own: Vec<Mat<f64>> =
            self.folds.par_iter().map(|f| f.columns.products(features)).collect();
        let d = self.folds.first().map_or(0, |f| f.columns.count());
        let mut total = Mat::zeros(features.len(), d);
        own.iter().for_each(|o| add_assign(total.as_mut_slice(), o.as_slice()));
        let folds = self.folds.par_iter_mut().zip(own);
        folds.for_each(|(f, own)| f.announce(features, own, &total));
    }

    /// Selects a in every fold: the next of the announced features; if none is left, any. Cost per fold:
    /// d·(4L + 4k), k the number of features selected since the announcement.
    pub fn select(&mut self, a: usize) {
        match self.folds.first().and_then(|f| f.panel.as_ref()?.next()) {
            Some(next) => assert_eq!(next, a, "the feature that was announced"),
            None => self.announce(&[a]),
        }
        self.folds.par_iter_mut().for_each(Fold::select);
    }
}
