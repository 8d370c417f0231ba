//! Random numbers: one root seed, named streams, values that never move.
//!
//! A stream is found by its *name*, not by how many numbers were drawn before it:
//! `Streams::new(seed).stream("fold/3/stage1/init")` is the same stream in a run of one fold and in
//! a run of a thousand, on any number of threads. Only `next_u64` comes from `rand_xoshiro`; the
//! distributions are written here, because the ones in other crates may change between releases.

use rand::Rng as _;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::num::Real;

/// A root seed with a path of names below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streams {
    root: u64,
    path: String,
}

/// SplitMix64's finaliser: a bijection of u64 whose output bits all depend on all input bits.
#[inline(always)]
pub fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Streams {
    /// All randomness of a run, from one number.
    pub fn new(root: u64) -> Self {
        Streams { root, path: String::new() }
    }

    /// The streams below `name`; `a.child("x").stream("y")` equals `a.stream("x/y")`.
    pub fn child(&self, name: &str) -> Self {
        Streams { root: self.root, path: self.join(name) }
    }

    /// The generator called `name`.
    pub fn stream(&self, name: &str) -> Rng {
        Rng(Xoshiro256PlusPlus::seed_from_u64(self.key(name)))
    }

    /// A 64-bit key called `name`, for counter-based use (dropout masks).
    pub fn key(&self, name: &str) -> u64 {
        // FNV-1a over the path, mixed with the root before and after.
        let mut h = 0xcbf2_9ce4_8422_2325 ^ mix(self.root);
        for byte in self.join(name).bytes() {
            h = (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        mix(h)
    }

    /// The root seed.
    pub fn root(&self) -> u64 {
        self.root
    }

    fn join(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.path) }
    }
}

/// One stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform on [0, 1) with 53 bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform on [lo, hi).
    pub fn range(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.uniform()
    }

    /// True with probability `p`.
    #[inline]
    pub fn bernoulli(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Uniform on {0, …, n−1} without bias (Lemire's multiply-and-reject). `n` must be positive.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "below(0)");
        let n = n as u64;
        let threshold = n.wrapping_neg() % n;
        loop {
            let m = u128::from(self.bits()) * u128::from(n);
            if m as u64 >= threshold {
                return (m >> 64) as usize;
            }
        }
    }

    /// Standard normal by the polar method (one value of each pair is dropped: no hidden state).
    pub fn normal(&mut self) -> f64 {
        loop {
            let u = 2.0 * self.uniform() - 1.0;
            let v = 2.0 * self.uniform() - 1.0;
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                return u * (-2.0 * Real::ln(s) / s).sqrt();
            }
        }
    }

    /// Index drawn with probability proportional to `weights` (inverse CDF, one uniform).
    /// Entries of weight zero are never drawn; the sum must be positive and finite.
    pub fn categorical<T: Real>(&mut self, weights: &[T]) -> usize {
        let total: f64 = weights.iter().map(|w| w.to_f64()).sum();
        assert!(total > 0.0 && total.is_finite(), "categorical weights sum to {total}");
        slice_of(weights, self.uniform() * total).expect("a positive weight")
    }

    /// Fisher-Yates.
    pub fn shuffle<A>(&mut self, items: &mut [A]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// 0..n in random order.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.shuffle(&mut order);
        order
    }
}

/// Lay the weights end to end from 0: the index whose slice holds `u`, the last slice where rounding
/// used it up. None when no weight is positive.
pub fn slice_of<T: Real>(weights: &[T], u: f64) -> Option<usize> {
    let mut left = u;
    let mut last = None;
    for (i, w) in weights.iter().enumerate() {
        let w = w.to_f64();
        if w > 0.0 {
            last = Some(i);
            if left < w {
                break;
            }
            left -= w;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These values are the contract: if one moves, every published number moves.
    #[test]
    fn values_are_stable() {
        let s = Streams::new(0);
        assert_eq!(s.key("a"), Streams::new(0).key("a"));
        let mut r = s.stream("fold/3/stage1/init");
        let got = (r.bits(), r.uniform().to_bits(), r.below(10), r.normal().to_bits());
        assert_eq!(got, VALUES, "got {got:?}");
        assert_eq!(Streams::new(7).stream("x").permutation(8), PERMUTATION);
    }
    const VALUES: (u64, u64, usize, u64) =
        (10117796035744975252, 4601021418655915778, 0, 13826788046898903425);
    const PERMUTATION: [usize; 8] = [5, 1, 6, 0, 4, 3, 2, 7];

    #[test]
    fn names_not_order_decide() {
        let s = Streams::new(5);
        let mut first = s.stream("a");
        first.bits();
        assert_eq!(s.stream("b").bits(), Streams::new(5).stream("b").bits());
        assert_eq!(s.child("x").child("y").stream("z").bits(), s.stream("x/y/z").bits());
        assert_ne!(s.stream("a").bits(), s.stream("b").bits());
        assert_ne!(s.stream("a").bits(), Streams::new(6).stream("a").bits());
    }

    #[test]
    fn moments_and_frequencies() {
        let mut r = Streams::new(1).stream("moments");
        let n = 200_000;
        let (mut m, mut v, mut b) = (0.0, 0.0, 0usize);
        for _ in 0..n {
            let z = r.normal();
            m += z;
            v += z * z;
            b += usize::from(r.bernoulli(0.3));
        }
        let n = n as f64;
        assert!((m / n).abs() < 0.01 && (v / n - 1.0).abs() < 0.02);
        assert!((b as f64 / n - 0.3).abs() < 0.005);
        let weights = [0.0, 1.0, 3.0, 0.0];
        let mut hits = [0usize; 4];
        for _ in 0..40_000 {
            hits[r.categorical(&weights)] += 1;
        }
        assert_eq!((hits[0], hits[3]), (0, 0));
        assert!((hits[2] as f64 / 40_000.0 - 0.75).abs() < 0.01);
        let mut seen = [0usize; 3];
        for _ in 0..30_000 {
            seen[r.below(3)] += 1;
        }
        assert!(seen.iter().all(|&c| (c as f64 / 10_000.0 - 1.0).abs() < 0.05));
    }
}
