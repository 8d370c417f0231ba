//! Multi-label LIBSVM (SVMlight): `1,3 5:0.5 8:1 # remark`, one instance per line.
//!
//! Labels are integers separated by commas (none at all is allowed); features are `index:value`
//! with ascending indices. The format has no names and no sizes, so three things may say more: a
//! first line `n d L` (extreme classification), the comment `# pomdp-fs {…}` that this program
//! writes, or nothing: then indices start at 0 if a 0 occurs and else at 1, the largest index is d,
//! and the labels are the numbers that occur.

mod row;

use std::collections::BTreeSet;
use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::Parsed;
use super::builder::{Matrices, too_big};
use super::lines::{Lines, trim};
use super::number::parse_index;
use super::options::{LabelSpec, ReadOptions, Role};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::{Error, Result, io};
use row::{Entries, Sizes, instance};

/// Start of the comment with names.
pub(crate) const TAG: &str = "# pomdp-fs ";

/// What the comment holds. Labels and features are then counted from 0.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Names {
    pub(crate) features: Vec<String>,
    pub(crate) labels: Vec<String>,
    /// "truth" or "candidates".
    pub(crate) block: String,
}

/// What is known about the size before the rows come.
#[derive(Default)]
struct Known {
    names: Option<Names>,
    /// n, d, L of the first line.
    sizes: Option<[usize; 3]>,
}

impl Known {
    /// The declared numbers of features and labels.
    fn declared(&self) -> Option<Sizes> {
        match (&self.names, self.sizes) {
            (Some(names), _) => {
                Some(Sizes { features: names.features.len(), labels: names.labels.len() })
            }
            (None, Some([_, d, l])) => Some(Sizes { features: d, labels: l }),
            _ => None,
        }
    }
}

/// Reads a whole LIBSVM file.
pub(crate) fn read(reader: impl BufRead, options: &ReadOptions) -> Result<Parsed> {
    let mut lines = Lines::new(reader);
    let mut entries = Entries::default();
    let mut known = Known::default();
    loop {
        let number = lines.number() + 1;
        let Some(line) = lines.next()? else { break };
        let first = number == 1;
        read_line(line, first, &mut entries, &mut known).map_err(|e| e.at_line(number))?;
        let held = entries.features.len() * 16 + entries.labels.len() * 4 + entries.ends.len() * 16;
        if held as u64 > options.max_bytes {
            return Err(too_big(held as u64, options.max_bytes).at_line(number));
        }
    }
    build(entries, known, options)
}

fn read_line(line: &[u8], first: bool, entries: &mut Entries, known: &mut Known) -> Result<()> {
    if first && line.starts_with(TAG.as_bytes()) {
        let names: Names = io::parse_json(&line[TAG.len()..]).map_err(|e| {
            let column = TAG.len() + e.position().1.map_or(1, |c| c.max(1) as usize);
            Error::found("a damaged comment with the names", "JSON as this program writes it")
                .at(1, column as u64)
                .excerpt(line, column)
        })?;
        if !matches!(names.block.as_str(), "truth" | "candidates") {
            return Err(Error::found(
                format_args!("the block '{}'", names.block),
                "truth or candidates",
            ));
        }
        known.names = Some(names);
        return Ok(());
    }
    let end = line.iter().position(|&b| b == b'#').unwrap_or(line.len());
    if end < line.len() && trim(&line[..end]).0.is_empty() {
        return Ok(()); // nothing but a remark
    }
    if first && let Some(sizes) = size_line(&line[..end]) {
        known.sizes = Some(sizes);
        return Ok(());
    }
    if line.is_empty() {
        return Ok(());
    }
    instance(line, end, known.declared(), entries)
}

/// `n d L` and nothing else.
fn size_line(line: &[u8]) -> Option<[usize; 3]> {
    let words: Vec<&[u8]> =
        line.split(|b| b.is_ascii_whitespace()).filter(|w| !w.is_empty()).collect();
    let sizes: Vec<usize> = words.iter().map_while(|w| parse_index(w)).collect();
    (words.len() == 3).then(|| sizes.try_into().ok()).flatten()
}

fn build(entries: Entries, known: Known, options: &ReadOptions) -> Result<Parsed> {
    let n = entries.ends.len();
    if n == 0 {
        return Err(Error::found("no rows", "at least one instance"));
    }
    let mut notes = Vec::new();
    let zero_occurs = entries.range.is_some_and(|(smallest, _)| smallest == 0);
    let from_zero = known.names.is_some() || known.sizes.is_some() || zero_occurs;
    let base = u32::from(!from_zero);
    notes.push(format!("feature indices start at {base}"));
    let seen = entries.range.map_or(0, |(_, largest)| (largest - base) as usize + 1);
    let d = known.declared().map_or(seen, |sizes| sizes.features);
    if d == 0 {
        return Err(Error::found("no features", "at least one index:value"));
    }
    if let Some([rows, _, _]) = known.sizes
        && rows != n
    {
        return Err(Error::found(
            format_args!("{n} rows"),
            format_args!("{rows} as the first line says"),
        ));
    }
    check_size(n, d, 0, options)?;
    // A file for a model may have no labels at all.
    let unlabelled = options.needed.is_some() && entries.labels.is_empty();
    let features_only = options.labels == Some(LabelSpec::None) || unlabelled;
    let labels = match features_only {
        true => Vec::new(),
        false => label_names(&entries.labels, &known, &mut notes)?,
    };
    check_size(n, d, labels.len(), options)?;
    let marked = known.names.as_ref().map(|names| match names.block.as_str() {
        "candidates" => Role::Candidates,
        _ => Role::Truth,
    });
    let candidates = marked.unwrap_or_else(|| options.role_of(None)) == Role::Candidates;
    let (x, y) = matrices(&entries, base, d, &labels)?;
    let (truth, candidates) = match (features_only, candidates) {
        (true, _) => (None, None),
        (_, true) => (None, Some(y)),
        (_, false) => (Some(y), None),
    };
    let numbered_features = known.names.is_none();
    let numbered = || (0..d).map(|j| format!("feature{}", j + base as usize)).collect();
    Ok(Parsed {
        matrices: Matrices { x, truth, candidates, words: Default::default() },
        table: None,
        feature_names: known.names.map_or_else(numbered, |names| names.features),
        label_names: labels.into_iter().map(|(_, name)| name).collect(),
        nominal: Default::default(),
        numbered_features,
        format: "libsvm".to_owned(),
        notes,
    })
}

