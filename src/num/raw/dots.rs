//! C_st ← the product of row s of A and row t of B, in the order of [`dot`](crate::num::dot): eight
//! partial sums over the row, then those pairwise. Eight products at a time, one register each; on
//! AVX-512 those of two rows of A, side by side in one register.
//!
//! Sound because the caller checked that rows and columns of every piece lie inside their slices
//! (`Pieces::check`); a group of fewer than eight rows of B repeats its last one, and only its own columns of C are written.

use std::arch::x86_64::*;

use super::gemm::Strided;
use super::pieces::Pieces;

/// Partial sums of a product, and products at a time.
pub const LANES: usize = 8;

/// # Safety
/// The machine has AVX2 and FMA; shapes, bounds and strides were checked, columns of A and B are
/// contiguous and a multiple of [`LANES`] long.
#[target_feature(enable = "avx2,fma")]
pub unsafe fn dots(
    pieces: Pieces,
    (c, m, n, c_row, _): Strided<&mut [f32]>,
    (a, _, k, a_row, _): Strided<&[f32]>,
    (b, _, _, b_row, _): Strided<&[f32]>,
) {
    for [to, left, right] in pieces.offsets() {
        for from in (0..n).step_by(LANES) {
            let count = LANES.min(n - from);
            // SAFETY: row `from + t` < n of B, row `s` < m of A and C, columns `from` + count ≤ n of C.
            unsafe {
                let (c, a) = (c.as_mut_ptr().add(to + from), a.as_ptr().add(left));
                let rows = eight_rows(b.as_ptr().add(right + from * b_row), b_row, count);
                for s in 0..m {
                    store(c.add(s * c_row), eight(a.add(s * a_row), &rows, k), count);
                }
            }
        }
    }
}

/// The same on AVX-512, two rows of A at a time.
///
/// # Safety
/// As for [`dots`]; the machine has AVX-512 F, DQ and VL too.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn dots_in_pairs(
    pieces: Pieces,
    (c, m, n, c_row, _): Strided<&mut [f32]>,
    (a, _, k, a_row, _): Strided<&[f32]>,
    (b, _, _, b_row, _): Strided<&[f32]>,
) {
    for [to, left, right] in pieces.offsets() {
        for from in (0..n).step_by(LANES) {
            let count = LANES.min(n - from);
            // SAFETY: as in `dots`; a pair is only taken where row s + 1 < m exists.
            unsafe {
                let (c, a) = (c.as_mut_ptr().add(to + from), a.as_ptr().add(left));
                let rows = eight_rows(b.as_ptr().add(right + from * b_row), b_row, count);
                for s in (0..m).step_by(2) {
                    let (row, to) = (a.add(s * a_row), c.add(s * c_row));
                    if s + 1 == m {
                        store(to, eight(row, &rows, k), count);
                    } else {
                        let sums = twice_eight(row, row.add(a_row), &rows, k);
                        store(to, _mm512_castps512_ps256(sums), count);
                        store(to.add(c_row), _mm512_extractf32x8_ps::<1>(sums), count);
                    }
                }
            }
        }
    }
}

/// The first `count` rows from `b` on; the last one stands for those that are missing.
///
/// # Safety
/// There are so many rows, at least one.
#[inline(always)]
unsafe fn eight_rows(b: *const f32, b_row: usize, count: usize) -> [*const f32; LANES] {
    // SAFETY: t < count.
    std::array::from_fn(|t| unsafe { b.add(t.min(count - 1) * b_row) })
}

/// Writes the first `count` of eight numbers.
///
/// # Safety
/// The machine has AVX2 and FMA, `count` ≤ [`LANES`] numbers from `to` on are writable.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn store(to: *mut f32, sums: __m256, count: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if count == LANES {
            _mm256_storeu_ps(to, sums);
        } else {
            let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), lanes);
            _mm256_maskstore_ps(to, mask, sums);
        }
    }
}

/// Products of `first` and of `second` with eight rows.
///
/// # Safety
/// The machine has AVX-512 F, DQ and VL, `k` numbers are readable everywhere.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
#[inline]
unsafe fn twice_eight(
    first: *const f32,
    second: *const f32,
    rows: &[*const f32; LANES],
    k: usize,
) -> __m512 {
    let mut sums = [_mm512_setzero_ps(); LANES];
    for i in (0..k).step_by(LANES) {
        // SAFETY: i + LANES ≤ k.
        unsafe {
            let x = _mm512_castps256_ps512(_mm256_loadu_ps(first.add(i)));
            let x = _mm512_insertf32x8::<1>(x, _mm256_loadu_ps(second.add(i)));
            for t in 0..LANES {
                let y = _mm512_broadcast_f32x8(_mm256_loadu_ps(rows[t].add(i)));
                sums[t] = _mm512_fmadd_ps(x, y, sums[t]);
            }
        }
    }
    // As in `eight`, in each half; the quarters of the register belong to the rows in turn.
    let halves = |x, y| {
        let (low, high) = (_mm512_shuffle_f32x4::<0x88>(x, y), _mm512_shuffle_f32x4::<0xdd>(x, y));
        _mm512_add_ps(low, high)
    };
    let quarters = |x, y| {
        let (x, y) = (_mm512_castps_pd(x), _mm512_castps_pd(y));
        let (low, high) = (_mm512_unpacklo_pd(x, y), _mm512_unpackhi_pd(x, y));
        _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high))
    };
    let low = quarters(halves(sums[0], sums[4]), halves(sums[1], sums[5]));
    let high = quarters(halves(sums[2], sums[6]), halves(sums[3], sums[7]));
    let even = _mm512_shuffle_ps::<0x88>(low, high);
    let mixed = _mm512_add_ps(even, _mm512_shuffle_ps::<0xdd>(low, high));
    _mm512_shuffle_f32x4::<0xd8>(mixed, mixed)
}

/// Products of `a` with eight rows.
///
/// # Safety
/// The machine has AVX2 and FMA, `k` numbers are readable everywhere.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn eight(a: *const f32, rows: &[*const f32; LANES], k: usize) -> __m256 {
    let mut sums = [_mm256_setzero_ps(); LANES];
    for i in (0..k).step_by(LANES) {
        // SAFETY: i + LANES ≤ k.
        unsafe {
            let x = _mm256_loadu_ps(a.add(i));
            for t in 0..LANES {
                sums[t] = _mm256_fmadd_ps(x, _mm256_loadu_ps(rows[t].add(i)), sums[t]);
            }
        }
    }
    // With lanes a … h of a sum: a+e, b+f, c+g, d+h; then (a+e)+(c+g), (b+f)+(d+h); then their sum.
    let halves = |x, y| {
        let (low, high) =
            (_mm256_permute2f128_ps::<0x20>(x, y), _mm256_permute2f128_ps::<0x31>(x, y));
        _mm256_add_ps(low, high)
    };
    let quarters = |x, y| {
        let (x, y) = (_mm256_castps_pd(x), _mm256_castps_pd(y));
        let (low, high) = (_mm256_unpacklo_pd(x, y), _mm256_unpackhi_pd(x, y));
        _mm256_add_ps(_mm256_castpd_ps(low), _mm256_castpd_ps(high))
    };
    let low = quarters(halves(sums[0], sums[4]), halves(sums[1], sums[5]));
    let high = quarters(halves(sums[2], sums[6]), halves(sums[3], sums[7]));
    _mm256_add_ps(_mm256_shuffle_ps::<0x88>(low, high), _mm256_shuffle_ps::<0xdd>(low, high))
}
