//! One error type for the whole library: what was found, what was expected, where, and what to do.
//!
//! Every error is the user's next step. [`Error::input`] and friends build it, the `at_*` methods
//! add the place, [`Error::hint`] the remedy; `Display` prints it the way compilers do:
//!
//! ```text
//! birds.arff:17:42: found 'maybe', expected one of {0,1}
//!   0.3,0.9,maybe,1
//!           ^
//!   hint: declare the value in the @attribute line, or correct the row
//! ```

use std::fmt;
use std::path::{Path, PathBuf};

use crate::text::printable;

/// What went wrong, for callers that branch on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file or a matrix has content that cannot be used.
    Input,
    /// An option or a configuration value is out of its range.
    Config,
    /// The operating system refused to read or write.
    Io,
    /// A computation left the finite numbers.
    Numeric,
    /// The caller asked to stop.
    Cancelled,
}

/// The value that the caller can change to get past an error. The library's hints describe it; an
/// interface adds how its users say it (the command line: which flag).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Which columns are labels.
    Labels,
    /// Which columns are candidate labels.
    Candidates,
    /// Which file names the labels.
    LabelFile,
    /// Whether the first line names the columns.
    Header,
    /// Which columns are left out: this one.
    Ignore(String),
    /// What becomes of missing values.
    Impute,
    /// What becomes of several columns.
    Columns(ColumnChanges),
    /// Whether a label column holds joined tags: this one.
    Tags(String),
    /// How much memory a data set may take.
    MemoryLimit,
    /// Which folder holds the data sets of the catalog.
    DataFolder,
    /// Get this data set of the catalog.
    Fetch(String),
    /// Which metric of a table of results.
    Metric,
}

/// What to do with columns that cannot be used as they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnChanges {
    /// The column that names the rows.
    pub id: Option<String>,
    /// Columns to leave out.
    pub ignore: Vec<String>,
    /// Columns of words that become one feature each.
    pub one_hot: Vec<String>,
    /// Whether missing values must be filled in.
    pub impute: bool,
}

/// An error with its place and its remedy. Cheap to move: one pointer.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    path: Option<PathBuf>,
    line: Option<u64>,
    column: Option<u64>,
    excerpt: Option<(String, usize)>,
    hint: Option<String>,
    remedy: Option<Remedy>,
}

/// The library's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            path: None,
            line: None,
            column: None,
            excerpt: None,
            hint: None,
            remedy: None,
        }))
    }

    /// Unusable content of a file or matrix.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    /// Unusable content, in the usual form "found …, expected …".
    pub fn found(found: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Self::input(format!("found {found}, expected {expected}"))
    }

    /// An option or configuration value out of range.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    /// A loss, gradient or weight that is not finite.
    pub fn numeric(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Numeric, message)
    }

    /// The caller's request to stop was honoured.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "stopped on request")
    }

    /// The operating system's refusal, with the path it was about.
    pub fn io(path: impl AsRef<Path>, action: &str, source: &std::io::Error) -> Self {
        Self::refused(action, source).in_file(path)
    }

    /// The operating system's refusal, from a reader that does not know its path.
    pub fn refused(action: &str, source: &std::io::Error) -> Self {
        Self::new(ErrorKind::Io, format!("cannot {action}: {source}"))
    }

    /// Names the file.
    pub fn in_file(mut self, path: impl AsRef<Path>) -> Self {
        self.0.path = Some(path.as_ref().to_path_buf());
        self
    }

    /// Names line and column (both start at 1; the column counts bytes).
    pub fn at(mut self, line: u64, column: u64) -> Self {
        self.0.line = Some(line);
        self.0.column = Some(column);
        self
    }

    /// Names the column alone; the line is added by whoever counts the lines.
    pub fn at_column(mut self, column: u64) -> Self {
        self.0.column = Some(column);
        self
    }

    /// Names the line alone.
    pub fn at_line(mut self, line: u64) -> Self {
        self.0.line = Some(line);
        self
    }

    /// Says what the message is about, in front of it: a column, a variable.
    pub fn about(mut self, subject: impl fmt::Display) -> Self {
        self.0.message = format!("{subject}: {}", self.0.message);
        self
    }

    /// Shows the offending line with a caret under byte `column` (from 1); long lines are cut.
    pub fn excerpt(mut self, line: &[u8], column: usize) -> Self {
        let caret = column.saturating_sub(1).min(line.len());
        let from = caret.saturating_sub(30);
        let to = line.len().min(caret + 40);
        let head = if from > 0 { "…" } else { "" };
        let text: String = String::from_utf8_lossy(&line[from..to])
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let before = String::from_utf8_lossy(&line[from..caret]).chars().count();
        let tail = if to < line.len() { "…" } else { "" };
        self.0.excerpt = Some((format!("{head}{text}{tail}"), before + head.chars().count()));
        self
    }

    /// Says what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Says which value to change about it.
    pub fn remedy(mut self, remedy: Remedy) -> Self {
        self.0.remedy = Some(remedy);
        self
    }

    /// What to do about it, if that is known.
    pub fn what_to_do(&self) -> (Option<&str>, Option<&Remedy>) {
        (self.0.hint.as_deref(), self.0.remedy.as_ref())
    }

    /// What went wrong, as a class.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The file, if one is named.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Line and column, as far as they are known.
    pub fn position(&self) -> (Option<u64>, Option<u64>) {
        (self.0.line, self.0.column)
    }

    /// The message alone, without place, excerpt and hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let e = &*self.0;
        if let Some(path) = &e.path {
            write!(f, "{}:", printable(&path.to_string_lossy()))?;
        }
        if let Some(line) = e.line {
            write!(f, "{}{line}:", if e.path.is_some() { "" } else { "line " })?;
        }
        if let Some(column) = e.column {
            write!(f, "{column}:")?;
        }
        if e.path.is_some() || e.line.is_some() {
            f.write_str(" ")?;
        }
        // Names in messages come from files that nobody has looked at.
        f.write_str(&printable(&e.message))?;
        if let Some((text, caret)) = &e.excerpt {
            write!(f, "\n  {}\n  {:caret$}^", printable(text), "")?;
        }
        if let Some(hint) = &e.hint {
            write!(f, "\n  hint: {}", printable(hint))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:?}] {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_place_excerpt_and_hint() {
        let e = Error::found("'maybe'", "one of {0,1}")
            .in_file("birds.arff")
            .at(17, 9)
            .excerpt(b"0.3,0.9,maybe,1", 9)
            .hint("correct the row");
        assert_eq!(
            e.to_string(),
            "birds.arff:17:9: found 'maybe', expected one of {0,1}\n  0.3,0.9,maybe,1\n          ^\n  hint: correct the row"
        );
        assert_eq!(e.kind(), ErrorKind::Input);
        assert_eq!(e.position(), (Some(17), Some(9)));
    }

    #[test]
    fn long_lines_are_cut_around_the_caret() {
        let line = vec![b'x'; 1000];
        let text = Error::input("bad").excerpt(&line, 500).to_string();
        assert!(text.len() < 200, "{text}");
        let caret = text.lines().nth(2).unwrap();
        assert_eq!(caret.chars().count(), 2 + 31 + 1);
    }
}
