//! Adam and AdamW on a range of the arena, and clipping by the global norm.
//!
//! With g the gradient at step t: m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g²,
//! p ← p − η·λ·p − η · (m / (1−β₁ᵗ)) / (√(v / (1−β₂ᵗ)) + ε). The decay λ is decoupled (AdamW); with
//! λ = 0 this is Adam. Defaults as in PyTorch: β = (0.9, 0.999), ε = 10⁻⁸.

use rayon::prelude::*;

use crate::num::{Real, dot, scale, vectorize};

/// Parameters in one parallel piece.
const PIECE: usize = 1 << 15;

/// Settings of the optimiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamConfig {
    /// Learning rate η.
    pub rate: f64,
    /// Decoupled weight decay λ.
    pub decay: f64,
    /// β₁ and β₂.
    pub betas: (f64, f64),
    /// ε.
    pub epsilon: f64,
}

impl AdamConfig {
    /// PyTorch's defaults with learning rate `rate` and without decay.
    pub fn new(rate: f64) -> Self {
        AdamConfig { rate, decay: 0.0, betas: (0.9, 0.999), epsilon: 1e-8 }
    }
}

/// Moments and step count of one group of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam<T> {
    /// Settings.
    pub config: AdamConfig,
    /// First moment m.
    pub m: Vec<T>,
    /// Second moment v.
    pub v: Vec<T>,
    /// Steps taken.
    pub steps: u64,
}

impl<T: Real> Adam<T> {
    /// For `len` parameters.
    pub fn new(len: usize, config: AdamConfig) -> Self {
        Adam { config, m: vec![T::ZERO; len], v: vec![T::ZERO; len], steps: 0 }
    }

    /// One step: p moves against g.
    pub fn step(&mut self, p: &mut [T], g: &[T]) {
        assert!(p.len() == self.m.len() && g.len() == self.m.len());
        self.steps += 1;
        let AdamConfig { rate, decay, betas: (beta1, beta2), epsilon } = self.config;
        let correction1 = 1.0 - power(beta1, self.steps);
        let correction2 = 1.0 - power(beta2, self.steps);
        let t = T::from_f64;
        let step_size = t(rate / correction1);
        let root = t(1.0 / correction2.sqrt());
        let shrink = t(1.0 - rate * decay);
        let (b1, c1, b2, c2) = (t(beta1), t(1.0 - beta1), t(beta2), t(1.0 - beta2));
        let epsilon = t(epsilon);
        let moments = self.m.par_chunks_mut(PIECE).zip(self.v.par_chunks_mut(PIECE));
        let pieces = p.par_chunks_mut(PIECE).zip(g.par_chunks(PIECE)).zip(moments);
        pieces.for_each(|((p, g), (m, v))| {
            let count = p.len();
            let (g, m, v) = (&g[..count], &mut m[..count], &mut v[..count]);
            vectorize(
                #[inline(always)]
                || {
                    for i in 0..count {
                        m[i] = b1 * m[i] + c1 * g[i];
                        v[i] = b2 * v[i] + c2 * (g[i] * g[i]);
                        let denominator = v[i].sqrt() * root + epsilon;
                        p[i] = p[i] * shrink - step_size * (m[i] / denominator);
                    }
                },
            );
        });
    }
}

/// xⁿ by squaring; std's `powi` promises no bits.
fn power(mut x: f64, mut n: u64) -> f64 {
    let mut result = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            result *= x;
        }
        x *= x;
        n >>= 1;
    }
    result
}

/// Scales `g` so that its norm is at most `limit`; returns the norm before.
/// A norm that is not finite is returned as it is and nothing is scaled: the caller must stop.
pub fn clip<T: Real>(g: &mut [T], limit: f64) -> f64 {
    // Block sums in f64, so that a million small f32 squares are not lost.
    let mut norm = vectorize(
        #[inline(always)]
        || g.chunks(4096).map(|c| dot(c, c).to_f64()).sum::<f64>().sqrt(),
    );
    if !norm.is_finite() {
        // The square of a large f32 overflows before the gradient does.
        norm = g.iter().map(|v| v.to_f64() * v.to_f64()).sum::<f64>().sqrt();
    }
    if norm.is_finite() && norm > limit {
        scale(g, T::from_f64(limit / norm));
    }
    norm
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The moments in closed form: m_t = (1−β₁) Σ β₁^(t−s) g_s, and so on.
    #[test]
    fn five_steps_in_closed_form() {
        let gradients: [f64; 5] = [0.5, -1.0, 2.0, 0.0, 0.3];
        let config = AdamConfig { decay: 0.1, ..AdamConfig::new(0.01) };
        let mut adam = Adam::new(1, config);
        let (mut p, mut want) = ([2.0], 2.0);
        for (t, &g) in gradients.iter().enumerate() {
            adam.step(&mut p, &[g]);
            let weight = |beta: f64, s: usize| beta.powi((t - s) as i32);
            let mean = |beta: f64, power: i32| {
                let sum: f64 = (0..=t).map(|s| weight(beta, s) * gradients[s].powi(power)).sum();
                let total: f64 = (0..=t).map(|s| weight(beta, s)).sum();
                sum / total
            };
            let step = mean(0.9, 1) / (mean(0.999, 2).sqrt() + 1e-8);
            want = want - 0.01 * 0.1 * want - 0.01 * step;
            assert!((p[0] - want).abs() < 1e-14, "step {t}: {} {want}", p[0]);
        }
        assert_eq!(adam.steps, 5);
    }

    #[test]
    fn the_first_step_has_the_size_of_the_rate() {
        let mut adam = Adam::new(2, AdamConfig::new(0.1));
        let mut p = [1.0f64, -1.0];
        adam.step(&mut p, &[1e-3, -1e3]);
        assert!((p[0] - 0.9).abs() < 2e-6 && (p[1] + 0.9).abs() < 1e-9);
        // A zero gradient moves nothing.
        let mut adam = Adam::new(1, AdamConfig::new(0.1));
        let mut p = [1.0f64];
        adam.step(&mut p, &[0.0]);
        assert_eq!(p, [1.0]);
    }

    #[test]
    fn clipping_keeps_the_direction() {
        let mut g = [3.0f64, 4.0];
        assert_eq!(clip(&mut g, 10.0), 5.0);
        assert_eq!(g, [3.0, 4.0]);
        assert_eq!(clip(&mut g, 1.0), 5.0);
        assert!((g[0] - 0.6).abs() < 1e-15 && (g[1] - 0.8).abs() < 1e-15);
        let mut bad = [1.0, f64::NAN];
        assert!(clip(&mut bad, 1.0).is_nan());
        assert_eq!(bad[0], 1.0);
        let mut zero = [0.0f32; 3];
        assert_eq!(clip(&mut zero, 1.0), 0.0);
        let mut huge = [3e30f32, -4e30];
        assert!((clip(&mut huge, 1.0) / 5e30 - 1.0).abs() < 1e-6);
        assert!((huge[0] - 0.6).abs() < 1e-6 && (huge[1] + 0.8).abs() < 1e-6);
    }
}
