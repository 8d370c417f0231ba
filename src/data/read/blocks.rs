//! Which columns are labels, by all who may say so: the caller, a label XML, MEKA's `-C`, a model, or the
//! names of the columns themselves.

use std::collections::HashMap;

use super::layout::{CANDIDATE, Declared, LABEL};
use super::options::{LabelSpec, Needed, ReadOptions, Role, no_such_column};
use crate::{Error, Remedy, Result};

/// What messages call [`ReadOptions::labels`] and [`ReadOptions::candidates`].
const LABEL_CHOICE: &str = "the choice of label columns";
const CANDIDATE_CHOICE: &str = "the choice of candidate columns";

/// Columns of the two blocks, and names of the labels.
#[derive(Default)]
pub(crate) struct Blocks {
    pub(crate) truth: Vec<usize>,
    pub(crate) candidates: Vec<usize>,
    pub(crate) label_names: Vec<String>,
    pub(crate) tags: Option<usize>,
    /// What the file itself calls the block.
    pub(crate) marked: Option<Role>,
    pub(crate) note: String,
}

/// The block that is always there: labels, or joined tags.
pub(crate) fn main_block(
    names: &[&str],
    declared: &Declared,
    options: &ReadOptions,
) -> Result<Blocks> {
    if options.labels == Some(LabelSpec::None) {
        return Ok(Blocks { note: "labels: none, as chosen".to_owned(), ..Blocks::default() });
    }
    if let Some(LabelSpec::Tags(column)) = &options.labels {
        let spec = LabelSpec::Tags(column.clone());
        let found = spec.resolve(names, LABEL_CHOICE).map_err(|e| e.remedy(Remedy::Labels))?;
        return Ok(tag_block(found[0], column));
    }
    if let Some(spec) = &options.labels {
        // Separators at the ends of lines make columns that nobody counts.
        let count = match spec {
            LabelSpec::Last(_) => named(names.len(), &declared.unnamed),
            _ => names.len(),
        };
        let names = &names[..count];
        let columns = spec.resolve(names, LABEL_CHOICE).map_err(|e| e.remedy(Remedy::Labels))?;
        let note = format!("labels: {} columns, as chosen", columns.len());
        return Ok(plain_block(names, columns, note));
    }
    if let Some((labels, file)) = &declared.xml {
        return xml_block(names, labels, file);
    }
    if let Some(count) = declared.meka {
        let n = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        let (spec, end) = match count < 0 {
            true => (LabelSpec::Last(n), "last"),
            false => (LabelSpec::First(n), "first"),
        };
        let what = format!("-C {count} in the relation name");
        let columns = spec.resolve(names, &what)?;
        return Ok(plain_block(names, columns, format!("labels: the {end} {n} columns ({what})")));
    }
    match &options.needed {
        Some(needed) => Ok(known_block(names, needed)?),
        None => prefixed_block(names),
    }
}

/// Number of columns up to the last one that has a name.
fn named(all: usize, unnamed: &[usize]) -> usize {
    (0..all).rev().find(|c| !unnamed.contains(c)).map_or(all, |last| last + 1)
}

fn tag_block(column: usize, name: &str) -> Blocks {
    Blocks {
        tags: Some(column),
        note: format!("labels: the tags in column '{}'", crate::text::name(name)),
        ..Blocks::default()
    }
}

/// The labels of a model, as far as the file has them.
fn known_block(names: &[&str], needed: &Needed) -> Result<Blocks> {
    if names.iter().any(|n| n.starts_with(LABEL) || n.starts_with(CANDIDATE)) {
        return prefixed_block(names);
    }
    let tags = needed.tags.as_deref();
    if let Some((c, name)) = names.iter().enumerate().find(|(_, n)| Some(**n) == tags) {
        return Ok(tag_block(c, name));
    }
    let is_label = |c: &usize| needed.labels.iter().any(|l| l == names[*c]);
    let columns: Vec<usize> = (0..names.len()).filter(is_label).collect();
    let note = match columns.len() {
        0 => "labels: none of the model's".to_owned(),
        n => format!("labels: {n} columns called like labels of the model"),
    };
    Ok(plain_block(names, columns, note))
}

fn plain_block(names: &[&str], columns: Vec<usize>, note: String) -> Blocks {
    Blocks {
        label_names: columns.iter().map(|&c| names[c].to_owned()).collect(),
        truth: columns,
        note,
        ..Blocks::default()
    }
}

/// Where the columns of a label are.
struct LabelColumns<'a> {
    first: usize,
    truth: Option<usize>,
    candidate: Option<usize>,
    label: &'a String,
}

