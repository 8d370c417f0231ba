//! Loops over whole slices, compiled for the vector unit.

use super::{Real, vectorize};

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
    for (y, &x) in y.iter_mut().zip(x) {
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
    }
}
