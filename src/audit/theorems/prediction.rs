//! The finite setting of Theorem 5.5: a world, a class F of predictors, losses and rules, and every risk by
//! enumeration.

use super::world::{Observation, World, holds, subsets};
use crate::Result;
use crate::linalg::Mat;
use crate::num::Real;
use crate::rng::Rng;

/// Values of X.
pub const POINTS: usize = 6;
/// L.
pub const LABELS: usize = 3;
/// |F|.
pub const PREDICTORS: usize = 64;

/// ℓ_cls: mean over the labels of a loss that is bounded and Lipschitz in the label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// |ŷ − y|.
    Absolute,
    /// (ŷ − y)².
    Squared,
    /// −ln of the probability of y, with ŷ kept within [0.05, 0.95].
    ClippedCrossEntropy,
}

impl Loss {
    /// All of them.
    pub const ALL: [Loss; 3] = [Loss::Absolute, Loss::Squared, Loss::ClippedCrossEntropy];

    fn of_label(self, p: f64, y: bool) -> f64 {
        let wrong = if y { 1.0 - p } else { p };
        match self {
            Loss::Absolute => wrong,
            Loss::Squared => wrong * wrong,
            Loss::ClippedCrossEntropy => -Real::ln(1.0 - wrong.clamp(0.05, 0.95)),
        }
    }

    /// ℓ_cls(ŷ, y).
    pub fn of(self, prediction: &[f64], y: usize) -> f64 {
        let sum = prediction.iter().enumerate().map(|(j, &p)| self.of_label(p, holds(y, j)));
        sum.sum::<f64>() / LABELS as f64
    }

    /// M and L_cls, derived: a label changes one of L terms, by at most the range of the loss.
    pub fn constants(self) -> (f64, f64) {
        match self {
            Loss::Absolute | Loss::Squared => (1.0, 1.0),
            Loss::ClippedCrossEntropy => (Real::ln(20.0), Real::ln(19.0)),
        }
    }
}

/// A named rule (x, C) → Z.
pub struct Rule {
    /// Name.
    pub name: &'static str,
    /// Z.
    pub of: fn(&World, Observation) -> usize,
}

/// From the best rule to useless ones.
pub const RULES: [Rule; 4] = [
    Rule {
        name: "posterior",
        of: |world, o| {
            (0..LABELS)
                .filter(|&j| holds(o.c, j) && world.posterior(o.x, j) >= 0.5)
                .map(|j| 1 << j)
                .sum()
        },
    },
    Rule { name: "keep-all", of: |_, o| o.c },
    Rule { name: "drop-all", of: |_, _| 0 },
    Rule { name: "scrambled", of: |_, o| o.c & (o.x * 0b011 + 0b101) },
];

/// The world, F, and every risk.
pub struct Setting {
    /// P(X, Y, C).
    pub world: World,
    /// Observations with their probabilities.
    pub observations: Vec<(Observation, f64)>,
    /// F: ŷ of each x.
    pub predictors: Vec<Mat<f64>>,
}

impl Setting {
    /// A random world, and predictors from the true probabilities to anything.
    pub fn new(rng: &mut Rng) -> Result<Self> {
        let world = World::random(POINTS, LABELS, rng)?;
        let mut predictors: Vec<Mat<f64>> = (3..PREDICTORS)
            .map(|_| {
                // From the true probabilities to anything.
                let far = rng.uniform();
                Mat::from_fn(POINTS, LABELS, |x, j| {
                    (1.0 - far) * world.prior[(x, j)] + far * rng.uniform()
                })
            })
            .collect();
        predictors.push(world.prior.clone());
        predictors.push(Mat::from_fn(POINTS, LABELS, |x, j| {
            let q = world.prior[(x, j)];
            q + (1.0 - q) * world.rho
        }));
        predictors.push(Mat::zeros(POINTS, LABELS));
        Ok(Setting { observations: world.observations(), world, predictors })
    }

    /// ε(g).
    pub fn epsilon(&self, rule: &Rule) -> f64 {
        self.expect(|o, y| f64::from((y ^ (rule.of)(&self.world, o)).count_ones()) / LABELS as f64)
    }

    /// E over all states.
    fn expect(&self, f: impl Fn(Observation, usize) -> f64) -> f64 {
        let states = self.observations.iter().flat_map(|&(o, _)| subsets(o.c).map(move |y| (o, y)));
        states.map(|(o, y)| self.world.state(o, y) * f(o, y)).sum()
    }

    /// R(f) of each predictor.
    pub fn true_risks(&self, loss: Loss) -> Vec<f64> {
        self.predictors.iter().map(|f| self.expect(|o, y| loss.of(f.row(o.x), y))).collect()
    }

    /// R^g(f) of each predictor.
    pub fn pseudo_risks(&self, loss: Loss, rule: &Rule) -> Vec<f64> {
        let of = |f: &Mat<f64>| {
            let all = self.observations.iter();
            all.map(|&(o, p)| p * loss.of(f.row(o.x), (rule.of)(&self.world, o))).sum()
        };
        self.predictors.iter().map(of).collect()
    }

    /// ℓ(f(x), z) of each predictor and atom (x, z).
    pub fn table(&self, loss: Loss) -> Mat<f64> {
        Mat::from_fn(PREDICTORS, POINTS << LABELS, |f, a| {
            loss.of(self.predictors[f].row(a >> LABELS), a % (1 << LABELS))
        })
    }

    /// n draws of (x, C), as counts of the observations.
    pub fn sample(&self, n: usize, rng: &mut Rng) -> Vec<usize> {
        let weights: Vec<f64> = self.observations.iter().map(|(_, p)| *p).collect();
        let mut counts = vec![0; weights.len()];
        (0..n).for_each(|_| counts[rng.categorical(&weights)] += 1);
        counts
    }

    /// Counts of the atoms (x, g(x, C)).
    pub fn atoms(&self, sample: &[usize], rule: &dyn Fn(Observation) -> usize) -> Vec<usize> {
        let mut counts = vec![0; POINTS << LABELS];
        for (&(o, _), &m) in self.observations.iter().zip(sample) {
            counts[o.x << LABELS | rule(o)] += m;
        }
        counts
    }
}

/// R̂ of each predictor.
pub fn empirical(table: &Mat<f64>, counts: &[usize]) -> Vec<f64> {
    let n = counts.iter().sum::<usize>() as f64;
    table
        .rows_iter()
        .map(|row| row.iter().zip(counts).map(|(l, &m)| l * m as f64).sum::<f64>() / n)
        .collect()
}