/// Labels by name, in the order of the columns. A label may have a column with the truth, one with
/// the candidates, or both.
fn xml_block(names: &[&str], labels: &[String], file: &str) -> Result<Blocks> {
    let mut position: HashMap<&str, usize> = HashMap::with_capacity(names.len());
    position.extend(names.iter().enumerate().map(|(c, n)| (*n, c)));
    let find = |label: &str| {
        // Some XML files keep the backslashes of the ARFF.
        let plain = label.replace('\\', "");
        position.get(label).or_else(|| position.get(plain.as_str())).copied()
    };
    let mut found: Vec<LabelColumns> = Vec::new();
    for label in labels {
        let truth = find(label);
        let candidate = find(&format!("{CANDIDATE}{label}"));
        match truth.or(candidate) {
            Some(first) => found.push(LabelColumns { first, truth, candidate, label }),
            None => {
                let what = format!("the label file {file}");
                let other = "is this the label file of another data set? give the right one";
                return Err(
                    no_such_column(label, names, &what, Some(other)).remedy(Remedy::LabelFile)
                );
            }
        }
    }
    let xml_order: Vec<usize> = found.iter().map(|f| f.first).collect();
    found.sort_by_key(|f| f.first);
    let block = |pick: fn(&LabelColumns) -> Option<usize>| {
        let columns: Vec<usize> = found.iter().filter_map(pick).collect();
        match columns.len() {
            0 => Ok(columns),
            n if n == found.len() => Ok(columns),
            n => Err(Error::input(format!(
                "{n} of the {} labels of {file} have a column of their own and the others only one called '{CANDIDATE}…'",
                found.len()
            ))),
        }
    };
    let (truth, candidates) = (block(|f| f.truth)?, block(|f| f.candidate)?);
    let order = if xml_order.is_sorted() { "in" } else { "not in" };
    Ok(Blocks {
        note: format!(
            "labels: {} names in {file}, which are {order} the order of the columns; column order is kept",
            labels.len()
        ),
        label_names: found.iter().map(|f| f.label.clone()).collect(),
        truth,
        candidates,
        ..Blocks::default()
    })
}

fn prefixed_block(names: &[&str]) -> Result<Blocks> {
    let pick = |prefix: &str| -> (Vec<usize>, Vec<String>) {
        let tagged = names.iter().enumerate();
        let tagged = tagged.filter_map(|(c, n)| Some((c, n.strip_prefix(prefix)?.to_owned())));
        tagged.unzip()
    };
    let (truth, truth_names) = pick(LABEL);
    let (candidates, candidate_names) = pick(CANDIDATE);
    if truth.is_empty() && candidates.is_empty() {
        return Err(Error::input("nothing says which columns are labels")
            .hint(
                "put the label XML beside the ARFF, or choose the columns: names a,b,c, prefix:tag_, \
                 a count 14 (the last 14), first:22, a range 104-117, tags:COLUMN for joined tags, or none",
            )
            .remedy(Remedy::Labels));
    }
    if !truth.is_empty() && !candidates.is_empty() && truth_names != candidate_names {
        return Err(Error::input(format!(
            "the columns '{LABEL}…' and '{CANDIDATE}…' do not name the same labels in the same order"
        )));
    }
    let label_names = if truth.is_empty() { candidate_names } else { truth_names };
    Ok(Blocks {
        note: format!("labels: {} columns marked '{LABEL}' or '{CANDIDATE}'", label_names.len()),
        // A file that marks its columns says what they are.
        marked: (!truth.is_empty()).then_some(Role::Truth),
        truth,
        candidates,
        label_names,
        ..Blocks::default()
    })
}

/// The candidates beside the truth.
pub(crate) fn second_block(blocks: &mut Blocks, spec: &LabelSpec, names: &[&str]) -> Result<()> {
    let columns =
        spec.resolve(names, CANDIDATE_CHOICE).map_err(|e| e.remedy(Remedy::Candidates))?;
    if columns.len() != blocks.label_names.len() {
        return Err(Error::config(format!(
            "{CANDIDATE_CHOICE} names {} columns, the truth has {}",
            columns.len(),
            blocks.label_names.len()
        ))
        .remedy(Remedy::Candidates));
    }
    if let Some(&both) = columns.iter().find(|c| blocks.truth.contains(c)) {
        return Err(Error::config(format!(
            "column '{}' is chosen as a label and as a candidate",
            names[both]
        ))
        .remedy(Remedy::Candidates));
    }
    blocks.note += &format!(
        "; candidates: {} columns, as chosen, paired with the labels in order ('{}' with '{}')",
        columns.len(),
        names[columns[0]],
        blocks.label_names[0]
    );
    blocks.candidates = columns;
    Ok(())
}
