//! What follows from `+ − × ÷`: the assigning operators and sums of iterators.

/// For a type that has the four operators and `Real::ZERO`.
macro_rules! derived_operators {
    ([$($generics:tt)*] $t:ty) => {
        impl<$($generics)*> std::ops::AddAssign for $t {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl<$($generics)*> std::ops::SubAssign for $t {
            #[inline(always)]
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }
        impl<$($generics)*> std::ops::MulAssign for $t {
            #[inline(always)]
            fn mul_assign(&mut self, other: Self) {
                *self = *self * other;
            }
        }
        impl<$($generics)*> std::ops::DivAssign for $t {
            #[inline(always)]
            fn div_assign(&mut self, other: Self) {
                *self = *self / other;
            }
        }
        impl<$($generics)*> std::iter::Sum for $t {
            fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
                terms.fold($crate::num::Real::ZERO, |sum, term| sum + term)
            }
        }
    };
}
pub(super) use derived_operators;
