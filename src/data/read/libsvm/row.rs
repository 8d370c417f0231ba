//! One line of a LIBSVM file, and the entries of all of them.

use super::super::number::{parse_index, parse_number};
use crate::{Error, Result};

/// Entries as they come; the matrix is built when its size is known.
#[derive(Default)]
pub(super) struct Entries {
    /// Where each row ends in `features` and `labels`.
    pub(super) ends: Vec<(usize, usize)>,
    pub(super) features: Vec<(u32, f64)>,
    pub(super) labels: Vec<u32>,
    /// Smallest and largest feature index, once there is one.
    pub(super) range: Option<(u32, u32)>,
}

/// Numbers of features and labels that the file declares.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) features: usize,
    pub(super) labels: usize,
}

/// A word of a line, and where it starts.
struct Word<'a> {
    line: &'a [u8],
    at: usize,
    text: &'a [u8],
}

impl Word<'_> {
    fn shown(&self) -> String {
        format!("'{}'", String::from_utf8_lossy(&self.text[..self.text.len().min(40)]))
    }

    /// "found …, expected …" at byte `offset` of this word.
    fn fail<T>(&self, offset: usize, found: String, expected: &str) -> Result<T> {
        let at = self.at + offset;
        Err(Error::found(found, expected).at_column(at as u64 + 1).excerpt(self.line, at + 1))
    }
}

/// Reads labels and features of one instance from `line[..end]`.
pub(super) fn instance(
    line: &[u8],
    end: usize,
    declared: Option<Sizes>,
    entries: &mut Entries,
) -> Result<()> {
    let mut at = 0;
    let mut last = None;
    let mut first = true;
    while at < end {
        if line[at].is_ascii_whitespace() {
            at += 1;
            // Leading blanks mean: no labels.
            first = false;
            continue;
        }
        let rest = &line[at..end];
        let length = rest.iter().take_while(|b| !b.is_ascii_whitespace()).count();
        let word = Word { line, at, text: &rest[..length] };
        match word.text.iter().position(|&b| b == b':') {
            None if first => labels(&word, declared, &mut entries.labels)?,
            None => return word.fail(0, word.shown(), "index:value"),
            Some(colon) => last = Some(feature(&word, colon, last, declared, entries)?),
        }
        first = false;
        at += length;
    }
    entries.ends.push((entries.features.len(), entries.labels.len()));
    Ok(())
}

/// Stores `index:value` and returns the index.
fn feature(
    word: &Word<'_>,
    colon: usize,
    last: Option<u32>,
    declared: Option<Sizes>,
    entries: &mut Entries,
) -> Result<u32> {
    let index = parse_index(&word.text[..colon]).and_then(|i| u32::try_from(i).ok());
    let Some(index) = index else {
        return word.fail(0, word.shown(), "index:value with a whole number below 2^32 as index");
    };
    if let Some(last) = last.filter(|&l| l >= index) {
        return word.fail(0, format!("index {index} after index {last}"), "ascending indices");
    }
    if let Some(Sizes { features: d, .. }) = declared
        && index as usize >= d
    {
        return word.fail(
            0,
            format!("feature {index}"),
            &format!("fewer than the declared {d}, from 0"),
        );
    }
    let Some(value) = parse_number(&word.text[colon + 1..]) else {
        return word.fail(colon + 1, word.shown(), "index:value with a finite number as value");
    };
    entries.features.push((index, value));
    let (low, high) = entries.range.unwrap_or((index, index));
    entries.range = Some((low.min(index), high.max(index)));
    Ok(index)
}

/// Stores `1,3,5`.
fn labels(word: &Word<'_>, declared: Option<Sizes>, labels: &mut Vec<u32>) -> Result<()> {
    let mut offset = 0;
    for part in word.text.split(|&b| b == b',') {
        // "+1" and "3.0" are how some tools write a class.
        let number = parse_number(part).filter(|v| *v >= 0.0 && v.fract() == 0.0);
        let Some(label) = number.filter(|v| *v <= f64::from(u32::MAX)) else {
            return word.fail(offset, word.shown(), "labels: whole numbers separated by commas");
        };
        if let Some(Sizes { labels: l, .. }) = declared
            && label >= l as f64
        {
            return word.fail(
                offset,
                format!("label {label}"),
                &format!("fewer than the declared {l}, from 0"),
            );
        }
        labels.push(label as u32);
        offset += part.len() + 1;
    }
    Ok(())
}
