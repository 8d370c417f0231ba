//! The tile for AVX2 and FMA: 6 rows × 16 columns, two registers a row, 12 of the 16 registers hold
//! sums, two hold B, one the broadcast number of A.
//!
//! Sound because B's panel is readable in full width (`Operands::b`), a full tile of C has 16 columns,
//! and a narrower one goes through an array on the stack. The features are the caller's promise.

use std::arch::x86_64::*;

use super::tiles::{Operands, Tile};

const LANES: usize = 8;

pub struct Avx2;

impl Tile for Avx2 {
    const ROWS: usize = 6;
    const COLUMNS: usize = 2 * LANES;
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn run(rows: usize, columns: usize, k: usize, o: &Operands) {
        // SAFETY: the caller's promise.
        unsafe {
            match rows {
                6 => tile::<6>(columns, k, o),
                5 => tile::<5>(columns, k, o),
                4 => tile::<4>(columns, k, o),
                3 => tile::<3>(columns, k, o),
                2 => tile::<2>(columns, k, o),
                _ => tile::<1>(columns, k, o),
            }
        }
    }

    #[target_feature(enable = "avx2")]
    unsafe fn transpose(from: *const f32, from_row: usize, to: *mut f32, to_row: usize) {
        // SAFETY: 8 rows of 8 numbers are readable and writable.
        unsafe {
            let mut rows = [_mm256_setzero_ps(); LANES];
            for (i, row) in rows.iter_mut().enumerate() {
                *row = _mm256_loadu_ps(from.add(i * from_row));
            }
            for (j, column) in turned(rows).into_iter().enumerate() {
                _mm256_storeu_ps(to.add(j * to_row), column);
            }
        }
    }
}

/// The transposed block: pairs, then fours inside the lanes, then the lanes themselves.
#[target_feature(enable = "avx2")]
#[inline]
fn turned(r: [__m256; LANES]) -> [__m256; LANES] {
    let mut pairs = r;
    for i in (0..LANES).step_by(2) {
        pairs[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    let mut columns = pairs;
    for (c, half, high) in [(0, 0, false), (1, 0, true), (2, 1, false), (3, 1, true)] {
        let four = |g: usize| {
            let (a, b) = (_mm256_castps_pd(pairs[g + half]), _mm256_castps_pd(pairs[g + 2 + half]));
            _mm256_castpd_ps(if high { _mm256_unpackhi_pd(a, b) } else { _mm256_unpacklo_pd(a, b) })
        };
        let (top, bottom) = (four(0), four(4));
        columns[c] = _mm256_permute2f128_ps::<0x20>(top, bottom);
        columns[4 + c] = _mm256_permute2f128_ps::<0x31>(top, bottom);
    }
    columns
}

/// # Safety
/// As for [`Tile::run`], with exactly ROWS rows.
#[target_feature(enable = "avx2,fma")]
unsafe fn tile<const ROWS: usize>(columns: usize, k: usize, o: &Operands) {
    // SAFETY: see the head of the file.
    unsafe {
        let mut sums = [[_mm256_setzero_ps(); 2]; ROWS];
        let (mut a, mut b) = (o.a, o.b);
        for _ in 0..k {
            let row = [_mm256_loadu_ps(b), _mm256_loadu_ps(b.add(LANES))];
            for (i, sums) in sums.iter_mut().enumerate() {
                let x = _mm256_set1_ps(*a.add(i * o.a_row));
                sums[0] = _mm256_fmadd_ps(x, row[0], sums[0]);
                sums[1] = _mm256_fmadd_ps(x, row[1], sums[1]);
            }
            a = a.wrapping_add(o.a_col);
            b = b.wrapping_add(o.b_row);
        }
        for (i, &sums) in sums.iter().enumerate() {
            let c = o.c.add(i * o.c_row);
            let start = o.start.map(|(start, row)| start.add(i * row));
            if columns == Avx2::COLUMNS {
                for (v, sum) in sums.into_iter().enumerate() {
                    let old = start.map(|s| _mm256_loadu_ps(s.add(v * LANES)));
                    let value = old.map_or(sum, |old| _mm256_add_ps(old, sum));
                    _mm256_storeu_ps(c.add(v * LANES), value);
                }
            } else {
                let mut values = [0.0; Avx2::COLUMNS];
                _mm256_storeu_ps(values.as_mut_ptr(), sums[0]);
                _mm256_storeu_ps(values.as_mut_ptr().add(LANES), sums[1]);
                for (j, sum) in values.into_iter().take(columns).enumerate() {
                    *c.add(j) = start.map_or(sum, |s| *s.add(j) + sum);
                }
            }
        }
    }
}
