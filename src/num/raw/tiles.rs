//! C ← start + A·B in f32, cut into tiles that fit the registers.
//!
//! ```text
//! for a block of rows of C              so that A's block stays in the cache
//!   for a panel of columns of B         as wide as a tile
//!     for a block of 256 of the inner dimension
//!       (copy the panel)                if its columns are strided, it is narrow, or there are many rows
//!       for a tile of rows              C's tile = start + Σ_k a_ik b_kj, one fused chain per entry
//! ```
//!
//! The order of the sums is that of matrixmultiply, so the bits are too: each block of 256 products is
//! summed in order from zero, and the block sums are added to C in order. A is read where it lies, by
//! broadcasts; so is B when its rows are contiguous. No memory is allocated.
//!
//! Sound because offsets never exceed the last entry of a matrix that the caller checked: a tile gets
//! at most the rows and columns that are left, and a copied panel lies in an array of its full size.

use std::mem::MaybeUninit;

use super::gemm::{Start, Strided};

/// Length of the blocks of the inner dimension.
pub const K_BLOCK: usize = 256;
/// Widest panel.
const MAX_COLUMNS: usize = 32;
/// Rows of C that share a panel.
const ROW_BLOCK: usize = 512;
/// From so many rows on, copying a panel costs less than reading it with a stride.
const COPY_FROM: usize = 384;

/// What a tile reads and writes.
#[derive(Clone, Copy)]
pub struct Operands {
    /// First entry of A, and its strides.
    pub a: *const f32,
    pub a_row: usize,
    pub a_col: usize,
    /// First entry of B, and the stride of its rows; the panel's full width is readable.
    pub b: *const f32,
    pub b_row: usize,
    /// First entry of C, and the stride of its rows.
    pub c: *mut f32,
    pub c_row: usize,
    /// What the sums are added to, if anything: first entry and stride of its rows.
    pub start: Option<(*const f32, usize)>,
}

/// Code for one tile on one kind of machine.
pub trait Tile {
    /// Most rows of a tile.
    const ROWS: usize;
    /// Columns of a panel, at most [`MAX_COLUMNS`].
    const COLUMNS: usize;
    /// Side of the blocks that [`Tile::transpose`] turns.
    const LANES: usize;

    /// C's tile of `rows` ≤ ROWS × `columns` ≤ COLUMNS ← start + Σ over `k` products.
    ///
    /// # Safety
    /// The machine has the features, the operands reach as far as they are said to.
    unsafe fn run(rows: usize, columns: usize, k: usize, operands: &Operands);

    /// to[j][i] = from[i][j] for LANES × LANES entries, with the given row strides.
    ///
    /// # Safety
    /// The machine has the features, both blocks are inside their memory.
    unsafe fn transpose(from: *const f32, from_row: usize, to: *mut f32, to_row: usize);
}

/// Room for a copied panel, on the border of a cache line: no vector of it lies in two.
#[repr(align(64))]
struct Panel([MaybeUninit<f32>; K_BLOCK * MAX_COLUMNS]);

/// C ← start + A·B.
///
/// # Safety
/// The machine has the tile's features; shapes, bounds and strides were checked (`gemm::check`).
pub unsafe fn gemm<K: Tile>(
    start: Start<'_, f32>,
    c: Strided<&mut [f32]>,
    a: Strided<&[f32]>,
    b: Strided<&[f32]>,
) {
    // SAFETY: passed on.
    unsafe { sums::<K>(K_BLOCK, start, c, a, b) }
}

/// The same with sums of `block` products.
///
/// # Safety
/// As for [`gemm`]; `block` is at least 1 and at most [`K_BLOCK`].
pub unsafe fn sums<K: Tile>(
    block: usize,
    start: Start<'_, f32>,
    (c, m, n, c_row, _): Strided<&mut [f32]>,
    (a, _, k, a_row, a_col): Strided<&[f32]>,
    (b, _, _, b_row, b_col): Strided<&[f32]>,
) {
    let mut copy = Panel([MaybeUninit::uninit(); K_BLOCK * MAX_COLUMNS]);
    let copy = copy.0.as_mut_ptr().cast::<f32>();
    let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
    for top in (0..m).step_by(ROW_BLOCK) {
        let rows = ROW_BLOCK.min(m - top);
        for left in (0..n).step_by(K::COLUMNS) {
            let columns = K::COLUMNS.min(n - left);
            let direct = b_col == 1 && columns == K::COLUMNS && rows < COPY_FROM;
            // With an inner dimension of 0 there is one empty block, which writes the start.
            for from in (0..k.max(1)).step_by(block) {
                let depth = block.min(k - from);
                // SAFETY: entry (from, left) of B exists if `depth` is not 0; the copy has room for
                // K_BLOCK × COLUMNS; tile (row, left) of C and its rows of A exist.
                unsafe {
                    let panel = b.wrapping_add(from * b_row + left * b_col);
                    if !direct {
                        copy_panel::<K>(copy, panel, (b_row, b_col), (depth, columns));
                    }
                    let (b, b_row) =
                        if direct { (panel, b_row) } else { (copy.cast_const(), K::COLUMNS) };
                    for row in (top..top + rows).step_by(K::ROWS) {
                        let c = c.add(row * c_row + left);
                        let start = match start {
                            _ if from > 0 => Some((c.cast_const(), c_row)),
                            Start::Nothing => None,
                            Start::Old => Some((c.cast_const(), c_row)),
                            Start::Row(values) => Some((values.as_ptr().add(left), 0)),
                        };
                        let a = a.wrapping_add(row * a_row + from * a_col);
                        let operands = Operands { a, a_row, a_col, b, b_row, c, c_row, start };
                        K::run(K::ROWS.min(top + rows - row), columns, depth, &operands);
                    }
                }
            }
        }
    }
}

/// Copies a panel of B into rows of K::COLUMNS, zeros behind the last column.
///
/// # Safety
/// `depth` × `columns` entries from `panel` on are readable with the strides, `copy` has room for
/// `depth` (rounded up to LANES) × COLUMNS.
unsafe fn copy_panel<K: Tile>(
    copy: *mut f32,
    panel: *const f32,
    (row, col): (usize, usize),
    (depth, columns): (usize, usize),
) {
    // SAFETY: i < depth and j < columns throughout; a block is only turned where it is whole.
    unsafe {
        if columns < K::COLUMNS {
            copy.write_bytes(0, depth * K::COLUMNS);
        }
        if col == 1 {
            for i in 0..depth {
                copy.add(i * K::COLUMNS).copy_from_nonoverlapping(panel.add(i * row), columns);
            }
            return;
        }
        let turned = |size: usize| if row == 1 { size - size % K::LANES } else { 0 };
        let (deep, wide) = (turned(depth), turned(columns));
        for j in (0..wide).step_by(K::LANES) {
            for i in (0..deep).step_by(K::LANES) {
                let to = copy.add(i * K::COLUMNS + j);
                K::transpose(panel.add(j * col + i), col, to, K::COLUMNS);
            }
        }
        for i in 0..depth {
            for j in if i < deep { wide } else { 0 }..columns {
                *copy.add(i * K::COLUMNS + j) = *panel.add(i * row + j * col);
            }
        }
    }
}
