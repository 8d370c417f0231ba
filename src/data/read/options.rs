//! What the user says about a file that the file does not say itself.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::number::parse_index;
use crate::data::choice::choice;
use crate::{Error, Result};

/// How to read a file. The default reads what describes itself and refuses to guess.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOptions {
    /// Format, instead of finding out from the content.
    pub format: Option<Format>,
    /// Which columns are labels (ARFF, CSV).
    pub labels: Option<LabelSpec>,
    /// Which columns are a second label block with the candidates (ARFF, CSV).
    pub candidates: Option<LabelSpec>,
    /// What the label block means when there is only one.
    pub role: Option<Role>,
    /// What it means when neither [`ReadOptions::role`] nor the file says.
    pub unmarked: Role,
    /// File whose label block is the candidates of this one.
    pub candidates_from: Option<PathBuf>,
    /// File whose label block is the truth of this one.
    pub truth_from: Option<PathBuf>,
    /// Label file in MULAN's XML, instead of the one beside the ARFF.
    pub xml: Option<PathBuf>,
    /// Columns to leave out (ARFF, CSV).
    pub ignore: Vec<String>,
    /// Column that names the rows (ARFF, CSV).
    pub id: Option<String>,
    /// Columns of words, of which each word becomes a feature of zeros and ones (ARFF, CSV).
    pub one_hot: Vec<String>,
    /// What a model needs of the file; everything else is left out (ARFF, CSV).
    pub needed: Option<Needed>,
    /// What to do with missing feature values.
    pub impute: Impute,
    /// Does the first line of a CSV name the columns?
    pub header: bool,
    /// Which rows of a MATLAB file with a train and a test part.
    pub part: Part,
    /// Refuse to build a matrix of more bytes than this.
    pub max_bytes: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            format: None,
            labels: None,
            candidates: None,
            role: None,
            unmarked: Role::Truth,
            candidates_from: None,
            truth_from: None,
            xml: None,
            ignore: Vec::new(),
            id: None,
            one_hot: Vec::new(),
            needed: None,
            impute: Impute::Refuse,
            header: true,
            part: Part::All,
            max_bytes: 4 << 30,
        }
    }
}

impl ReadOptions {
    /// What a label block means, of which the file says `marked`.
    pub(crate) fn role_of(&self, marked: Option<Role>) -> Role {
        // A second block has the candidates, so the first one has the truth.
        let second = self.candidates.is_some() || self.candidates_from.is_some();
        let unmarked = if second { Role::Truth } else { self.unmarked };
        self.role.or(marked).unwrap_or(unmarked)
    }
}

/// The columns that a model needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needed {
    /// Names of the features.
    pub features: Vec<String>,
    /// The features have numbers instead of names, so that columns are taken by position.
    pub numbered: bool,
    /// Names of the labels; a file may have none of them.
    pub labels: Vec<String>,
    /// Words of the columns that are one feature per word.
    pub one_hot: BTreeMap<String, Vec<String>>,
    /// Column that names the rows, if the file has it.
    pub id: Option<String>,
    /// Column of joined tags, if the file has it.
    pub tags: Option<String>,
    /// Value of each feature for [`Impute::Mean`]: the mean of the rows that trained the model.
    pub means: BTreeMap<String, f64>,
}

impl Needed {
    /// The means for the features `names` of a file: by name, or by position where neither side has
    /// names.
    pub(crate) fn means_of(&self, names: &[String]) -> Vec<f64> {
        let known = |name: &String| self.means.get(name).copied();
        let by_position = !names.iter().any(|n| self.means.contains_key(n));
        match by_position && names.len() == self.features.len() {
            true => self.features.iter().map(|n| known(n).unwrap_or(0.0)).collect(),
            false => names.iter().map(|n| known(n).unwrap_or(0.0)).collect(),
        }
    }
}

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Attribute-relation file, dense or sparse, with MULAN's XML or MEKA's `-C`.
    Arff,
    /// Comma-, tab- or semicolon-separated values.
    Csv,
    /// Multi-label LIBSVM / SVMlight.
    Libsvm,
    /// MATLAB 5 to 7.
    Mat,
}