/// Matrices and names must fit; a line of a few bytes can ask for terabytes.
fn check_size(n: usize, d: usize, labels: usize, options: &ReadOptions) -> Result<()> {
    const NAME: u64 = 48;
    let (n, d, labels) = (n as u64, d as u64, labels as u64);
    let row = d.saturating_mul(8).saturating_add(labels);
    let names = d.saturating_add(labels).saturating_mul(NAME);
    let needed = n.saturating_mul(row).saturating_add(names);
    if needed > options.max_bytes { Err(too_big(needed, options.max_bytes)) } else { Ok(()) }
}

/// Number and name of each label, ascending.
fn label_names(seen: &[u32], known: &Known, notes: &mut Vec<String>) -> Result<Vec<(u32, String)>> {
    let distinct: BTreeSet<u32> = seen.iter().copied().collect();
    let Some(Sizes { labels: count, .. }) = known.declared() else {
        notes.push("labels: the numbers that occur, ascending".to_owned());
        return match distinct.len() {
            0 => Err(Error::found("no labels in any row", "at least one")),
            _ => Ok(distinct.iter().map(|&l| (l, l.to_string())).collect()),
        };
    };
    // A declared count is only trusted as far as memory for its names goes.
    if count == 0 || count > 1 << 24 {
        return Err(Error::found(format_args!("{count} labels"), "1 to 16777216"));
    }
    let name = |l: usize| match &known.names {
        Some(names) => names.labels[l].clone(),
        None => l.to_string(),
    };
    Ok((0..count).map(|l| (l as u32, name(l))).collect())
}

fn matrices(
    entries: &Entries,
    base: u32,
    d: usize,
    labels: &[(u32, String)],
) -> Result<(Mat<f64>, Labels)> {
    let n = entries.ends.len();
    let mut x = Mat::zeros(n, d);
    let mut y = Labels::none(n, labels.len());
    let mut from = (0, 0);
    for (i, &end) in entries.ends.iter().enumerate() {
        for &(index, value) in &entries.features[from.0..end.0] {
            x[(i, (index - base) as usize)] = value;
        }
        for label in &entries.labels[from.1..end.1] {
            if let Ok(j) = labels.binary_search_by_key(label, |&(number, _)| number) {
                y.set(i, j, true);
            }
        }
        from = end;
    }
    Ok((x, y))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Parsed> {
        read(text.as_bytes(), &ReadOptions::default())
    }

    #[test]
    fn bases_remarks_and_rows_without_labels() {
        let p = parse("# remark\n1,3 1:0.5 3:2 # end\n 2:1\n7 1:-1e-2\n").unwrap();
        assert_eq!(p.matrices.x.as_slice(), [0.5, 0.0, 2.0, 0.0, 1.0, 0.0, -0.01, 0.0, 0.0]);
        assert_eq!(p.label_names, ["1", "3", "7"]);
        assert_eq!(p.feature_names, ["feature1", "feature2", "feature3"]);
        let y = p.matrices.truth.unwrap();
        assert_eq!(y.as_slice(), [true, true, false, false, false, false, false, false, true]);
        let p = parse("0 0:1\n2:5\n").unwrap();
        assert_eq!(p.matrices.x.as_slice(), [1.0, 0.0, 0.0, 0.0, 0.0, 5.0]);
    }

    #[test]
    fn sizes_and_names_in_the_first_line() {
        let p = parse("2 4 3\n0,2 0:1 3:2\n1 1:1\n").unwrap();
        assert_eq!((p.matrices.x.cols(), p.label_names.len()), (4, 3));
        let text = "# pomdp-fs {\"features\":[\"a\",\"b\"],\"labels\":[\"x\",\"y\"],\"block\":\"candidates\"}\n1 1:5\n";
        let p = parse(text).unwrap();
        assert_eq!(p.matrices.candidates.unwrap().as_slice(), [false, true]);
        assert_eq!(p.feature_names, ["a", "b"]);
    }

    #[test]
    fn declared_sizes_do_not_take_memory() {
        assert!(
            parse("2 99999999999 3\n0 0:1\n1 1:1\n").err().unwrap().to_string().contains("limit")
        );
        assert!(parse("1 2 99999999999\n0 0:1\n").is_err());
        assert!(parse("0 4294967295:1\n").err().unwrap().to_string().contains("limit"));
    }
}
