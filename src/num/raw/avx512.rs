//! The tile for AVX-512: 8 rows × 32 columns, two registers a row, 16 of the 32 registers hold sums.
//!
//! A step of k loads two vectors of B, broadcasts 8 numbers of A and does 16 fused multiply-adds, twice
//! what the two units need to stay busy for their latency of 4 cycles.
//!
//! Sound because all loads and stores stay within `rows` rows and, by masks, `columns` columns of C,
//! and B's panel is readable in full width (`Operands::b`). The features are the caller's promise.

use std::arch::x86_64::*;

use super::tiles::{Operands, Tile};

const LANES: usize = 16;

pub struct Avx512;

impl Tile for Avx512 {
    const ROWS: usize = 8;
    const COLUMNS: usize = 2 * LANES;
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn run(rows: usize, columns: usize, k: usize, o: &Operands) {
        // SAFETY: the caller's promise.
        unsafe {
            if columns > LANES {
                by_rows::<2>(rows, columns, k, o);
            } else {
                by_rows::<1>(rows, columns, k, o);
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn transpose(from: *const f32, from_row: usize, to: *mut f32, to_row: usize) {
        // SAFETY: 16 rows of 16 numbers are readable and writable.
        unsafe {
            let mut rows = [_mm512_setzero_ps(); LANES];
            for (i, row) in rows.iter_mut().enumerate() {
                *row = _mm512_loadu_ps(from.add(i * from_row));
                // Weights come from far: the block after the next one.
                _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(i * from_row + 2 * LANES).cast());
            }
            for (j, column) in turned(rows).into_iter().enumerate() {
                _mm512_storeu_ps(to.add(j * to_row), column);
            }
        }
    }
}

/// The transposed block: pairs, then fours inside the lanes, then the lanes themselves.
#[target_feature(enable = "avx512f")]
#[inline]
fn turned(r: [__m512; LANES]) -> [__m512; LANES] {
    let mut pairs = r;
    for i in (0..LANES).step_by(2) {
        pairs[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        pairs[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    // fours[4g + c]: in lane l the numbers of column 4l + c from rows 4g … 4g + 3.
    let mut fours = pairs;
    for g in (0..LANES).step_by(4) {
        let pair = |a: usize, b: usize, high: bool| {
            let (a, b) = (_mm512_castps_pd(pairs[g + a]), _mm512_castps_pd(pairs[g + b]));
            _mm512_castpd_ps(if high { _mm512_unpackhi_pd(a, b) } else { _mm512_unpacklo_pd(a, b) })
        };
        fours[g] = pair(0, 2, false);
        fours[g + 1] = pair(0, 2, true);
        fours[g + 2] = pair(1, 3, false);
        fours[g + 3] = pair(1, 3, true);
    }
    let mut columns = fours;
    for c in 0..4 {
        let low = _mm512_shuffle_f32x4::<0x44>(fours[c], fours[4 + c]);
        let high = _mm512_shuffle_f32x4::<0xee>(fours[c], fours[4 + c]);
        let low2 = _mm512_shuffle_f32x4::<0x44>(fours[8 + c], fours[12 + c]);
        let high2 = _mm512_shuffle_f32x4::<0xee>(fours[8 + c], fours[12 + c]);
        columns[c] = _mm512_shuffle_f32x4::<0x88>(low, low2);
        columns[4 + c] = _mm512_shuffle_f32x4::<0xdd>(low, low2);
        columns[8 + c] = _mm512_shuffle_f32x4::<0x88>(high, high2);
        columns[12 + c] = _mm512_shuffle_f32x4::<0xdd>(high, high2);
    }
    columns
}

/// # Safety
/// As for [`Tile::run`], with `columns` ≤ VECTORS · LANES.
#[inline(always)]
unsafe fn by_rows<const VECTORS: usize>(rows: usize, columns: usize, k: usize, o: &Operands) {
    // SAFETY: passed on.
    unsafe {
        match rows {
            8 => tile::<8, VECTORS>(columns, k, o),
            7 => tile::<7, VECTORS>(columns, k, o),
            6 => tile::<6, VECTORS>(columns, k, o),
            5 => tile::<5, VECTORS>(columns, k, o),
            4 => tile::<4, VECTORS>(columns, k, o),
            3 => tile::<3, VECTORS>(columns, k, o),
            2 => tile::<2, VECTORS>(columns, k, o),
            _ => tile::<1, VECTORS>(columns, k, o),
        }
    }
}

/// # Safety
/// As for [`Tile::run`], with exactly ROWS rows and `columns` ≤ VECTORS · LANES.
#[target_feature(enable = "avx512f")]
unsafe fn tile<const ROWS: usize, const VECTORS: usize>(columns: usize, k: usize, o: &Operands) {
    // SAFETY: see the head of the file.
    unsafe {
        let mut sums = [[_mm512_setzero_ps(); VECTORS]; ROWS];
        // The tile of C is wanted after the sums: it can come from far away until then.
        for i in 0..ROWS {
            for v in 0..VECTORS {
                _mm_prefetch::<_MM_HINT_T0>(o.c.wrapping_add(i * o.c_row + v * LANES).cast());
            }
        }
        let (mut a, mut b) = (o.a, o.b);
        for _ in 0..k {
            let mut row = [_mm512_setzero_ps(); VECTORS];
            for (v, row) in row.iter_mut().enumerate() {
                *row = _mm512_loadu_ps(b.add(v * LANES));
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let x = _mm512_set1_ps(*a.add(i * o.a_row));
                for v in 0..VECTORS {
                    sums[v] = _mm512_fmadd_ps(x, row[v], sums[v]);
                }
            }
            a = a.wrapping_add(o.a_col);
            b = b.wrapping_add(o.b_row);
        }
        // Loops of their own: in one loop with the choice inside, the sums go through the stack.
        let masks: [__mmask16; VECTORS] = std::array::from_fn(|v| first(columns - v * LANES));
        if let Some((start, row)) = o.start {
            for i in 0..ROWS {
                for v in 0..VECTORS {
                    let old = _mm512_maskz_loadu_ps(masks[v], start.add(i * row + v * LANES));
                    sums[i][v] = _mm512_add_ps(old, sums[i][v]);
                }
            }
        }
        for i in 0..ROWS {
            for v in 0..VECTORS {
                _mm512_mask_storeu_ps(o.c.add(i * o.c_row + v * LANES), masks[v], sums[i][v]);
            }
        }
    }
}

/// A mask of the first `count` lanes.
#[inline(always)]
fn first(count: usize) -> __mmask16 {
    if count >= LANES { !0 } else { (1 << count) - 1 }
}
