//! The container of MATLAB 5 to 7 files: variables one after the other, perhaps compressed.
//!
//! Only what a data set can hold is read: full and sparse matrices of real numbers of any class.
//! Everything else is skipped, and its name and the reason are reported.

use std::io::{BufRead, BufReader, Read};

use super::super::builder::too_big;
use super::super::inflate::Zlib;
use super::super::lines::{decode, read_error};
use super::element::{Tag, number, numbers, short, words};
use crate::{Error, Result};

/// A matrix, column after column.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) values: Vec<f64>,
    /// "sparse double", "int16", …
    pub(super) class: String,
}

/// What was in the file.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) variables: Vec<Variable>,
    /// Name and reason of what was left out.
    pub(super) skipped: Vec<(String, String)>,
}

const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;

/// Reads the variables for which `wanted` says yes.
pub(super) fn read(
    mut reader: impl BufRead,
    limit: u64,
    wanted: impl Fn(&str) -> bool,
) -> Result<Contents> {
    let mut head = [0u8; 128];
    reader.read_exact(&mut head).map_err(|e| short(e, "the header of 128 bytes"))?;
    let swap = match &head[126..] {
        b"IM" => false,
        b"MI" => true,
        _ => {
            return Err(Error::found(
                format_args!("the byte order mark {:?}", String::from_utf8_lossy(&head[126..])),
                "IM or MI",
            )
            .hint("is this a MATLAB file of version 5 to 7?"));
        }
    };
    let mut contents = Contents::default();
    let mut at = 128u64;
    while !reader.fill_buf().map_err(read_error)?.is_empty() {
        let place = |e: Error| e.about(format!("variable at byte {at}"));
        let tag = Tag::read(&mut reader, swap).map_err(place)?;
        let mut body = (&mut reader).take(u64::from(tag.size));
        let budget = limit.saturating_sub(held(&contents));
        match tag.kind {
            MATRIX => matrix(&mut body, swap, budget, &wanted, &mut contents).map_err(place)?,
            COMPRESSED => {
                let mut inner = BufReader::new(Zlib::new(&mut body));
                let tag = Tag::read(&mut inner, swap).map_err(place)?;
                if tag.kind == MATRIX {
                    matrix(&mut inner, swap, budget, &wanted, &mut contents).map_err(place)?;
                }
            }
            _ => {} // timestamps, function handles: nothing with a name
        }
        std::io::copy(&mut body, &mut std::io::sink()).map_err(read_error)?;
        if body.limit() > 0 {
            return Err(place(Error::found(
                "the end of the file",
                format_args!("{} more bytes", body.limit()),
            )));
        }
        at += 8 + u64::from(tag.size);
    }
    Ok(contents)
}

fn held(contents: &Contents) -> u64 {
    contents.variables.iter().map(|v| v.values.len() as u64 * 8).sum()
}

const CLASSES: [&str; 18] = [
    "empty",
    "cell array",
    "struct",
    "object",
    "text",
    "sparse double",
    "double",
    "single",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "function",
    "opaque",
];

fn matrix(
    reader: &mut impl Read,
    swap: bool,
    limit: u64,
    wanted: &impl Fn(&str) -> bool,
    contents: &mut Contents,
) -> Result<()> {
    let flags = words(reader, swap, 2, "array flags")?;
    let class = flags[0] & 0xff;
    let complex = flags[0] & 0x800 != 0;
    let Some(class_name) = CLASSES.get(class as usize) else {
        return Err(Error::found(format_args!("a variable of class {class}"), "1 to 17"));
    };
    if class == 17 {
        contents.skipped.push(("(unnamed)".to_owned(), "opaque".to_owned()));
        return Ok(());
    }
    let dims = dimensions(reader, swap)?;
    let name = name(reader, swap)?;
    let reason = match class {
        5..=15 if !wanted(&name) => Some("not a name this program knows"),
        5..=15 if complex => Some("complex numbers"),
        5..=15 if dims.len() != 2 => Some("more than two dimensions"),
        5..=15 => None,
        _ => Some(*class_name),
    };
    if let Some(reason) = reason {
        contents.skipped.push((name, reason.to_owned()));
        return Ok(());
    }
    let (rows, cols) = (dims[0], dims[1]);
    let cells = rows.saturating_mul(cols);
    if cells.saturating_mul(8) > limit {
        return Err(too_big(cells.saturating_mul(8), limit).about(format!("'{name}'")));
    }
    let values = match class {
        5 => sparse(reader, swap, rows, cols, limit),
        _ => numbers(reader, swap, Some(cells), limit),
    };
    contents.variables.push(Variable {
        values: values.map_err(|e| e.about(format!("'{name}'")))?,
        name,
        rows: rows as usize,
        cols: cols as usize,
        class: (*class_name).to_owned(),
    });
    Ok(())
}

