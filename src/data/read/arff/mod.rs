//! ARFF files: a header that declares the columns, then rows, dense or sparse.
//!
//! A dense row is `1,0.5,YES`; a sparse one `{0 1,2 YES}` with ascending columns counted from 0.
//! What a sparse row leaves out is 0 for a number and the *first declared value* for a nominal, as
//! in Weka. Values are separated by commas, by blanks, or both.

mod attribute;
mod cursor;
mod header;
mod row;

use std::io::BufRead;

use super::Parsed;
use super::builder::MatrixBuilder;
use super::layout::{Declared, Layout, Use};
use super::lines::{Lines, decode};
use super::options::ReadOptions;
use crate::{Error, Remedy, Result};
use attribute::Kind;
use cursor::Cursor;
use header::Header;
use row::{dense_row, sparse_row};

/// Label names of the XML that belongs to the file, and what to call it.
pub(crate) type XmlLabels = Option<(Vec<String>, String)>;

/// Reads a whole ARFF file.
pub(crate) fn read(reader: impl BufRead, xml: XmlLabels, options: &ReadOptions) -> Result<Parsed> {
    let mut lines = Lines::new(reader);
    let header = Header::read(&mut lines)?;
    let names: Vec<&str> = header.attributes.iter().map(|a| a.name.as_str()).collect();
    let declared = Declared { xml, meka: header.meka, ..Declared::default() };
    let layout = Layout::decide(&names, &declared, options)?;
    check_kinds(&header, &layout)?;
    let absent = |c: usize| match &header.attributes[c].kind {
        Kind::Nominal(nominal) => nominal.absent(),
        _ => 0.0,
    };
    let mut rows = MatrixBuilder::new(&layout, options, absent)?;
    let mut sparse = 0usize;
    loop {
        let number = lines.number() + 1;
        let Some(line) = lines.next()? else { break };
        let indent = line.len() - line.trim_ascii_start().len();
        let mut cursor = Cursor { line, at: indent };
        let read = match cursor.peek() {
            None | Some(b'%') => continue,
            Some(b'{') => {
                sparse += 1;
                sparse_row(&mut cursor, &header.attributes, &mut rows)
            }
            Some(b'@') => Err(second_section(&cursor)),
            Some(_) => dense_row(&mut cursor, &header.attributes, &mut rows),
        };
        read.map_err(|e| e.at_line(number))?;
    }
    finish(header, layout, rows, sparse)
}

fn finish(
    header: Header,
    mut layout: Layout,
    rows: MatrixBuilder,
    sparse: usize,
) -> Result<Parsed> {
    let mut notes = std::mem::take(&mut layout.notes);
    if header.latin1 {
        notes.push("names that are not UTF-8 were read as Latin-1".to_owned());
    }
    let kind = match sparse {
        0 => "arff, dense",
        s if s == rows.len() => "arff, sparse",
        _ => "arff, dense and sparse rows",
    };
    let nominal = nominal_features(&header, &layout, &mut notes);
    let matrices = rows.finish(&mut notes)?;
    let words = &matrices.words;
    let mut feature_names = layout.feature_names;
    feature_names.extend(words.features.iter().cloned());
    Ok(Parsed {
        label_names: words.labels.clone().unwrap_or(layout.label_names),
        feature_names,
        table: None,
        matrices,
        nominal,
        numbered_features: false,
        format: kind.to_owned(),
        notes,
    })
}

/// Labels must be yes-or-no, features numbers or nominal.
fn check_kinds(header: &Header, layout: &Layout) -> Result<()> {
    for (c, attribute) in header.attributes.iter().enumerate() {
        let error = match (&attribute.kind, layout.uses[c]) {
            (_, Use::Ignored | Use::Id | Use::OneHot(_) | Use::Tags)
            | (Kind::Numeric, _)
            | (Kind::Nominal(_), Use::Feature(_)) => {
                continue;
            }
            (Kind::Nominal(nominal), _) if nominal.values.len() <= 2 => continue,
            (Kind::Nominal(nominal), _) => Error::found(
                format_args!("{} values for the label '{}'", nominal.values.len(), attribute.name),
                "two, such as {0,1}",
            ),
            (Kind::Unusable(kind), _) => Error::found(
                format_args!("the {kind} attribute '{}'", attribute.name),
                "numeric or nominal ones",
            )
            .hint("leave it out")
            .remedy(Remedy::Ignore(attribute.name.clone())),
        };
        return Err(error.at_line(header.lines[c]));
    }
    Ok(())
}

