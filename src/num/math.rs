//! Elementary functions as straight-line polynomials.
//!
//! No branch, no table, no call: a loop over a slice vectorises, and since only exactly rounded
//! operations are used the bits are the same everywhere. The coefficients interpolate the function
//! at Chebyshev nodes of the stated interval, computed with 60 digits.

#![allow(clippy::excessive_precision, clippy::approx_constant)] // coefficients are data

use super::Real;

/// c₀ + x(c₁ + x(c₂ + …)), fused.
macro_rules! horner {
    ($x:expr, $c:expr) => {{
        let mut sum = $c[$c.len() - 1];
        let mut i = $c.len() - 1;
        while i > 0 {
            i -= 1;
            sum = sum.mul_add($x, $c[i]);
        }
        sum
    }};
}

macro_rules! elementary {
    (
        $t:ident, $bits:ident, $int:ident,
        mantissa $mant:literal, bias $bias:literal,
        exp_range $lo:literal $hi:literal,
        ln2 $ln2_hi:literal $ln2_lo:literal,
        sqrt_half $sqrt_half:literal,
        erf_one $erf_one:literal,
        exp $exp:expr, ln $ln:expr, ln_1p $ln_1p:expr, tanh $tanh:expr, erf $erf:expr, erfc $erfc:expr
    ) => {
        const _: () = {
            /// 1.5 · 2^mantissa: adding and subtracting it rounds to the nearest integer, and the
            /// low bits of the sum are that integer.
            const MAGIC: $t = 1.5 * ((1 as $bits) << $mant) as $t;

            /// 2^n from the exponent bits; n in the normal range.
            #[inline(always)]
            fn pow2(n: $int) -> $t {
                $t::from_bits(((n + $bias) << $mant) as $bits)
            }

            /// x = n·ln 2 + r with |r| ≤ ½ ln 2; returns n and e^r − 1.
            #[inline(always)]
            fn reduce(x: $t) -> ($int, $t) {
                const C: &[$t] = &$exp;
                let shifted = x.mul_add(std::$t::consts::LOG2_E, MAGIC);
                let n = shifted - MAGIC;
                let r = n.mul_add(-$ln2_lo, n.mul_add(-$ln2_hi, x));
                let int = shifted.to_bits().wrapping_sub(MAGIC.to_bits()) as $int;
                (int, (r * r).mul_add(horner!(r, C), r))
            }

            /// eˣ as an unevaluated sum of two numbers; NaN passes both comparisons and stays NaN.
            #[inline(always)]
            fn exp_parts(x: $t) -> ($t, $t) {
                let x = if x < $lo { $lo } else { x };
                let x = if x > $hi { $hi } else { x };
                let (n, em1) = reduce(x);
                let hi = 1.0 + em1;
                let lo = em1 - (hi - 1.0);
                // Two factors reach the subnormals and overflow without a branch.
                let half = n >> 1;
                let (a, b) = (pow2(half), pow2(n - half));
                ((hi * a) * b, (lo * a) * b)
            }

            /// ln(1 + y + tail) for y ∈ [0, 1]: 2·artanh(y / (2 + y)), and the tail to first order.
            #[inline(always)]
            fn ln_1p_unit(y: $t, tail: $t) -> $t {
                const C: &[$t] = &$ln_1p;
                let s = y / (2.0 + y);
                let z = s * s;
                // 2s = y − s·y keeps the rounding of s away from the leading term.
                let rest = (s * z).mul_add(horner!(z, C), tail * (1.0 - 0.5 * y));
                s.mul_add(-y, rest) + y
            }

            impl Real for $t {
                const ZERO: Self = 0.0;
                const ONE: Self = 1.0;
                const NEG_INFINITY: Self = <$t>::NEG_INFINITY;
                const MAX: Self = <$t>::MAX;
                const NAME: &'static str = stringify!($t);
                const BYTES: usize = size_of::<$t>();

                #[inline(always)]
                fn from_f64(x: f64) -> Self {
                    x as $t
                }
                #[inline(always)]
                fn to_f64(self) -> f64 {
                    self as f64
                }
                fn write_le(self, out: &mut Vec<u8>) {
                    out.extend_from_slice(&self.to_le_bytes());
                }
                #[inline(always)]
                fn mul_add(self, a: Self, b: Self) -> Self {
                    <$t>::mul_add(self, a, b)
                }
                #[inline(always)]
                fn sqrt(self) -> Self {
                    <$t>::sqrt(self)
                }
                #[inline(always)]
                fn abs(self) -> Self {
                    <$t>::abs(self)
                }
                #[inline(always)]
                fn is_finite(self) -> bool {
                    <$t>::is_finite(self)
                }

                #[inline(always)]
                fn exp_parts(self) -> (Self, Self) {
                    exp_parts(self)
                }

                #[inline(always)]
                fn ln(self) -> Self {
                    const C: &[$t] = &$ln;
                    let tiny = self < <$t>::MIN_POSITIVE;
                    let x = if tiny { self * ((1 as $bits) << $mant) as $t } else { self };
                    // x = 2^e · m with m ∈ [√½, √2).
                    let base = (x.to_bits() as $int).wrapping_sub($sqrt_half);
                    let e = (base >> $mant) - if tiny { $mant } else { 0 };
                    let m = <$t>::from_bits(
                        (x.to_bits() as $int).wrapping_sub((base >> $mant) << $mant) as $bits,
                    );
                    let f = m - 1.0;
                    let s = f / (2.0 + f);
                    let z = s * s;
                    let half_square = 0.5 * f * f;
                    let tail = s * (half_square + z * horner!(z, C));
                    let e = e as $t;
                    let y = e * $ln2_hi - ((half_square - (tail + e * $ln2_lo)) - f);
                    let y = if self == <$t>::INFINITY { self } else { y };
                    let y = if self == 0.0 { <$t>::NEG_INFINITY } else { y };
                    if self < 0.0 || self.is_nan() { <$t>::NAN } else { y }
                }

                #[inline(always)]
                fn tanh(self) -> Self {
                    const SMALL: &[$t] = &$tanh;
                    let a = self.abs();
                    // tanh = (e^2a − 1)/(e^2a + 1); from a = 22 on it is 1 in both precisions.
                    let (n, em1) = reduce(2.0 * if a > 22.0 { 22.0 } else { a });
                    let s = pow2(n);
                    let t = s.mul_add(em1, s - 1.0);
                    // Near 0 the quotient cancels; there the odd series is used.
                    let z = self * self;
                    let small = (self * z).mul_add(horner!(z, SMALL), self);
                    let large = (t / (t + 2.0)).copysign(self);
                    if a < 0.6 || self.is_nan() { small } else { large }
                }

                #[inline(always)]
                fn erf(self) -> Self {
                    const SMALL: &[$t] = &$erf;
                    const LARGE: &[$t] = &$erfc;
                    let a = self.abs();
                    let z = self * self;
                    let small = self.mul_add(horner!(z, SMALL), self);
                    // erfc(a)·e^(a²) is smooth in (a − 2)/(a + 2).
                    let b = if a > $erf_one { $erf_one } else { a };
                    let t = (b - 2.0) / (b + 2.0);
                    let large = 1.0 - horner!(t, LARGE) * Real::exp(-(b * b));
                    if a < 1.0 || self.is_nan() { small } else { large.copysign(self) }
                }

                #[inline(always)]
                fn sigmoid(self) -> Self {
                    let (e, e_lo) = exp_parts(-self.abs());
                    let negative = self < 0.0;
                    let (num, num_lo) = if negative { (e, e_lo) } else { (1.0, 0.0) };
                    let den = 1.0 + e;
                    let den_lo = (e - (den - 1.0)) + e_lo;
                    let q = num / den;
                    // One Newton step on the quotient; 1/den is q or 1 − q.
                    let rest = (-q).mul_add(den, num) + (num_lo - q * den_lo);
                    rest.mul_add(if negative { 1.0 - q } else { q }, q)
                }

                #[inline(always)]
                fn softplus(self) -> Self {
                    let positive = if self > 0.0 { self } else { 0.0 };
                    let (e, e_lo) = exp_parts(-self.abs());
                    positive + ln_1p_unit(e, e_lo)
                }

                #[inline(always)]
                fn ln_1p(self, tail: Self) -> Self {
                    let small = ln_1p_unit(self, tail);
                    let sum = 1.0 + self;
                    // What the rounding of 1 + x left out, to first order.
                    let rest =
                        (if self > 1.0 { 1.0 - (sum - self) } else { self - (sum - 1.0) }) + tail;
                    let large = Real::ln(sum) + rest / sum;
                    if self <= 1.0 { small } else { large }
                }
            }
        };
    };
}