choice!(Format { Arff => "arff", Csv => "csv", Libsvm => "libsvm", Mat => "mat" });

/// What a single label block means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// True labels.
    Truth,
    /// Candidate labels: a superset of the unknown truth.
    Candidates,
}

choice!(Role { Truth => "truth", Candidates => "candidates" });

/// What to do with missing feature values. Missing labels are always refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Impute {
    /// Stop at the first one.
    #[default]
    Refuse,
    /// The mean of the column's known values, or of the rows that trained a model.
    Mean,
    /// Zero.
    Zero,
}

choice!(Impute { Refuse => "refuse", Mean => "mean", Zero => "zero" });

/// Rows of a MATLAB file that comes split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Train rows, then test rows.
    All,
    /// Train rows.
    Train,
    /// Test rows.
    Test,
}

choice!(Part { All => "all", Train => "train", Test => "test" });

/// Which columns are labels. As text: `a,b,c` (names; quote as in CSV), `prefix:TAG_`,
/// `14` or `last:14`, `first:22`, `104-117` (columns from 1), `tags:COLUMN` (one column of joined
/// tags), `none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelSpec {
    /// No column: the file has features only.
    None,
    /// One column with all tags of a row, joined by `|`, `;` or `,`.
    Tags(String),
    /// These names.
    Names(Vec<String>),
    /// All names that start with this.
    Prefix(String),
    /// The first n columns.
    First(usize),
    /// The last n columns.
    Last(usize),
    /// Columns from..=to, counted from 1.
    Range(usize, usize),
}

impl FromStr for LabelSpec {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let number = |t: &str| parse_index(t.as_bytes());
        let count = |t: &str| {
            number(t).filter(|&n| n > 0).ok_or_else(|| {
                Error::config(format!("found '{t}', expected a number of label columns"))
            })
        };
        if text == "none" {
            return Ok(LabelSpec::None);
        }
        if let Some(prefix) = text.strip_prefix("prefix:").filter(|p| !p.is_empty()) {
            return Ok(LabelSpec::Prefix(prefix.to_owned()));
        }
        if let Some(column) = text.strip_prefix("tags:").filter(|c| !c.is_empty()) {
            return Ok(LabelSpec::Tags(column.to_owned()));
        }
        if let Some(n) = text.strip_prefix("first:") {
            return Ok(LabelSpec::First(count(n)?));
        }
        if let Some(n) = text.strip_prefix("last:") {
            return Ok(LabelSpec::Last(count(n)?));
        }
        if number(text).is_some() {
            return Ok(LabelSpec::Last(count(text)?));
        }
        if let Some((from, to)) = text.split_once('-')
            && let (Some(from), Some(to)) = (number(from), number(to))
        {
            if from == 0 || to < from {
                return Err(Error::config(format!(
                    "found the range '{text}', expected FROM-TO with 1 <= FROM <= TO"
                )));
            }
            return Ok(LabelSpec::Range(from, to));
        }
        Ok(LabelSpec::Names(split_names(text.strip_prefix("names:").unwrap_or(text))?))
    }
}

/// Names separated by commas, quoted as in CSV when they hold one.
pub fn split_names(text: &str) -> Result<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let record = reader.records().next().and_then(|r| r.ok());
    let names: Vec<String> =
        record.map(|r| r.iter().map(|n| n.trim().to_owned()).collect()).unwrap_or_default();
    if names.is_empty() || names.iter().any(String::is_empty) {
        return Err(Error::config(format!(
            "found '{text}', expected column names separated by commas"
        )));
    }
    Ok(names)
}

