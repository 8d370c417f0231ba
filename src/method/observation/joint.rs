//! Label context by a joint belief over all label sets, for tables with few labels.
//!
//! ```text
//! P(Y | x) ∝ exp( Σ_j a_j Y_j + Σ_{j<k} W_jk Y_j Y_k + κ_0 [|Y| = 0] + κ_1 [|Y| = 1] )     a_j = (1 + s_j) u_j + b_j
//! P(C | x) = Σ_{Y ⊆ C} P(Y | x) Π_{j ∈ C∖Y} ρ_j Π_{j ∉ C} (1 − ρ_j)
//! ```
//!
//! With L labels there are 2^L label sets, so both sums are taken as they stand: the marginal
//! likelihood of a whole row, its gradient and the belief are exact. [`super::context`] has a linear
//! model for each label instead, whose others speak one by one; here they are weighed together,
//! which is what the belief of a POMDP is. What comes out has the same form: u′_j is the logit of
//! P(Y_j | x, C_−j), which C_j does not reach, and u′_j + ln 1/ρ_j that of the posterior.

use rayon::prelude::*;

use super::cross_fit::Parts;
use super::lbfgs::minimise;
use super::likelihood::NoiseRate;
use crate::linalg::Mat;
use crate::num::{Real, vectorize};

/// Label sets are counted up to so many labels.
pub const MOST_LABELS: usize = 8;
/// Penalties of W and κ, from stiff to loose; of s and b.
const GRID: [f64; 6] = [0.1, 0.03, 0.01, 0.003, 0.001, 0.0003];
const SLOPE_PENALTY: f64 = 0.01;
const BIAS_PENALTY: f64 = 0.001;
/// The path ends when the held-out likelihood gained less than this, so often in a row.
const NO_GAIN: f64 = 1e-4;
const WORSE_IN_A_ROW: usize = 2;
/// Largest size of a logit: a label set may have no weight left in f64.
const LARGEST_LOGIT: f64 = 30.0;
/// Rows of [`JointWeights::own`]: s and b.
pub const OWN: usize = 2;

/// A joint model.
#[derive(Clone, Debug, PartialEq)]
pub struct JointWeights {
    /// W, L × L, symmetric; 0 on the diagonal.
    pub pairs: Mat<f64>,
    /// s and b, 2 × L.
    pub own: Mat<f64>,
    /// κ_0 and κ_1.
    pub counts: [f64; 2],
}

/// Cross-fitted beliefs, and the mean of their models for new rows.
#[derive(Clone, Debug, PartialEq)]
pub struct JointContext {
    /// u′ of rows that their models never saw.
    pub logits: Mat<f64>,
    /// The mean of the models.
    pub weights: JointWeights,
}

impl JointContext {
    /// From cross-fitted logits u of x alone.
    pub fn fit(u: &Mat<f64>, c: &Mat<f64>, noise: &[NoiseRate<f64>], parts: &Parts) -> Self {
        let (n, labels) = (u.rows(), u.cols());
        let used: Vec<Vec<usize>> = (0..parts.count())
            .map(|k| {
                let flags = parts.training(k);
                (0..n).filter(|&i| flags[i]).collect()
            })
            .collect();
        let zeros = || vec![0.0; JointWeights::size(labels)];
        let mut current: Vec<Vec<f64>> = used.iter().map(|_| zeros()).collect();
        let mut best = (f64::INFINITY, current.clone());
        let mut worse = 0;
        for l2 in GRID {
            current.par_iter_mut().zip(&used).for_each(|(theta, rows)| {
                let mut sets = LabelSets::new(labels);
                minimise(theta, |theta, d| sets.objective(theta, d, u, c, noise, rows, l2));
            });
            let losses: Vec<f64> = current
                .par_iter()
                .enumerate()
                .map(|(k, theta)| {
                    let mut sets = LabelSets::new(labels);
                    sets.loss(theta, &mut zeros(), u, c, noise, &parts.rows(k))
                })
                .collect();
            let loss = losses.iter().sum::<f64>() / (n * labels).max(1) as f64;
            let gain = best.0 - loss;
            if gain > 0.0 {
                best = (loss, current.clone());
            }
            worse = if gain > NO_GAIN { 0 } else { worse + 1 };
            if worse == WORSE_IN_A_ROW {
                break;
            }
        }
        let models: Vec<JointWeights> =
            best.1.iter().map(|theta| JointWeights::from_theta(theta, labels)).collect();
        let mut logits = Mat::zeros(n, labels);
        for (k, model) in models.iter().enumerate() {
            let rows = parts.rows(k);
            let found = model.apply(&u.select_rows(&rows), &c.select_rows(&rows), noise);
            for (r, &i) in rows.iter().enumerate() {
                logits.row_mut(i).copy_from_slice(found.row(r));
            }
        }
        let mut weights = JointWeights::zeros(labels);
        models.iter().for_each(|m| weights.add(m, 1.0 / models.len() as f64));
        JointContext { logits, weights }
    }
}

