//! Numeric derivatives by five-point central differences,
//!
//! ```text
//! D(h) = (f(x − 2h) − 8 f(x − h) + 8 f(x + h) − f(x + 2h)) / (12 h) = f′(x) + O(h⁴).
//! ```
//!
//! A step that is too large truncates, one that is too small rounds; both depend on the coordinate.
//! So the step is halved from 2⁻⁵ on, and if noise rules doubled from there (with extrapolation), and the value with the smallest *estimated* error is taken:
//! truncation from the changes of D so far (all of them, because one may be small by accident) plus the
//! rounding noise of f over h. The choice never looks at the analytic gradient.

/// Largest step, relative to max(1, |x|).
const FIRST_STEP: f64 = 1.0 / 32.0;
/// Halvings at most; the last step is 2⁻¹⁴.
const HALVINGS: usize = 9;
/// Doublings at most, when noise rules; the widest step is 1.
const DOUBLINGS: usize = 5;
/// Rounding noise of a loss, in units of its size: generous, because noise that is taken for
/// convergence is worse than a step that is a little too wide.
const NOISE: f64 = 8.0 * f64::EPSILON;

/// Estimated relative error that is good enough to stop at.
const ENOUGH: f64 = 5e-10;

/// f′(x) where `f` is given as a function of the displacement from x. Stops when the estimated error
/// is 5·10⁻¹⁰ of the derivative, or of `floor` if that is larger.
pub fn derivative(mut f: impl FnMut(f64) -> f64, x: f64, floor: f64) -> f64 {
    let first = FIRST_STEP * x.abs().max(1.0);
    let mut best = Estimate { value: f64::NAN, error: f64::INFINITY };
    let mut f_at = |h: f64| (f(-h), f(h));

    // Downwards: halve the step until the error is small or noise rules.
    let (start, wide) = (f_at(first), f_at(2.0 * first));
    let (mut near, mut far, mut h) = (start, wide, first);
    let (mut previous, mut expected) = (f64::NAN, f64::NAN);
    for _ in 0..=HALVINGS {
        let value = five_points(near, far, h);
        // D(h) is off by a fifteenth of the change from D(2h) once the h⁴ term rules, and then each
        // change is a sixteenth of the one before. A change that is smaller than that is an
        // accident and not believed. NaN until two changes are known.
        let change = (value - previous).abs();
        let truncation = if change > expected { change } else { expected };
        best.improve(value, truncation / 15.0 + noise(near, h));
        if best.is_enough(floor) {
            return best.value;
        }
        if noise(near, h) > best.error {
            break;
        }
        let seen = if expected > change { expected } else { change };
        (previous, expected) = (value, seen / 16.0);
        h /= 2.0;
        (far, near) = (near, f_at(h));
    }

    // Upwards: where the gradient is tiny the function is nearly straight, and a wide step drowns
    // the noise. Two steps together cancel the h⁴ term: R(h) = (16 D(h) − D(2h)) / 15.
    let (mut near, mut h, mut previous) = (wide, 2.0 * first, five_points(start, wide, first));
    let mut extrapolated_before = f64::NAN;
    for _ in 0..DOUBLINGS {
        let far = f_at(2.0 * h);
        let value = five_points(near, far, h);
        let extrapolated = (16.0 * previous - value) / 15.0;
        let change = (extrapolated - extrapolated_before).abs();
        best.improve(extrapolated, change + 4.0 * noise(near, h));
        if best.is_enough(floor) {
            break;
        }
        (near, h, previous, extrapolated_before) = (far, 2.0 * h, value, extrapolated);
    }
    best.value
}

/// D(h) from (f(−h), f(h)) and (f(−2h), f(2h)).
fn five_points(near: (f64, f64), far: (f64, f64), h: f64) -> f64 {
    ((far.0 - far.1) + 8.0 * (near.1 - near.0)) / (12.0 * h)
}

fn noise(near: (f64, f64), h: f64) -> f64 {
    NOISE * near.0.abs().max(near.1.abs()) / h
}

struct Estimate {
    value: f64,
    error: f64,
}

impl Estimate {
    fn improve(&mut self, value: f64, error: f64) {
        if error < self.error {
            *self = Estimate { value, error };
        }
    }

    fn is_enough(&self, floor: f64) -> bool {
        self.error <= ENOUGH * self.value.abs().max(floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(f: fn(f64) -> f64, x: f64, want: f64, tolerance: f64) {
        let got = derivative(|d| f(x + d), x, 0.0);
        assert!((got - want).abs() <= tolerance * want.abs().max(1e-3), "{got} and {want}");
    }

    #[test]
    fn smooth_functions_to_the_stated_error() {
        check(libm::exp, 0.3, libm::exp(0.3), 2e-9);
        check(libm::sin, 1.0, libm::cos(1.0), 2e-9);
        check(|x| x * x * x, 2.0, 12.0, 1e-12);
        check(libm::tanh, 0.1, 1.0 - libm::tanh(0.1).powi(2), 2e-9);
        check(|x| libm::sin(30.0 * x), 0.2, 30.0 * libm::cos(6.0), 2e-9);
        // Large x: the step grows with it.
        check(|x| x * x, 1e3, 2e3, 1e-11);
    }

    /// A kink within the first steps must not spoil the result, because smaller steps avoid it.
    #[test]
    fn a_kink_nearby_is_left_behind() {
        check(|x| x.abs() + libm::exp(x), 0.003, 1.0 + libm::exp(0.003), 1e-9);
    }

    #[test]
    fn constants_have_derivative_zero_exactly() {
        assert_eq!(derivative(|_| 0.7, 1.0, 0.0), 0.0);
    }
}