impl LabelSpec {
    /// The columns, ascending. `what` names the choice in messages.
    pub(crate) fn resolve(&self, names: &[&str], what: &str) -> Result<Vec<usize>> {
        let total = names.len();
        let too_many = |asked: usize| {
            let all = match total {
                1 => "only one column: is it divided by commas, semicolons or tabs?".to_owned(),
                n => format!("{n} columns"),
            };
            Error::config(format!("{what} asks for column {asked}, the file has {all}"))
        };
        let columns: Vec<usize> = match self {
            LabelSpec::None => Vec::new(),
            LabelSpec::Tags(column) => {
                let found = names.iter().position(|n| n == column);
                vec![found.ok_or_else(|| no_such_column(column, names, what, None))?]
            }
            LabelSpec::First(n) | LabelSpec::Last(n) if *n > total => return Err(too_many(*n)),
            LabelSpec::Range(_, to) if *to > total => return Err(too_many(*to)),
            LabelSpec::First(n) => (0..*n).collect(),
            LabelSpec::Last(n) => (total - n..total).collect(),
            LabelSpec::Range(from, to) => (from - 1..*to).collect(),
            LabelSpec::Prefix(prefix) => {
                (0..total).filter(|&j| names[j].starts_with(prefix.as_str())).collect()
            }
            LabelSpec::Names(wanted) => {
                let mut columns = Vec::with_capacity(wanted.len());
                for name in wanted {
                    let found = names.iter().position(|n| n == name);
                    columns.push(found.ok_or_else(|| no_such_column(name, names, what, None))?);
                }
                columns.sort_unstable();
                columns.dedup();
                columns
            }
        };
        if columns.is_empty() {
            return Err(Error::config(format!("{what} matches no column")));
        }
        Ok(columns)
    }
}

/// "No column is called …", with the nearest spelling as a hint if there is one.
pub(crate) fn no_such_column(
    name: &str,
    names: &[&str],
    what: &str,
    otherwise: Option<&str>,
) -> Error {
    let error = Error::config(format!("{what} names '{name}', but no column is called that"));
    let folded = |s: &str| -> String {
        let kept = s.chars().filter(|c| c.is_alphanumeric());
        kept.flat_map(char::to_lowercase).collect()
    };
    let wanted = folded(name);
    match (names.iter().find(|n| folded(n) == wanted), otherwise) {
        (Some(near), _) => error.hint(format!("there is a column '{near}'")),
        (None, Some(otherwise)) => error.hint(otherwise),
        (None, None) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_columns_in_all_spellings() {
        let names = ["a", "b", "tag_x", "tag_y", "c,d"];
        let resolve = |spec: &str| {
            let spec: LabelSpec = spec.parse().unwrap();
            spec.resolve(&names, "the choice of label columns").map_err(|e| e.to_string())
        };
        assert_eq!(resolve("tag_y,a").unwrap(), [0, 3]);
        assert_eq!(resolve("\"c,d\"").unwrap(), [4]);
        assert_eq!(resolve("names:b").unwrap(), [1]);
        assert_eq!("none".parse::<LabelSpec>().unwrap(), LabelSpec::None);
        assert_eq!(
            "names:none".parse::<LabelSpec>().unwrap(),
            LabelSpec::Names(vec!["none".to_owned()])
        );
        assert_eq!(resolve("tags:b").unwrap(), [1]);
        assert!(resolve("tags:z").unwrap_err().contains("'z'"));
        assert_eq!(resolve("prefix:tag_").unwrap(), [2, 3]);
        assert_eq!(resolve("2").unwrap(), [3, 4]);
        assert_eq!(resolve("last:2").unwrap(), [3, 4]);
        assert_eq!(resolve("first:1").unwrap(), [0]);
        assert_eq!(resolve("2-4").unwrap(), [1, 2, 3]);
        assert!(resolve("6").unwrap_err().contains("the file has 5 columns"));
        assert!(resolve("2-6").unwrap_err().contains("column 6"));
        assert!(resolve("prefix:z").unwrap_err().contains("matches no column"));
        assert!(resolve("TAG-X").unwrap_err().contains("there is a column 'tag_x'"));
        for bad in ["", "0", "first:x", "0-3", "4-2", "a,,b"] {
            assert!(bad.parse::<LabelSpec>().is_err(), "{bad}");
        }
        assert!("median".parse::<Impute>().unwrap_err().to_string().contains("refuse, mean, zero"));
    }
}
