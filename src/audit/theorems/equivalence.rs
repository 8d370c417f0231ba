//! Theorem 5.2: the return of the horizon-1 POMDP is the negative risk of disambiguation.
//!
//! Both sides are enumerated, and in different ways. J(π) sums over all states (x, Y, C) and actions, with
//! the reward of the code that trains. R_PML(g) knows nothing of Y or of π: a random rule is a
//! mixture of deterministic ones, g(x, C; ω) with ω uniform on [0, 1), so its risk is the sum over the
//! pieces of [0, 1) on which no action changes, with the loss by hand.

use super::world::{Observation, World, holds, subsets};
use crate::Result;
use crate::audit::check::{Check, Limit};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::pomdp_fs::stage1::train::sample;
use crate::nn::policy::bernoulli_loss;
use crate::num::Real;
use crate::rng::{Rng, Streams};

const EXACT: Limit = Limit::AtMost(1e-12);
/// Labels of the large world: 256 candidate sets per x.
const LABELS: usize = 8;

/// π(· | o) for each observation, as probabilities of all 2^L label sets.
struct Policy(Vec<Vec<f64>>);

/// A world with everything about it that can be tabulated.
struct Table {
    world: World,
    observations: Vec<(Observation, f64)>,
    /// ℓ_disc of each observation and action.
    losses: Vec<Vec<f64>>,
}

impl Table {
    fn new(world: World) -> Self {
        let observations = world.observations();
        let losses = observations.iter().map(|&(o, _)| world.losses(o)).collect();
        Table { world, observations, losses }
    }

    /// J(π) = Σ over states and actions of P(x, Y, C) π(z | x, C) r(S, z).
    fn expected_return(&self, policy: &Policy) -> f64 {
        let cells = self.observations.iter().zip(&self.losses).zip(&policy.0);
        cells
            .map(|((&(o, _), losses), pi)| {
                let given_o: f64 = losses.iter().zip(pi).map(|(loss, p)| p * -loss).sum();
                subsets(o.c).map(|y| self.world.state(o, y) * given_o).sum::<f64>()
            })
            .sum()
    }

    /// R_PML of the rule that turns ω into an action by inversion.
    fn risk(&self, policy: &Policy) -> f64 {
        let mut cuts: Vec<f64> = policy.0.iter().flat_map(|pi| cumulative(pi)).collect();
        cuts.sort_by(f64::total_cmp);
        cuts.dedup();
        let rules: Vec<Vec<(f64, f64)>> = self
            .observations
            .iter()
            .zip(&policy.0)
            .map(|(&(o, p), pi)| {
                let actions = cumulative(pi).zip(0..).filter(|&(_, z)| pi[z] > 0.0);
                actions.map(|(end, z)| (end, p * self.world.loss_by_hand(o, z))).collect()
            })
            .collect();
        let mut at = vec![0; rules.len()];
        let (mut total, mut from) = (0.0, 0.0);
        for cut in cuts {
            if cut <= from {
                continue;
            }
            // Between two cuts every observation has one action: a deterministic rule.
            let mut risk = 0.0;
            for (rule, at) in rules.iter().zip(&mut at) {
                while rule[*at].0 <= from && *at + 1 < rule.len() {
                    *at += 1;
                }
                risk += rule[*at].1;
            }
            total += (cut - from) * risk;
            from = cut;
        }
        total
    }

    /// Largest |J(π) + R(g_π)| over some policies.
    fn largest_gap(&self, policies: &[Policy]) -> f64 {
        let gap = |p: &Policy| (self.expected_return(p) + self.risk(p)).abs();
        policies.iter().map(gap).fold(0.0, f64::max)
    }

    /// Any distribution over the admissible actions.
    fn random_policy(&self, rng: &mut Rng) -> Policy {
        self.policy(|o| {
            let mut pi = vec![0.0; 1 << self.world.labels];
            subsets(o.c).for_each(|z| pi[z] = -Real::ln(1.0 - rng.uniform()));
            let total: f64 = pi.iter().sum();
            pi.iter_mut().for_each(|p| *p /= total);
            pi
        })
    }