elementary!(
    f32, u32, i32,
    mantissa 23, bias 127,
    exp_range -104.0 89.0,
    ln2 6.931_471_8e-1 -1.904_654_2e-9,
    sqrt_half 0x3f35_04f3,
    erf_one 4.0,
    exp [5e-1, 1.666_657_6e-1, 4.166_655_2e-2, 8.363_233e-3, 1.392_625e-3],
    ln [6.666_666_9e-1, 4.000_012_3e-1, 2.855_078e-1, 2.333_161_4e-1],
    ln_1p [
        6.666_666_9e-1, 4.000_001e-1, 2.857_03e-1, 2.226_485_2e-1, 1.746_307_5e-1, 2.079_414_3e-1
    ],
    tanh [-3.333_333_1e-1, 1.333_291_1e-1, -5.387_324_5e-2, 2.110_732_7e-2, -6.263_391e-3],
    erf [
        1.283_791_7e-1, -3.761_262_6e-1, 1.128_359_4e-1, -2.685_416_9e-2, 5.188_994e-3,
        -8.015_956e-4, 7.872_583e-5
    ],
    erfc [
        2.553_956_8e-1, -4.271_858_3e-1, 2.416_582e-1, -7.897_847e-2, 3.732_908e-3, 6.993_94e-3,
        -8.476_575e-4, -9.394_442e-4, 4.988_831e-5
    ]
);

