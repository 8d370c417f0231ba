//! Tests of the joint belief: enumeration by hand, derivatives by differences, and what it must learn.

use super::*;
use crate::method::observation::cross_fit::mean_loss;
use crate::rng::Streams;

const LABELS: usize = 4;

fn noise() -> Vec<NoiseRate<f64>> {
    [0.1, 0.2, 0.3, 0.4].map(NoiseRate::new).to_vec()
}

fn random(n: usize) -> (Mat<f64>, Mat<f64>, Vec<f64>) {
    let mut r = Streams::new(3).stream("joint");
    let u = Mat::from_fn(n, LABELS, |_, _| 2.0 * r.normal());
    let c = Mat::from_fn(n, LABELS, |_, _| f64::from(u8::from(r.bernoulli(0.5))));
    let theta = (0..JointWeights::size(LABELS)).map(|_| 0.7 * r.normal()).collect();
    (u, c, theta)
}

/// ln of P(Y | x) without its sum, from the formula.
fn energy(weights: &JointWeights, u: &[f64], set: usize) -> f64 {
    let y = |j: usize| f64::from(u8::from(set >> j & 1 == 1));
    let mut e = 0.0;
    for j in 0..LABELS {
        e += ((1.0 + weights.own[(0, j)]) * u[j] + weights.own[(1, j)]) * y(j);
        for k in 0..j {
            e += weights.pairs[(j, k)] * y(j) * y(k);
        }
    }
    match set.count_ones() {
        0 => e + weights.counts[0],
        1 => e + weights.counts[1],
        _ => e,
    }
}

/// P(C | Y), from the observation model.
fn likelihood(c: &[f64], set: usize, skip: Option<usize>) -> f64 {
    let rho = [0.1, 0.2, 0.3, 0.4];
    (0..LABELS)
        .filter(|&j| Some(j) != skip)
        .map(|j| match (set >> j & 1 == 1, c[j] > 0.5) {
            (true, true) => 1.0,
            (true, false) => 0.0,
            (false, true) => rho[j],
            (false, false) => 1.0 - rho[j],
        })
        .product()
}

#[test]
fn loss_and_logits_are_those_of_all_label_sets() {
    let (u, c, theta) = random(30);
    let weights = JointWeights::from_theta(&theta, LABELS);
    assert_eq!(weights.theta(), theta);
    let logits = weights.apply(&u, &c, &noise());
    let mut total = 0.0;
    for i in 0..30 {
        let e: Vec<f64> = (0..16).map(|s| Real::exp(energy(&weights, u.row(i), s))).collect();
        let seen: f64 = (0..16).map(|s| e[s] * likelihood(c.row(i), s, None)).sum();
        total -= Real::ln(seen / e.iter().sum::<f64>());
        for j in 0..LABELS {
            let sum = |on: bool| -> f64 {
                let sets = (0..16).filter(|s| (s >> j & 1 == 1) == on);
                sets.map(|s| e[s] * likelihood(c.row(i), s, Some(j))).sum()
            };
            let want = Real::ln(sum(true) / sum(false));
            assert!((logits[(i, j)] - want).abs() < 1e-9, "{i} {j}: {} {want}", logits[(i, j)]);
        }
    }
    let rows: Vec<usize> = (0..30).collect();
    let mut d = vec![0.0; theta.len()];
    let found = LabelSets::new(LABELS).loss(&theta, &mut d, &u, &c, &noise(), &rows);
    assert!((found - total).abs() < 1e-9 * total, "{found} {total}");
}

#[test]
fn the_gradient_is_the_derivative() {
    let (u, c, theta) = random(12);
    let rows: Vec<usize> = (0..12).collect();
    let mut sets = LabelSets::new(LABELS);
    let mut value = |theta: &[f64]| {
        let mut d = vec![0.0; theta.len()];
        (sets.objective(theta, &mut d, &u, &c, &noise(), &rows, 0.02), d)
    };
    let gradient = value(&theta).1;
    for k in 0..theta.len() {
        let mut at = |h: f64| {
            let mut moved = theta.clone();
            moved[k] += h;
            value(&moved).0
        };
        let h = 1e-3;
        let numeric = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
        assert!((gradient[k] - numeric).abs() < 1e-8, "{k}: {} {numeric}", gradient[k]);
    }
}

