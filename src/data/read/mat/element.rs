//! The elements of a MATLAB 5 file: a tag with type and size, then numbers in either byte order.

use std::io::Read;

use super::super::builder::too_big;
use super::super::lines::read_error;
use crate::{Error, Result};

/// The eight bytes in front of every element; small elements carry their data inside.
pub(super) struct Tag {
    pub(super) kind: u32,
    pub(super) size: u32,
    pub(super) small: Option<[u8; 4]>,
}

impl Tag {
    pub(super) fn read(reader: &mut impl Read, swap: bool) -> Result<Tag> {
        let mut bytes = [0u8; 8];
        reader.read_exact(&mut bytes).map_err(|e| short(e, "an element of 8 bytes"))?;
        let word = |b: [u8; 4]| {
            if swap { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) }
        };
        let [a, b, c, d, rest @ ..] = bytes;
        let first = word([a, b, c, d]);
        if first >> 16 != 0 {
            let (size, kind) = (first >> 16, first & 0xffff);
            if size > 4 {
                return Err(Error::found(
                    format_args!("a small element of {size} bytes"),
                    "at most 4",
                ));
            }
            return Ok(Tag { kind, size, small: Some(rest) });
        }
        Ok(Tag { kind: first, size: word(rest), small: None })
    }

    /// Bytes of the element with the padding behind it.
    pub(super) fn padded(&self) -> u64 {
        if self.small.is_some() { 0 } else { u64::from(self.size).next_multiple_of(8) }
    }
}

/// Numbers of an element: exactly `expected` of them if given, at most `limit` bytes as f64.
pub(super) fn numbers(
    reader: &mut impl Read,
    swap: bool,
    expected: Option<u64>,
    limit: u64,
) -> Result<Vec<f64>> {
    let tag = Tag::read(reader, swap)?;
    let width = match tag.kind {
        1 | 2 => 1,
        3 | 4 => 2,
        5..=7 => 4,
        9 | 12 | 13 => 8,
        other => {
            return Err(Error::found(format_args!("data of type {other}"), "numbers"));
        }
    };
    let count = u64::from(tag.size) / width;
    if let Some(expected) = expected
        && expected != count
    {
        let found = format!("{count} numbers");
        return Err(Error::found(found, format_args!("{expected} as the dimensions say")));
    }
    if count.saturating_mul(8) > limit {
        return Err(too_big(count.saturating_mul(8), limit));
    }
    let mut values = Vec::with_capacity(count.min(1 << 16) as usize);
    let push = |values: &mut Vec<f64>, bytes: &[u8]| {
        for chunk in bytes.chunks_exact(width as usize) {
            if values.len() == values.capacity() {
                // Grow like a Vec, but never beyond what was declared.
                values.reserve_exact(values.len().min(count as usize - values.len()));
            }
            values.push(number(tag.kind, chunk, swap));
        }
    };
    if let Some(small) = tag.small {
        push(&mut values, &small[..tag.size as usize]);
        return Ok(values);
    }
    let mut left = u64::from(tag.size);
    let mut buffer = [0u8; 1 << 13];
    while left > 0 {
        let n = left.min(buffer.len() as u64) as usize;
        reader.read_exact(&mut buffer[..n]).map_err(|e| short(e, "more numbers"))?;
        push(&mut values, &buffer[..n]);
        left -= n as u64;
    }
    skip(reader, tag.padded() - u64::from(tag.size))?;
    Ok(values)
}

pub(super) fn number(kind: u32, bytes: &[u8], swap: bool) -> f64 {
    let mut b = [0u8; 8];
    let width = bytes.len();
    b[..width].copy_from_slice(bytes);
    if swap {
        b[..width].reverse();
    }
    let word = u64::from_le_bytes(b);
    match kind {
        1 => f64::from(word as i8),
        3 => f64::from(word as i16),
        5 => f64::from(word as i32),
        7 => f64::from(f32::from_bits(word as u32)),
        9 => f64::from_bits(word),
        12 => word as i64 as f64,
        _ => word as f64,
    }
}

fn skip(reader: &mut impl Read, bytes: u64) -> Result<()> {
    // The last element may come without its padding.
    std::io::copy(&mut reader.take(bytes), &mut std::io::sink()).map_err(read_error)?;
    Ok(())
}

/// `count` 32-bit words.
pub(super) fn words(
    reader: &mut impl Read,
    swap: bool,
    count: u64,
    what: &str,
) -> Result<Vec<u32>> {
    let values = numbers(reader, swap, Some(count), 1 << 10).map_err(|e| e.about(what))?;
    Ok(values.iter().map(|&v| v as u32).collect())
}

pub(super) fn short(error: std::io::Error, expected: &str) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::found("the end of the data", expected),
        _ => read_error(error),
    }
}
