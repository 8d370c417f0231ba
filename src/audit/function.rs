//! A function with the gradient that the engine computes, for every kind of number at once.

use super::Control;
use crate::num::{DoubleDouble, Dual, Real, Traced};

/// Where a function adds its gradient to, if one is wanted, and the control that spoils it, if any.
pub type Wanted<'a, T> = Option<(&'a mut [T], Option<Control>)>;

/// A loss as a function of one flat vector, written once for all kinds of numbers.
pub trait Function: Send + Sync {
    /// Returns the value at `z`; adds its gradient to the slice if one is given, spoilt by the
    /// control if there is one.
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T;
}

/// Eight directions at once, in f64.
pub(super) type Narrow = Dual<f64, 8>;
/// Two directions at once, in double-double.
pub(super) type Wide = Dual<DoubleDouble, 2>;

macro_rules! kinds {
    ($($method:ident: $t:ty,)*) => {
        /// [`Function`] without generics, so that a case can hold any.
        pub(super) trait AnyFunction: Send + Sync {
            $(fn $method(&self, z: &[$t], wanted: Wanted<'_, $t>) -> $t;)*
        }

        impl<F: Function> AnyFunction for F {
            $(fn $method(&self, z: &[$t], wanted: Wanted<'_, $t>) -> $t {
                self.run(z, wanted)
            })*
        }

        $(impl Kind for $t {
            fn run(f: &dyn AnyFunction, z: &[Self], wanted: Wanted<'_, Self>) -> Self {
                f.$method(z, wanted)
            }
        })*
    };
}

/// A kind of number that functions can be run on.
pub(super) trait Kind: Real {
    fn run(f: &dyn AnyFunction, z: &[Self], wanted: Wanted<'_, Self>) -> Self;
}

kinds! {
    run_f32: f32,
    run_f64: f64,
    run_double_double: DoubleDouble,
    run_narrow: Narrow,
    run_wide: Wide,
    run_traced_f32: Traced<f32>,
    run_traced_f64: Traced<f64>,
}

/// The gradient of `f` at `start`, computed in `T`.
pub(super) fn gradient<T: Kind>(
    f: &dyn AnyFunction,
    start: &[T],
    control: Option<Control>,
) -> Vec<T> {
    let mut gradient = vec![T::ZERO; start.len()];
    T::run(f, start, Some((&mut gradient, control)));
    gradient
}

/// The same numbers in another kind.
pub(super) fn cast<T: Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&v| T::from_f64(v)).collect()
}
