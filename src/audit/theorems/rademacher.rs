//! Empirical Rademacher complexity of a finite class of losses on a sample of finitely many atoms.
//!
//! R̂_n(G) = E_σ sup_f (1/n) Σ_i σ_i ℓ(f, i). Rows of one atom have one loss, so only the sum of their signs
//! counts: atoms instead of rows, and 64 signs in one draw.

use crate::linalg::Mat;
use crate::rng::Rng;

/// A sample by atoms: how often each occurred.
pub type Counts = [usize];

/// Mean over `draws` sign vectors, and the standard error of that mean. `losses` is predictors × atoms.
pub fn estimate(losses: &Mat<f64>, counts: &Counts, draws: usize, rng: &mut Rng) -> (f64, f64) {
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut signs = vec![0.0; counts.len()];
    for _ in 0..draws {
        for (sign, &count) in signs.iter_mut().zip(counts) {
            *sign = signed_sum(count, rng);
        }
        let value = largest(losses, &signs, counts.iter().sum());
        sum += value;
        squares += value * value;
    }
    let draws = draws as f64;
    let mean = sum / draws;
    (mean, ((squares / draws - mean * mean).max(0.0) / draws).sqrt())
}

/// The same over all 2ⁿ sign vectors; n is small.
pub fn exact(losses: &Mat<f64>, counts: &Counts) -> f64 {
    let n: usize = counts.iter().sum();
    let atoms: Vec<usize> =
        counts.iter().enumerate().flat_map(|(a, &m)| std::iter::repeat_n(a, m)).collect();
    let of = |bits: usize| {
        let mut signs = vec![0.0; counts.len()];
        for (i, &a) in atoms.iter().enumerate() {
            signs[a] += if bits >> i & 1 == 1 { 1.0 } else { -1.0 };
        }
        largest(losses, &signs, n)
    };
    (0..1usize << n).map(of).sum::<f64>() / (1usize << n) as f64
}

/// sup_f (1/n) Σ_a s_a ℓ(f, a).
fn largest(losses: &Mat<f64>, signs: &[f64], n: usize) -> f64 {
    let of = |row: &[f64]| row.iter().zip(signs).map(|(l, s)| l * s).sum::<f64>();
    losses.rows_iter().map(of).fold(f64::MIN, f64::max) / n as f64
}

/// Σ of `count` random signs.
fn signed_sum(count: usize, rng: &mut Rng) -> f64 {
    let mut ups = 0;
    let mut left = count;
    while left > 0 {
        let take = left.min(64);
        ups += (rng.bits() >> (64 - take)).count_ones() as usize;
        left -= take;
    }
    2.0 * ups as f64 - count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    #[test]
    fn one_predictor_has_no_complexity_and_two_opposite_ones_have() {
        let mut rng = Streams::new(1).stream("rademacher");
        let one = Mat::from_vec(1, 2, vec![0.3, 0.9]);
        assert!(exact(&one, &[3, 2]).abs() < 1e-15);
        // ℓ = ±1/2 on a single row: the better of the two is always +1/2.
        let two = Mat::from_vec(2, 1, vec![0.5, -0.5]);
        assert!((exact(&two, &[1]) - 0.5).abs() < 1e-15);
        let (mean, error) = estimate(&two, &[9], 4000, &mut rng);
        assert!((mean - exact(&two, &[9])).abs() < 4.0 * error && error < 0.01);
    }
}
