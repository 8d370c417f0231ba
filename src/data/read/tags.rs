//! Tags that are joined in one field: `billing|login`, `billing; login`, `['billing', 'login']`.

use super::csv::value::is_missing;
use super::survey::TAG_SEPARATORS;

/// A field of joined tags in its parts.
pub(crate) struct Joined<'a> {
    /// What stands before the first tag: an opening bracket.
    pub(crate) head: &'a [u8],
    /// Each tag as it is written, without blanks around it.
    pub(crate) tags: Vec<&'a [u8]>,
    /// What stands behind the last tag.
    pub(crate) tail: &'a [u8],
}

/// The separator of these fields: the first of `|`, `;` and `,` that one of them holds.
pub(crate) fn separator<'a>(fields: impl Iterator<Item = &'a [u8]> + Clone) -> u8 {
    let used = |s: &&u8| fields.clone().any(|f| f.contains(s));
    TAG_SEPARATORS.iter().find(used).copied().unwrap_or(TAG_SEPARATORS[0])
}

/// Divides a field.
pub(crate) fn split(field: &[u8], separator: u8) -> Joined<'_> {
    let bracketed = field.strip_prefix(b"[").and_then(|f| f.strip_suffix(b"]"));
    let (head, inside, tail) = match bracketed {
        Some(inside) => (&b"["[..], inside, &b"]"[..]),
        None => (&b""[..], field, &b""[..]),
    };
    let parts = inside.split(|b| *b == separator).map(<[u8]>::trim_ascii);
    Joined { head, tags: parts.filter(|t| !is_missing(t)).collect(), tail }
}

/// The name of a tag: without quotes around it.
pub(crate) fn plain(tag: &[u8]) -> &[u8] {
    for quote in [b"'", b"\""] {
        if let Some(inside) = tag.strip_prefix(quote).and_then(|t| t.strip_suffix(quote)) {
            return inside.trim_ascii();
        }
    }
    tag
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(field: &str) -> Vec<String> {
        let separator = separator([field.as_bytes()].into_iter());
        let joined = split(field.as_bytes(), separator);
        joined.tags.iter().map(|t| String::from_utf8_lossy(plain(t)).into_owned()).collect()
    }

    #[test]
    fn all_ways_to_join() {
        for field in
            ["billing|login", "billing; login", " billing ,login", "['billing', \"login\"]"]
        {
            assert_eq!(names(field), ["billing", "login"], "{field}");
        }
        assert_eq!(names("single tag"), ["single tag"]);
        for none in ["", "[]", "NA", "None", "|", " ; "] {
            assert!(names(none).is_empty(), "{none}");
        }
        assert_eq!(names("a,b|c"), ["a,b", "c"], "the first separator that occurs");
    }
}
