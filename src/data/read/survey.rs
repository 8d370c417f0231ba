//! What is in the columns of a table, whether they can be used as they stand or not.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::csv::value::{is_date, is_unread_number, yes_no_word};
use super::lines::decode;

/// More different values than this are not told apart.
const DISTINCT: usize = 100_000;
/// Examples that are kept of a column.
const EXAMPLES: usize = 3;
/// Characters of an example.
const EXAMPLE_LENGTH: usize = 40;
/// A column with at most so many different words is a choice between them.
const CHOICES: usize = 30;
/// Separators of tags that are joined in one field.
pub(crate) const TAG_SEPARATORS: [u8; 3] = [b'|', b';', b','];

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but missing values.
    Empty,
    /// Numbers.
    Numbers,
    /// 0 and 1 alone.
    Binary,
    /// Words for yes and no, or a mark and blanks.
    YesNo,
    /// Numbers, but for a few other values.
    NearlyNumbers,
    /// Dates.
    Dates,
    /// A different short text in each row.
    Ids,
    /// Tags that are joined in one field.
    Tags,
    /// A few words that come again.
    Words,
    /// Anything else.
    Text,
}

/// What was seen in a column.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its number in the file, from 1.
    pub number: usize,
    /// Values that are numbers.
    pub numbers: usize,
    /// Missing values.
    pub missing: usize,
    /// Other values.
    pub words: usize,
    /// The first of the other values, up to a few.
    pub examples: Vec<String>,
    /// Line of the first missing value.
    pub first_missing: Option<u64>,
    binary: usize,
    blank: usize,
    yes_no: usize,
    marks: usize,
    dates: usize,
    /// Numbers to a reader, but not to this program.
    unread: usize,
    short: usize,
    joined: usize,
    /// Each number is whole and larger than the one before.
    not_rising: bool,
    last: Option<f64>,
    distinct: HashSet<u64>,
    pieces: HashSet<u64>,
    all_pieces: usize,
}

impl Column {
    /// Nothing seen yet.
    pub(crate) fn new(name: &str, number: usize) -> Self {
        Column { name: name.to_owned(), number, ..Column::default() }
    }

    /// Sees a number.
    #[inline]
    pub(crate) fn number(&mut self, value: f64) {
        self.numbers += 1;
        self.binary += usize::from(value == 0.0 || value == 1.0);
        self.not_rising |= value.fract() != 0.0 || self.last.is_some_and(|last| value <= last);
        self.last = Some(value);
    }

    /// Sees a missing value.
    pub(crate) fn missing(&mut self, field: &[u8], line: u64) {
        self.missing += 1;
        self.blank += usize::from(field.is_empty());
        self.first_missing.get_or_insert(line);
    }

    /// Sees anything else.
    pub(crate) fn word(&mut self, field: &[u8]) {
        self.words += 1;
        self.yes_no += usize::from(yes_no_word(field).is_some());
        self.marks += usize::from(field.eq_ignore_ascii_case(b"x"));
        self.dates += usize::from(is_date(field));
        self.unread += usize::from(is_unread_number(field));
        let blanks = field.iter().filter(|b| **b == b' ').count();
        self.short += usize::from(field.len() <= 40 && blanks <= 1);
        let key = hash(field);
        if self.distinct.len() < DISTINCT
            && self.distinct.insert(key)
            && self.examples.len() < EXAMPLES
        {
            let text: String = decode(field).0.chars().take(EXAMPLE_LENGTH).collect();
            self.examples.push(text);
        }
        let separator = TAG_SEPARATORS.iter().find(|s| field.contains(s));
        self.joined += usize::from(separator.is_some());
        if self.pieces.len() < DISTINCT {
            for piece in field.split(|b| Some(b) == separator) {
                self.all_pieces += 1;
                self.pieces.insert(hash(piece.trim_ascii()));
            }
        }
    }

    /// What the values are.
    pub fn kind(&self) -> Kind {
        let nearly_all = |count: usize| 10 * count >= 9 * self.words;
        let different = self.distinct.len();
        match (self.numbers, self.words) {
            (0, 0) => Kind::Empty,
            (n, 0) if n == self.binary => Kind::Binary,
            (_, 0) => Kind::Numbers,
            (0, words)
                if words == self.yes_no && (words > self.marks || self.missing == self.blank) =>
            {
                Kind::YesNo
            }
            (n, words) if words <= n => Kind::NearlyNumbers,
            // Numbers that come again and again may be tags.
            (_, words) if words == self.unread && self.pieces.len() * 3 > self.all_pieces => {
                Kind::NearlyNumbers
            }
            _ if nearly_all(self.dates) => Kind::Dates,
            (0, words) if words >= 10 && different == words => {
                if nearly_all(self.short) {
                    Kind::Ids
                } else {
                    Kind::Text
                }
            }
            (0, words)
                if 10 * self.joined >= words
                    && self.pieces.len() <= 1000
                    && self.pieces.len() * 3 <= self.all_pieces =>
            {
                Kind::Tags
            }
            (_, words) if different <= CHOICES && (different * 2 <= words || different <= 3) => {
                Kind::Words
            }
            _ => Kind::Text,
        }
    }

    /// Do the numbers rise from row to row, as ids and row numbers do?
    pub fn rises(&self) -> bool {
        self.numbers >= 20 && self.words == 0 && !self.not_rising
    }

    /// What is in the column, in a few words.
    pub fn description(&self) -> String {
        super::problems::describe(self, super::problems::Meant::Feature)
    }

    /// Number of different words.
    pub fn choices(&self) -> usize {
        self.distinct.len()
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: impl Iterator<Item = String>) -> Column {
        let mut column = Column::new("c", 1);
        for (line, value) in values.enumerate() {
            match value.parse::<f64>() {
                Ok(number) => column.number(number),
                Err(_) if value.is_empty() => column.missing(b"", line as u64),
                Err(_) => column.word(value.as_bytes()),
            }
        }
        column
    }

    #[test]
    fn kinds_of_columns() {
        let kind = |f: fn(usize) -> String| column((0..60).map(f)).kind();
        assert_eq!(kind(|i| format!("{}", i as f64 / 7.0)), Kind::Numbers);
        assert_eq!(kind(|i| format!("{}", i % 2)), Kind::Binary);
        assert_eq!(kind(|i| ["Y", "N"][i % 2].to_owned()), Kind::YesNo);
        assert_eq!(kind(|i| ["x", "", ""][i % 3].to_owned()), Kind::YesNo);
        assert_eq!(
            kind(|i| if i == 7 { "12 EUR".to_owned() } else { i.to_string() }),
            Kind::NearlyNumbers
        );
        assert_eq!(kind(|i| format!("2024-01-{:02}", i % 28 + 1)), Kind::Dates);
        assert_eq!(kind(|i| format!("T-{}", 1000 + i)), Kind::Ids);
        assert_eq!(kind(|i| ["mail", "web", "phone"][i % 3].to_owned()), Kind::Words);
        assert_eq!(
            kind(|i| ["billing|login", "login", "refund|login"][i % 3].to_owned()),
            Kind::Tags
        );
        assert_eq!(kind(|i| format!("the customer wrote {i} times about it")), Kind::Text);
        assert_eq!(kind(|_| String::new()), Kind::Empty);
        assert!(column((0..60).map(|i| (1000 + i).to_string())).rises());
        assert!(!column((0..60).map(|i| (i % 50).to_string())).rises());
    }
}
