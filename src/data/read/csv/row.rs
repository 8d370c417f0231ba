//! The fields of a row on their way into the matrices. A value that does not fit is remembered with
//! its place, and reading goes on: all columns that are in trouble are told at once.

use std::io::BufRead;

use super::super::builder::{MatrixBuilder, yes_or_no};
use super::super::layout::{Layout, Use};
use super::super::lines::decode;
use super::super::number::parse_number;
use super::super::problems::{Meant, report};
use super::super::survey::Column;
use super::record::Records;
use super::value::{is_missing, no_for, parse_comma_number, yes_no_word};
use crate::text::name;
use crate::{Error, Remedy, Result};

/// Rows in the making.
pub(super) struct Rows<'a> {
    names: &'a [String],
    uses: Vec<Use>,
    pub(super) builder: MatrixBuilder,
    delimiter: u8,
    columns: Vec<Column>,
    troubled: Vec<bool>,
    first: Option<Error>,
    decimal: Decimal,
    labels: LabelWords,
    single_label: bool,
}

/// The first number with a comma and the first with a point.
#[derive(Default)]
struct Decimal {
    comma: Option<(u64, String)>,
    point: Option<(u64, String)>,
}

/// How labels are written.
#[derive(Default)]
struct LabelWords {
    /// Blank labels, and the place of the first.
    blanks: usize,
    first_blank: Option<Error>,
    said_no: bool,
    /// For each column the first word for yes and for no.
    words: Vec<(Option<String>, Option<String>)>,
}

