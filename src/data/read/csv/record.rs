//! Records of separated values, each field with its place in the file.
//!
//! Fields may be quoted (`""` is a quote inside) and then hold separators and line breaks. Lines end
//! with LF, CRLF or CR. Blank lines are passed over; line numbers count them.

use std::borrow::Cow;
use std::io::BufRead;
use std::ops::Range;

use super::super::lines::{MAX_LINE, read_error};
use crate::{Error, Result};

/// Reads record after record, in memory that is used again.
pub(crate) struct Records<R> {
    reader: R,
    delimiter: u8,
    /// The record as it stands in the file, without its line end.
    raw: Vec<u8>,
    fields: Vec<Range<usize>>,
    /// Line on which the record begins, from 1.
    line: u64,
    /// Lines read so far.
    lines: u64,
    /// Bytes read so far, and where the record begins.
    read: usize,
    begin: usize,
}

/// Where a scan of the record stands.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Start,
    Plain,
    Quoted,
    AfterQuote,
}

impl<R: BufRead> Records<R> {
    /// Starts before the first record.
    pub(crate) fn new(reader: R, delimiter: u8) -> Self {
        let (raw, fields) = (Vec::new(), Vec::new());
        Records { reader, delimiter, raw, fields, line: 0, lines: 0, read: 0, begin: 0 }
    }

    /// Reads the next record that is not blank; false at the end.
    pub(crate) fn next(&mut self) -> Result<bool> {
        loop {
            self.begin = self.read;
            self.raw.clear();
            self.fields.clear();
            let Some(mut line_end) = self.physical_line()? else {
                return Ok(false);
            };
            self.line = self.lines;
            let (mut at, mut start, mut state) = (0, 0, State::Start);
            loop {
                self.scan(&mut at, &mut start, &mut state);
                if state != State::Quoted {
                    break;
                }
                // The line break belongs to the field.
                self.raw.extend_from_slice(line_end);
                match self.physical_line()? {
                    Some(next) => line_end = next,
                    None => return Err(self.never_closed(start)),
                }
            }
            self.fields.push(start..self.raw.len());
            if self.fields.len() > 1 || !self.raw.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// Divides what is new in `raw` into fields.
    fn scan(&mut self, at: &mut usize, start: &mut usize, state: &mut State) {
        while let Some(&byte) = self.raw.get(*at) {
            *state = match (*state, byte) {
                (State::Quoted, b'"') => State::AfterQuote,
                (State::Quoted, _) => State::Quoted,
                (_, b) if b == self.delimiter => {
                    self.fields.push(*start..*at);
                    *start = *at + 1;
                    State::Start
                }
                (State::Start | State::AfterQuote, b'"') => State::Quoted,
                _ => State::Plain,
            };
            *at += 1;
        }
    }

    /// Appends a line to `raw`; its line end, or None at the end of the file.
    fn physical_line(&mut self) -> Result<Option<&'static [u8]>> {
        let (mut any, mut line_end) = (false, &b""[..]);
        if self.read == 0 && self.reader.fill_buf().map_err(read_error)?.starts_with(BOM) {
            self.reader.consume(BOM.len());
            (self.read, self.begin) = (BOM.len(), BOM.len());
        }
        loop {
            let buffer = self.reader.fill_buf().map_err(read_error)?;
            if buffer.is_empty() {
                break;
            }
            any = true;
            let end = buffer.iter().position(|b| matches!(b, b'\n' | b'\r'));
            let taken = end.unwrap_or(buffer.len());
            self.raw.extend_from_slice(&buffer[..taken]);
            let found = end.map(|e| buffer[e]);
            let consumed = taken + usize::from(found.is_some());
            self.reader.consume(consumed);
            self.read += consumed;
            if self.raw.len() > MAX_LINE {
                return Err(Error::found("a row of more than 64 MiB", "line breaks")
                    .hint("is a quote never closed?")
                    .at_line(self.lines + 1));
            }
            match found {
                None => continue,
                Some(b'\n') => line_end = b"\n",
                Some(_) => {
                    line_end = b"\r";
                    if self.reader.fill_buf().map_err(read_error)?.first() == Some(&b'\n') {
                        self.reader.consume(1);
                        self.read += 1;
                        line_end = b"\r\n";
                    }
                }
            }
            break;
        }
        self.lines += u64::from(any);
        Ok(any.then_some(line_end))
    }

    fn never_closed(&mut self, start: usize) -> Error {
        self.fields.push(start..self.raw.len());
        let error = Error::found("a quote that is never closed", "another '\"' after the field");
        self.error(self.fields.len() - 1, error)
    }

    /// Number of fields.
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Field `j` without quotes and without blanks around it.
    pub(crate) fn field(&self, j: usize) -> Cow<'_, [u8]> {
        unquoted(self.raw[self.fields[j].clone()].trim_ascii())
    }

