//! A finite world P(X, Y, C) that can be enumerated.
//!
//! X takes a few values; given X the labels are independent, and a label that is not true becomes a
//! candidate with probability ρ, as in the observation model. Label sets are bit masks, so that all
//! (Y, C) with Y ⊆ C, and all actions Z ⊆ C, are loops over integers.

use crate::Result;
use crate::graph::Graph;
use crate::linalg::Mat;
use crate::method::pomdp_fs::stage1::loss::{DiscWeights, disc_loss};
use crate::num::Real;
use crate::rng::Rng;

/// λ_struct, the paper's.
const STRUCTURE: f64 = 0.01;

/// The distribution of (X, Y, C), and the logits U(x, C) of a discriminative head that sees both.
pub struct World {
    /// L.
    pub labels: usize,
    /// P(x).
    pub weight: Vec<f64>,
    /// P(Y_j = 1 | x).
    pub prior: Mat<f64>,
    /// ρ.
    pub rho: f64,
    logits: Vec<Mat<f64>>,
    graph: Graph<f64>,
}

/// An observation o = (x, C).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Which x.
    pub x: usize,
    /// C as a bit mask.
    pub c: usize,
}

impl World {
    /// `points` values of X with random logits and priors.
    pub fn random(points: usize, labels: usize, rng: &mut Rng) -> Result<Self> {
        let mut weight: Vec<f64> = (0..points).map(|_| 0.5 + rng.uniform()).collect();
        let total: f64 = weight.iter().sum();
        weight.iter_mut().for_each(|w| *w /= total);
        let prior = Mat::from_fn(points, labels, |_, _| rng.range(0.05, 0.95));
        let features = Mat::from_fn(points, 2, |_, _| rng.normal());
        let logits = (0..points)
            .map(|_| {
                let own: Vec<f64> = (0..labels).map(|_| 1.5 * rng.normal()).collect();
                let seen = Mat::from_fn(labels, labels, |_, _| 0.5 * rng.normal());
                Mat::from_fn(1 << labels, labels, |c, j| {
                    own[j] + members(c).map(|k| seen[(k, j)]).sum::<f64>()
                })
            })
            .collect();
        let graph = Graph::new(&features, 5)?;
        Ok(World { labels, weight, prior, rho: 0.2, logits, graph })
    }

    /// U(x, C).
    pub fn logits(&self, o: Observation) -> &[f64] {
        self.logits[o.x].row(o.c)
    }

    /// Every observation with its probability: a product over the labels.
    pub fn observations(&self) -> Vec<(Observation, f64)> {
        let all = (0..self.weight.len()).flat_map(|x| (0..1 << self.labels).map(move |c| (x, c)));
        all.map(|(x, c)| {
            let of_label = |j: usize| {
                let q = self.prior[(x, j)];
                if holds(c, j) { q + (1.0 - q) * self.rho } else { (1.0 - q) * (1.0 - self.rho) }
            };
            let p = (0..self.labels).map(of_label).product::<f64>();
            (Observation { x, c }, self.weight[x] * p)
        })
        .collect()
    }

    /// P(x, Y, C) of one state.
    pub fn state(&self, o: Observation, y: usize) -> f64 {
        let of_label = |j: usize| match (holds(y, j), holds(o.c, j)) {
            (true, true) => self.prior[(o.x, j)],
            (true, false) => 0.0,
            (false, true) => (1.0 - self.prior[(o.x, j)]) * self.rho,
            (false, false) => (1.0 - self.prior[(o.x, j)]) * (1.0 - self.rho),
        };
        self.weight[o.x] * (0..self.labels).map(of_label).product::<f64>()
    }

    /// P(Y_j = 1 | x, C_j = 1).
    pub fn posterior(&self, x: usize, j: usize) -> f64 {
        let q = self.prior[(x, j)];
        q / (q + (1.0 - q) * self.rho)
    }

    /// ℓ_disc(x, C, z) of every z, admissible or not, by the function that trains: (7) with the mean
    /// over the labels, and the graph term of the logits at this C.
    pub fn losses(&self, o: Observation) -> Vec<f64> {
        let points = self.weight.len();
        let mean = 1.0 / self.labels as f64;
        let at_c = Mat::from_fn(points, self.labels, |x, j| self.logits[x][(o.c, j)]);
        let structure = self.graph.penalty(&mut Mat::zeros(points, self.labels), &at_c, STRUCTURE);
        let row = Mat::from_vec(1, self.labels, self.logits(o).to_vec());
        let weights = DiscWeights { bce: mean, graph: 0.0 };
        let (mut dlogits, nothing) = (Mat::zeros(1, self.labels), Graph::default());
        (0..1 << self.labels)
            .map(|z| {
                let z = Mat::from_fn(1, self.labels, |_, j| f64::from(u8::from(holds(z, j))));
                disc_loss(&mut dlogits, &row, &z, &nothing, weights).bce + structure
            })
            .collect()
    }

    /// The same of one z by the textbook formula, −ln σ(U) or −ln(1 − σ(U)): the slow twin.
    pub fn loss_by_hand(&self, o: Observation, z: usize) -> f64 {
        let bce = |j: usize| {
            let p = 1.0 / (1.0 + Real::exp(-self.logits(o)[j]));
            -Real::ln(if holds(z, j) { p } else { 1.0 - p })
        };
        let edges = self.graph.edges().iter();
        let structure = edges.map(|&(a, b, w)| {
            let off = |j: usize| self.logits[a][(o.c, j)] - self.logits[b][(o.c, j)];
            w * (0..self.labels).map(|j| off(j) * off(j)).sum::<f64>()
        });
        let structure = STRUCTURE * structure.sum::<f64>();
        (0..self.labels).map(bce).sum::<f64>() / self.labels as f64 + structure
    }
}

/// Whether label j is in the set.
pub fn holds(set: usize, j: usize) -> bool {
    set >> j & 1 == 1
}

/// The labels of a set.
pub fn members(set: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS as usize).filter(move |&j| holds(set, j))
}

/// All subsets of a set, from the empty one on.
pub fn subsets(set: usize) -> impl Iterator<Item = usize> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let z: usize = next?;
        next = (z != set).then(|| z.wrapping_sub(set) & set);
        Some(z)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    #[test]
    fn subsets_are_all_and_each_once() {
        assert_eq!(subsets(0).collect::<Vec<_>>(), [0]);
        assert_eq!(subsets(0b101).collect::<Vec<_>>(), [0, 0b001, 0b100, 0b101]);
        assert_eq!(subsets(0b1111_1111).count(), 256);
        assert_eq!(members(0b1010).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn the_world_is_a_distribution_and_both_losses_agree() {
        let world = World::random(3, 4, &mut Streams::new(1).stream("world")).unwrap();
        let total: f64 = world.observations().iter().map(|(_, p)| p).sum();
        assert!((total - 1.0).abs() < 1e-14);
        for (o, p) in world.observations() {
            let states: f64 = subsets(o.c).map(|y| world.state(o, y)).sum();
            assert!((states - p).abs() < 1e-15);
            for (z, loss) in world.losses(o).into_iter().enumerate() {
                assert!((loss - world.loss_by_hand(o, z)).abs() < 1e-13);
            }
        }
    }
}