impl JointWeights {
    /// Labels that are independent given x.
    pub fn zeros(labels: usize) -> Self {
        JointWeights {
            pairs: Mat::zeros(labels, labels),
            own: Mat::zeros(OWN, labels),
            counts: [0.0; 2],
        }
    }

    /// self += share · other.
    pub fn add(&mut self, other: &Self, share: f64) {
        let add = |to: &mut [f64], from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(t, f)| *t += share * f);
        };
        add(self.pairs.as_mut_slice(), other.pairs.as_slice());
        add(self.own.as_mut_slice(), other.own.as_slice());
        add(&mut self.counts, &other.counts);
    }

    /// u′ of rows with logits u and candidates C.
    pub fn apply(&self, u: &Mat<f64>, c: &Mat<f64>, noise: &[NoiseRate<f64>]) -> Mat<f64> {
        let labels = u.cols();
        let mut sets = LabelSets::new(labels);
        sets.set_theta(&self.theta());
        let mut logits = Mat::zeros(u.rows(), labels);
        for i in 0..u.rows() {
            sets.weigh(u.row(i));
            for j in 0..labels {
                let evidence = |k: usize| match k == j {
                    true => [1.0, 1.0],
                    false => evidence(c[(i, k)], noise[k]),
                };
                sets.observe(evidence);
                let (mut off, mut on) = (0.0, 0.0);
                for (set, (e, o)) in sets.weights.iter().zip(&sets.observed).enumerate() {
                    *if set >> j & 1 == 1 { &mut on } else { &mut off } += e * o;
                }
                let tiny = f64::MIN_POSITIVE;
                let logit = Real::ln(on.max(tiny)) - Real::ln(off.max(tiny));
                logits[(i, j)] = logit.clamp(-LARGEST_LOGIT, LARGEST_LOGIT);
            }
        }
        logits
    }

    /// Number of weights of L labels.
    pub(crate) fn size(labels: usize) -> usize {
        OWN * labels + labels * labels.saturating_sub(1) / 2 + 2
    }

    /// As one list: s, b, W above the diagonal, κ.
    fn theta(&self) -> Vec<f64> {
        let labels = self.pairs.rows();
        let pairs = pairs(labels).map(|(j, k)| self.pairs[(j, k)]);
        self.own.as_slice().iter().copied().chain(pairs).chain(self.counts).collect()
    }

    pub(crate) fn from_theta(theta: &[f64], labels: usize) -> Self {
        let mut weights = JointWeights::zeros(labels);
        weights.own.as_mut_slice().copy_from_slice(&theta[..OWN * labels]);
        for ((j, k), &w) in pairs(labels).zip(&theta[OWN * labels..]) {
            weights.pairs[(j, k)] = w;
            weights.pairs[(k, j)] = w;
        }
        weights.counts.copy_from_slice(&theta[theta.len() - 2..]);
        weights
    }
}

/// All j < k.
fn pairs(labels: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..labels).flat_map(move |j| (j + 1..labels).map(move |k| (j, k)))
}

/// P(C_j | Y_j) for Y_j = 0 and 1.
fn evidence(c: f64, noise: NoiseRate<f64>) -> [f64; 2] {
    match c > 0.5 {
        true => [Real::exp(noise.ln_rho), 1.0],
        false => [Real::exp(noise.ln_rest), 0.0],
    }
}

/// All label sets: bit j of a set's number says whether label j is in it.
pub(crate) struct LabelSets {
    labels: usize,
    /// The weights at hand, as one list.
    theta: Vec<f64>,
    /// Σ W + κ of each set: the same for all rows.
    shared: Vec<f64>,
    /// exp(energy − largest energy) of each set, for one row.
    weights: Vec<f64>,
    /// P(C | Y) of each set, for one row.
    observed: Vec<f64>,
}

impl LabelSets {
    /// Of L labels.
    pub(crate) fn new(labels: usize) -> Self {
        let sets = vec![0.0; 1 << labels];
        LabelSets {
            labels,
            theta: vec![0.0; JointWeights::size(labels)],
            shared: sets.clone(),
            weights: sets.clone(),
            observed: sets,
        }
    }

    fn set_theta(&mut self, theta: &[f64]) {
        self.theta.copy_from_slice(theta);
        let (labels, counts) = (self.labels, &theta[theta.len() - 2..]);
        let mut matrix = Mat::zeros(labels, labels);
        for ((j, k), &w) in pairs(labels).zip(&theta[OWN * labels..]) {
            matrix[(j, k)] = w;
        }
        for (set, value) in self.shared.iter_mut().enumerate() {
            let inside = |j: usize| set >> j & 1 == 1;
            let of_pairs: f64 = pairs(labels)
                .filter(|&(j, k)| inside(j) && inside(k))
                .map(|(j, k)| matrix[(j, k)])
                .sum();
            *value = of_pairs + counts.get(set.count_ones() as usize).copied().unwrap_or(0.0);
        }
    }