elementary!(
    f64, u64, i64,
    mantissa 52, bias 1023,
    exp_range -746.0 710.0,
    ln2 6.931_471_805_599_453e-1 2.319_046_813_846_299_6e-17,
    sqrt_half 0x3fe6_a09e_667f_3bcd,
    erf_one 6.0,
    exp [
        5e-1, 1.666_666_666_666_667e-1, 4.166_666_666_666_667e-2, 8.333_333_333_326_084e-3,
        1.388_888_888_888_371e-3, 1.984_126_987_500_228e-4, 2.480_158_732_567_746e-5,
        2.755_725_517_000_089e-6, 2.755_727_347_871_858e-7, 2.510_531_272_962_21e-8,
        2.091_475_532_589_32e-9
    ],
    ln [
        6.666_666_666_666_666e-1, 4.000_000_000_000_088_5e-1, 2.857_142_857_079_978_4e-1,
        2.222_222_239_258_104_5e-1, 1.818_179_554_752_113_7e-1, 1.538_624_473_762_166_5e-1,
        1.326_863_836_926_682_5e-1, 1.308_803_485_092_755_5e-1
    ],
    ln_1p [
        6.666_666_666_666_666e-1, 4e-1, 2.857_142_857_142_882_5e-1, 2.222_222_222_217_225_5e-1,
        1.818_181_818_693_001_6e-1, 1.538_461_507_401_353_8e-1, 1.333_334_541_608_980_4e-1,
        1.176_439_200_747_947_4e-1, 1.053_186_927_863_843_7e-1, 9.456_851_910_844_442e-2,
        9.233_892_501_772_681e-2, 5.276_423_339_608_456e-2, 1.494_977_525_892_546_3e-1
    ],
    tanh [
        -3.333_333_333_333_333e-1, 1.333_333_333_333_320_3e-1, -5.396_825_396_808_094e-2,
        2.186_948_852_716_552_6e-2, -8.863_235_288_004_033e-3, 3.592_124_183_950_376_6e-3,
        -1.455_795_320_769_385e-3, 5.897_650_081_005_778e-4, -2.379_411_758_083_918_6e-4,
        9.330_078_944_501_148e-5, -3.205_780_559_712_358e-5, 6.918_849_653_470_99e-6
    ],
    erf [
        1.283_791_670_955_125_9e-1, -3.761_263_890_318_375_4e-1, 1.128_379_167_095_512e-1,
        -2.686_617_064_512_982_6e-2, 5.223_977_625_423_116e-3, -8.548_327_021_921_774e-4,
        1.205_533_290_228_838_2e-4, -1.492_564_754_907_588_6e-5, 1.646_204_505_472_414_4e-6,
        -1.636_463_660_480_217e-7, 1.479_234_749_941_390_7e-8, -1.216_422_565_481_786_4e-9,
        8.707_834_948_949_949e-11, -4.229_011_708_989_197e-12
    ],
    erfc [
        2.553_956_763_105_057_5e-1, -4.271_858_474_139_584e-1, 2.416_581_942_424_663_5e-1,
        -7.897_858_101_573_307e-2, 3.732_892_404_344_618e-3, 6.997_461_739_289_353e-3,
        -8.471_432_519_792_037e-4, -9.819_770_300_378_52e-4, 4.355_563_625_796_293e-5,
        1.743_612_301_389_361e-4, 2.752_485_799_940_653e-5, -2.758_040_972_501_343_6e-5,
        -1.396_143_467_363_648_2e-5, 1.393_366_178_326_151_3e-6, 3.749_248_335_688_368e-6,
        1.195_512_398_586_513_3e-6, -4.114_645_864_805_977e-7, -5.144_683_242_885_595e-7,
        -1.362_957_094_948_195e-7, 9.623_704_480_380_485e-8, 5.500_765_050_344_314e-8
    ]
);

#[cfg(test)]
pub(super) mod ulps;

#[cfg(test)]
#[path = "math_tests.rs"]
mod tests;
