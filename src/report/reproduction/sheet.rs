//! Parts of the report: sheets (tables with a file name), figures, sections.

use crate::Result;
use crate::report::{TextTable, csv_bytes, latex, markdown};

/// A table with its name and its words.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Name of its files, without ending.
    pub file: String,
    /// Heading.
    pub title: String,
    /// What it shows.
    pub note: String,
    /// The numbers.
    pub table: TextTable,
    /// Folded on the page.
    pub long: bool,
}

impl Sheet {
    /// A sheet that is shown at once.
    pub fn new(
        file: impl Into<String>,
        title: impl Into<String>,
        note: impl Into<String>,
        table: TextTable,
    ) -> Self {
        Sheet { file: file.into(), title: title.into(), note: note.into(), table, long: false }
    }

    /// The same, folded.
    pub fn folded(self) -> Self {
        Sheet { long: true, ..self }
    }

    /// The table as the content of files: ending and text.
    pub fn files(&self) -> Result<[(&'static str, Vec<u8>); 3]> {
        let csv = csv_bytes(self.table.header(), self.table.rows().iter().cloned())?;
        let md = format!("# {}\n\n{}\n\n{}", self.title, self.note, markdown::table(&self.table));
        let tex = format!(
            "% \\usepackage{{booktabs}}\n{}",
            latex::table(&self.table, &latex::escape(&self.title))
        );
        Ok([("csv", csv), ("md", md.into_bytes()), ("tex", tex.into_bytes())])
    }
}

/// A drawing with its words.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Name of its file, without ending.
    pub file: String,
    /// Heading.
    pub title: String,
    /// Colour and name of each line.
    pub keys: Vec<(String, String)>,
    /// The `<svg>` element.
    pub svg: String,
    /// Folded on the page with the others of its section.
    pub long: bool,
}

/// A part of the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Anchor.
    pub id: &'static str,
    /// Heading.
    pub title: &'static str,
    /// What to look for.
    pub text: Vec<String>,
    /// Tables.
    pub sheets: Vec<Sheet>,
    /// Drawings.
    pub drawings: Vec<Drawing>,
}

/// Mean and standard deviation for tables.
pub fn plus_minus((mean, std): (f64, f64)) -> String {
    format!("{mean:.3}±{std:.3}")
}

/// A number for tables, or a dash.
pub fn digits(value: Option<f64>, digits: usize) -> String {
    value.filter(|v| v.is_finite()).map_or_else(|| "-".to_owned(), |v| format!("{v:.digits$}"))
}