    /// The weight of each set for a row with logits u.
    fn weigh(&mut self, u: &[f64]) {
        let LabelSets { labels, theta, shared, weights, .. } = self;
        let labels = *labels;
        vectorize(
            #[inline(always)]
            || {
                weights[0] = 0.0;
                for j in 0..labels {
                    let a = (1.0 + theta[j]) * u[j] + theta[labels + j];
                    let (without, with) = weights.split_at_mut(1 << j);
                    with.iter_mut().zip(without).for_each(|(w, v)| *w = *v + a);
                }
                weights.iter_mut().zip(shared).for_each(|(e, s)| *e += *s);
                let largest = weights.iter().fold(f64::NEG_INFINITY, |m, e| m.max(*e));
                weights.iter_mut().for_each(|e| *e = Real::exp(*e - largest));
            },
        );
    }

    /// P(C | Y) of each set, from P(C_j | Y_j = 0 and 1) of each label.
    fn observe(&mut self, evidence: impl Fn(usize) -> [f64; 2]) {
        self.observed[0] = 1.0;
        for j in 0..self.labels {
            let [off, on] = evidence(j);
            let (without, with) = self.observed.split_at_mut(1 << j);
            for (w, v) in with.iter_mut().zip(without) {
                *w = *v * on;
                *v *= off;
            }
        }
    }

    /// −Σ ln P(C | x) over `rows`; adds its derivatives to `d`.
    pub(crate) fn loss(
        &mut self,
        theta: &[f64],
        d: &mut [f64],
        u: &Mat<f64>,
        c: &Mat<f64>,
        noise: &[NoiseRate<f64>],
        rows: &[usize],
    ) -> f64 {
        self.set_theta(theta);
        let labels = self.labels;
        // Σ over rows of P(Y | x) − P(Y | x, C), the derivative in the energy of each set.
        let mut excess = vec![0.0; 1 << labels];
        let mut row = excess.clone();
        let mut total = 0.0;
        for &i in rows {
            self.weigh(u.row(i));
            self.observe(|j| evidence(c[(i, j)], noise[j]));
            let LabelSets { weights, observed, .. } = &*self;
            let all: f64 = weights.iter().sum();
            let seen: f64 = weights.iter().zip(observed).map(|(e, o)| e * o).sum();
            let seen = seen.max(f64::MIN_POSITIVE);
            total += Real::ln(all) - Real::ln(seen);
            for (r, (e, o)) in row.iter_mut().zip(weights.iter().zip(observed)) {
                *r = e / all - e * o / seen;
            }
            excess.iter_mut().zip(&row).for_each(|(s, r)| *s += r);
            for j in 0..labels {
                d[j] += u[(i, j)] * of_label(&row, j);
            }
        }
        for j in 0..labels {
            d[labels + j] += of_label(&excess, j);
        }
        for ((j, k), d) in pairs(labels).zip(&mut d[OWN * labels..]) {
            let both = |set: usize| set >> j & set >> k & 1 == 1;
            *d += (0..excess.len()).filter(|&s| both(s)).map(|s| excess[s]).sum::<f64>();
        }
        let last = d.len() - 2;
        for (set, e) in excess.iter().enumerate().filter(|(set, _)| set.count_ones() < 2) {
            d[last + set.count_ones() as usize] += e;
        }
        total
    }

    /// The mean loss of a row with its penalty, and the gradient.
    fn objective(
        &mut self,
        theta: &[f64],
        d: &mut [f64],
        u: &Mat<f64>,
        c: &Mat<f64>,
        noise: &[NoiseRate<f64>],
        rows: &[usize],
        l2: f64,
    ) -> f64 {
        d.fill(0.0);
        let m = rows.len().max(1) as f64;
        let mut value = self.loss(theta, d, u, c, noise, rows) / m;
        let labels = self.labels;
        for (k, (d, t)) in d.iter_mut().zip(theta).enumerate() {
            let penalty = match k / labels.max(1) {
                0 => SLOPE_PENALTY,
                1 => BIAS_PENALTY,
                _ => l2,
            };
            *d = *d / m + penalty * t;
            value += 0.5 * penalty * t * t;
        }
        value
    }
}

/// Sum over the sets that hold label j.
fn of_label(values: &[f64], j: usize) -> f64 {
    let blocks = values.chunks_exact(2 << j);
    blocks.map(|b| b[1 << j..].iter().sum::<f64>()).sum()
}

#[cfg(test)]
#[path = "joint_tests.rs"]
mod tests;
