//! Inverted dropout: each entry is kept with probability 1 − rate and then divided by it.
//!
//! A mask is a pure function of (key, site, row, column): it does not depend on how the batch is
//! cut into shards or on the thread count, it can be made again, and the audit can hold it fixed.

use crate::num::Real;
use crate::rng::mix;

/// The dropout of one training step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// Probability of dropping an entry, in [0, 1); taken in steps of 2⁻¹⁶.
    pub rate: f64,
    /// Names the step: another key, other masks.
    pub key: u64,
}

impl Dropout {
    /// Fills one row of the mask of `site` with 0 or 1/(1 − rate).
    pub fn mask_row<T: Real>(&self, mask: &mut [T], site: u64, row: usize) {
        debug_assert!((0.0..1.0).contains(&self.rate));
        let limit = (self.rate * 65536.0) as u64;
        let kept = T::from_f64(65536.0 / (65536 - limit) as f64);
        let base = mix(mix(self.key ^ site) ^ row as u64);
        // One hash serves four entries, 16 bits each.
        for (k, four) in mask.chunks_mut(4).enumerate() {
            let mut bits = mix(base.wrapping_add(k as u64));
            for m in four {
                *m = if bits & 0xffff < limit { T::ZERO } else { kept };
                bits >>= 16;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_expectation_and_the_values() {
        let dropout = Dropout { rate: 0.3, key: 9 };
        let mut mask = vec![0.0f64; 1001];
        let (mut dropped, mut total) = (0usize, 0.0);
        for row in 0..100 {
            dropout.mask_row(&mut mask, 1, row);
            dropped += mask.iter().filter(|&&m| m == 0.0).count();
            total += mask.iter().sum::<f64>();
            assert!(mask.iter().all(|&m| m == 0.0 || (m - 1.0 / 0.7).abs() < 1e-4));
        }
        assert!((dropped as f64 / 100_100.0 - 0.3).abs() < 0.01);
        assert!((total / 100_100.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn key_site_row_and_column_matter() {
        let row = |key, site, row| {
            let mut mask = vec![0.0f32; 64];
            Dropout { rate: 0.5, key }.mask_row(&mut mask, site, row);
            mask
        };
        assert_eq!(row(1, 2, 3), row(1, 2, 3));
        assert_ne!(row(1, 2, 3), row(2, 2, 3));
        assert_ne!(row(1, 0, 3), row(2, 0, 3), "the key counts at site 0 too");
        assert_ne!(row(1, 2, 3), row(1, 3, 3));
        let rows: Vec<Vec<f32>> = (0..64).map(|k| row(1, 2, k)).collect();
        assert!(rows.iter().enumerate().all(|(k, a)| rows[..k].iter().all(|b| a != b)));
        let a = row(1, 2, 3);
        assert_ne!(a[..32], a[32..]);
        let mut none = vec![0.0f32; 1 << 20];
        Dropout { rate: 0.0, key: 1 }.mask_row(&mut none, 0, 0);
        assert!(none.iter().all(|&m| m == 1.0), "rate 0 drops nothing");
    }
}
