//! The input again, with other labels: the same file, byte for byte, but for the labels that are gone.

use std::path::Path;

use super::dataset::TableColumns;
use super::read::csv::Table;
use super::read::{csv_text, tags};
use super::write::csv_bytes;
use super::{Dataset, Labels};
use crate::{Error, Result, checksum};

/// The data as CSV with `labels` in the rows `rows` (ascending). A table keeps its columns, its order and
/// its way to write yes and no; other formats become a table with marked columns. A label can be taken
/// away, not given: where a row has no candidate, it stays as it is.
pub fn cleaned(dataset: &Dataset, rows: &[usize], labels: &Labels) -> Result<Vec<u8>> {
    match &dataset.source.table {
        Some(columns) => {
            let text = text_again(dataset)?;
            rewrite(&text, columns, &dataset.label_names, rows, labels)
        }
        None => {
            let before = dataset.candidates.as_ref().or(dataset.truth.as_ref());
            let mut all = before.cloned().unwrap_or_else(|| labels.clone());
            for (k, &i) in rows.iter().enumerate() {
                (0..all.cols()).for_each(|j| all.set(i, j, labels.get(k, j)));
            }
            csv_bytes(&Dataset { truth: Some(all), candidates: None, ..dataset.clone() }, b',')
        }
    }
}

/// The text that the data were read from; refused if it is another by now.
fn text_again(dataset: &Dataset) -> Result<Vec<u8>> {
    let source = &dataset.source;
    let path = Path::new(&source.origin);
    let bytes = match &source.piped {
        Some(bytes) => bytes.to_vec(),
        None => crate::io::read(path)?,
    };
    if checksum::sha256(&bytes) != source.sha256 {
        return Err(Error::input("the file has changed since it was read").in_file(path));
    }
    csv_text(bytes).map_err(|e| e.in_file(path))
}

fn rewrite(
    text: &[u8],
    columns: &TableColumns,
    names: &[String],
    rows: &[usize],
    labels: &Labels,
) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut copied = 0;
    let mut table = Table::open(text, columns.header)?;
    let mut wanted = rows.iter().enumerate().peekable();
    let mut i = 0;
    while table.next()? {
        if let Some((k, _)) = wanted.next_if(|(_, row)| **row == i) {
            let on = labels.row(k);
            let mut changes = match columns.tags {
                Some((column, separator)) => {
                    let field = table.records.field(column);
                    let kept = kept_tags(&field, separator, names, on);
                    kept.map(|new| vec![(column, new)]).unwrap_or_default()
                }
                None => gone(columns, on, |c| table.records.field(c).into_owned()),
            };
            changes.sort_by_key(|(c, _)| *c);
            for (column, new) in changes {
                let range = table.records.range(column);
                out.extend_from_slice(&text[copied..range.start]);
                out.extend(quoted(new, columns.delimiter));
                copied = range.end;
            }
        }
        i += 1;
    }
    out.extend_from_slice(&text[copied..]);
    Ok(out)
}

/// The columns whose label is taken away, with what they hold instead.
fn gone(
    columns: &TableColumns,
    on: &[bool],
    field: impl Fn(usize) -> Vec<u8>,
) -> Vec<(usize, Vec<u8>)> {
    let off = columns.labels.iter().zip(on).filter(|(_, on)| !**on).map(|(c, _)| *c);
    let changed = off.map(|c| (c, columns.no[c].clone().into_bytes()));
    changed.filter(|(c, new)| is_on(&field(*c)) && *new != field(*c)).collect()
}

fn is_on(field: &[u8]) -> bool {
    use super::read::csv::value::{parse_comma_number, yes_no_word};
    let number = super::read::number::parse_number(field).or_else(|| parse_comma_number(field));
    number.map_or_else(|| yes_no_word(field) == Some(true), |v| v == 1.0)
}

