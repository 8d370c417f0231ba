//! Which column is what: features, true labels, candidate labels, nothing.
//!
//! What decides, in this order: [`ReadOptions::labels`], the label XML, MEKA's `-C` in the relation name, the
//! prefixes `label:` and `candidate:` that this program writes. Nothing else: there is no guess.

use std::collections::HashMap;

use super::options::{LabelSpec, ReadOptions, Role, no_such_column};
use crate::{Error, Remedy, Result};

/// Prefix of a column with true labels in the files that this program writes.
pub(crate) const LABEL: &str = "label:";
/// Prefix of a column with candidate labels.
pub(crate) const CANDIDATE: &str = "candidate:";
/// Prefix of a feature whose own name would look like one of these.
pub(crate) const FEATURE: &str = "feature:";

/// What messages call [`ReadOptions::labels`] and [`ReadOptions::candidates`].
const LABEL_CHOICE: &str = "the choice of label columns";
const CANDIDATE_CHOICE: &str = "the choice of candidate columns";

/// The column name of a feature: marked as one if it would be taken for something else.
pub(crate) fn feature_column(name: &str) -> String {
    let misleading = [LABEL, CANDIDATE, FEATURE].iter().any(|p| name.starts_with(p));
    format!("{}{name}", if misleading { FEATURE } else { "" })
}

/// What becomes of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Feature(u32),
    Truth(u32),
    Candidate(u32),
    Ignored,
}

/// The decision for a whole file.
pub(crate) struct Layout {
    pub(crate) uses: Vec<Use>,
    pub(crate) feature_names: Vec<String>,
    pub(crate) label_names: Vec<String>,
    pub(crate) has_truth: bool,
    pub(crate) has_candidates: bool,
    pub(crate) notes: Vec<String>,
}

/// What the file itself says about its labels.
#[derive(Default)]
pub(crate) struct Declared {
    /// Label names from the XML, and what to call that file.
    pub(crate) xml: Option<(Vec<String>, String)>,
    /// MEKA's `-C`: positive counts from the start, negative from the end.
    pub(crate) meka: Option<i64>,
}

/// Columns of the two blocks, and names of the labels.
#[derive(Default)]
struct Blocks {
    truth: Vec<usize>,
    candidates: Vec<usize>,
    label_names: Vec<String>,
    note: String,
}

impl Layout {
    /// Decides about the columns called `names`.
    pub(crate) fn decide(
        names: &[&str],
        declared: &Declared,
        options: &ReadOptions,
    ) -> Result<Self> {
        let mut blocks = main_block(names, declared, options)?;
        if let Some(spec) = &options.candidates {
            second_block(&mut blocks, spec, names)?;
        } else if options.role == Role::Candidates && blocks.candidates.is_empty() {
            blocks.candidates = std::mem::take(&mut blocks.truth);
        }
        let mut uses = vec![None; names.len()];
        for (j, &c) in blocks.truth.iter().enumerate() {
            uses[c] = Some(Use::Truth(j as u32));
        }
        for (j, &c) in blocks.candidates.iter().enumerate() {
            uses[c] = Some(Use::Candidate(j as u32));
        }
        for name in &options.ignore {
            let c = names.iter().position(|n| n == name);
            let c = c.ok_or_else(|| {
                no_such_column(name, names, "the list of columns to leave out", None)
                    .remedy(Remedy::Ignore(name.clone()))
            })?;
            if uses[c].replace(Use::Ignored).is_some() {
                return Err(Error::config(format!(
                    "'{name}' is a label and among the columns to leave out"
                ))
                .remedy(Remedy::Ignore(name.clone())));
            }
        }
        let mut feature_names = Vec::new();
        let decide = |(c, used): (usize, Option<Use>)| {
            used.unwrap_or_else(|| {
                let name = names[c].strip_prefix(FEATURE).unwrap_or(names[c]);
                feature_names.push(name.to_owned());
                Use::Feature(feature_names.len() as u32 - 1)
            })
        };
        let uses = uses.into_iter().enumerate().map(decide).collect();
        if feature_names.is_empty() {
            return Err(Error::input("every column is a label, no feature is left")
                .hint("check which columns are chosen as labels")
                .remedy(Remedy::Labels));
        }
        Ok(Layout {
            uses,
            feature_names,
            has_truth: !blocks.truth.is_empty(),
            has_candidates: !blocks.candidates.is_empty(),
            label_names: blocks.label_names,
            notes: vec![blocks.note],
        })
    }
}

