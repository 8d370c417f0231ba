//! Theorem 5.3: the checks.

use super::convergence::{Path, STEPS, Step, descend, run};
use super::estimators::{Credit, estimate};
use super::policy_problem::{LABELS, PolicyProblem, ROWS, norm, relative_gap};
use crate::audit::check::{Check, Limit};
use crate::audit::derivative;
use crate::num::{Dual, Real};
use crate::rng::Streams;

/// Batches behind each mean.
const SAMPLES: usize = 1_000_000;
/// Rows of a batch behind each mean.
const BATCH: usize = 4;
/// Rows of a batch in the study of the noise.
const SIZES: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// Row samples behind each point of that study.
const ROWS_PER_SIZE: usize = 320_000;

/// Signal-to-noise ratio of each estimator by batch size.
pub struct Noise {
    /// Form of credit.
    pub credit: Credit,
    /// (B, ‖E g‖ / √tr Cov g).
    pub points: Vec<(usize, f64)>,
}

/// What the page draws.
pub struct Curves {
    /// Noise of the estimators.
    pub noise: Vec<Noise>,
    /// ‖∇F‖ with Robbins-Monro steps and with a constant step.
    pub decreasing: Path,
    /// The latter.
    pub constant: Path,
    /// And with a constant step so large that the policy collapses.
    pub large: Path,
}

/// All checks of 5.3, and the curves.
pub fn checks(streams: &Streams) -> (Vec<Check>, Curves) {
    let problem = PolicyProblem::new();
    let theta = problem.random_theta(0.5, &mut streams.stream("theta"));
    let mut checks = gradient_checks(&problem, &theta);
    checks.extend(mean_checks(&problem, &theta, &streams.child("mean")));
    let (noise, found) = noise_checks(&problem, &theta, &streams.child("noise"));
    checks.extend(found);
    checks.extend(bound_checks(&problem, streams));
    let with = |step| run(&problem, step, &streams.child("convergence"));
    let decreasing = with(Step::RobbinsMonro(0.1));
    let (constant, large) = (with(Step::Constant(0.05)), with(Step::Constant(1.0)));
    let curves = Curves { noise, decreasing, constant, large };
    checks.extend(convergence_checks(&problem, &curves));
    (checks, curves)
}

/// ∇F by enumeration against the closed form and against differences of F.
fn gradient_checks(problem: &PolicyProblem, theta: &[f64]) -> Vec<Check> {
    let enumerated = problem.gradient_by_enumeration(theta);
    let differences = |f: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
        let at = |k: usize| {
            let mut moved = theta.to_vec();
            derivative(
                |d| {
                    moved[k] = theta[k] + d;
                    f(&moved)
                },
                theta[k],
                1e-6,
            )
        };
        (0..problem.len).map(at).collect()
    };
    let of_risk = differences(&|t| problem.risk(t));
    let of_return = differences(&|t| -problem.observed_return(t));
    let mut lost = enumerated.clone();
    lost[0] = 0.0;
    vec![
        Check::new(
            "5.3/gradient/closed-form",
            "E[ℓ ∇ln π] over all observations and actions is ∇F in closed form (relative)",
            relative_gap(&enumerated, &problem.gradient(theta)),
            Limit::AtMost(1e-12),
        ),
        Check::new(
            "5.3/gradient/dual-numbers",
            "the same against forward-mode differentiation of F, head and log-probability on dual numbers",
            relative_gap(&enumerated, &forward_mode(problem, theta)),
            Limit::AtMost(1e-12),
        ),
        Check::new(
            "5.3/gradient/differences",
            "the same against five-point differences of F",
            relative_gap(&enumerated, &of_risk),
            Limit::AtMost(1e-7),
        ),
        Check::new(
            "5.3/gradient/observation",
            "∇J of the observation model with entropy against five-point differences of J",
            relative_gap(&problem.observed_gradient(theta), &of_return),
            Limit::AtMost(1e-7),
        ),
        Check::control(
            "5.3/gradient",
            "a gradient that lost one coordinate",
            relative_gap(&lost, &of_risk),
            Limit::AtMost(1e-7),
        ),
    ]
}

/// ∇F one direction at a time, without a step.
fn forward_mode(problem: &PolicyProblem, theta: &[f64]) -> Vec<f64> {
    let along = |k: usize| {
        let tangent = |l: usize| [if l == k { 1.0 } else { 0.0 }];
        let moving =
            theta.iter().enumerate().map(|(l, &value)| Dual { value, tangent: tangent(l) });
        problem.risk(&moving.collect::<Vec<Dual<f64, 1>>>()).tangent[0]
    };
    (0..problem.len).map(along).collect()
}