/// The field without the tags that are off, or None if all stay.
fn kept_tags(field: &[u8], separator: u8, names: &[String], on: &[bool]) -> Option<Vec<u8>> {
    let joined = tags::split(field, separator);
    let off = |tag: &[u8]| {
        let name = String::from_utf8_lossy(tags::plain(tag));
        names.iter().position(|n| *n == name).is_some_and(|j| !on[j])
    };
    if !joined.tags.iter().any(|t| off(t)) {
        return None;
    }
    let blank = field.windows(2).any(|w| w == [separator, b' ']);
    let between = [&[separator][..], if blank { b" " } else { b"" }].concat();
    let kept: Vec<&[u8]> = joined.tags.iter().copied().filter(|t| !off(t)).collect();
    Some([joined.head, &kept.join(&between[..]), joined.tail].concat())
}

/// The field in quotes, where it needs them.
fn quoted(field: Vec<u8>, delimiter: u8) -> Vec<u8> {
    if !field.iter().any(|b| *b == delimiter || matches!(b, b'"' | b'\n' | b'\r')) {
        return field;
    }
    let mut out = vec![b'"'];
    for byte in field {
        out.extend(if byte == b'"' { &b"\"\""[..] } else { std::slice::from_ref(&byte) });
    }
    out.push(b'"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{LabelSpec, ReadOptions, Role, load};

    /// What becomes of `text` when the first label of row 0 and the second of row 2 are off.
    fn clean(text: &str, labels: LabelSpec) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        let options = ReadOptions {
            labels: Some(labels),
            role: Some(Role::Candidates),
            ..ReadOptions::default()
        };
        let data = load(&path, &options).unwrap();
        let mut labels = data.candidates.clone().unwrap();
        labels.set(0, 0, false);
        labels.set(2, 1, false);
        let rows: Vec<usize> = (0..data.n()).collect();
        let out = String::from_utf8(cleaned(&data, &rows, &labels).unwrap()).unwrap();
        // What is written is read back as the cleaned labels.
        std::fs::write(&path, &out).unwrap();
        assert_eq!(load(&path, &options).unwrap().candidates, Some(labels), "{out}");
        out
    }

    #[test]
    fn tables_keep_everything_but_the_labels_that_are_gone() {
        let cases = [
            ("a,l,m\n1,1,0\n2,1,1\n3,0,1\n", "a,l,m\n1,0,0\n2,1,1\n3,0,0\n"),
            (
                "l;a;m\r\nY;1,5;N\r\n\r\nY;2;Y\r\nN;3;\"Y\"\r\n",
                "l;a;m\r\nN;1,5;N\r\n\r\nY;2;Y\r\nN;3;N\r\n",
            ),
            ("# note\nl,a,m\nx,1,\nx,2,X\n,3,x\n", "# note\nl,a,m\n,1,\nx,2,X\n,3,\n"),
            (
                "\u{feff}l,a,m\nTRUE,1,TRUE\nTRUE,2,TRUE\nTRUE,3,TRUE",
                "\u{feff}l,a,m\nFALSE,1,TRUE\nTRUE,2,TRUE\nTRUE,3,FALSE",
            ),
        ];
        for (before, after) in cases {
            let names = LabelSpec::Names(vec!["l".to_owned(), "m".to_owned()]);
            assert_eq!(clean(before, names), after);
        }
    }

    #[test]
    fn joined_tags_stay_joined() {
        let tags = || LabelSpec::Tags("t".to_owned());
        assert_eq!(
            clean("a,t\n1,billing|login\n2,login\n3,login|billing\n", tags()),
            "a,t\n1,login\n2,login\n3,billing\n"
        );
        assert_eq!(clean("a,t\n1,\"b, a\"\n2,b\n3,\"a, b\"\n", tags()), "a,t\n1,b\n2,b\n3,a\n");
        assert_eq!(
            clean("a,t\n1,\"['a', 'b']\"\n2,\"['b']\"\n3,\"['a', 'b', 'c']\"\n", tags()),
            "a,t\n1,['b']\n2,\"['b']\"\n3,\"['a', 'c']\"\n"
        );
    }

    #[test]
    fn a_file_that_has_changed_is_not_mixed_with_old_labels() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.csv");
        std::fs::write(&path, "a,label:l\n1,1\n").unwrap();
        let data = load(&path, &ReadOptions::default()).unwrap();
        std::fs::write(&path, "a,label:l\n2,1\n").unwrap();
        let e = cleaned(&data, &[0], &Labels::none(1, 1)).unwrap_err();
        assert!(e.message().contains("has changed"), "{e}");
    }
}
