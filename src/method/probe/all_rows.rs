//! One probe on all rows: what greedy selection sees.

use super::columns::Columns;
use super::folds::{Moments, centred_square, centred_times};
use super::state::Probe;
use crate::linalg::Mat;

/// The probe with its data.
pub struct AllRows<'a> {
    columns: &'a Columns<'a>,
    moments: Moments,
    probe: Probe,
}

impl<'a> AllRows<'a> {
    /// Nothing is selected; λ = `factor` × n.
    pub fn new(columns: &'a Columns<'a>, targets: &Mat<f64>, factor: f64) -> Self {
        let moments = Moments::new(columns, targets);
        let squares = columns.squares();
        let square = |a: usize| moments.centre_product(squares[a], (a, a), &moments);
        let probe = Probe::new(
            centred_times(&columns.times(targets), &moments, &moments),
            (0..columns.count()).map(square).collect(),
            centred_square(targets, &moments, &moments),
            factor * moments.rows().max(1.0),
        );
        AllRows { columns, moments, probe }
    }

    /// How much the objective falls when a is selected.
    pub fn gain(&self, a: usize) -> f64 {
        self.probe.gain(a)
    }

    /// Selects a.
    pub fn select(&mut self, a: usize) {
        let mut products = self.columns.products(&[a]).as_slice().to_vec();
        for (b, p) in products.iter_mut().enumerate() {
            *p = self.moments.centre_product(*p, (a, b), &self.moments);
        }
        self.probe.select(a, 0, products);
    }
}
