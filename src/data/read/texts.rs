//! Columns whose text is kept: ids, words that become features, joined tags.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::layout::{Layout, Use};
use super::lines::decode;
use super::options::{ReadOptions, Role};
use super::tags;
use crate::data::{Ids, Labels};
use crate::linalg::Mat;
use crate::{Error, Remedy, Result};

/// A column of words may have this many different ones.
const MOST_WORDS: usize = 1000;
/// A column of tags may have this many different ones.
const MOST_TAGS: usize = 10_000;

/// The texts of the rows so far.
pub(crate) struct Texts {
    id: Option<(String, Vec<String>)>,
    one_hot: Vec<WordColumn>,
    tags: Option<(Role, Vec<Vec<u8>>)>,
    /// Labels of a model, which alone count.
    known_labels: Option<Vec<String>>,
    bytes: u64,
}

/// A column of words, as numbers.
struct WordColumn {
    name: String,
    words: HashMap<Vec<u8>, u32>,
    /// The words are those of a model; others are no feature.
    fixed: Option<Vec<String>>,
    cells: Vec<u32>,
    unknown: usize,
}

/// No word in this row.
const NONE: u32 = u32::MAX;

/// What became of text columns.
#[derive(Default)]
pub(crate) struct Words {
    pub(crate) ids: Option<Ids>,
    /// Names of the features that follow the others.
    pub(crate) features: Vec<String>,
    /// The words of each column of words.
    pub(crate) one_hot: BTreeMap<String, Vec<String>>,
    /// Names of the labels, if they were joined tags.
    pub(crate) labels: Option<Vec<String>>,
    /// What the tags are joined by.
    pub(crate) separator: u8,
}

impl Texts {
    pub(crate) fn new(layout: &Layout, options: &ReadOptions) -> Self {
        let needed = options.needed.as_ref();
        let column = |name: &String| WordColumn {
            name: name.clone(),
            words: HashMap::new(),
            fixed: needed.and_then(|n| n.one_hot.get(name)).cloned(),
            cells: Vec::new(),
            unknown: 0,
        };
        Texts {
            id: layout.id.clone().map(|name| (name, Vec::new())),
            one_hot: layout.one_hot.iter().map(column).collect(),
            tags: layout.tags.map(|(_, role)| (role, Vec::new())),
            known_labels: needed.map(|n| n.labels.clone()),
            bytes: 0,
        }
    }

    /// Memory of the texts.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn begin(&mut self) {
        if let Some((_, ids)) = &mut self.id {
            ids.push(String::new());
        }
        self.one_hot.iter_mut().for_each(|c| c.cells.push(NONE));
        if let Some((_, tags)) = &mut self.tags {
            tags.push(Vec::new());
        }
        self.bytes += 8 * self.one_hot.len() as u64;
    }

    pub(crate) fn clear(&mut self) {
        self.id.iter_mut().for_each(|(_, ids)| ids.clear());
        self.one_hot.iter_mut().for_each(|c| c.cells.clear());
        self.tags.iter_mut().for_each(|(_, tags)| tags.clear());
        self.bytes = 0;
    }

    pub(crate) fn put(&mut self, used: Use, text: &[u8]) {
        match used {
            Use::Id => {
                if let Some(id) = self.id.as_mut().and_then(|(_, ids)| ids.last_mut()) {
                    *id = decode(text).0;
                    self.bytes += 24 + text.len() as u64;
                }
            }
            Use::Tags => {
                if let Some(tags) = self.tags.as_mut().and_then(|(_, tags)| tags.last_mut()) {
                    *tags = text.to_vec();
                    self.bytes += 24 + text.len() as u64;
                }
            }
            Use::OneHot(k) => self.one_hot[k as usize].put(text),
            _ => {}
        }
    }

    /// Adds the features to `x`; gives the labels of the tags, and what they mean.
    pub(crate) fn finish(
        self,
        x: &mut Mat<f64>,
        limit: u64,
        notes: &mut Vec<String>,
    ) -> Result<(Words, Option<(Role, Labels)>)> {
        let mut words = Words::default();
        if let Some((name, values)) = self.id {
            let different: BTreeSet<&String> = values.iter().collect();
            if different.len() < values.len() {
                notes.push(format!(
                    "the ids in column '{}' name only {} of {} rows apart",
                    crate::text::name(&name),
                    different.len(),
                    values.len()
                ));
            }
            words.ids = Some(Ids { name, values });
        }
        let mut blocks = Vec::new();
        for column in self.one_hot {
            blocks.push(column.finish(&mut words, notes)?);
        }
        let extra: usize = blocks.iter().map(|(count, _)| count).sum();
        if extra > 0 {
            let needed = 8 * (x.rows() as u64).saturating_mul((x.cols() + extra) as u64);
            if needed > limit {
                return Err(super::builder::too_big(needed, limit));
            }
            *x = widen(x, &blocks);
        }
        let labels = match self.tags {
            None => None,
            Some((role, fields)) => {
                Some((role, tag_labels(&fields, self.known_labels, &mut words, notes)?))
            }
        };
        Ok((words, labels))
    }
}

