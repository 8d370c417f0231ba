//! The joint belief over label sets: likelihood, gradient and logits, against all sets written out.

use super::relative_gap;
use crate::audit::check::{Check, Limit};
use crate::linalg::Mat;
use crate::method::observation::joint::{JointWeights, LabelSets};
use crate::method::observation::likelihood::NoiseRate;
use crate::num::Real;
use crate::rng::Streams;

const ROWS: usize = 10;
const LABELS: usize = 4;
const RHO: [f64; LABELS] = [0.1, 0.2, 0.3, 0.4];
const EXACT: Limit = Limit::AtMost(1e-9);
const DIFFERENCES: Limit = Limit::AtMost(1e-7);

/// The weight of a label set before normalisation, from the formula; `counts` says whether κ takes part.
fn weight(theta: &[f64], u: &[f64], set: usize, counts: bool) -> f64 {
    let inside = |j: usize| set >> j & 1 == 1;
    let (mut energy, mut next) = (0.0, 2 * LABELS);
    for j in (0..LABELS).filter(|&j| inside(j)) {
        energy += (1.0 + theta[j]) * u[j] + theta[LABELS + j];
    }
    for j in 0..LABELS {
        for k in j + 1..LABELS {
            energy += if inside(j) && inside(k) { theta[next] } else { 0.0 };
            next += 1;
        }
    }
    let size = (0..LABELS).filter(|&j| inside(j)).count();
    energy += if counts && size < 2 { theta[next + size] } else { 0.0 };
    Real::exp(energy)
}

/// P(C | Y) over the labels but `without`.
fn observed(c: &[f64], set: usize, without: Option<usize>) -> f64 {
    let of = |j: usize| match (set >> j & 1 == 1, c[j] == 1.0) {
        (true, on) => f64::from(u8::from(on)),
        (false, true) => RHO[j],
        (false, false) => 1.0 - RHO[j],
    };
    (0..LABELS).filter(|&j| Some(j) != without).map(of).product()
}

pub(super) fn checks(streams: &Streams) -> Vec<Check> {
    let mut rng = streams.stream("joint");
    let u = Mat::from_fn(ROWS, LABELS, |_, _| 1.5 * rng.normal());
    let c = Mat::from_fn(ROWS, LABELS, |_, _| f64::from(u8::from(rng.bernoulli(0.5))));
    let theta: Vec<f64> = (0..JointWeights::size(LABELS)).map(|_| 0.6 * rng.normal()).collect();
    let noise = RHO.map(NoiseRate::new);
    let sets = 0..1usize << LABELS;

    let slow_loss = |theta: &[f64], counts: bool| -> f64 {
        let row = |i: usize| {
            let weight = |s: usize| weight(theta, u.row(i), s, counts);
            let all: f64 = sets.clone().map(weight).sum();
            let seen: f64 = sets.clone().map(|s| weight(s) * observed(c.row(i), s, None)).sum();
            Real::ln(all) - Real::ln(seen)
        };
        (0..ROWS).map(row).sum()
    };
    let rows: Vec<usize> = (0..ROWS).collect();
    let mut gradient = vec![0.0; theta.len()];
    let loss = LabelSets::new(LABELS).loss(&theta, &mut gradient, &u, &c, &noise, &rows);

    // Five points of the slow loss.
    let differences = |counts: bool| -> Vec<f64> {
        let at = |k: usize, h: f64| {
            let mut moved = theta.clone();
            moved[k] += h;
            slow_loss(&moved, counts)
        };
        let h = 1e-3;
        let slope = |k: usize| {
            (8.0 * (at(k, h) - at(k, -h)) - (at(k, 2.0 * h) - at(k, -2.0 * h))) / (12.0 * h)
        };
        (0..theta.len()).map(slope).collect()
    };

    let found = JointWeights::from_theta(&theta, LABELS).apply(&u, &c, &noise);
    let logits = |with_own: bool| {
        let cell = |i: usize, j: usize| {
            let sum = |on: bool| -> f64 {
                let sets = sets.clone().filter(|s| (s >> j & 1 == 1) == on);
                let without = if with_own { None } else { Some(j) };
                let one = |s| weight(&theta, u.row(i), s, true) * observed(c.row(i), s, without);
                sets.map(one).sum()
            };
            Real::ln(sum(true).max(1e-12)) - Real::ln(sum(false))
        };
        let slow = Mat::from_fn(ROWS, LABELS, cell);
        relative_gap(found.as_slice().to_vec(), slow.as_slice())
    };
    let value = |counts: bool| {
        let slow = slow_loss(&theta, counts);
        (loss - slow).abs() / slow
    };
    let slope = |counts: bool| relative_gap(gradient.clone(), &differences(counts));
    vec![
        Check::new("joint/likelihood", "−ln P(C | x) against all label sets", value(true), EXACT),
        Check::control("joint/likelihood", "without κ", value(false), EXACT),
        Check::new(
            "joint/gradient",
            "derivatives in s, b, W and κ against five-point differences",
            slope(true),
            DIFFERENCES,
        ),
        Check::control("joint/gradient", "without κ", slope(false), DIFFERENCES),
        Check::new(
            "joint/logits",
            "u′, the logit of P(Y_j | x, C_−j), against all label sets",
            logits(false),
            EXACT,
        ),
        Check::control(
            "joint/logits",
            "the own candidate takes part: a cell would see it",
            logits(true),
            EXACT,
        ),
    ]
}
