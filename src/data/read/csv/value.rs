//! What a field of a table can mean: missing, yes or no, a number with a decimal comma, a date.

use super::super::number::parse_number;

/// Is this one of the usual ways to write that a value is missing?
pub(crate) fn is_missing(field: &[u8]) -> bool {
    const WORDS: [&[u8]; 10] =
        [b"?", b"na", b"n/a", b"#n/a", b"#na", b"<na>", b"nan", b"null", b"none", b"nil"];
    field.is_empty() || field.len() <= 4 && WORDS.iter().any(|w| field.eq_ignore_ascii_case(w))
}

/// What the words for yes and no mean.
pub(crate) fn yes_no_word(field: &[u8]) -> Option<bool> {
    const YES: [&[u8]; 7] = [b"yes", b"y", b"true", b"t", b"x", b"on", "✓".as_bytes()];
    const NO: [&[u8]; 5] = [b"no", b"n", b"false", b"f", b"off"];
    let is = |words: &[&[u8]]| words.iter().any(|w| field.eq_ignore_ascii_case(w));
    match (is(&YES), is(&NO)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// The word for no that goes with the word `yes`, in its case: N with Y, FALSE with TRUE, nothing
/// with x.
pub(crate) fn no_for(yes: &str) -> String {
    const PAIRS: [(&str, &str); 6] =
        [("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("on", "off"), ("x", "")];
    let folded = yes.to_ascii_lowercase();
    let no = match PAIRS.iter().find(|(word, _)| *word == folded) {
        Some((_, no)) => no,
        None if yes == "✓" => "",
        None => "0",
    };
    if !yes.is_empty() && yes == yes.to_ascii_uppercase() {
        no.to_ascii_uppercase()
    } else if yes.starts_with(|c: char| c.is_ascii_uppercase()) {
        let mut letters = no.chars();
        letters
            .next()
            .map_or(String::new(), |c| c.to_ascii_uppercase().to_string() + letters.as_str())
    } else {
        no.to_owned()
    }
}

/// A number with a decimal comma, `-1,5e3`.
pub(crate) fn parse_comma_number(field: &[u8]) -> Option<f64> {
    let comma = field.iter().position(|b| *b == b',')?;
    if field.len() > 64 || field.contains(&b'.') {
        return None;
    }
    let mut point = [0; 64];
    point[..field.len()].copy_from_slice(field);
    point[comma] = b'.';
    parse_number(&point[..field.len()])
}

/// Is this a number to a reader, though not to this program? Infinite or too large, `1e999`, or with
/// marks between thousands, `1,234.5` and `1.234,5`.
pub(crate) fn is_unread_number(field: &[u8]) -> bool {
    let text = std::str::from_utf8(field).unwrap_or_default();
    if text.parse::<f64>().is_ok_and(f64::is_infinite) {
        return true;
    }
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    let Some(mark) = text.chars().find(|c| !c.is_ascii_digit()).filter(|c| ",.' ".contains(*c))
    else {
        return false;
    };
    let point = text.rfind(|c| c != mark && (c == ',' || c == '.')).unwrap_or(text.len());
    let mut groups = text[..point].split(mark);
    groups.next().is_some_and(|g| (1..=3).contains(&g.len()) && digits(g))
        && groups.all(|g| g.len() == 3 && digits(g))
        && digits(text.get(point + 1..).unwrap_or_default())
}

/// Does this look like a date, with or without a time? `2024-01-31`, `31.1.2024`, `1/31/24`,
/// `2024-01-31T10:00:00Z`.
pub(crate) fn is_date(field: &[u8]) -> bool {
    let end = field.iter().position(|b| matches!(b, b' ' | b'T')).unwrap_or(field.len());
    let (date, time) = field.split_at(end);
    let plain_time = |b: &u8| b.is_ascii_digit() || b" T:.+-ZAPMapm".contains(b);
    if !time.iter().all(plain_time) || (!time.is_empty() && !time.contains(&b':')) {
        return false;
    }
    let Some(&separator) = date.iter().find(|b| b"-./".contains(b)) else {
        return false;
    };
    let parts: Vec<&[u8]> = date.split(|b| *b == separator).collect();
    let short = |p: &[u8]| (1..=2).contains(&p.len());
    let [a, b, c] = parts[..] else { return false };
    let lengths = (a.len() == 4 && short(b) && short(c))
        || (short(a) && short(b) && (c.len() == 4 || c.len() == 2));
    lengths && parts.iter().all(|p| p.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_read() {
        for word in ["inf", "-1e999", "1,234", "-1,234,567.5", "1.234,5", "1'234", "12 345"] {
            assert!(is_unread_number(word.as_bytes()), "{word}");
        }
        for word in ["", "1", "1.5", "a", "1,2345", "1234,567", "1,23", "1,234,", "1,234.x", ","] {
            assert!(!is_unread_number(word.as_bytes()), "{word}");
        }
    }

    #[test]
    fn missing_values_in_all_spellings() {
        for word in [
            "", "?", "NA", "na", "n/a", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None",
        ] {
            assert!(is_missing(word.as_bytes()), "{word}");
        }
        for word in ["0", "nano", "-", "no", "nulls", "any"] {
            assert!(!is_missing(word.as_bytes()), "{word}");
        }
    }

    #[test]
    fn yes_and_no_in_all_spellings_and_their_opposites() {
        for (yes, no) in [
            ("yes", "no"),
            ("Yes", "No"),
            ("YES", "NO"),
            ("y", "n"),
            ("Y", "N"),
            ("true", "false"),
            ("True", "False"),
            ("TRUE", "FALSE"),
            ("T", "F"),
            ("on", "off"),
            ("1", "0"),
            ("x", ""),
            ("X", ""),
            ("✓", ""),
        ] {
            assert_eq!(no_for(yes), no, "{yes}");
            if yes != "1" {
                assert_eq!(yes_no_word(yes.as_bytes()), Some(true), "{yes}");
            }
            if !matches!(no, "0" | "") {
                assert_eq!(yes_no_word(no.as_bytes()), Some(false), "{no}");
            }
        }
        assert_eq!(yes_no_word(b"maybe"), None);
    }

    #[test]
    fn decimal_commas() {
        for (text, value) in [("1,5", 1.5), ("-0,25", -0.25), (",5", 0.5), ("1,5e3", 1500.0)] {
            assert_eq!(parse_comma_number(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["1.234,5", "1,2,3", "1", "a,b", ",", "1,5 EUR"] {
            assert_eq!(parse_comma_number(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_comma_number(&[b'1'; 100]), None);
    }

    #[test]
    fn dates_with_and_without_time() {
        for text in [
            "2024-01-31",
            "31.1.2024",
            "1/31/24",
            "2024-01-31T10:00:00Z",
            "31.01.2024 10:15",
            "2024/1/5 9:05 PM",
        ] {
            assert!(is_date(text.as_bytes()), "{text}");
        }
        for text in ["1.5", "1-2", "T-1001", "2024", "a-b-c", "2024-01-31 late", "1.2.3.4"] {
            assert!(!is_date(text.as_bytes()), "{text}");
        }
    }
}