/// A cell's own candidate must not reach its logit, and must reach the others'.
#[test]
fn a_cell_does_not_see_its_own_candidate() {
    let (u, c, theta) = random(5);
    let weights = JointWeights::from_theta(&theta, LABELS);
    let mut flipped = c.clone();
    flipped[(2, 1)] = 1.0 - c[(2, 1)];
    let [a, b] = [&c, &flipped].map(|c| weights.apply(&u, c, &noise()));
    assert_eq!(a[(2, 1)], b[(2, 1)]);
    assert!((a[(2, 0)] - b[(2, 0)]).abs() > 1e-3);
}

/// Labels 0 and 1 exclude each other, 2 and 3 come together, and x knows nothing.
#[test]
fn dependent_labels_are_learned_from_candidates_alone() {
    let mut r = Streams::new(5).stream("dependent");
    let n = 800;
    let mut truth = Mat::zeros(n, LABELS);
    for i in 0..n {
        truth[(i, r.below(2))] = 1.0;
        let both = f64::from(u8::from(r.bernoulli(0.5)));
        truth.row_mut(i)[2..].fill(both);
    }
    let noise = vec![NoiseRate::new(0.3); LABELS];
    let c =
        Mat::from_fn(n, LABELS, |i, j| truth[(i, j)].max(f64::from(u8::from(r.bernoulli(0.3)))));
    let u = Mat::zeros(n, LABELS);
    let parts = Parts::new(n, 5, &Streams::new(1));
    let found = JointContext::fit(&u, &c, &noise, &parts);
    assert!(mean_loss(&found.logits, &c, &noise) < mean_loss(&u, &c, &noise) - 0.05);
    let pairs = &found.weights.pairs;
    assert!(pairs[(0, 1)] < -1.0 && pairs[(2, 3)] > 1.0, "{pairs:?}");
    let wrong = |p: &dyn Fn(usize, usize) -> bool| {
        (0..n).flat_map(|i| (0..LABELS).map(move |j| (i, j))).filter(|&(i, j)| p(i, j)).count()
    };
    let kept =
        |i: usize, j: usize| c[(i, j)] > 0.5 && noise[j].posterior(found.logits[(i, j)]) >= 0.5;
    let after = wrong(&|i, j| kept(i, j) != (truth[(i, j)] > 0.5));
    let before = wrong(&|i, j| c[(i, j)] != truth[(i, j)]);
    assert!(5 * after < 4 * before, "{before} {after}");
    // New rows get what the training rows got, up to the differences between the parts.
    let again = found.weights.apply(&u, &c, &noise);
    assert!((0..n).all(|i| (again[(i, 0)] - found.logits[(i, 0)]).abs() < 1.5));
}

#[test]
fn odd_sizes() {
    let parts = |n| Parts::new(n, 5, &Streams::new(1));
    let rates = vec![NoiseRate::new(0.2); 2];
    let empty = JointContext::fit(&Mat::zeros(0, 2), &Mat::zeros(0, 2), &rates, &parts(0));
    assert_eq!(empty.logits.rows(), 0);
    let one = JointContext::fit(&Mat::zeros(1, 2), &Mat::zeros(1, 2), &rates, &parts(1));
    assert!(one.logits.as_slice().iter().all(|u| u.is_finite()));
    // Logits so large that a set has no weight left.
    let far = Mat::from_fn(3, 2, |i, j| if (i + j) % 2 == 0 { 900.0 } else { -900.0 });
    let found = JointWeights::zeros(2).apply(&far, &Mat::zeros(3, 2), &rates);
    assert!(found.as_slice().iter().all(|u| u.abs() <= LARGEST_LOGIT));
}