    /// The policy head's form, Bernoulli per candidate, with the log-probability of the code that trains.
    fn bernoulli_policy(&self, rng: &mut Rng) -> Policy {
        let labels = self.world.labels;
        self.policy(|o| {
            let scores: Vec<f64> = (0..labels).map(|_| 2.0 * rng.normal()).collect();
            let open: Vec<bool> = (0..labels).map(|j| holds(o.c, j)).collect();
            let mut pi = vec![0.0; 1 << labels];
            for z in subsets(o.c) {
                let action: Vec<f64> =
                    (0..labels).map(|j| f64::from(u8::from(holds(z, j)))).collect();
                let ones = vec![1.0; labels];
                pi[z] = Real::exp(-bernoulli_loss(
                    &mut vec![0.0; labels],
                    &scores,
                    &action,
                    &open,
                    &ones,
                ));
            }
            pi
        })
    }

    /// The policy of a deterministic rule: all mass on one action.
    fn rule(&self, mut g: impl FnMut(Observation) -> usize) -> Policy {
        self.policy(|o| {
            let mut pi = vec![0.0; 1 << self.world.labels];
            pi[g(o)] = 1.0;
            pi
        })
    }

    fn policy(&self, mut of: impl FnMut(Observation) -> Vec<f64>) -> Policy {
        Policy(self.observations.iter().map(|&(o, _)| of(o)).collect())
    }

    /// The admissible action of least loss in each observation: the Bayes rule.
    fn bayes(&self) -> Policy {
        let mut losses = self.losses.iter();
        self.rule(|o| {
            let losses = losses.next().expect("one per observation");
            let least = |a: &usize, b: &usize| losses[*a].total_cmp(&losses[*b]);
            subsets(o.c).min_by(least).expect("the empty set is admissible")
        })
    }

    /// Largest probability of an action outside C.
    fn outside(&self, policy: &Policy) -> f64 {
        let cells = self.observations.iter().zip(&policy.0);
        let mass = |(&(o, _), pi): (&(Observation, f64), &Vec<f64>)| -> f64 {
            pi.iter().enumerate().filter(|(z, _)| z & !o.c != 0).map(|(_, p)| p).sum()
        };
        cells.map(mass).fold(0.0, f64::max)
    }
}

fn cumulative(pi: &[f64]) -> impl Iterator<Item = f64> {
    let last = pi.iter().rposition(|&p| p > 0.0).unwrap_or(0);
    let mut sum = 0.0;
    pi.iter().enumerate().map(move |(z, p)| {
        sum += p;
        // Probabilities add to 1 up to rounding; the last slice ends at 1.
        if z >= last { 1.0 } else { sum }
    })
}