/// The mean of a million sampled batches against the exact target of each estimator.
fn mean_checks(problem: &PolicyProblem, theta: &[f64], streams: &Streams) -> Vec<Check> {
    let limit = Limit::AtMost(4.0);
    let found = estimate(problem, theta, BATCH, SAMPLES, &Credit::ALL, streams);
    let check = |(credit, moments): (&Credit, &super::estimators::Moments)| {
        let error = moments.standard_errors(&credit.target(problem, theta, BATCH));
        let name =
            format!("5.3/mean/{}", credit.name().replace([',', '(', ')'], "").replace(' ', "-"));
        match credit {
            Credit::OwnRewardInBaseline => Check::control(
                "5.3/mean",
                "a biased estimator: the row's own reward is part of its baseline (standard errors)",
                error,
                limit,
            ),
            Credit::Batch | Credit::BatchBaseline => Check::new(
                name,
                "mean of 10^6 batches of 4 is ∇F/4, not ∇F (standard errors)",
                error,
                limit,
            ),
            Credit::Observation => Check::new(
                name,
                "mean of 10^6 batches of 4 is −∇J of its own objective (standard errors)",
                error,
                limit,
            ),
            _ => {
                Check::new(name, "mean of 10^6 batches of 4 is ∇F (standard errors)", error, limit)
            }
        }
    };
    Credit::ALL.iter().zip(&found).map(check).collect()
}

/// How the ratio of signal and noise goes with the size of the batch.
fn noise_checks(
    problem: &PolicyProblem,
    theta: &[f64],
    streams: &Streams,
) -> (Vec<Noise>, Vec<Check>) {
    let credits = &Credit::ALL[..6];
    let mut noise: Vec<Noise> =
        credits.iter().map(|&credit| Noise { credit, points: Vec::new() }).collect();
    for size in SIZES {
        let found = estimate(problem, theta, size, ROWS_PER_SIZE / size, credits, streams);
        for (noise, moments) in noise.iter_mut().zip(&found) {
            let target = noise.credit.target(problem, theta, size);
            noise.points.push((size, moments.signal_to_noise(&target)));
        }
    }
    let last = |credit: Credit| {
        let of = noise.iter().find(|n| n.credit == credit).expect("every form was tried");
        of.points[SIZES.len() - 1].1
    };
    let slope = |credit: Credit| {
        let of = noise.iter().find(|n| n.credit == credit).expect("every form was tried");
        let (first, last) = (of.points[2], of.points[SIZES.len() - 1]);
        Real::ln(last.1 / first.1) / Real::ln(last.0 as f64 / first.0 as f64)
    };
    let checks = vec![
        Check::new(
            "5.3/noise/batch",
            "signal/noise of the printed batch reward goes as B^s with s near −1/2: it falls",
            (slope(Credit::Batch) + 0.5).abs(),
            Limit::AtMost(0.1),
        ),
        Check::new(
            "5.3/noise/label",
            "signal/noise of credit per label goes as B^s with s near +1/2: it rises",
            (slope(Credit::Label) - 0.5).abs(),
            Limit::AtMost(0.1),
        ),
        Check::new(
            "5.3/noise/ratio",
            "at B = 128 credit per label with its exact baseline has so many times the signal/noise of the printed form",
            last(Credit::LabelBaseline) / last(Credit::Batch),
            Limit::AtLeast(100.0),
        ),
        Check::new(
            "5.3/noise/baseline",
            "with a baseline the batch form no longer loses, but more rows teach it nothing: |s|",
            slope(Credit::BatchBaseline).abs(),
            Limit::AtMost(0.1),
        ),
    ];
    (noise, checks)
}

/// Second moment and Lipschitz constant, at many θ.
fn bound_checks(problem: &PolicyProblem, streams: &Streams) -> Vec<Check> {
    let (m, l_pi, lipschitz) =
        (problem.loss_bound(), problem.score_bound(), problem.lipschitz_bound());
    let mut rng = streams.stream("bounds");
    let (mut moment, mut largest, mut ratio) = (0.0f64, 0.0f64, 0.0f64);
    for k in 0..200 {
        let theta = problem.random_theta(f64::from(k) / 50.0, &mut rng);
        let mut second = 0.0;
        for (row, z, pi) in problem.atoms(&theta) {
            let size = norm(&problem.atom_gradient(&theta, row, &z, problem.loss(row, &z)));
            second += pi * size * size;
            largest = largest.max(size);
        }
        moment = moment.max(second);
        let near: Vec<f64> = theta.iter().map(|t| t + 0.1 * rng.normal()).collect();
        let (a, b) = (problem.gradient(&theta), problem.gradient(&near));
        let apart =
            |a: &[f64], b: &[f64]| norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>());
        ratio = ratio.max(apart(&a, &b) / apart(&theta, &near));
    }
    let small = 0.25 * m * l_pi;
    vec![
        Check::new(
            "5.3/second-moment/mean",
            "E‖g‖² over (M·L_π)², the largest of 200 θ, with M and L_π that hold for every θ",
            moment / (m * l_pi * m * l_pi),
            Limit::AtMost(1.0),
        ),
        Check::new(
            "5.3/second-moment/sure",
            "largest ‖g‖ of any observation and action, over M·L_π",
            largest / (m * l_pi),
            Limit::AtMost(1.0),
        ),
        Check::control(
            "5.3/second-moment",
            "a bound that was made too small: a quarter of M·L_π",
            largest / small,
            Limit::AtMost(1.0),
        ),
        Check::new(
            "5.3/lipschitz",
            "‖∇F(θ) − ∇F(θ′)‖ / ‖θ − θ′‖ over the derived constant, the largest of 200 pairs",
            ratio / lipschitz,
            Limit::AtMost(1.0),
        ),
        Check::control(
            "5.3/lipschitz",
            "a Lipschitz constant that is violated: a twentieth of the derived one",
            ratio / (0.05 * lipschitz),
            Limit::AtMost(1.0),
        ),
    ]
}

