//! One product for many pieces of the same matrices: C_ij ← A_ij · B_ij, as for the heads of all
//! instances of a batch. Such products are so small that checks and choices take longer than sums, so
//! they are made once for all pieces.
//!
//! Sound because [`Pieces::check`] found the last piece inside its slices, and no other reaches
//! further. The features are the caller's promise.

#[cfg(any(target_arch = "x86_64", test))]
use super::gemm::{Start, Strided};
#[cfg(target_arch = "x86_64")]
use super::gemm::{check, sizes};
#[cfg(any(target_arch = "x86_64", test))]
use super::tiles::{self, K_BLOCK, Operands, Tile};

/// Where the pieces lie.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    /// Pieces (i, j) with i and j below these.
    pub counts: [usize; 2],
    /// Piece (i, j) begins i · s₀ + j · s₁ entries behind the first one; steps of C, A and B.
    pub steps: [[usize; 2]; 3],
}

impl Pieces {
    /// The matrices themselves.
    pub const ONE: Pieces = Pieces { counts: [1; 2], steps: [[0; 2]; 3] };

    /// Where each piece begins in C, A and B.
    #[inline(always)]
    pub fn offsets(self) -> impl Iterator<Item = [usize; 3]> {
        let [rows, columns] = self.counts;
        (0..rows).flat_map(move |i| (0..columns).map(move |j| self.offset(i, j)))
    }

    #[inline(always)]
    fn offset(&self, i: usize, j: usize) -> [usize; 3] {
        self.steps.map(|[s, t]| i * s + j * t)
    }

    /// Panics unless `gemm::check` passes for every piece.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn check<T>(
        &self,
        c: &Strided<&mut [T]>,
        a: &Strided<&[T]>,
        b: &Strided<&[T]>,
        turned: bool,
    ) {
        let [Some(i), Some(j)] = self.counts.map(|count| count.checked_sub(1)) else {
            return;
        };
        let of = |(len, rows, cols, row, col): Strided<usize>, offset: usize| {
            (len.saturating_sub(offset), rows, cols, row, col)
        };
        let [to, left, right] = self.offset(i, j);
        let (len, rows, cols, row, col) = sizes(b);
        let b = if turned { (len, cols, rows, col, row) } else { (len, rows, cols, row, col) };
        let c = (c.0.len(), c.1, c.2, c.3, c.4);
        check::<T>(&Start::Nothing, of(c, to), of(sizes(a), left), of(b, right));
    }
}

/// C_ij ← A_ij · B_ij with the bits of [`tiles::gemm`].
///
/// # Safety
/// The machine has the tile's features; [`Pieces::check`] passed.
#[cfg(any(target_arch = "x86_64", test))]
pub unsafe fn products<K: Tile>(
    pieces: Pieces,
    (c, m, n, c_row, _): Strided<&mut [f32]>,
    (a, _, k, a_row, a_col): Strided<&[f32]>,
    (b, _, _, b_row, b_col): Strided<&[f32]>,
) {
    let direct = b_col == 1 && n.is_multiple_of(K::COLUMNS) && k <= K_BLOCK;
    for [to, left, right] in pieces.offsets() {
        if !direct {
            let c = (&mut c[to..], m, n, c_row, 1);
            let (a, b) = ((&a[left..], m, k, a_row, a_col), (&b[right..], k, n, b_row, b_col));
            // SAFETY: the piece was checked.
            unsafe { tiles::gemm::<K>(Start::Nothing, c, a, b) };
            continue;
        }
        for column in (0..n).step_by(K::COLUMNS) {
            for row in (0..m).step_by(K::ROWS) {
                // SAFETY: tile (row, column) of the piece and its rows of A exist, and so do
                // K::COLUMNS columns of B.
                unsafe {
                    let operands = Operands {
                        a: a.as_ptr().add(left + row * a_row),
                        a_row,
                        a_col,
                        b: b.as_ptr().add(right + column),
                        b_row,
                        c: c.as_mut_ptr().add(to + row * c_row + column),
                        c_row,
                        start: None,
                    };
                    K::run(K::ROWS.min(m - row), K::COLUMNS, k, &operands);
                }
            }
        }
    }
}
