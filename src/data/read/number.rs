//! Decimal numbers from bytes: exact, and fast for what data files hold.
//!
//! A mantissa of at most 2⁵³ and a power of ten of at most 10²² are both exact in f64, so one
//! multiplication or division rounds correctly (Clinger's fast path). Everything else goes through
//! the standard library, which is exact too.

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Sign, digits and point of a number, up to the first other byte.
struct Scan {
    negative: bool,
    /// All digits as one number; wraps beyond 19 of them.
    mantissa: u64,
    digits: usize,
    /// How many of the digits stand behind the point.
    fraction: usize,
    /// Bytes read.
    length: usize,
}

#[inline(always)]
fn scan(text: &[u8]) -> Scan {
    let sign = matches!(text.first(), Some(b'-' | b'+'));
    let mut s = Scan {
        negative: text.first() == Some(&b'-'),
        mantissa: 0,
        digits: 0,
        fraction: 0,
        length: usize::from(sign),
    };
    let whole = take_digits(text, &mut s);
    s.digits = whole;
    if text.get(s.length) == Some(&b'.') {
        s.length += 1;
        s.fraction = take_digits(text, &mut s);
        s.digits += s.fraction;
    }
    s
}

/// Reads digits at `s.length`; how many there were.
#[inline(always)]
fn take_digits(text: &[u8], s: &mut Scan) -> usize {
    let from = s.length;
    while let Some(&c) = text.get(s.length) {
        let digit = c.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        s.mantissa = s.mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        s.length += 1;
    }
    s.length - from
}

impl Scan {
    /// mantissa · 10^power, if one exact operation gives it.
    #[inline(always)]
    fn exact(&self, power: i64) -> Option<f64> {
        // Up to 18 digits the mantissa cannot have wrapped.
        if self.digits > 18 || self.mantissa > 1 << 53 || !(-22..=22).contains(&power) {
            return None;
        }
        let m = self.mantissa as f64;
        let value = match power < 0 {
            true => m / POWERS[-power as usize],
            false => m * POWERS[power as usize],
        };
        Some(if self.negative { -value } else { value })
    }
}

/// The plain number at the start of `text` and its length, where the fast path can read it: no
/// exponent, not too many digits. Whether it ends there is for the caller to see.
#[inline]
pub(crate) fn leading_number(text: &[u8]) -> Option<(f64, usize)> {
    let s = scan(text);
    let value = s.exact(-(s.fraction as i64)).filter(|_| s.digits > 0)?;
    Some((value, s.length))
}

/// The finite number that `text` writes in decimal, or `None`. No blanks, no `inf`, no `nan`.
#[inline]
pub(crate) fn parse_number(text: &[u8]) -> Option<f64> {
    let s = scan(text);
    if s.digits == 0 {
        return None;
    }
    let exponent = match text.get(s.length) {
        None => 0,
        Some(b'e' | b'E') => parse_exponent(&text[s.length + 1..])?,
        Some(_) => return None,
    };
    if let Some(value) = s.exact(exponent - s.fraction as i64) {
        return Some(value);
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    value.is_finite().then_some(value)
}

/// The digits after `e`; saturates, since the slow path reads the text again.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = 0i64;
    for c in digits {
        let digit = i64::from(c.wrapping_sub(b'0'));
        if digit > 9 {
            return None;
        }
        value = (value * 10 + digit).min(1_000_000);
    }
    Some(if negative { -value } else { value })
}

/// An unsigned integer, digits only.
pub(crate) fn parse_index(text: &[u8]) -> Option<usize> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0usize, |value, c| match c {
        b'0'..=b'9' => Some(value * 10 + usize::from(c - b'0')),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn accepts_decimals_and_nothing_else() {
        let good = [
            "0",
            "-0",
            "+1",
            "1.",
            ".5",
            "-.5e3",
            "1e22",
            "1E-22",
            "9007199254740993",
            "1e308",
            "123456789012345678901234567890",
            "0.000000000000000000000000000001",
            "4.9e-324",
            "1e-400",
            "179769313486231570000000000000000000e273",
            "00012.500",
        ];
        for text in good {
            let expected: f64 = text.parse().unwrap();
            let got = parse_number(text.as_bytes()).unwrap();
            assert_eq!(got.to_bits(), expected.to_bits(), "{text}");
        }
        let bad = [
            "", "-", "+", ".", "e5", "1e", "1e+", "1 ", " 1", "0x10", "inf", "nan", "1e400", "1_0",
            "1,5", "--1", "1e5.0", "1d5", "\u{663}",
        ];
        for text in bad {
            assert_eq!(parse_number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn leading_numbers_stop_where_they_end() {
        assert_eq!(leading_number(b"-1.25,7"), Some((-1.25, 5)));
        assert_eq!(leading_number(b"3"), Some((3.0, 1)));
        assert_eq!(leading_number(b"5.}"), Some((5.0, 2)));
        // What follows is not looked at: 'e5' would change the value.
        assert_eq!(leading_number(b"1e5"), Some((1.0, 1)));
        for none in [&b""[..], b"-", b".", b"x", b"1234567890123456789"] {
            assert_eq!(leading_number(none), None);
        }
    }

    #[test]
    fn indices_are_digits() {
        assert_eq!(parse_index(b"0"), Some(0));
        assert_eq!(parse_index(b"123456789012345678"), Some(123456789012345678));
        for bad in [&b""[..], b"-1", b"+1", b"1.0", b"1234567890123456789"] {
            assert_eq!(parse_index(bad), None);
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_library(
            whole in "[0-9]{0,22}", fraction in "(\\.[0-9]{0,22})?", e in "(e-?[0-9]{1,3})?", sign in "[+-]?",
        ) {
            let text = format!("{sign}{whole}{fraction}{e}");
            let expected = text.parse::<f64>().ok().filter(|v| v.is_finite());
            prop_assert_eq!(parse_number(text.as_bytes()).map(f64::to_bits), expected.map(f64::to_bits));
        }

        #[test]
        fn every_finite_f64_survives(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                prop_assert_eq!(parse_number(value.to_string().as_bytes()).map(f64::to_bits), Some(bits));
            }
        }
    }
}