fn convergence_checks(problem: &PolicyProblem, curves: &Curves) -> Vec<Check> {
    let Curves { decreasing, constant, large, .. } = curves;
    let end = |path: &Path| path.points[path.points.len() - 1].norm;
    let start = decreasing.points[0].norm;
    let earlier =
        constant.points.iter().find(|p| p.step >= STEPS / 20).expect("a mark in every decade");
    // The proved statement: Σ α E‖∇F‖² ≤ F(θ₀) − inf F + (L/2) G² Σ α².
    let cells = (0..ROWS).flat_map(|i| (0..LABELS).map(move |j| (i, j)));
    let least = cells.map(|(i, j)| {
        let (drop, keep) = (problem.label_loss(i, j, 0.0), problem.label_loss(i, j, 1.0));
        if problem.candidates.get(i, j) { drop.min(keep) } else { drop }
    });
    let least = least.sum::<f64>() / ROWS as f64 + problem.structure;
    let g = problem.loss_bound() * problem.score_bound();
    let bound = problem.risk(&vec![0.0; problem.len]) - least
        + 0.5 * problem.lipschitz_bound() * g * g * decreasing.squares;
    let minimum = problem.risk(&descend(problem, 3_000, false));
    let (short, long) = (descend(problem, 3_000, true), descend(problem, 30_000, true));
    let slope = |theta: &[f64]| norm(&problem.gradient(theta));
    vec![
        Check::new(
            "5.3/convergence/robbins-monro",
            "‖∇F‖ after 200,000 steps α_t = 0.1 (1 + t/100)^(−3/4), over its start: mean of 16 runs",
            end(decreasing) / start,
            Limit::AtMost(0.1),
        ),
        Check::new(
            "5.3/convergence/minimum",
            "and F there minus its minimum, over F at the start minus its minimum",
            (decreasing.risk - minimum) / (problem.risk(&vec![0.0; problem.len]) - minimum),
            Limit::AtMost(0.05),
        ),
        Check::new(
            "5.3/convergence/constant",
            "a constant step α = 0.05 does not converge: ‖∇F‖ at the end over that at 10,000 steps",
            end(constant) / earlier.norm,
            Limit::AtLeast(0.5),
        ),
        Check::new(
            "5.3/convergence/apart",
            "‖∇F‖ with the constant step over that with decreasing steps, at the end",
            end(constant) / end(decreasing),
            Limit::AtLeast(3.0),
        ),
        Check::new(
            "5.3/convergence/sum",
            "Σ α_t E‖∇F‖² over its bound F(θ₀) − inf F + ½ L G² Σ α_t², the inequality that is proved",
            decreasing.weighted / bound,
            Limit::AtMost(1.0),
        ),
        Check::new(
            "5.3/convergence/collapse",
            "a large constant step α = 1 silences ‖∇F‖ too (over its start) …",
            end(large) / start,
            Limit::AtMost(0.01),
        ),
        Check::new(
            "5.3/convergence/wrong-vertex",
            "… because the policy collapses: F stays above its minimum by so much",
            large.risk - minimum,
            Limit::AtLeast(0.01),
        ),
        Check::new(
            "5.3/convergence/no-limit-point",
            "with biases F has no minimum: ‖∇F‖ falls on exact descent, 30,000 steps over 3,000 …",
            slope(&long) / slope(&short),
            Limit::AtMost(0.5),
        ),
        Check::new(
            "5.3/convergence/weights-grow",
            "… while ‖θ‖ grows by so much: a sequence without a limit point",
            norm(&long) - norm(&short),
            Limit::AtLeast(0.5),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::CheckReport;

    #[test]
    fn gradients_and_bounds_hold_and_their_controls_are_caught() {
        let problem = PolicyProblem::new();
        for seed in 0..3 {
            let streams = Streams::new(seed);
            let theta = problem.random_theta(0.5, &mut streams.stream("theta"));
            let mut found = gradient_checks(&problem, &theta);
            found.extend(bound_checks(&problem, &streams));
            let report = CheckReport::new(found);
            assert!(report.pass, "seed {seed}\n{report}");
        }
    }

    #[test]
    fn few_samples_already_show_which_estimator_is_biased() {
        let problem = PolicyProblem::new();
        let theta = problem.random_theta(0.5, &mut Streams::new(0).stream("theta"));
        let found = estimate(&problem, &theta, BATCH, 20_000, &Credit::ALL, &Streams::new(0));
        for (credit, moments) in Credit::ALL.iter().zip(&found) {
            let error = moments.standard_errors(&credit.target(&problem, &theta, BATCH));
            assert_eq!(error > 4.0, *credit == Credit::OwnRewardInBaseline, "{credit:?}: {error}");
        }
    }
}
