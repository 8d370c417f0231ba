//! The environment: a mask of selected features, and what each open feature is worth in it.

use super::pairs::Pair;
use crate::method::probe::folds::Folds;

/// A rollout in progress.
pub struct Environment<'a> {
    probes: Folds<'a>,
    pairs: &'a [Pair],
    gamma: f64,
    open: Vec<usize>,
    selected: Vec<bool>,
    /// Gain of each column of the probes: the features, then the products of the pairs.
    gains: Vec<f64>,
    values: Vec<f64>,
}

impl<'a> Environment<'a> {
    /// The empty mask. The probes have a column per feature, then one per pair.
    pub fn new(probes: Folds<'a>, features: usize, pairs: &'a [Pair], gamma: f64) -> Self {
        let mut environment = Environment {
            probes,
            pairs,
            gamma,
            open: (0..features).collect(),
            selected: vec![false; features],
            gains: vec![0.0; features + pairs.len()],
            values: vec![0.0; features],
        };
        environment.evaluate();
        environment
    }

    /// Features that are not selected, in order.
    pub fn open(&self) -> &[usize] {
        &self.open
    }

    /// q(a) of every feature; only those of open ones have a meaning.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The open feature of the largest value; among equals that of the lowest index.
    pub fn best(&self) -> usize {
        let larger = |a: &&usize, b: &&usize| self.values[**a].total_cmp(&self.values[**b]);
        *self.open.iter().rev().max_by(larger).expect("an open feature")
    }

    /// ℓ: mean squared error of the held-out targets of a row.
    pub fn loss(&self) -> f64 {
        self.probes.error()
    }

    /// The next actions, if they are known: the probes then do much of their work at once.
    pub fn announce(&mut self, actions: &[usize]) {
        let mut selected = self.selected.clone();
        let mut columns = Vec::new();
        for &a in actions {
            selected[a] = true;
            columns.push(a);
            columns.extend(self.completed(a, &selected));
        }
        self.probes.announce(&columns);
    }

    /// Columns of the products of the pairs that a, the last of the selected features, completes.
    fn completed(&self, a: usize, selected: &[bool]) -> Vec<usize> {
        let complete = |pair: &Pair| pair.other(a).is_some_and(|b| selected[b]);
        let pairs = self.pairs.iter().enumerate().filter(|(_, pair)| complete(pair));
        pairs.map(|(k, _)| selected.len() + k).collect()
    }

    /// Selects a, and with it the product of each pair that is now complete. Returns the reward: how
    /// much the loss fell.
    pub fn step(&mut self, a: usize) -> f64 {
        let before = self.loss();
        self.open.retain(|&b| b != a);
        self.selected[a] = true;
        self.probes.select(a);
        let products = self.completed(a, &self.selected);
        products.into_iter().for_each(|column| self.probes.select(column));
        self.evaluate();
        before - self.loss()
    }

    /// One step: q(a) is the reward of a, with the products that it completes. Two steps: q(a) is the
    /// mean reward per step of selecting both features of a pair, times γ, where that is more.
    fn evaluate(&mut self) {
        self.probes.gains(&mut self.gains);
        let d = self.selected.len();
        self.values.copy_from_slice(&self.gains[..d]);
        for (pair, gain) in self.pairs.iter().zip(&self.gains[d..]) {
            for (a, b) in [(pair.first, pair.second), (pair.second, pair.first)] {
                if self.selected[b] && !self.selected[a] {
                    self.values[a] += gain.max(0.0);
                }
            }
        }
        for (pair, gain) in self.pairs.iter().zip(&self.gains[d..]) {
            let (a, b) = (pair.first, pair.second);
            if !self.selected[a] && !self.selected[b] {
                let both = self.gamma * 0.5 * (self.gains[a] + self.gains[b] + gain);
                self.values[a] = self.values[a].max(both);
                self.values[b] = self.values[b].max(both);
            }
        }
    }
}
