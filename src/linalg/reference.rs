//! The slow twin of [`super::gemm()`]: three loops whose order of operations is the specification.

use super::gemm::Acc;
use super::mat::{View, ViewMut};
use crate::num::{Fusing, Real, fusing, vectorize};

/// Length of the pieces in which matrixmultiply cuts the inner dimension: a product over at most so many
/// is one sum, which is added to C once.
pub const K_BLOCK: usize = 256;

/// C ← A·B or C ← C + A·B: each block of 256 products is summed in order from zero (fused where the
/// machine fuses), and the block sums are added to C in order.
pub fn gemm<T: Real>(acc: Acc, mut c: ViewMut<'_, T>, a: View<'_, T>, b: View<'_, T>) {
    assert!(a.cols() == b.rows() && c.rows() == a.rows() && c.cols() == b.cols());
    let fused = fusing() == Fusing::Fused;
    vectorize(
        #[inline(always)]
        || {
            for i in 0..c.rows() {
                for j in 0..c.cols() {
                    let mut total = match acc {
                        Acc::Set => None,
                        Acc::Add => Some(c.row_mut(i)[j]),
                    };
                    for from in (0..a.cols()).step_by(K_BLOCK) {
                        let mut block = T::ZERO;
                        for k in from..a.cols().min(from + K_BLOCK) {
                            let (x, y) = (a.get(i, k), b.get(k, j));
                            block = if fused { x.mul_add(y, block) } else { block + x * y };
                        }
                        total = Some(total.map_or(block, |t| t + block));
                    }
                    c.row_mut(i)[j] = total.unwrap_or(T::ZERO);
                }
            }
        },
    );
}