/// A value that cannot be stored.
enum Trouble {
    Value(Error),
    /// Stops the reading.
    File(Error),
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        names: &'a [String],
        layout: &Layout,
        builder: MatrixBuilder,
        delimiter: u8,
    ) -> Self {
        let columns = names.iter().enumerate().map(|(j, name)| Column::new(name, j + 1)).collect();
        let labels = LabelWords { words: vec![(None, None); names.len()], ..LabelWords::default() };
        Rows {
            names,
            uses: layout.uses.clone(),
            builder,
            delimiter,
            columns,
            troubled: vec![false; names.len()],
            first: None,
            decimal: Decimal::default(),
            labels,
            single_label: layout.label_names.len() == 1,
        }
    }

    /// Stores the row in hand.
    pub(super) fn store<R: BufRead>(&mut self, record: &Records<R>) -> Result<()> {
        self.builder.begin()?;
        for j in 0..record.len() {
            let used = self.uses[j];
            if used == Use::Ignored {
                continue;
            }
            let field = record.field(j);
            if used.is_text() {
                self.builder.put_text(j, if is_missing(&field) { b"" } else { &field });
                continue;
            }
            let stored = match used {
                Use::Feature(_) => self.feature(j, &field, record.line()),
                _ => self.label(j, &field, record),
            };
            let about = |e: Error| e.about(format!("column '{}'", name(&self.names[j])));
            match stored {
                Ok(()) => {}
                Err(Trouble::File(e)) => return Err(record.error(j, about(e))),
                Err(Trouble::Value(e)) => {
                    if self.first.is_none() {
                        self.first = Some(record.error(j, about(e)));
                    }
                    self.troubled[j] = true;
                }
            }
        }
        Ok(())
    }

    fn feature(&mut self, j: usize, field: &[u8], line: u64) -> std::result::Result<(), Trouble> {
        if let Some(value) = parse_number(field) {
            self.columns[j].number(value);
            if self.delimiter != b',' && self.decimal.point.is_none() && field.contains(&b'.') {
                self.decimal.point = Some((line, String::from_utf8_lossy(field).into_owned()));
                self.decimal.check().map_err(Trouble::File)?;
            }
            return self.builder.put(j, value).map_err(Trouble::Value);
        }
        if is_missing(field) {
            self.columns[j].missing(field, line);
            return self.builder.put_missing(j).map_err(Trouble::Value);
        }
        if let Some(value) = parse_comma_number(field).filter(|_| self.delimiter != b',') {
            self.columns[j].number(value);
            if self.decimal.comma.is_none() {
                self.decimal.comma = Some((line, String::from_utf8_lossy(field).into_owned()));
                self.decimal.check().map_err(Trouble::File)?;
            }
            return self.builder.put(j, value).map_err(Trouble::Value);
        }
        self.columns[j].word(field);
        // A mark is no yes where there is no no.
        match yes_no_word(field).filter(|_| !field.eq_ignore_ascii_case(b"x")) {
            Some(yes) => self.builder.put(j, f64::from(u8::from(yes))).map_err(Trouble::Value),
            None => Err(Trouble::Value(unexpected(field, "a finite number"))),
        }
    }

    fn label<R: BufRead>(
        &mut self,
        j: usize,
        field: &[u8],
        record: &Records<R>,
    ) -> std::result::Result<(), Trouble> {
        if field.is_empty() {
            self.labels.blanks += 1;
            if self.labels.first_blank.is_none() {
                let error = Error::found("a missing label", "0 or 1")
                    .about(format!("column '{}'", name(&self.names[j])));
                self.labels.first_blank = Some(record.error(j, error));
            }
            return Ok(());
        }
        let comma = || parse_comma_number(field).filter(|_| self.delimiter != b',');
        let on = match parse_number(field).or_else(comma) {
            Some(value) => yes_or_no(value).map_err(Trouble::Value)?,
            None if is_missing(field) => {
                self.columns[j].missing(field, record.line());
                return Err(Trouble::Value(Error::found("a missing label", "0 or 1")));
            }
            None => yes_no_word(field).ok_or_else(|| {
                self.columns[j].word(field);
                let error = unexpected(field, "0 or 1");
                Trouble::Value(match self.single_label {
                    true => error
                        .hint("or does the column hold joined tags, such as billing|login?")
                        .remedy(Remedy::Tags(self.names[j].clone())),
                    false => error,
                })
            })?,
        };
        let words = &mut self.labels.words[j];
        let word = if on { &mut words.0 } else { &mut words.1 };
        if word.is_none() {
            *word = Some(decode(field).0);
        }
        self.labels.said_no |= !on;
        self.builder.put(j, f64::from(u8::from(on))).map_err(Trouble::Value)
    }

    /// Refuses what cannot be used: every column in trouble, and blank labels beside a written no. A
    /// column that a model needs can be nothing else, so its first value is told.
    pub(super) fn check(&mut self, for_model: bool) -> Result<()> {
        if let Some(first) = self.first.take() {
            if for_model {
                return Err(first);
            }
            let meant = |used: Use| match used {
                Use::Feature(_) => Meant::Feature,
                _ => Meant::Label,
            };
            let troubled = self.columns.iter().zip(&self.uses).zip(&self.troubled);
            let troubled: Vec<(&Column, Meant)> = troubled
                .filter(|(_, trouble)| **trouble)
                .map(|((column, used), _)| (column, meant(*used)))
                .collect();
            return Err(report(&troubled, first));
        }
        match self.labels.first_blank.take().filter(|_| self.labels.said_no) {
            Some(blank) => Err(blank.hint("blank means no only where no label is written as no")),
            None => Ok(()),
        }
    }

    /// What was decided, one sentence each.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some((_, example)) = &self.decimal.comma {
            notes.push(format!(
                "decimal comma: '{example}' is read as {}",
                example.replace(',', ".")
            ));
        }
        if self.labels.blanks > 0 {
            notes.push(format!("{} blank labels are read as no", self.labels.blanks));
        }
        let rising = self.columns.iter().zip(&self.uses);
        let rising = rising.filter(|(c, used)| matches!(used, Use::Feature(_)) && c.rises());
        notes.extend(rising.map(|(column, _)| {
            format!(
                "feature '{}' rises from row to row, as ids and row numbers do: name it as the id or leave \
                 it out, unless it means something",
                name(&column.name)
            )
        }));
        notes
    }

    /// How each column writes no: as it does itself, as another label does, or as its yes implies.
    pub(super) fn no_words(&self) -> Vec<String> {
        let any = self.labels.words.iter().find_map(|w| w.1.clone());
        let blank = (self.labels.blanks > 0).then(String::new);
        let word = |(yes, no): &(Option<String>, Option<String>)| {
            let implied = || yes.as_ref().map(|y| no_for(y));
            no.clone().or_else(|| blank.clone()).or_else(|| any.clone()).or_else(implied)
        };
        self.labels.words.iter().map(|w| word(w).unwrap_or_else(|| "0".to_owned())).collect()
    }
}

impl Decimal {
    fn check(&self) -> Result<()> {
        match (&self.comma, &self.point) {
            (Some((line, comma)), Some((other, point))) => Err(Error::found(
                format!("'{comma}' in line {line} and '{point}' in line {other}"),
                "one decimal mark in the whole file",
            )
            .hint("write all numbers with a point, and without marks between thousands")),
            _ => Ok(()),
        }
    }
}

fn unexpected(field: &[u8], expected: &str) -> Error {
    let shown = String::from_utf8_lossy(&field[..field.len().min(40)]).into_owned();
    Error::found(format_args!("'{shown}'"), expected)
}

/// Shows a field to a column, whatever it is.
pub(super) fn see(column: &mut Column, field: &[u8], delimiter: u8, line: u64) {
    let comma = || parse_comma_number(field).filter(|_| delimiter != b',');
    match parse_number(field).or_else(comma) {
        Some(value) => column.number(value),
        None if is_missing(field) => column.missing(field, line),
        None => column.word(field),
    }
}
