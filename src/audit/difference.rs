//! Numeric derivatives by five-point central differences,
//!
//! ```text
//! D(h) = (f(x − 2h) − 8 f(x − h) + 8 f(x + h) − f(x + 2h)) / (12 h) = f′(x) + O(h⁴).
//! ```
//!
//! A step that is too large truncates, one that is too small rounds; both depend on the coordinate.
//! So the step is halved from 2⁻⁴ on, and the value with the smallest *estimated* error is taken:
//! the change from the step before (truncation) plus the rounding noise of f over h. The choice
//! never looks at the analytic gradient.

/// Largest step, relative to max(1, |x|).
const FIRST_STEP: f64 = 1.0 / 16.0;
/// Halvings at most; the last step is 2⁻¹⁴.
const HALVINGS: usize = 10;
/// Rounding noise of a loss, in units of its size.
const NOISE: f64 = 4.0 * f64::EPSILON;

/// f′(x) where `f` is given as a function of the displacement from x. Stops early when the estimated
/// error is below `enough`.
pub fn derivative(mut f: impl FnMut(f64) -> f64, x: f64, enough: f64) -> f64 {
    let mut h = FIRST_STEP * x.abs().max(1.0);
    let (mut far_left, mut far_right) = (f(-2.0 * h), f(2.0 * h));
    let (mut best, mut best_error) = (f64::NAN, f64::INFINITY);
    let mut previous = f64::NAN;
    for _ in 0..=HALVINGS {
        let (left, right) = (f(-h), f(h));
        let value = ((far_left - far_right) + 8.0 * (right - left)) / (12.0 * h);
        let noise = NOISE * left.abs().max(right.abs()) / h;
        // D(h) is off by a fifteenth of the change from D(2h), once the h⁴ term rules.
        let error = (value - previous).abs() / 15.0 + noise;
        if error < best_error {
            (best, best_error) = (value, error);
        }
        // Done, or the noise alone is worse than what we have.
        if best_error <= enough || noise > best_error {
            break;
        }
        previous = value;
        (far_left, far_right) = (left, right);
        h /= 2.0;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(f: fn(f64) -> f64, x: f64, want: f64, tolerance: f64) {
        let got = derivative(|d| f(x + d), x, 0.0);
        assert!(
            (got - want).abs() <= tolerance * want.abs().max(1e-3),
            "{got} and {want}"
        );
    }

    #[test]
    fn smooth_functions_to_eleven_digits() {
        check(libm::exp, 0.3, libm::exp(0.3), 1e-11);
        check(libm::sin, 1.0, libm::cos(1.0), 1e-11);
        check(|x| x * x * x, 2.0, 12.0, 1e-12);
        check(libm::tanh, 0.1, 1.0 - libm::tanh(0.1).powi(2), 1e-11);
        check(|x| libm::sin(30.0 * x), 0.2, 30.0 * libm::cos(6.0), 1e-10);
        // Large x: the step grows with it.
        check(|x| x * x, 1e3, 2e3, 1e-11);
    }

    /// A kink within the first steps must not spoil the result, because smaller steps avoid it.
    #[test]
    fn a_kink_nearby_is_left_behind() {
        check(
            |x| x.abs() + libm::exp(x),
            0.003,
            1.0 + libm::exp(0.003),
            1e-9,
        );
    }

    #[test]
    fn constants_have_derivative_zero_exactly() {
        assert_eq!(derivative(|_| 0.7, 1.0, 0.0), 0.0);
    }
}
