//! Distances in units in the last place of the exact value (given in f64 for f32), for the tests.

pub fn ulps64(got: f64, want: f64) -> f64 {
    if got == want || (got.is_nan() && want.is_nan()) {
        0.0
    } else {
        (got - want).abs() / ulp64(want)
    }
}

pub fn ulps32(got: f32, want: f64) -> f64 {
    if got == want as f32 || (got.is_nan() && want.is_nan()) {
        return 0.0;
    }
    (f64::from(got) - want).abs() / ulp32(want)
}

/// From |x| to the next number.
pub fn ulp64(x: f64) -> f64 {
    f64::from_bits(x.abs().to_bits() + 1) - x.abs()
}

/// From |x|, rounded to f32, to the next number of f32.
pub fn ulp32(x: f64) -> f64 {
    let rounded = (x as f32).abs();
    f64::from(f32::from_bits(rounded.to_bits() + 1) - rounded)
}
