//! The negative fact beside Theorem 5.2: the printed loss is least for Z ≡ 0.
//!
//! The theorem says that the policy minimises ℓ_disc, not that ℓ_disc is worth minimising. U is trained on the
//! same loss, so what counts is inf over U. With U a free function of x that is the conditional entropy of
//! Z, and nothing is cheaper to predict than a constant. The observation model charges ln 1/ρ for
//! every candidate that is dropped, and the optimum becomes the posterior.

use super::world::{Observation, World, holds, members, subsets};
use crate::Result;
use crate::audit::check::{Check, Limit};
use crate::num::Real;
use crate::rng::Streams;

/// What a threshold rule costs and what it gets wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// A candidate is kept where its posterior is at least this.
    pub at: f64,
    /// inf over U of the printed loss, U a free function of x.
    pub printed: f64,
    /// The same with the observation model: dropping a candidate costs ln 1/ρ.
    pub observed: f64,
    /// ε, the share of wrong cells.
    pub epsilon: f64,
}

/// The checks, and the cost of each threshold rule.
pub fn checks(streams: &Streams) -> Result<(Vec<Check>, Vec<Threshold>)> {
    let world = World::random(4, 6, &mut streams.stream("collapse"))?;
    let curve: Vec<Threshold> =
        (0..=50).map(|k| threshold(&world, f64::from(k) / 50.0 + 1e-9)).collect();
    let (keep, drop) = (curve[0], curve[50]);
    let truth = truth_entropy(&world);
    let (posterior, zero, random, evidence) = observed_returns(&world, streams);
    let best =
        curve.iter().min_by(|a, b| a.observed.total_cmp(&b.observed)).expect("51 thresholds");
    let checks = vec![
        Check::new(
            "5.2/collapse/drop-all",
            "with U free, Z ≡ 0 has the least printed loss that there is",
            drop.printed,
            Limit::AtMost(1e-12),
        ),
        Check::new(
            "5.2/collapse/truth",
            "and the true labels cost more, even when U sees x and C: H(Y | x, C)/L in nats",
            truth,
            Limit::AtLeast(0.05),
        ),
        Check::new(
            "5.2/collapse/keep-all",
            "and so do the candidates as they are, when U sees x alone: H(C | x)/L",
            keep.printed,
            Limit::AtLeast(0.05),
        ),
        Check::new(
            "5.2/observation/posterior",
            "with the observation model the posterior's return is E ln P(C | x), up to a constant of C",
            (posterior - evidence).abs(),
            Limit::AtMost(1e-12),
        ),
        Check::new(
            "5.2/observation/optimal",
            "no random policy returns more than the posterior (largest excess of 200)",
            random - posterior,
            Limit::AtMost(0.0),
        ),
        Check::new(
            "5.2/observation/drop-all",
            "Z ≡ 0, with the best U for it, returns less than the posterior by so many nats per label",
            (posterior - zero) / world.labels as f64,
            Limit::AtLeast(0.05),
        ),
        Check::new(
            "5.2/observation/threshold",
            "among threshold rules its least loss is below that of keep-all and drop-all, by so many nats",
            keep.observed.min(drop.observed) - best.observed,
            Limit::AtLeast(0.005),
        ),
    ];
    Ok((checks, curve))
}

fn threshold(world: &World, at: f64) -> Threshold {
    let (mut printed, mut dropped, mut epsilon) = (0.0, 0.0, 0.0);
    for (x, weight) in world.weight.iter().enumerate() {
        for j in 0..world.labels {
            let q = world.prior[(x, j)];
            let candidate = q + (1.0 - q) * world.rho;
            let kept = world.posterior(x, j) >= at && at < 1.0;
            // Z_j given x: C_j where kept, else 0. The best U_j(x) is its logit, the loss its entropy.
            if kept {
                printed += weight * entropy(candidate);
                epsilon += weight * (candidate - q);
            } else {
                dropped += weight * candidate;
                epsilon += weight * q;
            }
        }
    }
    let mean = 1.0 / world.labels as f64;
    Threshold {
        at,
        printed: mean * printed,
        observed: mean * (printed - dropped * Real::ln(world.rho)),
        epsilon: mean * epsilon,
    }
}

/// H(Y | x, C)/L: the least printed loss of Z = Y.
fn truth_entropy(world: &World) -> f64 {
    let cells =
        world.observations().into_iter().flat_map(|(o, p)| members(o.c).map(move |j| (o.x, j, p)));
    cells.map(|(x, j, p)| p * entropy(world.posterior(x, j))).sum::<f64>() / world.labels as f64
}

/// Returns under the observation model with its entropy, by enumeration, U the true prior: of the
/// posterior; of Z ≡ 0 with U → −∞; the largest of 200 random policies; and E ln P(C | x) without the
/// constant of the labels outside C.
fn observed_returns(world: &World, streams: &Streams) -> (f64, f64, f64, f64) {
    let observations = world.observations();
    let logit = |x: usize, j: usize| {
        let q = world.prior[(x, j)];
        Real::ln(q) - Real::ln(1.0 - q)
    };
    let expected = |keep: &mut dyn FnMut(Observation, usize) -> f64| -> f64 {
        let of = |&(o, p): &(Observation, f64)| {
            let probabilities: Vec<f64> =
                (0..world.labels).map(|j| if holds(o.c, j) { keep(o, j) } else { 0.0 }).collect();
            let actions = subsets(o.c).map(|z| {
                let (mut pi, mut reward) = (1.0, 0.0);
                for (j, &keep) in probabilities.iter().enumerate() {
                    let u = logit(o.x, j);
                    let own = if holds(z, j) { keep } else { 1.0 - keep };
                    pi *= own;
                    reward += if holds(z, j) { u.log_sigmoid() } else { (-u).log_sigmoid() };
                    if holds(o.c, j) {
                        reward += if holds(z, j) { 0.0 } else { Real::ln(world.rho) };
                        reward -= if own > 0.0 { Real::ln(own) } else { 0.0 };
                    }
                }
                pi * reward
            });
            p * actions.sum::<f64>()
        };
        observations.iter().map(of).sum()
    };
    let posterior = expected(&mut |o, j| world.posterior(o.x, j));
    let mut rng = streams.stream("observed");
    let random = (0..200).map(|_| expected(&mut |_, _| rng.uniform())).fold(f64::MIN, f64::max);
    let zero = observations.iter().map(|(o, p)| p * f64::from(o.c.count_ones())).sum::<f64>();
    let evidence = observations.iter().map(|(o, p)| {
        let absent =
            (world.labels as f64 - f64::from(o.c.count_ones())) * Real::ln(1.0 - world.rho);
        p * (Real::ln(p / world.weight[o.x]) - absent)
    });
    (posterior, zero * Real::ln(world.rho), random, evidence.sum())
}

/// −p ln p − (1 − p) ln(1 − p).
fn entropy(p: f64) -> f64 {
    let part = |p: f64| if p > 0.0 { -p * Real::ln(p) } else { 0.0 };
    part(p) + part(1.0 - p)
}
