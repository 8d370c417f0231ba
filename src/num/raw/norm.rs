//! Layer norm on AVX-512, four rows at a time: the sums of one row are a chain of additions that waits
//! for itself, those of four rows keep the unit busy. The compiler alone makes pairs of numbers of the
//! sums, not whole registers.
//!
//! Same bits as the loops of `nn/layernorm.rs`: sums in the order of [`dot`](crate::num::dot) (eight
//! partial sums, then those pairwise), every other operation as it stands there.
//!
//! Sound because [`Rows::check`] found every slice as long as rows and width say, and the width a
//! multiple of [`LANES`]: loads and stores stay inside. The features are the caller's promise.

use std::arch::x86_64::*;

/// Numbers in a register; rows of whole registers only.
pub const LANES: usize = 16;
/// Partial sums.
const PARTIAL: usize = 8;
/// Rows at a time.
const ROWS: usize = 4;

/// Sizes of a call.
#[derive(Clone, Copy)]
struct Rows {
    count: usize,
    width: usize,
}

impl Rows {
    /// None where the slices do not fit, or rows are not made of whole registers.
    fn check(rstd: usize, matrices: &[usize], vectors: &[usize]) -> Option<Self> {
        let (count, width) = (rstd, *vectors.first()?);
        let fits = width > 0
            && width.is_multiple_of(LANES)
            && vectors.iter().all(|&len| len == width)
            && matrices.iter().all(|&len| len == count * width);
        fits.then_some(Rows { count, width })
    }
}

/// out = γ ∘ x̂ + β, x̂ and 1/√(var + ε); false, and nothing done, where the sizes do not suit.
///
/// # Safety
/// The machine has AVX-512 F, DQ and VL, AVX2 and FMA.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn forward(
    (out, xhat, rstd): (&mut [f32], &mut [f32], &mut [f32]),
    x: &[f32],
    (gain, shift): (&[f32], &[f32]),
    epsilon: f32,
) -> bool {
    let sizes = [out.len(), xhat.len(), x.len()];
    let Some(rows) = Rows::check(rstd.len(), &sizes, &[gain.len(), shift.len()]) else {
        return false;
    };
    let (out, xhat, rstd) = (out.as_mut_ptr(), xhat.as_mut_ptr(), rstd.as_mut_ptr());
    let weights = (gain.as_ptr(), shift.as_ptr());
    let whole = rows.count - rows.count % ROWS;
    for i in (0..whole).step_by(ROWS).chain(whole..rows.count) {
        let at = i * rows.width;
        // SAFETY: row i, or ROWS rows from it on, of matrices that `check` found long enough.
        unsafe {
            let (to, x) = ((out.add(at), xhat.add(at), rstd.add(i)), x.as_ptr().add(at));
            match i < whole {
                true => forward_rows::<ROWS>(to, x, weights, rows.width, epsilon),
                false => forward_rows::<1>(to, x, weights, rows.width, epsilon),
            }
        }
    }
    true
}

/// # Safety
/// As for [`forward`]; R rows of `width` numbers are there.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
unsafe fn forward_rows<const R: usize>(
    (out, xhat, rstd): (*mut f32, *mut f32, *mut f32),
    x: *const f32,
    (gain, shift): (*const f32, *const f32),
    width: usize,
    epsilon: f32,
) {
    let scale = 1.0 / width as f32;
    let (mut sums, mut squares) = ([_mm256_setzero_ps(); R], [_mm256_setzero_ps(); R]);
    // SAFETY: r < R and k < width throughout.
    unsafe {
        for k in (0..width).step_by(PARTIAL) {
            for r in 0..R {
                sums[r] = _mm256_add_ps(sums[r], _mm256_loadu_ps(x.add(r * width + k)));
            }
        }
        let mut means = [0.0; R];
        for r in 0..R {
            means[r] = fold(sums[r]) * scale;
        }
        for k in (0..width).step_by(PARTIAL) {
            for r in 0..R {
                let v = _mm256_loadu_ps(x.add(r * width + k));
                let h = _mm256_sub_ps(v, _mm256_set1_ps(means[r]));
                squares[r] = _mm256_fmadd_ps(h, h, squares[r]);
            }
        }
        let mut factors = [0.0; R];
        for r in 0..R {
            factors[r] = 1.0 / (fold(squares[r]) * scale + epsilon).sqrt();
            rstd.add(r).write(factors[r]);
        }
        for k in (0..width).step_by(LANES) {
            let (gain, shift) = (_mm512_loadu_ps(gain.add(k)), _mm512_loadu_ps(shift.add(k)));
            for r in 0..R {
                let v = _mm512_loadu_ps(x.add(r * width + k));
                let h = _mm512_sub_ps(v, _mm512_set1_ps(means[r]));
                let h = _mm512_mul_ps(h, _mm512_set1_ps(factors[r]));
                _mm512_storeu_ps(xhat.add(r * width + k), h);
                _mm512_storeu_ps(out.add(r * width + k), _mm512_fmadd_ps(h, gain, shift));
            }
        }
    }
}

