//! Loops over whole slices, compiled for the vector unit.

use super::{Real, vectorize};

/// Numbers of f32 in the widest register.
const LANES: usize = 16;

/// y ← y + x.
pub fn add_assign<T: Real>(y: &mut [T], x: &[T]) {
    assert_eq!(y.len(), x.len());
    vectorize(
        #[inline(always)]
        || {
            for (y, &x) in y.iter_mut().zip(x) {
                *y += x;
            }
        },
    );
}

/// y ← y ∘ x.
pub fn mul_assign<T: Real>(y: &mut [T], x: &[T]) {
    assert_eq!(y.len(), x.len());
    vectorize(
        #[inline(always)]
        || {
            for (y, &x) in y.iter_mut().zip(x) {
                *y *= x;
            }
        },
    );
}

/// y ← y + c · x, fused; to be inlined into a vectorised loop.
#[inline(always)]
pub fn axpy<T: Real>(y: &mut [T], c: T, x: &[T]) {
    // Slices are often as short as a head of the attention: whole registers, then the rest.
    let ((pieces, rest), (from, last)) = (y.as_chunks_mut::<LANES>(), x.as_chunks::<LANES>());
    for (y, x) in pieces.iter_mut().zip(from) {
        let mut sum = *y;
        for l in 0..LANES {
            sum[l] = c.mul_add(x[l], sum[l]);
        }
        *y = sum;
    }
    for (y, &x) in rest.iter_mut().zip(last) {
        *y = c.mul_add(x, *y);
    }
}

/// The values' little-endian bytes.
pub fn little_endian<T: Real>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
    values.iter().for_each(|v| v.write_le(&mut bytes));
    bytes
}

/// y ← c · y.
pub fn scale<T: Real>(y: &mut [T], c: T) {
    vectorize(
        #[inline(always)]
        || {
            for y in y.iter_mut() {
                *y *= c;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_multiplies_and_scales() {
        let mut y = [1.0, 2.0, 3.0];
        add_assign(&mut y, &[10.0, 20.0, 30.0]);
        mul_assign(&mut y, &[1.0, 0.0, -1.0]);
        scale(&mut y, 2.0);
        assert_eq!(y, [22.0, 0.0, -66.0]);
        for n in [0usize, 1, 15, 16, 17, 32, 50] {
            let x: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let mut y = vec![1.0; n];
            axpy(&mut y, 3.0, &x);
            assert!(y.iter().enumerate().all(|(i, &v)| v == 1.0 + 3.0 * i as f64), "{n}");
        }
    }
}
