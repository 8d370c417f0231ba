//! What an error costs: for each instance and label, as a positive and as a negative.

use super::Loss;
use crate::classify::Targets;
use crate::linalg::Mat;

/// Costs, label after label: instance i of label j is a positive with cost `positive[(j, i)]` and a
/// negative with cost `negative[(j, i)]`. With hard labels one of the two is 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    pub(super) positive: Mat<f64>,
    pub(super) negative: Mat<f64>,
}

impl Costs {
    /// The same C for every instance, shared between the two classes by the label's probability.
    pub fn new(targets: Targets<'_>, c: f64) -> Self {
        let (n, labels) = (targets.rows(), targets.cols());
        Costs {
            positive: Mat::from_fn(labels, n, |j, i| c * targets.probability(i, j)),
            negative: Mat::from_fn(labels, n, |j, i| c * (1.0 - targets.probability(i, j))),
        }
    }

    /// Multiplies the costs of the two classes.
    pub fn weigh_classes(mut self, positive: f64, negative: f64) -> Self {
        let scale = |m: &mut Mat<f64>, by: f64| m.as_mut_slice().iter_mut().for_each(|c| *c *= by);
        scale(&mut self.positive, positive);
        scale(&mut self.negative, negative);
        self
    }

    /// Multiplies the costs of each instance.
    pub fn weigh_instances(mut self, weights: &[f64]) -> Self {
        assert_eq!(weights.len(), self.positive.cols(), "one weight per row");
        for costs in [&mut self.positive, &mut self.negative] {
            for j in 0..costs.rows() {
                for (c, w) in costs.row_mut(j).iter_mut().zip(weights) {
                    *c *= w;
                }
            }
        }
        self
    }

    /// Number of labels L.
    pub fn labels(&self) -> usize {
        self.positive.rows()
    }

    /// True for a label with positives only, false for one with negatives only (or with neither),
    /// None for a label with both: nothing can be learned about the former two.
    pub fn constant(&self, j: usize) -> Option<bool> {
        let any = |costs: &Mat<f64>| costs.row(j).iter().any(|&c| c > 0.0);
        match (any(&self.positive), any(&self.negative)) {
            (true, true) => None,
            (positive, _) => Some(positive),
        }
    }

    /// Labels about which something can be learned.
    pub(super) fn varying(&self) -> Vec<usize> {
        (0..self.labels()).filter(|&j| self.constant(j).is_none()).collect()
    }

    /// The terms of label j: sign and cost of one term per instance when the labels are hard, of two
    /// (all positives, then all negatives) otherwise. Term t belongs to instance t mod n.
    pub(crate) fn terms(&self, j: usize) -> (Vec<f64>, Vec<f64>) {
        let (p, q) = (self.positive.row(j), self.negative.row(j));
        let n = p.len();
        if self.is_hard(j) {
            let sign = p.iter().map(|&c| if c > 0.0 { 1.0 } else { -1.0 });
            return (sign.collect(), p.iter().zip(q).map(|(a, b)| a + b).collect());
        }
        let sign = (0..2 * n).map(|t| if t < n { 1.0 } else { -1.0 });
        (sign.collect(), p.iter().chain(q).copied().collect())
    }

    /// Does every instance of label j belong to one class only?
    pub(super) fn is_hard(&self, j: usize) -> bool {
        let mut pairs = self.positive.row(j).iter().zip(self.negative.row(j));
        pairs.all(|(&p, &q)| p == 0.0 || q == 0.0)
    }

    /// ½‖w‖² + Σ cost · loss(margin), the problem's objective for label j.
    pub fn objective(&self, j: usize, w: &[f64], margins: &[f64], loss: Loss) -> f64 {
        let mut sum = 0.0;
        for (i, m) in margins.iter().enumerate() {
            sum += self.positive[(j, i)] * loss.value(1.0 - m);
            sum += self.negative[(j, i)] * loss.value(1.0 + m);
        }
        0.5 * w.iter().map(|v| v * v).sum::<f64>() + sum
    }
}
