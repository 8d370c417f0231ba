//! The only folder with `unsafe`: raw-pointer matrix products, memory on cache lines, and the switch
//! into code that is compiled for the machine's vector unit. Each file says why it is sound.
#![allow(unsafe_code)]

mod allocator;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod dots;
mod gemm;
#[cfg(target_arch = "x86_64")]
mod norm;
mod peak;
mod pieces;
#[cfg(any(target_arch = "x86_64", test))]
mod tiles;
mod vectorize;

pub use allocator::{CacheLines, give_back};
pub use gemm::{Gemm, Product, Start, Strided};
pub use peak::multiply_adds;
pub use pieces::Pieces;
pub use vectorize::{Class, Fusing, class, fusing, vectorize};

#[cfg(test)]
mod tests;