/// Parts (a), (b), (c) and the support.
pub fn checks(streams: &Streams) -> Result<Vec<Check>> {
    let mut rng = streams.stream("equivalence");
    let large = Table::new(World::random(3, LABELS, &mut rng)?);
    let any: Vec<Policy> = (0..6).map(|_| large.random_policy(&mut rng)).collect();
    let bernoulli: Vec<Policy> = (0..6).map(|_| large.bernoulli_policy(&mut rng)).collect();
    let mut rules: Vec<Policy> =
        (0..20).map(|_| large.rule(|o| o.c & rng.bits() as usize)).collect();
    rules.push(large.rule(|o| o.c));
    rules.push(large.rule(|_| 0));
    rules.push(large.bayes());
    let sums = bernoulli.iter().flat_map(|p| &p.0).map(|pi| (pi.iter().sum::<f64>() - 1.0).abs());

    let best = large.expected_return(&large.bayes());
    let admissible = any.iter().chain(&bernoulli).chain(&rules);
    let above = admissible.map(|p| large.expected_return(p) - best).fold(f64::MIN, f64::max);
    // All mass on the best of all actions, admissible or not.
    let mut losses = large.losses.iter();
    let leaving = large.rule(|_| {
        let losses = losses.next().expect("one per observation");
        (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap_or(0)
    });
    // A return that forgets one observation is not the risk.
    let mut forgetful = Table::new(World::random(3, LABELS, &mut streams.stream("equivalence"))?);
    forgetful.losses[large.observations.len() / 2].fill(0.0);

    let (attained, count) = all_rules(streams)?;
    Ok(vec![
        Check::new(
            "5.2/a/any-policy",
            "J(π) = −R_PML(g_π) for 6 random policies over all admissible actions, L = 8",
            large.largest_gap(&any),
            EXACT,
        ),
        Check::new(
            "5.2/a/policy-head",
            "the same for 6 policies of the head's form, Bernoulli per candidate",
            large.largest_gap(&bernoulli),
            EXACT,
        ),
        Check::new(
            "5.2/a/normalised",
            "the head's probabilities of all admissible actions add to 1",
            sums.fold(0.0, f64::max),
            EXACT,
        ),
        Check::control(
            "5.2/a",
            "a return that forgets one observation",
            forgetful.largest_gap(&any),
            EXACT,
        ),
        Check::new(
            "5.2/b/rules",
            "J(π_g) = −R_PML(g) for 23 deterministic rules, keep-all and drop-all among them",
            large.largest_gap(&rules),
            EXACT,
        ),
        Check::new(
            "5.2/c/all-rules",
            format!(
                "sup J = −inf R over all {count} rules of a small world, attained by the Bayes rule"
            ),
            attained,
            EXACT,
        ),
        Check::new(
            "5.2/c/never-above",
            "no policy returns more than the Bayes rule (largest excess, L = 8)",
            above,
            EXACT,
        ),
        Check::control(
            "5.2/c",
            "a policy that may leave C returns more than the optimum",
            large.expected_return(&leaving) - best,
            EXACT,
        ),
        Check::new(
            "5.2/support/policies",
            "probability of an action outside C",
            bernoulli.iter().chain(&any).map(|p| large.outside(p)).fold(0.0, f64::max),
            Limit::Exactly(0.0),
        ),
        Check::new(
            "5.2/support/sampler",
            "labels outside C among 10^6 cells that the sampler of training drew",
            outside_when_sampled(&mut streams.stream("support")),
            Limit::Exactly(0.0),
        ),
        Check::control(
            "5.2/support",
            "a policy with mass outside C",
            large.outside(&leaving),
            Limit::Exactly(0.0),
        ),
    ])
}

/// |max over all rules of −R(g) − J(Bayes)| in a world whose rules can all be tried, and their number.
fn all_rules(streams: &Streams) -> Result<(f64, usize)> {
    let small = Table::new(World::random(1, 3, &mut streams.stream("all-rules"))?);
    // One digit per observation: which of its 2^|C| actions.
    let actions: Vec<Vec<usize>> =
        small.observations.iter().map(|(o, _)| subsets(o.c).collect()).collect();
    let count: usize = actions.iter().map(Vec::len).product();
    let of = |mut number: usize| -> f64 {
        let cells = small.observations.iter().zip(&actions);
        cells
            .map(|(&(o, p), actions)| {
                let z = actions[number % actions.len()];
                number /= actions.len();
                p * small.world.loss_by_hand(o, z)
            })
            .sum()
    };
    let least = (0..count).map(of).fold(f64::INFINITY, f64::min);
    Ok(((small.expected_return(&small.bayes()) + least).abs(), count))
}

/// Cells outside C that the sampler of training keeps.
fn outside_when_sampled(rng: &mut Rng) -> f64 {
    let candidates = Labels::from_fn(1000, LABELS, |_, _| rng.bernoulli(0.5));
    let scores = Mat::from_fn(1000, LABELS, |_, _| 3.0 * rng.normal());
    let mut z = Mat::<f64>::zeros(0, LABELS);
    let mut outside = 0usize;
    for _ in 0..125 {
        sample(&mut z, &scores, &candidates, rng);
        let cells = z.as_slice().iter().zip(candidates.as_slice());
        outside += cells.filter(|(z, c)| **z != 0.0 && !**c).count();
    }
    outside as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::CheckReport;
    use crate::audit::theorems::collapse;

    #[test]
    fn the_return_is_the_negative_risk_whatever_the_seed() {
        for seed in 0..3 {
            let streams = Streams::new(seed);
            let mut found = checks(&streams).unwrap();
            found.extend(collapse::checks(&streams).unwrap().0);
            let report = CheckReport::new(found);
            assert!(report.pass, "seed {seed}\n{report}");
        }
    }
}
