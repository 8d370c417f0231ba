//! `TextTable`: a header and rows of text. `Display` gives the form for terminals; the exporters
//! give others.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A table as text: a header and rows of the same length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextTable {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// Starts with the names of the columns.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        TextTable { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Adds a row.
    pub fn push<S: Into<String>>(&mut self, row: impl IntoIterator<Item = S>) {
        self.rows.push(row.into_iter().map(Into::into).collect());
    }
}

/// Aligned columns: words to the left, numbers to the right.
impl std::fmt::Display for TextTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(self.header.clone())
            .add_rows(self.rows.clone());
        for (k, column) in table.column_iter_mut().enumerate() {
            let number = |row: &Vec<String>| {
                row[k].starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
            };
            if self.rows.iter().all(number) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        f.write_str(&table.trim_fmt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut rows = TextTable::new(["method", "RL"]);
        rows.push(["a", "0.5"]);
        rows.push(["longer", "0.25"]);
        assert_eq!(rows.to_string(), " method    RL\n a        0.5\n longer  0.25");
    }
}