    /// All fields.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Cow<'_, [u8]>> {
        (0..self.len()).map(|j| self.field(j))
    }

    /// Does the first field begin with this byte? A tab before it may be the end of an empty field.
    pub(crate) fn starts_with(&self, byte: u8) -> bool {
        let first = self.fields.first().map(|field| self.raw[field.clone()].trim_ascii_start());
        first.is_some_and(|field| field.first() == Some(&byte))
    }

    /// Field `j` in the bytes of the whole text, quotes and blanks included.
    pub(crate) fn range(&self, j: usize) -> Range<usize> {
        let field = &self.fields[j];
        self.begin + field.start..self.begin + field.end
    }

    /// Line on which the record begins.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The error at field `j`, with line, column and excerpt.
    pub(crate) fn error(&self, j: usize, error: Error) -> Error {
        let at = self.fields.get(j).map_or(self.raw.len(), |f| f.start);
        let before = &self.raw[..at];
        let line = self.line + before.iter().filter(|b| **b == b'\n').count() as u64;
        let from = before.iter().rposition(|b| *b == b'\n').map_or(0, |p| p + 1);
        let rest = &self.raw[from..];
        let whole = &rest[..rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())];
        let column = at - from + 1;
        error.at(line, column as u64).excerpt(whole, column)
    }
}

/// The byte-order mark of UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The content of a field that may be quoted.
fn unquoted(field: &[u8]) -> Cow<'_, [u8]> {
    let Some(inside) = field.strip_prefix(b"\"") else {
        return Cow::Borrowed(field);
    };
    if let Some(plain) = inside.strip_suffix(b"\"").filter(|p| !p.contains(&b'"')) {
        return Cow::Borrowed(plain.trim_ascii());
    }
    let (mut out, mut quoted, mut bytes) = (Vec::new(), true, inside.iter().peekable());
    while let Some(&byte) = bytes.next() {
        match byte {
            b'"' if quoted && bytes.peek() == Some(&&b'"') => {
                bytes.next();
                out.push(b'"');
            }
            b'"' if quoted => quoted = false,
            _ => out.push(byte),
        }
    }
    Cow::Owned(out.trim_ascii().to_vec())
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::*;

    fn all(text: &[u8]) -> Vec<(u64, Vec<String>)> {
        // A small buffer puts every kind of boundary between two reads.
        let mut records = Records::new(BufReader::with_capacity(3, text), b',');
        let mut found = Vec::new();
        while records.next().unwrap() {
            let fields = records.iter().map(|f| String::from_utf8_lossy(&f).into_owned());
            found.push((records.line(), fields.collect()));
        }
        found
    }

    #[test]
    fn lines_are_counted_with_every_line_end() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["\u{feff}a,b", "", "1,2", "", "", "\"x", "y\",3", "4,5"].join(end);
            let found = all(text.as_bytes());
            let lines: Vec<u64> = found.iter().map(|r| r.0).collect();
            assert_eq!(lines, [1, 3, 6, 8], "{end:?}");
            assert_eq!(found[0].1, ["a", "b"]);
            assert_eq!(found[2].1, [format!("x{end}y"), "3".to_owned()]);
        }
    }

    #[test]
    fn quotes_hold_everything() {
        let found = all(b"\"a,1\", \"b\"\"c\" ,d\"e,\"f\"g\n,\n \n\"\",\n");
        assert_eq!(found[0].1, ["a,1", "b\"c", "d\"e", "fg"]);
        assert_eq!(found[1].1, ["", ""]);
        assert_eq!(found[2], (4, vec![String::new(), String::new()]));
        assert_eq!(found.len(), 3, "a line of blanks is no record");
    }

    #[test]
    fn ranges_and_places_are_those_of_the_file() {
        let text = &b"a,b\r\n\"1\r\n2\",\"x\"\r\n"[..];
        let mut records = Records::new(text, b',');
        records.next().unwrap();
        assert_eq!(&text[records.range(1)], b"b");
        records.next().unwrap();
        assert_eq!(&text[records.range(0)], b"\"1\r\n2\"");
        assert_eq!(&text[records.range(1)], b"\"x\"");
        let error = records.error(1, Error::input("bad"));
        assert_eq!(error.position(), (Some(3), Some(4)));
    }

    #[test]
    fn a_quote_that_is_never_closed_does_not_fill_the_memory() {
        let mut records = Records::new(&b"a,l\n1,\"0\n2,1\n"[..], b',');
        records.next().unwrap();
        let error = records.next().unwrap_err();
        assert_eq!(error.position(), (Some(2), Some(3)));
        assert!(error.message().contains("never closed"), "{error}");
        let endless = Read::chain(&b"1,\"0\n"[..], std::io::repeat(b'\n').take(1 << 30));
        let error = Records::new(BufReader::new(endless), b',').next().unwrap_err();
        assert!(error.to_string().contains("is a quote never closed?"), "{error}");
    }
}
