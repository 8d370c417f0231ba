//! One record of a CSV file, and its place in messages.

use csv::ByteRecord;

use super::super::builder::MatrixBuilder;
use super::super::layout::Use;
use super::super::number::parse_number;
use crate::{Error, Result};

/// Stores the fields of one record.
pub(super) fn store(
    record: &ByteRecord,
    names: &[String],
    rows: &mut MatrixBuilder,
    place: &Place,
) -> Result<()> {
    if record.len() != names.len() {
        let error = Error::found(
            format_args!("{} fields", record.len()),
            format_args!("{} as in the first line", names.len()),
        );
        return Err(place.error(record, record.len().min(names.len()), error));
    }
    rows.begin()?;
    for (j, field) in record.iter().enumerate() {
        let field = field.trim_ascii();
        let stored = match parse_number(field) {
            Some(value) => rows.put(j, value),
            None if is_missing(field) => rows.put_missing(j),
            None => word(field, j, rows),
        };
        stored.map_err(|e| place.error(record, j, e.about(format!("column '{}'", names[j]))))?;
    }
    Ok(())
}

fn is_missing(field: &[u8]) -> bool {
    matches!(field, b"" | b"?" | b"NA" | b"N/A" | b"NaN" | b"nan" | b"null")
}

/// A word is a label's yes or no, or an error.
fn word(field: &[u8], column: usize, rows: &mut MatrixBuilder) -> Result<()> {
    let value = match field.to_ascii_lowercase().as_slice() {
        b"true" | b"yes" => Some(1.0),
        b"false" | b"no" => Some(0.0),
        _ => None,
    };
    match (value, rows.used(column)) {
        (_, Use::Ignored) => Ok(()),
        (Some(value), _) => rows.put(column, value),
        (None, used) => {
            let shown = String::from_utf8_lossy(&field[..field.len().min(40)]).into_owned();
            let label = matches!(used, Use::Truth(_) | Use::Candidate(_));
            let expected = if label { "0 or 1" } else { "a finite number" };
            Err(Error::found(format_args!("'{shown}'"), expected))
        }
    }
}

/// Where a record stands.
pub(super) struct Place {
    pub(super) delimiter: u8,
    pub(super) line: Option<u64>,
}

impl Place {
    /// Adds line, column and excerpt. The line is put together again from the fields, so the column
    /// is exact unless a field is quoted.
    pub(super) fn error(&self, record: &ByteRecord, field: usize, error: Error) -> Error {
        let line = record.iter().collect::<Vec<_>>().join(&self.delimiter);
        let before = record.iter().take(field).map(|f| f.len() + 1).sum::<usize>();
        let column = before.min(line.len()) + 1;
        let error = error.at_column(column as u64).excerpt(&line, column);
        match self.line {
            Some(line) => error.at_line(line),
            None => error,
        }
    }
}
