//! Which column is what: features, true labels, candidate labels, nothing.
//!
//! What decides, in this order: [`ReadOptions::labels`], the label XML, MEKA's `-C` in the relation name, the
//! prefixes `label:` and `candidate:` that this program writes. Nothing else: there is no guess.

use std::collections::{HashMap, HashSet};

use super::blocks::{main_block, second_block};
use super::options::{ReadOptions, Role, no_such_column};
use crate::{Error, Remedy, Result};

/// Prefix of a column with true labels in the files that this program writes.
pub(crate) const LABEL: &str = "label:";
/// Prefix of a column with candidate labels.
pub(crate) const CANDIDATE: &str = "candidate:";
/// Prefix of a feature whose own name would look like one of these.
pub(crate) const FEATURE: &str = "feature:";

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
    /// Names the row.
    Id,
    /// Words that become features.
    OneHot(u32),
    /// Joined tags.
    Tags,
    Ignored,
}

impl Use {
    /// Is the text of the field kept, whatever it is?
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Use::Id | Use::OneHot(_) | Use::Tags)
    }
}

/// The decision for a whole file.
pub(crate) struct Layout {
    pub(crate) uses: Vec<Use>,
    pub(crate) feature_names: Vec<String>,
    pub(crate) label_names: Vec<String>,
    pub(crate) has_truth: bool,
    pub(crate) has_candidates: bool,
    /// Names of the columns of words.
    pub(crate) one_hot: Vec<String>,
    /// Name of the column of ids.
    pub(crate) id: Option<String>,
    /// The column of joined tags, and what they mean.
    pub(crate) tags: Option<(usize, Role)>,
    pub(crate) notes: Vec<String>,
}

/// What the file itself says about its labels.
#[derive(Default)]
pub(crate) struct Declared {
    /// Label names from the XML, and what to call that file.
    pub(crate) xml: Option<(Vec<String>, String)>,
    /// MEKA's `-C`: positive counts from the start, negative from the end.
    pub(crate) meka: Option<i64>,
    /// Columns without a name of their own: left out unless they are chosen.
    pub(crate) unnamed: Vec<usize>,
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
        } else if blocks.candidates.is_empty() && options.role_of(blocks.marked) == Role::Candidates
        {
            blocks.candidates = std::mem::take(&mut blocks.truth);
        }
        let mut uses = vec![None; names.len()];
        for (j, &c) in blocks.truth.iter().enumerate() {
            uses[c] = Some(Use::Truth(j as u32));
        }
        for (j, &c) in blocks.candidates.iter().enumerate() {
            uses[c] = Some(Use::Candidate(j as u32));
        }
        if let Some(c) = blocks.tags {
            uses[c] = Some(Use::Tags);
        }
        for name in &options.ignore {
            set_aside(&mut uses, names, name, IGNORED, Use::Ignored)
                .map_err(|e| e.remedy(Remedy::Ignore(name.clone())))?;
        }
        let (id, one_hot) = kept_texts(&mut uses, names, options)?;
        declared.unnamed.iter().for_each(|&c| _ = uses[c].get_or_insert(Use::Ignored));
        if let Some(needed) = options.needed.as_ref().filter(|n| options.header && !n.numbered) {
            let wanted: HashSet<&str> = needed.features.iter().map(String::as_str).collect();
            for (c, name) in names.iter().enumerate() {
                if uses[c].is_none() && !wanted.contains(plain_name(name)) {
                    uses[c] = Some(Use::Ignored);
                }
            }
        }
        let mut feature_names = Vec::new();
        let decide = |(c, used): (usize, Option<Use>)| {
            used.unwrap_or_else(|| {
                feature_names.push(plain_name(names[c]).to_owned());
                Use::Feature(feature_names.len() as u32 - 1)
            })
        };
        let uses: Vec<Use> = uses.into_iter().enumerate().map(decide).collect();
        unique(names, &uses)?;
        if feature_names.is_empty() && one_hot.is_empty() && options.needed.is_none() {
            return Err(Error::input("every column is a label, no feature is left")
                .hint("check which columns are chosen as labels")
                .remedy(Remedy::Labels));
        }
        let role = options.role_of(blocks.marked);
        Ok(Layout {
            uses,
            feature_names,
            has_truth: !blocks.truth.is_empty(),
            has_candidates: !blocks.candidates.is_empty(),
            label_names: blocks.label_names,
            one_hot,
            id,
            tags: blocks.tags.map(|c| (c, role)),
            notes: vec![blocks.note],
        })
    }
}

