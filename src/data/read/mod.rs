//! From a file to a [`Dataset`]: the format is found from the content, `.gz` is unpacked on the way,
//! labels are found by name, and everything that was decided is written into the notes.

mod arff;
mod blocks;
mod builder;
pub(crate) mod csv;
mod gzip;
mod inflate;
pub(crate) mod layout;
pub(crate) mod libsvm;
mod lines;
mod mat;
mod mulan_xml;
pub(crate) mod number;
pub(crate) mod options;
mod problems;
mod sniff;
pub(crate) mod survey;
pub(crate) mod tags;
mod texts;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::dataset::{Reading, TableColumns};
use super::{Dataset, Labels, Source};
use crate::checksum::hex;
use crate::{Error, Result};
pub(crate) use gzip::{pack as gzip, unpack_all as gunzip};
pub use options::{Format, Impute, LabelSpec, Needed, Part, ReadOptions, Role, split_names};
pub use problems::needed_changes;
use survey::Column;

/// What a reader hands back.
pub(crate) struct Parsed {
    pub(crate) matrices: builder::Matrices,
    pub(crate) feature_names: Vec<String>,
    pub(crate) label_names: Vec<String>,
    pub(crate) nominal: BTreeMap<usize, Vec<String>>,
    /// The names of the features are the reader's own numbers.
    pub(crate) numbered_features: bool,
    pub(crate) format: String,
    pub(crate) notes: Vec<String>,
    /// Where a table has its labels.
    pub(crate) table: Option<TableColumns>,
}

/// What stands for standard input.
pub(crate) const STDIN: &str = "-";

