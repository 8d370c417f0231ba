//! What a method thinks of its own labels, in plain words and without the truth.

use serde::{Deserialize, Serialize};

/// Whether labels can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Candidates were removed, and nothing speaks against it.
    Cleaned,
    /// Nothing was removed: the labels are the candidates.
    Unchanged,
    /// Candidates were removed, but the data do not look like what the method assumes.
    Uncertain,
    /// Nearly everything would have been removed: the labels must not be used.
    Collapsed,
}

impl Status {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Status::Cleaned => "cleaned",
            Status::Unchanged => "unchanged",
            Status::Uncertain => "uncertain",
            Status::Collapsed => "collapsed",
        }
    }
}

/// A judgement of the labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// In one word.
    pub status: Status,
    /// In a sentence or two, with what to do.
    pub text: String,
    /// What else was noticed, one sentence each.
    pub warnings: Vec<String>,
}
