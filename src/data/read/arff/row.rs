//! One data row of an ARFF file at the cursor, dense or sparse.

use super::super::builder::MatrixBuilder;
use super::super::layout::Use;
use super::super::lines::{decode, trim};
use super::super::number::{leading_number, parse_index, parse_number};
use super::attribute::{Attribute, Kind, Nominal};
use super::cursor::Cursor;
use crate::{Error, Result};

/// Reads `1,0.5,YES`.
pub(super) fn dense_row(
    cursor: &mut Cursor<'_>,
    attributes: &[Attribute],
    rows: &mut MatrixBuilder,
) -> Result<()> {
    rows.begin()?;
    let columns = attributes.len();
    for c in 0..columns {
        let from = cursor.at;
        value(cursor, c, attributes, rows)?;
        if cursor.at == from {
            let found = if cursor.peek().is_some() {
                "an empty value".to_owned()
            } else {
                format!("{c} values")
            };
            return Err(cursor.error(from, &found, &format!("{columns} values")));
        }
        cursor.blanks();
        let more = c + 1 < columns;
        match cursor.peek() {
            Some(b',') if more => {
                cursor.at += 1;
                cursor.blanks();
            }
            None if more => {
                let found = format!("{} values", c + 1);
                return Err(cursor.error(cursor.at, &found, &format!("{columns} values")));
            }
            _ => {}
        }
    }
    match cursor.peek() {
        None | Some(b'%') => Ok(()),
        Some(_) => {
            let expected = format!("{columns} values");
            Err(cursor.error(cursor.at, "more values", &expected))
        }
    }
}

/// Reads `{0 1,2 YES}`.
pub(super) fn sparse_row(
    cursor: &mut Cursor<'_>,
    attributes: &[Attribute],
    rows: &mut MatrixBuilder,
) -> Result<()> {
    rows.begin()?;
    cursor.at += 1;
    let mut next = 0;
    loop {
        cursor.blanks();
        let from = cursor.at;
        match cursor.peek() {
            Some(b'}') => break,
            None => return Err(cursor.error(from, "the end of the line", "'}'")),
            Some(_) => {}
        }
        let digits = cursor.line[from..].iter().take_while(|c| c.is_ascii_digit()).count();
        cursor.at += digits;
        let column = parse_index(&cursor.line[from..cursor.at]).ok_or_else(|| {
            cursor.error(from, "no column number", "'column value' pairs, columns from 0")
        })?;
        if column >= attributes.len() {
            let found = format!("column {column}");
            let expected = format!("0 to {}", attributes.len() - 1);
            return Err(cursor.error(from, &found, &expected));
        }
        if column < next {
            let found = format!("column {column} after column {}", next - 1);
            return Err(cursor.error(from, &found, "ascending columns"));
        }
        next = column + 1;
        let gap = cursor.at;
        cursor.blanks();
        let start = cursor.at;
        if gap == start || matches!(cursor.peek(), None | Some(b',' | b'}')) {
            return Err(cursor.error(start, "no value", &format!("a value for column {column}")));
        }
        value(cursor, column, attributes, rows)?;
        cursor.blanks();
        match cursor.peek() {
            Some(b',') => cursor.at += 1,
            Some(b'}') => {}
            other => {
                let found = other.map_or("the end of the line", |_| "no comma");
                return Err(cursor.error(cursor.at, found, "',' or '}' after a value"));
            }
        }
    }
    cursor.at += 1;
    cursor.blanks();
    match cursor.peek() {
        None | Some(b'%') => Ok(()),
        Some(_) => Err(cursor.error(cursor.at, "text after '}'", "the end of the row")),
    }
}

/// Reads one value of column `c` at the cursor and stores it.
#[inline]
fn value(
    cursor: &mut Cursor<'_>,
    c: usize,
    attributes: &[Attribute],
    rows: &mut MatrixBuilder,
) -> Result<()> {
    let from = cursor.at;
    let kept_text = rows.used(c).is_text();
    // Nearly every value is a plain number that ends where it should.
    if let Kind::Numeric = attributes[c].kind
        && !kept_text
        && let Some((value, length)) = leading_number(&cursor.line[from..])
        && matches!(cursor.line.get(from + length), None | Some(b',' | b'}' | b' ' | b'\t'))
    {
        cursor.at += length;
        return rows.put(c, value).map_err(|e| name_it(cursor.place(from, e), &attributes[c]));
    }
    let quoted = matches!(cursor.peek(), Some(b'\'' | b'"'));
    let unquoted;
    let text: &[u8] = if quoted {
        unquoted = cursor.token(b"")?;
        &unquoted
    } else {
        let rest = &cursor.line[from..];
        let stop = |b: &u8| matches!(b, b',' | b'}' | b' ' | b'\t');
        let length = rest.iter().position(stop).unwrap_or(rest.len());
        cursor.at += length;
        &rest[..length]
    };
    if kept_text {
        rows.put_text(c, if text == b"?" && !quoted { b"" } else { text });
        return Ok(());
    }
    if text == b"?" && !quoted {
        return rows.put_missing(c).map_err(|e| name_it(cursor.place(from, e), &attributes[c]));
    }
    let value = match &attributes[c].kind {
        Kind::Numeric => parse_number(text),
        Kind::Nominal(nominal) => nominal.code(text),
        Kind::Unusable(_) => Some(0.0),
    };
    match value {
        Some(value) => {
            rows.put(c, value).map_err(|e| name_it(cursor.place(from, e), &attributes[c]))
        }
        // An ignored column may hold anything.
        None if rows.used(c) == Use::Ignored => Ok(()),
        None if text.is_empty() => Ok(()),
        None => Err(wrong_value(cursor, from, text, &attributes[c])),
    }
}

fn name_it(error: Error, attribute: &Attribute) -> Error {
    error.about(format!("attribute '{}'", attribute.name))
}

fn wrong_value(cursor: &Cursor<'_>, from: usize, text: &[u8], attribute: &Attribute) -> Error {
    let (shown, _) = trim(&text[..text.len().min(40)]);
    let found = format!("'{}'", String::from_utf8_lossy(shown));
    let expected = match &attribute.kind {
        Kind::Nominal(nominal) => declared(nominal),
        _ => "a finite number".to_owned(),
    };
    name_it(cursor.error(from, &found, &expected), attribute)
}

fn declared(nominal: &Nominal) -> String {
    let mut text: Vec<String> = nominal.values.iter().take(6).map(|(v, _)| decode(v).0).collect();
    if nominal.values.len() > 6 {
        text.push(format!("… {} values", nominal.values.len()));
    }
    format!("one of {{{}}}", text.join(","))
}
