//! The start of a table: separator, comments, names; then row after row.

use std::io::BufRead;

use super::super::lines::{decode, read_error};
use super::super::number::parse_number;
use super::record::Records;
use crate::{Error, Remedy, Result};

const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// A table with its names read.
pub(crate) struct Table<R> {
    /// The row that was read last.
    pub(crate) records: Records<R>,
    pub(crate) delimiter: u8,
    pub(crate) names: Vec<String>,
    /// Columns without a name in the file.
    pub(crate) unnamed: Vec<usize>,
    /// The record in hand is a row already.
    pending: bool,
    comments: usize,
    blank_rows: usize,
    latin1: bool,
    commented_names: bool,
}

impl<R: BufRead> Table<R> {
    /// Reads up to the names. Lines before them that start with `#` are comments, unless the last of
    /// them has a name for each number of the first row.
    pub(crate) fn open(mut reader: R, header: bool) -> Result<Self> {
        let delimiter = find_delimiter(reader.fill_buf().map_err(read_error)?);
        let mut records = Records::new(reader, delimiter);
        let mut comment: Option<Vec<Vec<u8>>> = None;
        let mut comments = 0;
        loop {
            if !records.next()? {
                let wanted = if header { "a line of column names" } else { "rows" };
                return Err(Error::found("an empty file", wanted).at(1, 1));
            }
            let first = records.field(0);
            let separator_line = comments == 0 && separator_line(&first).is_some();
            if !separator_line && !records.starts_with(b'#') {
                break;
            }
            comment =
                records.starts_with(b'#').then(|| records.iter().map(|f| f.to_vec()).collect());
            comments += usize::from(comment.is_some());
        }
        let is_number = |f: &[u8]| parse_number(f).is_some();
        let row_of_numbers = records.iter().any(|f| is_number(&f));
        let commented_names = comment.filter(|fields| {
            header
                && row_of_numbers
                && fields.len() > 1
                && fields.len() == records.len()
                && !fields.iter().any(|f| is_number(f))
        });
        let mut table = Table {
            delimiter,
            names: Vec::new(),
            unnamed: Vec::new(),
            pending: !header || commented_names.is_some(),
            comments: comments - usize::from(commented_names.is_some()),
            blank_rows: 0,
            latin1: false,
            commented_names: commented_names.is_some(),
            records,
        };
        match commented_names {
            Some(mut fields) => {
                fields[0].remove(0);
                table.take_names(fields.iter().map(Vec::as_slice));
            }
            None if header => {
                table.check_names()?;
                let fields: Vec<Vec<u8>> = table.records.iter().map(|f| f.to_vec()).collect();
                table.take_names(fields.iter().map(Vec::as_slice));
            }
            None => table.names = (1..=table.records.len()).map(|j| format!("column{j}")).collect(),
        }
        Ok(table)
    }

    fn check_names(&self) -> Result<()> {
        if self.records.iter().all(|f| parse_number(&f).is_some()) {
            let error = Error::found("only numbers in the first line", "the names of the columns");
            return Err(self
                .records
                .error(0, error)
                .hint("add a line of names, or say that there is none")
                .remedy(Remedy::Header));
        }
        Ok(())
    }

    fn take_names<'a>(&mut self, fields: impl Iterator<Item = &'a [u8]>) {
        for (j, field) in fields.enumerate() {
            let (name, latin1) = decode(field.trim_ascii());
            self.latin1 |= latin1;
            if name.is_empty() {
                self.unnamed.push(j);
                self.names.push(format!("column{}", j + 1));
            } else {
                self.names.push(name);
            }
        }
    }

    /// Reads the next row into `records`; false at the end. Passes over rows without any value, and
    /// over lines that start with `#` and are no row.
    pub(crate) fn next(&mut self) -> Result<bool> {
        loop {
            if !std::mem::take(&mut self.pending) && !self.records.next()? {
                return Ok(false);
            }
            if self.records.len() != self.names.len() {
                if self.records.starts_with(b'#') {
                    self.comments += 1;
                    continue;
                }
                let found = format!("{} fields", self.records.len());
                let expected = format!("{} as in the first line", self.names.len());
                let at = self.records.len().min(self.names.len());
                return Err(self.records.error(at, Error::found(found, expected)));
            }
            if self.names.len() > 1 && self.records.iter().all(|f| f.is_empty()) {
                self.blank_rows += 1;
                continue;
            }
            return Ok(true);
        }
    }

    /// What was passed over, one sentence each.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.latin1 {
            notes.push("names that are not UTF-8 were read as Latin-1".to_owned());
        }
        if self.commented_names {
            notes.push("the names are those of the comment before the first row".to_owned());
        }
        if self.comments > 0 {
            notes.push(format!("{} comment lines are left out", self.comments));
        }
        if self.blank_rows > 0 {
            notes.push(format!("{} rows without any value are left out", self.blank_rows));
        }
        if !self.unnamed.is_empty() {
            let numbers: Vec<String> = self.unnamed.iter().map(|j| (j + 1).to_string()).collect();
            notes.push(format!("columns without a name are left out: {}", numbers.join(", ")));
        }
        notes
    }
}

/// The separator that a line `sep=;` names, as spreadsheets write it.
fn separator_line(line: &[u8]) -> Option<u8> {
    let rest = line.get(..4).filter(|s| s.eq_ignore_ascii_case(b"sep=")).map(|_| &line[4..])?;
    match rest {
        [one] => Some(*one),
        // The separator divides the line itself.
        [] => Some(0),
        _ => None,
    }
}

/// The separator that `sep=` names, or the one that occurs most in the first line that is no comment,
/// outside quotes.
fn find_delimiter(head: &[u8]) -> u8 {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if head.len() > 4
        && head[..4].eq_ignore_ascii_case(b"sep=")
        && DELIMITERS.contains(&head[4])
        && matches!(head.get(5), None | Some(b'\r' | b'\n'))
    {
        return head[4];
    }
    let mut start = 0;
    while head[start..].iter().find(|b| !matches!(b, b' ' | b'\r' | b'\n')) == Some(&b'#') {
        match head[start..].iter().position(|b| matches!(b, b'\n' | b'\r')) {
            Some(end) => start += end + 1,
            None => break,
        }
    }
    let (mut quoted, mut counts, mut any) = (false, [0usize; 3], false);
    for &byte in &head[start..] {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted && any => break,
            _ if quoted => {}
            _ => {
                any |= !byte.is_ascii_whitespace();
                if let Some(k) = DELIMITERS.iter().position(|&d| d == byte) {
                    counts[k] += 1;
                }
            }
        }
    }
    let best = (0..3).max_by_key(|&k| (counts[k], std::cmp::Reverse(k)));
    DELIMITERS[best.unwrap_or(0)]
}

/// What messages call a separator.
pub(super) fn delimiter_name(delimiter: u8) -> &'static str {
    match delimiter {
        b'\t' => "tabs",
        b';' => "semicolons",
        _ => "commas",
    }
}