fn main_block(names: &[&str], declared: &Declared, options: &ReadOptions) -> Result<Blocks> {
    if options.labels == Some(LabelSpec::None) {
        return Ok(Blocks { note: "labels: none, as chosen".to_owned(), ..Blocks::default() });
    }
    if let Some(spec) = &options.labels {
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
    prefixed_block(names)
}

fn plain_block(names: &[&str], columns: Vec<usize>, note: String) -> Blocks {
    Blocks {
        label_names: columns.iter().map(|&c| names[c].to_owned()).collect(),
        truth: columns,
        candidates: Vec::new(),
        note,
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
                 a count 14 (the last 14), first:22, a range 104-117, or none",
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
        truth,
        candidates,
        label_names,
    })
}

fn second_block(blocks: &mut Blocks, spec: &LabelSpec, names: &[&str]) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(names: &[&str], declared: Declared, options: &ReadOptions) -> Result<Layout> {
        Layout::decide(names, &declared, options)
    }

    #[test]
    fn xml_names_win_over_order() {
        let xml = Some((vec!["z".to_owned(), "b".to_owned()], "f.xml".to_owned()));
        let declared = Declared { xml, meka: Some(1) };
        let layout = decide(&["a", "b", "c", "z"], declared, &ReadOptions::default()).unwrap();
        assert_eq!(layout.label_names, ["b", "z"]);
        assert_eq!(layout.feature_names, ["a", "c"]);
        assert_eq!(layout.uses[1], Use::Truth(0));
        assert!(layout.notes[0].contains("not in the order"));
    }

    #[test]
    fn meka_counts_from_both_ends() {
        let names = ["a", "b", "c"];
        let declared = |n| Declared { xml: None, meka: Some(n) };
        let options = ReadOptions::default();
        assert_eq!(decide(&names, declared(1), &options).unwrap().label_names, ["a"]);
        assert_eq!(decide(&names, declared(-2), &options).unwrap().label_names, ["b", "c"]);
        assert!(decide(&names, declared(3), &options).is_err());
        assert!(decide(&names, declared(i64::MIN), &options).is_err());
    }

    #[test]
    fn features_only_when_told() {
        let names = ["a", "label:x"];
        let options = ReadOptions { labels: Some(LabelSpec::None), ..ReadOptions::default() };
        let layout = decide(&names, Declared { xml: None, meka: Some(1) }, &options).unwrap();
        assert_eq!(layout.feature_names, names);
        assert!(layout.label_names.is_empty() && !layout.has_truth && !layout.has_candidates);
    }

    #[test]
    fn two_blocks_and_candidates_alone() {
        let names = ["a", "label:x", "label:y", "candidate:x", "candidate:y", "feature:label:q"];
        let layout = decide(&names, Declared::default(), &ReadOptions::default()).unwrap();
        assert!(layout.has_truth && layout.has_candidates);
        assert_eq!(layout.feature_names, ["a", "label:q"]);
        let options = ReadOptions {
            labels: Some(LabelSpec::First(1)),
            candidates: Some(LabelSpec::Range(4, 4)),
            ..ReadOptions::default()
        };
        let layout = decide(&names, Declared::default(), &options).unwrap();
        assert_eq!((layout.uses[0], layout.uses[3]), (Use::Truth(0), Use::Candidate(0)));
        let options = ReadOptions {
            labels: Some(LabelSpec::First(1)),
            role: Role::Candidates,
            ignore: vec!["label:x".to_owned()],
            ..ReadOptions::default()
        };
        let layout = decide(&names, Declared::default(), &options).unwrap();
        assert!(!layout.has_truth && layout.has_candidates);
        assert_eq!(layout.uses[1], Use::Ignored);
    }
}