/// dinp, and dγ += Σ dout ∘ x̂, dβ += Σ dout; false, and nothing done, where the sizes do not suit.
///
/// # Safety
/// As for [`forward`].
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn backward(
    dinp: &mut [f32],
    (dgain, dshift): (&mut [f32], &mut [f32]),
    dout: &[f32],
    gain: &[f32],
    (xhat, rstd): (&[f32], &[f32]),
) -> bool {
    let sizes = [dinp.len(), dout.len(), xhat.len()];
    let vectors = [gain.len(), dgain.len(), dshift.len()];
    let Some(rows) = Rows::check(rstd.len(), &sizes, &vectors) else {
        return false;
    };
    let sums = (dgain.as_mut_ptr(), dshift.as_mut_ptr());
    let dinp = dinp.as_mut_ptr();
    let whole = rows.count - rows.count % ROWS;
    for i in (0..whole).step_by(ROWS).chain(whole..rows.count) {
        let at = i * rows.width;
        // SAFETY: row i, or ROWS rows from it on, of matrices that `check` found long enough.
        unsafe {
            let (dinp, dout) = (dinp.add(at), dout.as_ptr().add(at));
            let saved = (xhat.as_ptr().add(at), rstd.as_ptr().add(i));
            match i < whole {
                true => backward_rows::<ROWS>(dinp, sums, dout, gain.as_ptr(), saved, rows.width),
                false => backward_rows::<1>(dinp, sums, dout, gain.as_ptr(), saved, rows.width),
            }
        }
    }
    true
}

/// # Safety
/// As for [`backward`]; R rows of `width` numbers are there.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
unsafe fn backward_rows<const R: usize>(
    dinp: *mut f32,
    (dgain, dshift): (*mut f32, *mut f32),
    dout: *const f32,
    gain: *const f32,
    (xhat, rstd): (*const f32, *const f32),
    width: usize,
) {
    let scale = 1.0 / width as f32;
    let (mut sums, mut products) = ([_mm256_setzero_ps(); R], [_mm256_setzero_ps(); R]);
    // SAFETY: r < R and k < width throughout.
    unsafe {
        for k in (0..width).step_by(PARTIAL) {
            let gain = _mm256_loadu_ps(gain.add(k));
            let mut dg = _mm256_loadu_ps(dgain.add(k));
            let mut ds = _mm256_loadu_ps(dshift.add(k));
            for r in 0..R {
                let d = _mm256_loadu_ps(dout.add(r * width + k));
                let h = _mm256_loadu_ps(xhat.add(r * width + k));
                // What the forward pass kept has left the near caches since.
                _mm_prefetch::<_MM_HINT_T0>(xhat.wrapping_add((R + r) * width + k).cast());
                dg = _mm256_add_ps(dg, _mm256_mul_ps(d, h));
                ds = _mm256_add_ps(ds, d);
                let g = _mm256_mul_ps(d, gain);
                sums[r] = _mm256_add_ps(sums[r], g);
                products[r] = _mm256_fmadd_ps(g, h, products[r]);
            }
            _mm256_storeu_ps(dgain.add(k), dg);
            _mm256_storeu_ps(dshift.add(k), ds);
        }
        let (mut means, mut projections) = ([0.0; R], [0.0; R]);
        for r in 0..R {
            means[r] = fold(sums[r]) * scale;
            projections[r] = fold(products[r]) * scale;
        }
        for k in (0..width).step_by(LANES) {
            let gain = _mm512_loadu_ps(gain.add(k));
            for r in 0..R {
                let g = _mm512_mul_ps(_mm512_loadu_ps(dout.add(r * width + k)), gain);
                let h = _mm512_loadu_ps(xhat.add(r * width + k));
                let along = _mm512_mul_ps(h, _mm512_set1_ps(projections[r]));
                let v = _mm512_sub_ps(_mm512_sub_ps(g, _mm512_set1_ps(means[r])), along);
                let v = _mm512_mul_ps(v, _mm512_set1_ps(*rstd.add(r)));
                _mm512_storeu_ps(dinp.add(r * width + k), v);
            }
        }
    }
}

/// The partial sums a … h as ((a+e)+(c+g)) + ((b+f)+(d+h)).
#[target_feature(enable = "avx2,fma")]
#[inline]
fn fold(sums: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps::<1>(sums));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}
