//! Adam's state over ten steps in f32, and clipping.

use super::relative_gap;
use crate::audit::check::{Check, Limit};
use crate::nn::adam::clip;
use crate::nn::{Adam, AdamConfig};
use crate::rng::Streams;

const STEPS: usize = 10;
const SIZE: usize = 500;
/// Ten steps round about thirty times, at 6e-8 each.
const SINGLE: Limit = Limit::AtMost(2e-6);
const ROUNDINGS: Limit = Limit::AtMost(30.0);

pub(super) fn checks(streams: &Streams) -> Vec<Check> {
    let mut rng = streams.stream("adam");
    let start: Vec<f32> = (0..SIZE).map(|_| rng.normal() as f32).collect();
    let gradients: Vec<Vec<f32>> =
        (0..STEPS).map(|_| (0..SIZE).map(|_| 0.1 * rng.normal() as f32).collect()).collect();
    let config = AdamConfig { decay: 0.01, ..AdamConfig::new(1e-3) };
    let mut adam = Adam::<f32>::new(SIZE, config);
    let mut p = start.clone();
    gradients.iter().for_each(|g| adam.step(&mut p, g));
    let (m, v, weights) = slow(config, &start, &gradients, false);
    let wide = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
    let swapped = AdamConfig { betas: (config.betas.1, config.betas.0), ..config };
    let (_, _, wrong) = slow(config, &start, &gradients, true);
    let (other, _, _) = slow(swapped, &start, &gradients, false);

    let mut g: Vec<f32> = (0..SIZE).map(|_| rng.normal() as f32).collect();
    let before = wide(&g);
    let norm = before.iter().map(|v| v * v).sum::<f64>().sqrt();
    let scaled: Vec<f64> = before.iter().map(|v| v * 5.0 / norm).collect();
    let returned = clip(&mut g, 5.0);
    let clipped = wide(&g);
    let unchanged = {
        let mut same = g.clone();
        clip(&mut same, 10.0);
        same.iter().zip(&g).filter(|(a, b)| a.to_bits() != b.to_bits()).count()
    };
    let by_value: Vec<f64> = before.iter().map(|v| v.clamp(-0.25, 0.25)).collect();
    vec![
        Check::new(
            "adam/first-moment",
            "m after 10 steps in f32 against its closed form in f64",
            relative_gap(wide(&adam.m), &m),
            SINGLE,
        ),
        Check::new(
            "adam/second-moment",
            "v after 10 steps in f32 against its closed form in f64",
            relative_gap(wide(&adam.v), &v),
            SINGLE,
        ),
        Check::new(
            "adam/weights",
            "weights after 10 steps in f32 against f64, in units of 2⁻²⁴ max(|p|, 0.1): about 2 roundings a step",
            units(&p, &weights),
            ROUNDINGS,
        ),
        Check::control(
            "adam/first-moment",
            "the decays of the two moments are exchanged",
            relative_gap(wide(&adam.m), &other),
            SINGLE,
        ),
        Check::control("adam/weights", "ε stands inside the root", units(&p, &wrong), ROUNDINGS),
        Check::new(
            "clip/norm",
            "the norm that clipping returns, f32 against f64",
            (returned - norm).abs() / norm,
            SINGLE,
        ),
        Check::new(
            "clip/direction",
            "the clipped gradient against g·limit/‖g‖",
            relative_gap(clipped.clone(), &scaled),
            SINGLE,
        ),
        Check::new(
            "clip/below",
            "numbers that a gradient within the limit changes",
            unchanged as f64,
            Limit::Exactly(0.0),
        ),
        Check::control(
            "clip",
            "clipping each number by itself",
            relative_gap(clipped, &by_value),
            SINGLE,
        ),
    ]
}

/// Largest distance of the weights, in units of their rounding.
fn units(p: &[f32], want: &[f64]) -> f64 {
    let unit = |w: f64| w.abs().max(0.1) / f64::from(1u32 << 24);
    p.iter().zip(want).map(|(p, w)| (f64::from(*p) - w).abs() / unit(*w)).fold(0.0, f64::max)
}

/// m, v and p in f64, the moments as weighted sums over all gradients.
fn slow(
    config: AdamConfig,
    start: &[f32],
    gradients: &[Vec<f32>],
    inside_root: bool,
) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let AdamConfig { rate, decay, betas, epsilon } = config;
    // ε is far below √v here; inside the root a visible one shows the difference.
    let epsilon = if inside_root { 1e-4 } else { epsilon };
    let weight = |beta: f64, age: usize| (0..age).fold(1.0 - beta, |w, _| w * beta);
    let moment = |beta: f64, t: usize, k: usize, power: usize| -> f64 {
        (0..=t)
            .map(|s| {
                weight(beta, t - s)
                    * (0..power).map(|_| f64::from(gradients[s][k])).product::<f64>()
            })
            .sum()
    };
    let total = |beta: f64, t: usize| (0..=t).map(|s| weight(beta, s)).sum::<f64>();
    let mut p: Vec<f64> = start.iter().map(|&v| f64::from(v)).collect();
    for t in 0..gradients.len() {
        for (k, p) in p.iter_mut().enumerate() {
            let m = moment(betas.0, t, k, 1) / total(betas.0, t);
            let v = moment(betas.1, t, k, 2) / total(betas.1, t);
            let root = if inside_root { (v + epsilon).sqrt() } else { v.sqrt() + epsilon };
            *p -= rate * decay * *p + rate * m / root;
        }
    }
    let last = gradients.len() - 1;
    let all =
        |beta: f64, power: usize| (0..start.len()).map(|k| moment(beta, last, k, power)).collect();
    (all(betas.0, 1), all(betas.1, 2), p)
}