/// Reads the data set in the file `path`, or from standard input for `-`.
pub fn load(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Dataset> {
    let path = path.as_ref();
    let place = |e: Error| if e.path().is_some() { e } else { e.in_file(path) };
    if path == Path::new(STDIN) {
        return second_labels(
            from_stdin(options).map_err(|e| e.in_file("standard input"))?,
            options,
        );
    }
    if path.is_dir() {
        return Err(place(Error::found("a folder", "a data file")));
    }
    let file = File::open(path).map_err(|e| Error::io(path, "read", &e))?;
    let xml = || label_file(path, options);
    let mut dataset = parse(file, &stem(path), &xml, options).map_err(place)?;
    dataset.source.origin = path.display().to_string();
    second_labels(dataset, options)
}

/// What comes through a pipe is kept: it cannot be read again when its labels are clean.
fn from_stdin(options: &ReadOptions) -> Result<Dataset> {
    let mut bytes = Vec::new();
    let limit = options.max_bytes.saturating_mul(4);
    let read = std::io::stdin().lock().take(limit + 1).read_to_end(&mut bytes);
    if read.map_err(lines::read_error)? as u64 > limit {
        return Err(builder::too_big(limit, options.max_bytes));
    }
    let mut dataset = parse(&bytes[..], "stdin", &|| Ok(None), options)?;
    dataset.source.origin = "standard input".to_owned();
    dataset.source.piped = Some(Arc::new(bytes));
    Ok(dataset)
}

/// Adds the label block of another file, if one is named.
fn second_labels(mut dataset: Dataset, options: &ReadOptions) -> Result<Dataset> {
    if let Some(other) = &options.candidates_from {
        let labels = labels_from(other, options, &mut dataset)?;
        dataset.candidates = Some(labels);
        dataset.source.table = None;
    }
    if let Some(other) = &options.truth_from {
        let labels = labels_from(other, options, &mut dataset)?;
        // What the file itself had is then the candidates.
        dataset.candidates = dataset.candidates.take().or(dataset.truth.take());
        dataset.truth = Some(labels);
    }
    note_lost_truth(&mut dataset);
    Ok(dataset)
}

/// Reads a data set that is already in memory; `xml` is its label file, if it has one.
pub fn read_bytes(
    bytes: &[u8],
    xml: Option<&[u8]>,
    name: &str,
    options: &ReadOptions,
) -> Result<Dataset> {
    let labels = || xml.map(|bytes| named_labels(bytes, "the label file")).transpose();
    let mut dataset = parse(bytes, name, &labels, options)?;
    dataset.source.origin = name.to_owned();
    note_lost_truth(&mut dataset);
    Ok(dataset)
}

/// Label names, what to call their file, and a remark.
type NamedLabels = (Vec<String>, String, Option<String>);

fn parse(
    reader: impl Read,
    name: &str,
    xml: &dyn Fn() -> Result<Option<NamedLabels>>,
    options: &ReadOptions,
) -> Result<Dataset> {
    let mut raw = BufReader::with_capacity(1 << 16, Hashing { inner: reader, hash: Sha256::new() });
    let packed = raw.fill_buf().map_err(lines::read_error)?.starts_with(&gzip::MAGIC);
    let parsed = if packed {
        // Text is at most a few times as big as its matrix; more than that is not data.
        let unpacked = gzip::Gunzip::new(&mut raw, options.max_bytes.saturating_mul(4));
        let mut unpacked = BufReader::with_capacity(1 << 16, unpacked);
        let mut parsed = dispatch(&mut unpacked, xml, options)?;
        drain(&mut unpacked)?;
        parsed.format += ", gzip";
        parsed
    } else {
        dispatch(&mut raw, xml, options)?
    };
    drain(&mut raw)?;
    let matrices = parsed.matrices;
    let reading = Reading {
        id: matrices.words.ids.as_ref().map(|ids| ids.name.clone()),
        one_hot: matrices.words.one_hot,
        tags: match &options.labels {
            Some(LabelSpec::Tags(column)) => Some(column.clone()),
            _ => None,
        },
        impute: options.impute,
    };
    Ok(Dataset {
        name: name.to_owned(),
        x: matrices.x,
        truth: matrices.truth,
        candidates: matrices.candidates,
        ids: matrices.words.ids,
        feature_names: parsed.feature_names,
        label_names: parsed.label_names,
        nominal: parsed.nominal,
        source: Source {
            origin: String::new(),
            sha256: hex(&raw.into_inner().hash.finalize()),
            format: parsed.format,
            numbered_features: parsed.numbered_features,
            notes: parsed.notes,
            reading,
            table: parsed.table,
            piped: None,
        },
    })
}

/// The text of a table that may be packed.
pub(crate) fn csv_text(bytes: Vec<u8>) -> Result<Vec<u8>> {
    if !bytes.starts_with(&gzip::MAGIC) {
        return Ok(bytes);
    }
    let mut text = Vec::new();
    let limit = ReadOptions::default().max_bytes.saturating_mul(4);
    let mut unpacked = gzip::Gunzip::new(BufReader::new(&bytes[..]), limit);
    unpacked.read_to_end(&mut text).map_err(lines::read_error)?;
    Ok(text)
}

/// What is in each column of the table `path`, whether it can be used or not; None if it is no
/// table of separated values. Also the number of rows.
pub fn survey_table(path: &Path, options: &ReadOptions) -> Result<Option<(usize, Vec<Column>)>> {
    let file = File::open(path).map_err(|e| Error::io(path, "read", &e))?;
    let mut raw = BufReader::with_capacity(1 << 16, file);
    let head = raw.fill_buf().map_err(lines::read_error)?;
    let place = |e: Error| e.in_file(path);
    if head.starts_with(&gzip::MAGIC) {
        let unpacked = gzip::Gunzip::new(&mut raw, options.max_bytes.saturating_mul(4));
        return survey_text(BufReader::with_capacity(1 << 16, unpacked), options).map_err(place);
    }
    survey_text(raw, options).map_err(place)
}

fn survey_text(
    mut reader: impl BufRead,
    options: &ReadOptions,
) -> Result<Option<(usize, Vec<Column>)>> {
    let head = reader.fill_buf().map_err(lines::read_error)?;
    match options.format.map_or_else(|| sniff::sniff(head), Ok)? {
        Format::Csv => csv::survey(reader, options.header).map(Some),
        _ => Ok(None),
    }
}

fn dispatch(
    reader: &mut impl BufRead,
    xml: &dyn Fn() -> Result<Option<NamedLabels>>,
    options: &ReadOptions,
) -> Result<Parsed> {
    let head = reader.fill_buf().map_err(lines::read_error)?;
    let format = match options.format {
        Some(format) => format,
        None => sniff::sniff(head)?,
    };
    match format {
        Format::Arff => {
            let (labels, note) = match xml()? {
                Some((names, file, note)) => (Some((names, file)), note),
                None => (None, None),
            };
            let mut parsed = arff::read(reader, labels, options)?;
            parsed.notes.extend(note);
            Ok(parsed)
        }
        Format::Csv => csv::read(reader, options),
        Format::Libsvm => libsvm::read(reader, options),
        Format::Mat => mat::read(reader, options),
    }
}

/// The rest of a file counts for its hash, even where a reader did not need it.
fn drain(reader: &mut impl Read) -> Result<()> {
    std::io::copy(reader, &mut std::io::sink()).map_err(lines::read_error)?;
    Ok(())
}

/// The label XML of an ARFF file: the one named, or the one beside it.
fn label_file(path: &Path, options: &ReadOptions) -> Result<Option<NamedLabels>> {
    if options.labels.is_some() && options.xml.is_none() {
        return Ok(None);
    }
    let Some(xml) = options.xml.clone().or_else(|| beside(path)) else {
        return Ok(None);
    };
    let file = File::open(&xml).map_err(|e| Error::io(&xml, "read", &e))?;
    let mut bytes = Vec::new();
    file.take(mulan_xml::MAX_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|e| Error::io(&xml, "read", &e))?;
    let name = xml.file_name().unwrap_or_default().to_string_lossy().into_owned();
    named_labels(&bytes, &name).map(Some).map_err(|e| e.in_file(&xml))
}

fn named_labels(bytes: &[u8], file: &str) -> Result<NamedLabels> {
    let labels = mulan_xml::parse(bytes)?;
    let note =
        "the label file is a hierarchy; it was flattened, and parents are labels like all others";
    let note = labels.nested.then(|| note.to_owned());
    Ok((labels.names, file.to_owned(), note))
}

/// `birds.xml` for `birds.arff`, `birds.arff.gz`, `birds-train.arff` and `birds-test.arff`.
fn beside(path: &Path) -> Option<PathBuf> {
    let stem = stem(path);
    let base = ["-train", "-test", "_train", "_test"].iter().find_map(|s| stem.strip_suffix(s));
    let names = [Some(stem.as_str()), base];
    let mut files = names.into_iter().flatten().map(|n| path.with_file_name(format!("{n}.xml")));
    files.find(|f| f.is_file())
}

/// File name without folder, `.gz` and extension.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}

/// The label block of a second file, in the order of the first.
fn labels_from(path: &Path, options: &ReadOptions, dataset: &mut Dataset) -> Result<Labels> {
    let alone = ReadOptions {
        candidates: None,
        candidates_from: None,
        truth_from: None,
        role: Some(Role::Truth),
        id: None,
        needed: None,
        ..options.clone()
    };
    let other = load(path, &alone)?;
    let labels = other.truth.or(other.candidates);
    let labels = labels.ok_or_else(|| Error::input("no labels").in_file(path))?;
    if labels.rows() != dataset.n() {
        let found = format!("{} rows", labels.rows());
        let expected = format!("{} as in {}", dataset.n(), dataset.source.origin);
        return Err(Error::found(found, expected).in_file(path));
    }
    let position = |name: &String| other.label_names.iter().position(|n| n == name);
    let order: Option<Vec<usize>> = dataset.label_names.iter().map(position).collect();
    let order = order.filter(|o| o.len() == labels.cols()).ok_or_else(|| {
        Error::input(format!("its labels are not those of {}", dataset.source.origin))
            .in_file(path)
            .hint("both files must name the same labels; the order does not matter")
    })?;
    let notes = &mut dataset.source.notes;
    notes.push(format!(
        "second label block from {} (SHA-256 {})",
        path.display(),
        other.source.sha256
    ));
    Ok(labels.select_cols(&order))
}

/// In partial multi-label learning the truth hides among the candidates. Real files break that rule.
fn note_lost_truth(dataset: &mut Dataset) {
    if let (Some(truth), Some(candidates)) = (&dataset.truth, &dataset.candidates) {
        let cells = truth.as_slice().iter().zip(candidates.as_slice());
        let lost = cells.filter(|(t, c)| **t && !**c).count();
        if lost > 0 {
            dataset.source.notes.push(format!("{lost} true labels are not among the candidates"));
        }
    }
}

/// Passes bytes on and keeps their SHA-256.
struct Hashing<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(out)?;
        self.hash.update(&out[..n]);
        Ok(n)
    }
}

#[cfg(test)]
mod tests;
