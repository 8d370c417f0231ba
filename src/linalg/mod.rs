//! Dense row-major matrices, products and nearest neighbours.

pub mod cholesky;
pub mod gemm;
mod mat;
pub mod nearest;
pub mod reference;
mod shortlist;

pub use gemm::{Acc, Pieces, add_products, affine, dots, gemm, gemm_parallel, gemm_pieces};
pub use mat::{Mat, View, ViewMut};
