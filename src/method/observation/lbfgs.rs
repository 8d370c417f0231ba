//! L-BFGS for a smooth function of a few dozen numbers.

use crate::num::dot;

/// Pairs that are remembered.
const MEMORY: usize = 8;
const MAX_ITERATIONS: usize = 100;
/// Done when an iteration lowers the function by less.
const TOLERANCE: f64 = 1e-7;
/// Sufficient decrease of the line search, what counts as steep, and how many lengths are tried.
const ARMIJO: f64 = 1e-4;
const STEEP: f64 = 0.9;
const TRIALS: usize = 30;

/// Minimises `f` from `x` on. `f` sets the gradient and returns the value.
pub fn minimise(x: &mut [f64], mut f: impl FnMut(&[f64], &mut [f64]) -> f64) {
    let size = x.len();
    let mut gradient = vec![0.0; size];
    let mut value = f(x, &mut gradient);
    let mut memory: Vec<Pair> = Vec::new();
    let (mut trial, mut trial_gradient) = (vec![0.0; size], vec![0.0; size]);
    for _ in 0..MAX_ITERATIONS {
        let mut direction = step(&memory, &gradient);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            // Not downhill: what is remembered is of another place.
            memory.clear();
            direction = gradient.iter().map(|g| -g).collect();
            slope = -dot(&gradient, &gradient);
        }
        // Bisection for a step that goes down enough and past the steepest part (weak Wolfe), so that
        // what is remembered curves upwards.
        let (mut length, mut low, mut high) = (1.0, 0.0, f64::INFINITY);
        let mut new = None;
        for _ in 0..TRIALS {
            for (t, (x, d)) in trial.iter_mut().zip(x.iter().zip(&direction)) {
                *t = x + length * d;
            }
            let found = f(&trial, &mut trial_gradient);
            if found > value + ARMIJO * length * slope || found.is_nan() {
                high = length;
            } else if dot(&trial_gradient, &direction) < STEEP * slope {
                low = length;
            } else {
                new = Some(found);
                break;
            }
            length = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * low };
        }
        let Some(new) = new else { return };
        let moved: Vec<f64> = trial.iter().zip(x.iter()).map(|(a, b)| a - b).collect();
        let turned: Vec<f64> = trial_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let curvature = dot(&moved, &turned);
        if curvature > 1e-12 * dot(&turned, &turned) {
            if memory.len() == MEMORY {
                memory.remove(0);
            }
            memory.push(Pair { moved, turned, curvature });
        }
        x.copy_from_slice(&trial);
        gradient.copy_from_slice(&trial_gradient);
        let gain = value - new;
        value = new;
        if gain < TOLERANCE {
            return;
        }
    }
}

/// A step of the past: how far, and how the gradient turned.
struct Pair {
    moved: Vec<f64>,
    turned: Vec<f64>,
    curvature: f64,
}

/// −H·g by the two loops; −g without a past.
fn step(memory: &[Pair], gradient: &[f64]) -> Vec<f64> {
    let mut d: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut shares = vec![0.0; memory.len()];
    for (pair, share) in memory.iter().zip(&mut shares).rev() {
        *share = dot(&pair.moved, &d) / pair.curvature;
        d.iter_mut().zip(&pair.turned).for_each(|(d, y)| *d -= *share * y);
    }
    if let Some(last) = memory.last() {
        let scale = last.curvature / dot(&last.turned, &last.turned);
        d.iter_mut().for_each(|d| *d *= scale);
    }
    for (pair, share) in memory.iter().zip(&shares) {
        let back = dot(&pair.turned, &d) / pair.curvature;
        d.iter_mut().zip(&pair.moved).for_each(|(d, s)| *d += (share - back) * s);
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valley_is_followed_to_its_end() {
        let mut x = [-1.2, 1.0];
        minimise(&mut x, |x, g| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            g.copy_from_slice(&[-2.0 * a - 400.0 * x[0] * b, 200.0 * b]);
            a * a + 100.0 * b * b
        });
        assert!((x[0] - 1.0).abs() < 1e-2 && (x[1] - 1.0).abs() < 2e-2, "{x:?}");
    }

    #[test]
    fn a_bowl_with_very_different_axes() {
        let mut x = vec![1.0; 20];
        minimise(&mut x, |x, g| {
            let axis = |k: usize| 0.01 + k as f64;
            g.iter_mut().enumerate().for_each(|(k, g)| *g = axis(k) * (x[k] - 3.0));
            0.5 * x.iter().enumerate().map(|(k, x)| axis(k) * (x - 3.0) * (x - 3.0)).sum::<f64>()
        });
        assert!(x[1..].iter().all(|x| (x - 3.0).abs() < 1e-2), "{x:?}");
        // At the minimum nothing moves.
        let before = x.clone();
        minimise(&mut x, |_, g| {
            g.fill(0.0);
            0.0
        });
        assert_eq!(x, before);
    }
}
