//! Multiply-adds at full speed: many independent chains in registers, no memory. What it reaches is the
//! peak that other figures are compared with.
//!
//! Sound because the code for a vector unit only runs after `class` found it.

use super::vectorize::{Class, class};

/// Chains of multiply-adds in flight.
const CHAINS: usize = 12;

/// Does `rounds` multiply-adds in every lane of every chain with the vector unit `unit`; returns the
/// number of floating-point operations and a value that depends on all of them. `None` if this machine
/// does not have the unit.
pub fn multiply_adds(unit: Class, rounds: usize) -> Option<(f64, f32)> {
    let (lanes, value) = match (unit, class()) {
        (Class::Portable, _) => (8, portable(rounds)),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `class` found AVX2 and FMA (AVX-512 machines have both).
        (Class::Avx2, Class::Avx2 | Class::Avx512) => (8, unsafe { avx2(rounds) }),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `class` found AVX-512.
        (Class::Avx512, Class::Avx512) => (16, unsafe { avx512(rounds) }),
        _ => return None,
    };
    Some(((2 * lanes * CHAINS * rounds) as f64, value))
}

/// Products and sums with two roundings, as the compiler arranges them.
fn portable(rounds: usize) -> f32 {
    let mut sums = [[1e-3f32; 8]; CHAINS];
    for _ in 0..rounds {
        for s in sums.as_flattened_mut() {
            *s = *s * 0.999 + 1e-4;
        }
    }
    sums.as_flattened().iter().sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(rounds: usize) -> f32 {
    use std::arch::x86_64::*;
    let (x, y) = (_mm256_set1_ps(0.999), _mm256_set1_ps(1e-4));
    let mut sums = [_mm256_set1_ps(1e-3); CHAINS];
    for _ in 0..rounds {
        for s in &mut sums {
            *s = _mm256_fmadd_ps(*s, x, y);
        }
    }
    let total = sums.into_iter().reduce(|a, b| _mm256_add_ps(a, b));
    _mm256_cvtss_f32(total.expect("several chains"))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(rounds: usize) -> f32 {
    use std::arch::x86_64::*;
    let (x, y) = (_mm512_set1_ps(0.999), _mm512_set1_ps(1e-4));
    let mut sums = [_mm512_set1_ps(1e-3); CHAINS];
    for _ in 0..rounds {
        for s in &mut sums {
            *s = _mm512_fmadd_ps(*s, x, y);
        }
    }
    let total = sums.into_iter().reduce(|a, b| _mm512_add_ps(a, b));
    _mm512_cvtss_f32(total.expect("several chains"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_units_that_the_machine_has_run() {
        for unit in [Class::Portable, Class::Avx2, Class::Avx512] {
            let found = multiply_adds(unit, 1000);
            let wanted = match class() {
                Class::Portable => unit == Class::Portable,
                Class::Avx2 => unit != Class::Avx512,
                Class::Avx512 => true,
            };
            assert_eq!(found.is_some(), wanted, "{unit:?}");
            if let Some((operations, value)) = found {
                assert!(operations >= 1000.0 * 2.0 * 8.0 * CHAINS as f64 && value > 0.0);
            }
        }
    }
}