/// What messages call [`ReadOptions::ignore`].
const IGNORED: &str = "the list of columns to leave out";

/// The name of a feature in the file, without the mark that says so.
fn plain_name(name: &str) -> &str {
    name.strip_prefix(FEATURE).unwrap_or(name)
}

/// Gives every column called `name` to `used`; none may be something else already.
fn set_aside(
    uses: &mut [Option<Use>],
    names: &[&str],
    name: &str,
    what: &str,
    used: Use,
) -> Result<()> {
    let columns: Vec<usize> = (0..names.len()).filter(|&c| names[c] == name).collect();
    if columns.is_empty() {
        return Err(no_such_column(name, names, what, None));
    }
    for c in columns {
        if uses[c].replace(used).is_some_and(|before| before != used) {
            let shown = crate::text::name(name);
            return Err(Error::config(format!(
                "'{shown}' is in {what} and has another meaning, too: a label, an id or a column to leave out"
            )));
        }
    }
    Ok(())
}

/// The columns of ids and of words. What a model knows of them is used where the file has it.
fn kept_texts(
    uses: &mut [Option<Use>],
    names: &[&str],
    options: &ReadOptions,
) -> Result<(Option<String>, Vec<String>)> {
    let known = options.needed.as_ref().and_then(|n| n.id.clone());
    let known = known.filter(|id| names.contains(&id.as_str()));
    let id = options.id.clone().or(known);
    if let Some(id) = &id {
        set_aside(uses, names, id, "the choice of the id column", Use::Id)?;
    }
    let mut one_hot = options.one_hot.clone();
    if let Some(needed) = &options.needed {
        let found = needed.one_hot.keys().filter(|c| names.contains(&c.as_str()));
        one_hot.extend(found.cloned());
    }
    one_hot.dedup();
    for (k, column) in one_hot.iter().enumerate() {
        let what = "the list of columns of words";
        set_aside(uses, names, column, what, Use::OneHot(k as u32))?;
    }
    Ok((id, one_hot))
}

/// Columns that are used must have names of their own.
fn unique(names: &[&str], uses: &[Use]) -> Result<()> {
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(names.len());
    for (c, name) in names.iter().enumerate().filter(|(c, _)| uses[*c] != Use::Ignored) {
        if let Some(first) = seen.insert(name, c) {
            return Err(Error::input(format!(
                "columns {} and {} are both called '{}'",
                first + 1,
                c + 1,
                crate::text::name(name)
            ))
            .hint("rename one of them, or leave both out")
            .remedy(Remedy::Ignore((*name).to_owned())));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::options::LabelSpec;

    fn decide(names: &[&str], declared: Declared, options: &ReadOptions) -> Result<Layout> {
        Layout::decide(names, &declared, options)
    }

    #[test]
    fn xml_names_win_over_order() {
        let xml = Some((vec!["z".to_owned(), "b".to_owned()], "f.xml".to_owned()));
        let declared = Declared { xml, meka: Some(1), ..Declared::default() };
        let layout = decide(&["a", "b", "c", "z"], declared, &ReadOptions::default()).unwrap();
        assert_eq!(layout.label_names, ["b", "z"]);
        assert_eq!(layout.feature_names, ["a", "c"]);
        assert_eq!(layout.uses[1], Use::Truth(0));
        assert!(layout.notes[0].contains("not in the order"));
    }

    #[test]
    fn meka_counts_from_both_ends() {
        let names = ["a", "b", "c"];
        let declared = |n| Declared { meka: Some(n), ..Declared::default() };
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
        let layout =
            decide(&names, Declared { meka: Some(1), ..Declared::default() }, &options).unwrap();
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
            role: Some(Role::Candidates),
            ignore: vec!["label:x".to_owned()],
            ..ReadOptions::default()
        };
        let layout = decide(&names, Declared::default(), &options).unwrap();
        assert!(!layout.has_truth && layout.has_candidates);
        assert_eq!(layout.uses[1], Use::Ignored);
    }
}
