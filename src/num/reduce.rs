//! Sums in a fixed order: eight partial sums over the slice, then those pairwise. The order is part of
//! the result, so it depends on the length alone, never on the vector width or the thread count.

use super::Real;

const PARTIAL_SUMS: usize = 8;

#[inline(always)]
fn fold<T: Real>(sums: [T; PARTIAL_SUMS]) -> T {
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Σ f(aᵢ, bᵢ) with `step(sum, a, b)` adding one term.
#[inline(always)]
fn fixed_order<T: Real>(a: &[T], b: &[T], step: impl Fn(T, T, T) -> T) -> T {
    debug_assert_eq!(a.len(), b.len());
    let mut acc = [T::ZERO; PARTIAL_SUMS];
    let ((pa, ra), (pb, rb)) = (a.as_chunks::<PARTIAL_SUMS>(), b.as_chunks::<PARTIAL_SUMS>());
    // Indices, not iterators: what is not inlined here is not compiled for the vector unit.
    let whole = pa.len().min(pb.len());
    let (pa, pb) = (&pa[..whole], &pb[..whole]);
    for k in 0..whole {
        for l in 0..PARTIAL_SUMS {
            acc[l] = step(acc[l], pa[k][l], pb[k][l]);
        }
    }
    for l in 0..ra.len().min(rb.len()) {
        acc[l] = step(acc[l], ra[l], rb[l]);
    }
    fold(acc)
}

/// Σ aᵢ bᵢ, each product fused into its partial sum.
#[inline(always)]
pub fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    fixed_order(a, b, |s, x, y| x.mul_add(y, s))
}

/// Four dot products with the same `b`, for loops in which one sum would wait for its last addition.
#[inline(always)]
pub fn dot4<T: Real>(a: [&[T]; 4], b: &[T]) -> [T; 4] {
    [dot(a[0], b), dot(a[1], b), dot(a[2], b), dot(a[3], b)]
}

/// Σ (aᵢ − bᵢ)².
#[inline(always)]
pub fn squared_distance<T: Real>(a: &[T], b: &[T]) -> T {
    fixed_order(a, b, |s, x, y| (x - y).mul_add(x - y, s))
}

/// Σ aᵢ.
#[inline(always)]
pub fn sum<T: Real>(a: &[T]) -> T {
    fixed_order(a, a, |s, x, _| s + x)
}

/// The largest entry; −∞ for an empty slice, NaN if any entry is NaN.
#[inline(always)]
pub fn max<T: Real>(a: &[T]) -> T {
    if a.len() < PARTIAL_SUMS {
        return a.iter().fold(T::NEG_INFINITY, |top, &v| top.maximum(v));
    }
    let mut top = [T::NEG_INFINITY; PARTIAL_SUMS];
    let (whole, rest) = a.as_chunks::<PARTIAL_SUMS>();
    for k in 0..whole.len() {
        for l in 0..PARTIAL_SUMS {
            top[l] = top[l].maximum(whole[k][l]);
        }
    }
    for l in 0..rest.len() {
        top[l] = top[l].maximum(rest[l]);
    }
    top.into_iter().fold(T::NEG_INFINITY, T::maximum)
}

/// True when no entry is infinite or NaN.
#[inline(always)]
pub fn all_finite<T: Real>(a: &[T]) -> bool {
    // 0·x is 0 exactly for finite x and NaN otherwise; the sum keeps a NaN.
    fixed_order(a, a, |s, x, _| s + x * T::ZERO) == T::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_all_short_lengths_are_exact_on_integers() {
        for n in 0..40usize {
            let a: Vec<f32> = (0..n).map(|i| i as f32 - 3.0).collect();
            let b: Vec<f32> = (0..n).map(|i| 2.0 * i as f32 + 1.0).collect();
            let naive = |f: &dyn Fn(usize) -> f32| (0..n).map(f).sum::<f32>();
            assert_eq!(sum(&a), naive(&|i| a[i]));
            assert_eq!(dot(&a, &b), naive(&|i| a[i] * b[i]));
            assert_eq!(dot4([&a, &b, &a, &b], &a)[1], dot(&b, &a));
            assert_eq!(squared_distance(&a, &b), naive(&|i| (a[i] - b[i]).powi(2)));
            assert!(all_finite(&a));
        }
    }

    #[test]
    fn non_finite_values_are_seen() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for n in [1usize, 7, 8, 9, 33] {
                let mut a = vec![1.0; n];
                a[n - 1] = bad;
                assert!(!all_finite(&a), "{bad} at the end of {n}");
            }
        }
        assert!(max(&[1.0, f64::NAN, 2.0]).is_nan());
        assert_eq!(max::<f64>(&[]), f64::NEG_INFINITY);
        assert_eq!(max(&[-3.0, -1.0, -2.0]), -1.0);
    }
}
