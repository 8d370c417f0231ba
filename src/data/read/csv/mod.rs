//! Comma-, tab- or semicolon-separated values with a line of names.

mod bounded;
mod row;

use std::collections::HashMap;
use std::io::BufRead;

use csv::{ByteRecord, ReaderBuilder};

use super::Parsed;
use super::builder::MatrixBuilder;
use super::layout::{Declared, Layout};
use super::lines::{decode, read_error};
use super::number::parse_number;
use super::options::ReadOptions;
use crate::{Error, Remedy, Result};
use bounded::Bounded;
use row::{Place, store};

/// Reads a whole CSV file.
pub(crate) fn read(mut reader: impl BufRead, options: &ReadOptions) -> Result<Parsed> {
    let delimiter = find_delimiter(reader.fill_buf().map_err(read_error)?);
    let mut table = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(Bounded::new(reader));
    let mut record = ByteRecord::new();
    if !next(&mut table, &mut record)? {
        return Err(Error::found("an empty file", "a line of column names").at(1, 1));
    }
    let mut place = Place { delimiter, line: Some(1) };
    let (names, latin1) = names(&record, options, &place)?;
    let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut layout = Layout::decide(&borrowed, &Declared::default(), options)?;
    let mut rows = MatrixBuilder::new(&layout, options, |_| 0.0)?;
    if !options.header {
        store(&record, &names, &mut rows, &place)?;
    }
    while next(&mut table, &mut record)? {
        place.line = record.position().map(csv::Position::line);
        store(&record, &names, &mut rows, &place)?;
    }
    let mut notes = std::mem::take(&mut layout.notes);
    if latin1 {
        notes.push("names that are not UTF-8 were read as Latin-1".to_owned());
    }
    Ok(Parsed {
        matrices: rows.finish(&mut notes)?,
        feature_names: layout.feature_names,
        label_names: layout.label_names,
        nominal: Default::default(),
        numbered_features: !options.header,
        format: format!("csv, separated by {}", delimiter_name(delimiter)),
        notes,
    })
}

/// The separator that occurs most in the first line, outside quotes.
fn find_delimiter(head: &[u8]) -> u8 {
    let (mut quoted, mut counts) = (false, [0usize; 3]);
    const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];
    for &byte in head {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => break,
            _ if quoted => {}
            _ => {
                if let Some(k) = DELIMITERS.iter().position(|&d| d == byte) {
                    counts[k] += 1;
                }
            }
        }
    }
    let best = (0..3).max_by_key(|&k| (counts[k], std::cmp::Reverse(k)));
    DELIMITERS[best.unwrap_or(0)]
}

fn delimiter_name(delimiter: u8) -> &'static str {
    match delimiter {
        b'\t' => "tabs",
        b';' => "semicolons",
        _ => "commas",
    }
}

fn next(table: &mut csv::Reader<impl std::io::Read>, record: &mut ByteRecord) -> Result<bool> {
    table.read_byte_record(record).map_err(|e| match e.into_kind() {
        csv::ErrorKind::Io(e) => read_error(e),
        other => Error::input(format!("{other:?}")),
    })
}

/// Names of the columns: the first record, or numbers.
fn names(record: &ByteRecord, options: &ReadOptions, place: &Place) -> Result<(Vec<String>, bool)> {
    if !options.header {
        return Ok(((1..=record.len()).map(|j| format!("column{j}")).collect(), false));
    }
    if record.iter().all(|f| parse_number(f.trim_ascii()).is_some()) {
        let error = Error::found("only numbers in the first line", "the names of the columns");
        return Err(place
            .error(record, 0, error)
            .hint("add a line of names, or say that there is none")
            .remedy(Remedy::Header));
    }
    let mut latin1 = false;
    let mut names = Vec::with_capacity(record.len());
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(record.len());
    for (j, field) in record.iter().enumerate() {
        let field = match j {
            0 => field.strip_prefix(b"\xef\xbb\xbf").unwrap_or(field),
            _ => field,
        };
        let (name, other) = decode(field.trim_ascii());
        latin1 |= other;
        if name.is_empty() {
            return Err(place.error(
                record,
                j,
                Error::found("an empty name", "a name for each column"),
            ));
        }
        if let Some(first) = seen.insert(name.clone(), j) {
            let error = Error::input(format!(
                "columns {} and {} are both called '{name}'",
                first + 1,
                j + 1
            ));
            return Err(place.error(record, j, error));
        }
        names.push(name);
    }
    Ok((names, latin1))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::data::read::options::{Impute, LabelSpec};

    fn options(labels: usize) -> ReadOptions {
        ReadOptions { labels: Some(LabelSpec::Last(labels)), ..ReadOptions::default() }
    }

    #[test]
    fn separators_quotes_and_words() {
        for (text, kind) in [
            ("\"a,1\",b,l\r\n1,2,1\r\n3,4e1,no\r\n", "commas"),
            ("\u{feff}\"a,1\"\tb\tl\n1\t2\ttrue\n3\t 40 \t-1", "tabs"),
            ("\"a,1\";b;l\n1;2;yes\n3;40;0\n", "semicolons"),
        ] {
            let p = read(text.as_bytes(), &options(1)).unwrap();
            assert_eq!(p.feature_names, ["a,1", "b"]);
            assert_eq!(p.matrices.x.as_slice(), [1.0, 2.0, 3.0, 40.0]);
            assert_eq!(p.matrices.truth.unwrap().as_slice(), [true, false]);
            assert!(p.format.ends_with(kind), "{}", p.format);
        }
    }

    #[test]
    fn no_header_only_when_told() {
        let text = "1,2,1\n3,4,0\n";
        let error = read(text.as_bytes(), &options(1)).err().unwrap();
        assert_eq!(error.what_to_do().1, Some(&Remedy::Header));
        let told = ReadOptions { header: false, ..options(1) };
        let p = read(text.as_bytes(), &told).unwrap();
        assert_eq!(p.matrices.x.rows(), 2);
        assert_eq!(p.label_names, ["column3"]);
        assert!(p.numbered_features);
        // The same names in the file itself are names.
        let named = read("column1,column2,l\n1,2,1\n".as_bytes(), &options(1)).unwrap();
        assert!(!named.numbered_features);
    }

    #[test]
    fn missing_values_and_their_place() {
        let text = "a,b,l\n1,,1\n3,NA,0\n5,6,1\n";
        let error = read(text.as_bytes(), &options(1)).err().unwrap();
        assert_eq!(error.position(), (Some(2), Some(3)));
        let zero = ReadOptions { impute: Impute::Zero, ..options(1) };
        assert_eq!(read(text.as_bytes(), &zero).unwrap().matrices.x[(1, 1)], 0.0);
    }

    #[test]
    fn a_quote_that_is_never_closed_does_not_fill_the_memory() {
        let start = &b"a,l\n1,\"0\n"[..];
        let endless = std::io::Read::chain(start, std::io::repeat(b'\n').take(1 << 30));
        let error = read(std::io::BufReader::new(endless), &options(1)).err().unwrap();
        assert!(error.to_string().contains("is a quote never closed?"), "{error}");
    }
}
