//! The switch into code compiled for the vector unit of the running machine.
//!
//! Sound because a function with `#[target_feature]` is only called after the features were found.

/// Whether products and sums inside GEMM are fused on this machine. It is the one machine property
/// that results depend on; manifests record it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fusing {
    /// Fused multiply-add (x86 with FMA, and ARM).
    Fused,
    /// A rounding after each product.
    Unfused,
}

/// The fusing class of the running machine.
pub fn fusing() -> Fusing {
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    let fused = std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
    let fused = cfg!(target_arch = "aarch64");
    if fused { Fusing::Fused } else { Fusing::Unfused }
}

/// Vector unit that the code uses. Results do not depend on it within a class of [`Fusing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// What the compiler assumes for the target.
    Portable,
    /// 8 numbers of f32 in a register, fused multiply-add.
    Avx2,
    /// 16 numbers of f32 in a register.
    Avx512,
}

/// The vector unit of the running machine.
#[inline(always)]
pub fn class() -> Class {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") && has!("fma") {
            let wide = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
            return if wide { Class::Avx512 } else { Class::Avx2 };
        }
    }
    Class::Portable
}

/// Runs `f` compiled for the widest vector unit that the machine has.
///
/// Works by inlining: mark the closure `#[inline(always)]` and call only inlined functions in it.
/// Rust never fuses or reorders floating-point operations by itself, so all versions give the same
/// bits; only the speed differs.
#[inline(always)]
pub fn vectorize<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    match class() {
        // SAFETY: `class` found the features on this machine just now.
        Class::Avx512 => return unsafe { with_avx512(f) },
        // SAFETY: likewise.
        Class::Avx2 => return unsafe { with_avx2(f) },
        Class::Portable => {}
    }
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn with_avx512<R>(f: impl FnOnce() -> R) -> R {
    f()
}
