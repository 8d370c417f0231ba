//! The options with which every command opens a data set.

use std::path::PathBuf;

use clap::Args;

use super::memory;
use crate::data::catalog::{self, Cut, Folders};
use crate::data::{
    Dataset, Format, Impute, LabelSpec, Needed, Part, ReadOptions, Role, split_names,
};
use crate::{Error, Result};

/// How to find and read a data set.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub struct Input {
    /// Label columns: names 'a,b,c', 'prefix:tag_', a count '14' (the last 14), 'first:22', a range
    /// '104-117' (from 1), 'tags:COLUMN' (one column of joined tags such as billing|login), or 'none'
    #[arg(long, value_name = "SPEC")]
    labels: Option<LabelSpec>,
    /// A second label block with the candidates, spelled like --labels
    #[arg(long, value_name = "SPEC")]
    candidates: Option<LabelSpec>,
    /// What the label block means when there is only one: truth or candidates [default: what the file
    /// says; else candidates in select and apply, truth elsewhere]
    #[arg(long, value_name = "ROLE")]
    role: Option<Role>,
    /// File with the candidate labels of the same instances
    #[arg(long, value_name = "FILE")]
    candidates_from: Option<PathBuf>,
    /// File with the true labels of the same instances
    #[arg(long, value_name = "FILE")]
    truth_from: Option<PathBuf>,
    /// Label file of an ARFF (MULAN's XML) [default: the one beside it]
    #[arg(long, value_name = "FILE")]
    xml: Option<PathBuf>,
    /// Columns to leave out, separated by commas
    #[arg(long, value_name = "NAMES")]
    ignore: Option<String>,
    /// Column that names the rows; it is carried into all results
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// Columns of words, separated by commas: each word becomes a feature of zeros and ones
    #[arg(long, value_name = "NAMES")]
    one_hot: Option<String>,
    /// Missing feature values: refuse, mean or zero [default: refuse; in apply as in select]
    #[arg(long, value_name = "HOW")]
    impute: Option<Impute>,
    /// The first line of the CSV holds numbers, not names
    #[arg(long)]
    no_header: bool,
    /// Rows of a MATLAB file with a train and a test part: all, train or test
    #[arg(long, value_name = "PART", default_value = "all")]
    part: Part,
    /// Format, instead of finding it out: arff, csv, libsvm or mat
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Refuse what takes more memory than this; 512M and 8G are understood [default: 4G for a matrix,
    /// and for a computation what is available]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    max_memory: Option<u64>,
    /// The whole set of the catalog, not the paper's cut
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    place: Place,
}

/// Where the sets of the catalog lie.
#[derive(Args, Clone, Debug)]
pub struct Place {
    /// Folder with data sets of the catalog [default: the variable POMDP_FS_DATA]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl Place {
    /// The folders to look in.
    pub fn folders(&self) -> Folders {
        Folders::standard(self.data_dir.as_deref())
    }
}

impl Input {
    /// Opens a file, or a set of the catalog by name. Labels of which nobody says what they mean are
    /// `unmarked`.
    pub fn open(&self, what: &str, unmarked: Role) -> Result<Dataset> {
        self.open_with(what, ReadOptions { unmarked, ..self.options()? })
    }

    /// Refuses a computation that takes so many bytes, if that is too much.
    pub fn check_memory(&self, needed: u64) -> Result<()> {
        memory::check(needed, self.max_memory)
    }

    /// Opens what a model is applied to: only the columns that it needs are read.
    pub fn open_for(&self, what: &str, needed: Needed, impute: Impute) -> Result<Dataset> {
        let options = ReadOptions {
            unmarked: Role::Candidates,
            needed: Some(needed),
            impute: self.impute.unwrap_or(impute),
            ..self.options()?
        };
        self.open_with(what, options)
    }

    fn open_with(&self, what: &str, options: ReadOptions) -> Result<Dataset> {
        let cut = if self.full { Cut::Full } else { Cut::Paper };
        catalog::open(what, cut, &self.place.folders(), &options)
    }

    /// Whether the user says what a single label block means.
    pub fn role(&self) -> Option<Role> {
        self.role
    }

    /// How files are read.
    pub fn options(&self) -> Result<ReadOptions> {
        let names = |list: &Option<String>| list.as_deref().map(split_names).transpose();
        Ok(ReadOptions {
            format: self.format,
            labels: self.labels.clone(),
            candidates: self.candidates.clone(),
            role: self.role,
            unmarked: Role::Truth,
            candidates_from: self.candidates_from.clone(),
            truth_from: self.truth_from.clone(),
            xml: self.xml.clone(),
            ignore: names(&self.ignore)?.unwrap_or_default(),
            id: self.id.clone(),
            one_hot: names(&self.one_hot)?.unwrap_or_default(),
            needed: None,
            impute: self.impute.unwrap_or_default(),
            header: !self.no_header,
            part: self.part,
            max_bytes: self.max_memory.unwrap_or(ReadOptions::default().max_bytes),
        })
    }
}

/// A number of bytes, with K, M or G for powers of 1024.
fn parse_bytes(text: &str) -> Result<u64> {
    let (digits, unit) = match text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']) {
        digits if digits.len() == text.len() => (digits, 1),
        digits if digits.len() + 1 == text.len() => {
            let unit = match text.as_bytes()[digits.len()].to_ascii_uppercase() {
                b'K' => 1 << 10,
                b'M' => 1 << 20,
                _ => 1 << 30,
            };
            (digits, unit)
        }
        _ => ("", 1),
    };
    let number: Option<u64> = digits.parse().ok();
    number.and_then(|n| n.checked_mul(unit)).ok_or_else(|| {
        Error::config(format!("found '{text}', expected a number of bytes such as 512M or 8G"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_units() {
        assert_eq!(parse_bytes("1000").unwrap(), 1000);
        assert_eq!(parse_bytes("512M").unwrap(), 512 << 20);
        assert_eq!(parse_bytes("8g").unwrap(), 8 << 30);
        for bad in ["", "M", "8GG", "-1", "99999999999G", "1.5G"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }
}
