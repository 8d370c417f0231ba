//! Comma-, tab- or semicolon-separated values with a line of names, as spreadsheets and databases
//! write them.

pub(crate) mod record;
mod row;
mod table;
pub(crate) mod value;

use std::io::BufRead;

use super::Parsed;
use super::builder::MatrixBuilder;
use super::layout::{Declared, Layout, Use};
use super::options::ReadOptions;
use super::survey::Column;
use crate::Result;
use crate::data::dataset::TableColumns;
use row::Rows;
pub(crate) use table::Table;
use table::delimiter_name;

/// Reads a whole CSV file.
pub(crate) fn read(reader: impl BufRead, options: &ReadOptions) -> Result<Parsed> {
    let mut table = Table::open(reader, options.header)?;
    let names = table.names.clone();
    let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
    let declared = Declared { unnamed: table.unnamed.clone(), ..Declared::default() };
    let layout = Layout::decide(&borrowed, &declared, options).map_err(|e| match e.position() {
        (None, None) => e.at_line(table.records.line()),
        _ => e,
    })?;
    let builder = MatrixBuilder::new(&layout, options, |_| 0.0)?;
    let mut rows = Rows::new(&names, &layout, builder, table.delimiter);
    while table.next()? {
        rows.store(&table.records)?;
    }
    finish(rows, layout, table, options)
}

fn finish<R: BufRead>(
    mut rows: Rows<'_>,
    mut layout: Layout,
    table: Table<R>,
    options: &ReadOptions,
) -> Result<Parsed> {
    rows.check(options.needed.is_some())?;
    let mut notes = std::mem::take(&mut layout.notes);
    notes.extend(table.notes());
    notes.extend(rows.notes());
    let no = rows.no_words();
    let mut columns = TableColumns {
        delimiter: table.delimiter,
        header: options.header,
        labels: label_columns(&layout),
        no,
        tags: layout.tags.map(|(column, _)| (column, 0)),
    };
    let matrices = rows.builder.finish(&mut notes)?;
    let words = &matrices.words;
    columns.tags = columns.tags.map(|(column, _)| (column, words.separator));
    let mut feature_names = layout.feature_names;
    feature_names.extend(words.features.iter().cloned());
    Ok(Parsed {
        feature_names,
        label_names: words.labels.clone().unwrap_or(layout.label_names),
        nominal: Default::default(),
        numbered_features: !options.header,
        format: format!("csv, separated by {}", delimiter_name(table.delimiter)),
        notes,
        table: Some(columns),
        matrices,
    })
}

/// Columns of the candidates, or of the only block, in the order of the labels.
fn label_columns(layout: &Layout) -> Vec<usize> {
    let mut columns = vec![0; layout.label_names.len()];
    for (c, used) in layout.uses.iter().enumerate() {
        match used {
            Use::Candidate(j) => columns[*j as usize] = c,
            Use::Truth(j) if !layout.has_candidates => columns[*j as usize] = c,
            _ => {}
        }
    }
    columns
}

/// What is in each column of a table, whatever it is.
pub(crate) fn survey(reader: impl BufRead, header: bool) -> Result<(usize, Vec<Column>)> {
    let mut table = Table::open(reader, header)?;
    let mut columns: Vec<Column> =
        table.names.iter().enumerate().map(|(j, name)| Column::new(name, j + 1)).collect();
    let mut rows = 0;
    while table.next()? {
        rows += 1;
        for (j, column) in columns.iter_mut().enumerate().take(table.records.len()) {
            row::see(column, &table.records.field(j), table.delimiter, table.records.line());
        }
    }
    Ok((rows, columns))
}

#[cfg(test)]
mod tests;