fn dimensions(reader: &mut impl Read, swap: bool) -> Result<Vec<u64>> {
    let tag = Tag::read(reader, swap)?;
    if tag.kind != 5 || tag.size % 4 != 0 || tag.size < 8 || tag.size > 256 || tag.small.is_some() {
        return Err(Error::found("no usable dimensions", "two or more whole numbers"));
    }
    let mut bytes = vec![0u8; tag.padded() as usize];
    reader.read_exact(&mut bytes).map_err(|e| short(e, "the dimensions"))?;
    bytes[..tag.size as usize]
        .chunks_exact(4)
        .map(|chunk| match number(5, chunk, swap) {
            v if v < 0.0 => Err(Error::found(format_args!("the dimension {v}"), "0 or more")),
            v => Ok(v as u64),
        })
        .collect()
}

fn name(reader: &mut impl Read, swap: bool) -> Result<String> {
    let tag = Tag::read(reader, swap)?;
    if tag.kind != 1 || tag.size > 4096 {
        return Err(Error::found("no usable name", "the name of the variable"));
    }
    if let Some(small) = tag.small {
        return Ok(decode(&small[..tag.size as usize]).0);
    }
    let mut bytes = vec![0u8; tag.padded() as usize];
    reader.read_exact(&mut bytes).map_err(|e| short(e, "the name of the variable"))?;
    Ok(decode(&bytes[..tag.size as usize]).0)
}

/// Compressed columns: row indices, column starts, values.
fn sparse(
    reader: &mut impl Read,
    swap: bool,
    rows: u64,
    cols: u64,
    limit: u64,
) -> Result<Vec<f64>> {
    let index = numbers(reader, swap, None, limit)?;
    let starts = numbers(reader, swap, Some(cols + 1), limit)?;
    let stored = starts.last().map_or(0, |&s| s as u64);
    let ascending = starts.windows(2).all(|w| w[0] <= w[1]) && starts.first() == Some(&0.0);
    if !ascending || stored > index.len() as u64 {
        return Err(Error::found("column starts that do not fit", "a sparse matrix"));
    }
    let values = numbers(reader, swap, None, limit)?;
    if stored > values.len() as u64 {
        return Err(Error::found(
            format_args!("{} values", values.len()),
            format_args!("{stored}"),
        ));
    }
    let mut dense = vec![0.0; (rows * cols) as usize];
    for (j, range) in starts.windows(2).enumerate() {
        for k in range[0] as usize..range[1] as usize {
            let i = index[k];
            if i < 0.0 || i >= rows as f64 {
                return Err(Error::found(
                    format_args!("row {i}"),
                    format_args!("0 to {}", rows as i64 - 1),
                ));
            }
            dense[j * rows as usize + i as usize] += values[k];
        }
    }
    Ok(dense)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one element in the given byte order.
    fn file(big: bool, words: &[u32], tail: &[u8]) -> Vec<u8> {
        let mut bytes = vec![b' '; 126];
        bytes.extend(if big { b"MI" } else { b"IM" });
        let bytes_of = |w: &u32| if big { w.to_be_bytes() } else { w.to_le_bytes() };
        let body: Vec<u8> = words.iter().flat_map(bytes_of).chain(tail.iter().copied()).collect();
        bytes.extend(bytes_of(&14));
        bytes.extend(bytes_of(&(body.len() as u32)));
        bytes.extend(body);
        bytes
    }

    #[test]
    fn both_byte_orders() {
        for big in [false, true] {
            // int16 values −2 and 300 in a small element, name "x" in a small element
            let words = [6, 8, 10, 0, 5, 8, 1, 2];
            let small = |kind: u32, size: u32| {
                let word = size << 16 | kind;
                if big { word.to_be_bytes() } else { word.to_le_bytes() }
            };
            let value = |v: i16| if big { v.to_be_bytes() } else { v.to_le_bytes() };
            let mut tail = small(1, 1).to_vec();
            tail.extend(b"x\0\0\0");
            tail.extend(small(3, 4));
            tail.extend([value(-2), value(300)].concat());
            let contents = read(file(big, &words, &tail).as_slice(), 1 << 20, |_| true).unwrap();
            let x = &contents.variables[0];
            assert_eq!((x.name.as_str(), x.rows, x.cols, x.class.as_str()), ("x", 1, 2, "int16"));
            assert_eq!(x.values, [-2.0, 300.0]);
            let none = read(file(big, &words, &tail).as_slice(), 1 << 20, |_| false).unwrap();
            assert_eq!(none.skipped[0].0, "x");
        }
    }
}