/// Declared values of the nominal features in the order of their numbers, and a sentence about them.
fn nominal_features(
    header: &Header,
    layout: &Layout,
    notes: &mut Vec<String>,
) -> std::collections::BTreeMap<usize, Vec<String>> {
    let mut features = std::collections::BTreeMap::new();
    let (mut two, mut more) = (0, 0);
    for (c, attribute) in header.attributes.iter().enumerate() {
        if let (Kind::Nominal(nominal), Use::Feature(j)) = (&attribute.kind, layout.uses[c]) {
            *(if nominal.values.len() <= 2 { &mut two } else { &mut more }) += 1;
            let mut values: Vec<&(Vec<u8>, f64)> = nominal.values.iter().collect();
            values.sort_by(|a, b| a.1.total_cmp(&b.1));
            let values = values.iter().map(|(v, _)| decode(v).0).collect();
            features.insert(j as usize, values);
        }
    }
    if two > 0 {
        notes.push(format!("{two} features with at most two nominal values are read as 0 and 1"));
    }
    if more > 0 {
        notes.push(format!(
            "{more} features with more than two nominal values are read as the position of the value, from 0"
        ));
    }
    features
}

fn second_section(cursor: &Cursor<'_>) -> Error {
    let word: Vec<u8> = cursor.line[cursor.at..]
        .iter()
        .copied()
        .take_while(|c| !c.is_ascii_whitespace())
        .take(40)
        .collect();
    let found = format!("'{}' among the data", String::from_utf8_lossy(&word));
    cursor.error(cursor.at, &found, "rows only: the header ends at the first @data")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::options::{Impute, LabelSpec};

    fn options(labels: usize) -> ReadOptions {
        ReadOptions { labels: Some(LabelSpec::Last(labels)), ..ReadOptions::default() }
    }

    fn parse(text: &[u8], options: &ReadOptions) -> Result<Parsed> {
        read(text, None, options)
    }

    const HEAD: &str = "@relation r\n@attribute a numeric\n@attribute b {x,y,z}\n@attribute c {NO,YES}\n@attribute l {0,1}\n@data\n";

    #[test]
    fn dense_rows_with_all_kinds_of_values() {
        let text =
            format!("{HEAD}% comment\n1.5,x,YES,1\r\n\n -2e3 , 'z' ,\tNO, 0 % end\n7\ty\tYES\t0");
        let p = parse(text.as_bytes(), &options(1)).unwrap();
        assert_eq!(p.matrices.x.as_slice(), [1.5, 0.0, 1.0, -2000.0, 2.0, 0.0, 7.0, 1.0, 1.0]);
        assert_eq!(p.matrices.truth.unwrap().as_slice(), [true, false, false]);
        assert_eq!(p.nominal[&1], ["x", "y", "z"]);
        assert_eq!(p.format, "arff, dense");
    }

    #[test]
    fn sparse_rows_leave_out_zero_and_the_first_value() {
        let head = HEAD.replace("{NO,YES}", "{YES,NO}");
        let text = format!("{head}{{}}\n{{0 3, 2 NO,3 1}}\n{{ 1 'z' }}\n");
        let p = parse(text.as_bytes(), &options(1)).unwrap();
        assert_eq!(p.matrices.x.as_slice(), [0.0, 0.0, 1.0, 3.0, 0.0, 0.0, 0.0, 2.0, 1.0]);
        assert_eq!(p.matrices.truth.unwrap().as_slice(), [false, true, false]);
        assert_eq!(p.format, "arff, sparse");
    }

    #[test]
    fn missing_values_are_refused_or_filled() {
        let text = format!("{HEAD}1,x,YES,1\n?,x,YES,1\n3,?,NO,0\n");
        let error = parse(text.as_bytes(), &options(1)).err().unwrap();
        assert_eq!(error.position(), (Some(8), Some(1)));
        let filled = ReadOptions { impute: Impute::Mean, ..options(1) };
        let p = parse(text.as_bytes(), &filled).unwrap();
        assert_eq!(p.matrices.x[(1, 0)], 2.0);
        let label = format!("{HEAD}1,x,YES,?\n");
        assert!(parse(label.as_bytes(), &filled).is_err());
    }

    #[test]
    fn text_columns_can_be_left_out() {
        let text = "@relation r\n@attribute id string\n@attribute a numeric\n@attribute l {0,1}\n@data\n'protein 1, x',2,1\n?,3,0\n";
        assert!(parse(text.as_bytes(), &options(1)).is_err());
        let ignoring = ReadOptions { ignore: vec!["id".to_owned()], ..options(1) };
        let p = parse(text.as_bytes(), &ignoring).unwrap();
        assert_eq!(p.matrices.x.as_slice(), [2.0, 3.0]);
    }

    #[test]
    fn memory_has_a_bound() {
        let text = format!("{HEAD}{}", "{}\n".repeat(100));
        let small = ReadOptions { max_bytes: 1000, ..options(1) };
        let error = parse(text.as_bytes(), &small).err().unwrap();
        assert_eq!(error.what_to_do().1, Some(&Remedy::MemoryLimit), "{error}");
    }
}