impl WordColumn {
    fn put(&mut self, text: &[u8]) {
        let Some(cell) = self.cells.last_mut() else { return };
        if text.is_empty() {
            return;
        }
        if let Some(fixed) = &self.fixed {
            let word = decode(text).0;
            match fixed.iter().position(|w| *w == word) {
                Some(place) => *cell = place as u32,
                None => self.unknown += 1,
            }
        } else if let Some(&known) = self.words.get(text) {
            *cell = known;
        } else if self.words.len() <= MOST_WORDS {
            *cell = self.words.len() as u32;
            self.words.insert(text.to_vec(), *cell);
        }
    }

    /// Number of features and the feature of each row. Words are in alphabetical order, so that the
    /// order of the rows does not matter.
    fn finish(self, out: &mut Words, notes: &mut Vec<String>) -> Result<(usize, Vec<u32>)> {
        let shown = crate::text::name(&self.name);
        if self.words.len() > MOST_WORDS {
            return Err(Error::found(
                format!("more than {MOST_WORDS} different words in column '{shown}'"),
                "a choice between few",
            )
            .remedy(Remedy::Ignore(self.name)));
        }
        let (names, order) = match self.fixed {
            Some(fixed) => {
                let order = (0..fixed.len() as u32).collect();
                (fixed, order)
            }
            None => {
                let mut words: Vec<(&Vec<u8>, u32)> =
                    self.words.iter().map(|(w, &number)| (w, number)).collect();
                words.sort();
                let mut order = vec![0; words.len()];
                words
                    .iter()
                    .enumerate()
                    .for_each(|(k, (_, number))| order[*number as usize] = k as u32);
                (words.iter().map(|(w, _)| decode(w).0).collect(), order)
            }
        };
        let missing = self.cells.iter().filter(|c| **c == NONE).count() - self.unknown;
        let mut note = format!("column '{shown}': {} words became as many features", names.len());
        if missing > 0 {
            note += &format!("; {missing} rows have none of them");
        }
        if self.unknown > 0 {
            note += &format!("; {} rows have a word that the model does not know", self.unknown);
        }
        notes.push(note);
        out.features.extend(names.iter().map(|word| format!("{}={word}", self.name)));
        let count = names.len();
        out.one_hot.insert(self.name, names);
        let cells = self.cells.into_iter();
        Ok((count, cells.map(|c| if c == NONE { NONE } else { order[c as usize] }).collect()))
    }
}

fn widen(x: &Mat<f64>, blocks: &[(usize, Vec<u32>)]) -> Mat<f64> {
    let extra: usize = blocks.iter().map(|(count, _)| count).sum();
    let mut wide = Mat::zeros(x.rows(), x.cols() + extra);
    for i in 0..x.rows() {
        let row = wide.row_mut(i);
        row[..x.cols()].copy_from_slice(x.row(i));
        let mut at = x.cols();
        for (count, cells) in blocks {
            if cells[i] != NONE {
                row[at + cells[i] as usize] = 1.0;
            }
            at += count;
        }
    }
    wide
}

fn tag_labels(
    fields: &[Vec<u8>],
    known: Option<Vec<String>>,
    words: &mut Words,
    notes: &mut Vec<String>,
) -> Result<Labels> {
    let separator = tags::separator(fields.iter().map(|f| &f[..]));
    let of = |field: &'_ Vec<u8>| -> Vec<String> {
        tags::split(field, separator).tags.iter().map(|t| decode(tags::plain(t)).0).collect()
    };
    let found: BTreeSet<String> = fields.iter().flat_map(of).collect();
    if found.len() > MOST_TAGS {
        return Err(Error::found(
            format!("{} different tags", found.len()),
            "fewer: is this text?",
        ));
    }
    if found.is_empty() && known.is_none() {
        return Err(Error::found("no tag in any row", "labels"));
    }
    let unknown = known.as_ref().map_or(0, |k| found.iter().filter(|t| !k.contains(t)).count());
    if unknown > 0 {
        notes.push(format!("{unknown} tags are no labels of the model and are left out"));
    }
    let names: Vec<String> = known.unwrap_or_else(|| found.into_iter().collect());
    let place: HashMap<&str, usize> =
        names.iter().enumerate().map(|(j, n)| (n.as_str(), j)).collect();
    let mut labels = Labels::none(fields.len(), names.len());
    for (i, field) in fields.iter().enumerate() {
        for tag in of(field) {
            if let Some(&j) = place.get(tag.as_str()) {
                labels.set(i, j, true);
            }
        }
    }
    notes.push(format!("{} tags, joined by '{}'", names.len(), char::from(separator)));
    (words.labels, words.separator) = (Some(names), separator);
    Ok(labels)
}
