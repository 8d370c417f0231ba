//! Tables of results in CSV, in two shapes.
//!
//! * wide: the first column names the data set, every other column is a method;
//! * tidy: columns `dataset`, `method`, `mean` (or `value`) and, if several metrics share the file,
//!   `metric`; other columns (`std`) are not read.
//!
//! A tidy table without `dataset` but with `average_rank` holds printed average ranks.

use std::path::Path;

use crate::linalg::Mat;
use crate::{Error, Remedy, Result, io};

/// What the numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// One result a data set and method.
    Results,
    /// One row of average ranks.
    AverageRanks,
}

/// Results of k methods on N data sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Names of the k methods.
    pub methods: Vec<String>,
    /// Names of the N data sets.
    pub datasets: Vec<String>,
    /// N × k; NaN where a result is missing.
    pub values: Mat<f64>,
    /// What the numbers are.
    pub kind: TableKind,
    /// The metric, where the file names it.
    pub metric: Option<String>,
}

/// One number of a tidy table with its keys.
struct Entry {
    dataset: String,
    method: String,
    value: f64,
}

impl Table {
    /// Reads a file; `metric` picks one of several metrics.
    pub fn read(path: &Path, metric: Option<&str>) -> Result<Self> {
        let bytes = io::read(path)?;
        Table::parse(&bytes, metric).map_err(|e| e.in_file(path))
    }

    /// Reads CSV text.
    pub fn parse(text: &[u8], metric: Option<&str>) -> Result<Self> {
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text);
        let header: Vec<String> = match reader.headers() {
            Ok(h) => h.iter().map(str::to_owned).collect(),
            Err(e) => return Err(malformed(&e)),
        };
        let column = |name: &str| header.iter().position(|h| h.eq_ignore_ascii_case(name));
        let value = column("mean").or(column("value")).or(column("average_rank"));
        match (column("method"), value) {
            (Some(method), Some(value)) => {
                let columns = [column("dataset"), Some(method), Some(value), column("metric")];
                tidy(&mut reader, columns, metric)
            }
            _ => wide(&mut reader, &header),
        }
    }
}

fn wide(reader: &mut csv::Reader<&[u8]>, header: &[String]) -> Result<Table> {
    if header.len() < 3 {
        return Err(Error::found(
            format!("{} columns", header.len()),
            "a column with data set names and at least two methods",
        )
        .at_line(1)
        .hint("the first row names the methods, the first column the data sets"));
    }
    let (mut datasets, mut values) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(|e| malformed(&e))?;
        datasets.push(record[0].to_owned());
        for cell in record.iter().skip(1) {
            values.push(number(cell, &record)?);
        }
    }
    let k = header.len() - 1;
    Ok(Table {
        methods: header[1..].to_vec(),
        values: Mat::from_vec(datasets.len(), k, values),
        datasets,
        kind: TableKind::Results,
        metric: None,
    })
}

/// `columns`: data set, method, value, metric.
fn tidy(
    reader: &mut csv::Reader<&[u8]>,
    columns: [Option<usize>; 4],
    wanted: Option<&str>,
) -> Result<Table> {
    let mut entries = Vec::new();
    let mut metrics: Vec<String> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| malformed(&e))?;
        let cell = |k: usize| columns[k].map_or("", |c| &record[c]);
        if !metrics.iter().any(|m| m == cell(3)) {
            metrics.push(cell(3).to_owned());
        }
        if wanted.is_none_or(|w| w.eq_ignore_ascii_case(cell(3))) {
            entries.push(Entry {
                dataset: cell(0).to_owned(),
                method: cell(1).to_owned(),
                value: number(cell(2), &record)?,
            });
        }
    }
    if entries.is_empty() || (wanted.is_none() && metrics.len() > 1) {
        let found = wanted.map_or("several metrics".to_owned(), |w| format!("no metric {w:?}"));
        return Err(Error::found(found, "one metric")
            .hint(format!("choose one of {}", metrics.join(", ")))
            .remedy(Remedy::Metric));
    }
    let metric = wanted.map_or_else(|| metrics.pop(), |w| Some(w.to_owned()));
    let kind = match columns[0] {
        Some(_) => TableKind::Results,
        None => TableKind::AverageRanks,
    };
    pivot(&entries, kind, metric.filter(|m| !m.is_empty()))
}

fn pivot(entries: &[Entry], kind: TableKind, metric: Option<String>) -> Result<Table> {
    let distinct = |key: fn(&Entry) -> &String| {
        entries.iter().fold(Vec::<String>::new(), |mut seen, e| {
            if !seen.contains(key(e)) {
                seen.push(key(e).clone());
            }
            seen
        })
    };
    let (methods, datasets) = (distinct(|e| &e.method), distinct(|e| &e.dataset));
    let mut values = Mat::from_fn(datasets.len(), methods.len(), |_, _| f64::NAN);
    let mut filled = vec![false; entries.len().max(datasets.len() * methods.len())];
    for e in entries {
        let at = |names: &[String], name| names.iter().position(|n| n == name);
        let (i, j) = at(&datasets, &e.dataset).zip(at(&methods, &e.method)).expect("listed above");
        if std::mem::replace(&mut filled[i * methods.len() + j], true) {
            return Err(Error::found(
                format!("two results for {} on {:?}", e.method, e.dataset),
                "one",
            ));
        }
        values[(i, j)] = e.value;
    }
    Ok(Table { methods, datasets, values, kind, metric })
}

/// A number; empty, `-`, `?` and `NaN` stand for a missing result.
fn number(cell: &str, record: &csv::StringRecord) -> Result<f64> {
    if ["", "-", "?"].contains(&cell) || cell.eq_ignore_ascii_case("nan") {
        return Ok(f64::NAN);
    }
    cell.parse().map_err(|_| {
        let line = record.position().map_or(1, csv::Position::line);
        Error::found(format!("{cell:?}"), "a number, or nothing for a missing result").at_line(line)
    })
}

fn malformed(e: &csv::Error) -> Error {
    let line = e.position().map_or(1, csv::Position::line);
    Error::input(e.to_string()).at_line(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shapes_give_the_same_table() {
        let wide = Table::parse(b"set,a,b\nx,0.1,0.2\ny,,0.4\n", None).unwrap();
        let tidy = b"metric,dataset,method,mean,std\n\
            RL,x,a,0.1,0\nRL,x,b,0.2,0\nRL,y,b,0.4,0\nRL,y,a,nan,0\nHL,x,a,9,0\n";
        let tidy = Table::parse(tidy, Some("rl")).unwrap();
        assert_eq!(wide.methods, tidy.methods);
        assert_eq!(wide.datasets, tidy.datasets);
        assert_eq!(format!("{:?}", wide.values), format!("{:?}", tidy.values));
        assert_eq!(tidy.metric.as_deref(), Some("rl"));
        let ranks = Table::parse(b"method,average_rank\na,1.2\nb,1.8\n", None).unwrap();
        assert_eq!(ranks.kind, TableKind::AverageRanks);
        assert_eq!(ranks.values.row(0), [1.2, 1.8]);
    }

    #[test]
    fn bad_tables_are_named() {
        let text = |t: &[u8], m| Table::parse(t, m).unwrap_err().to_string();
        assert!(text(b"set,a,b\nx,0.1,oops\n", None).starts_with("line 2: found \"oops\""));
        assert!(text(b"set,a,b\nx,0.1\n", None).contains("line 2"));
        assert!(text(b"set,a\nx,1\n", None).contains("at least two methods"));
        let two = b"metric,dataset,method,mean\nRL,x,a,1\nHL,x,a,2\n";
        assert!(text(two, None).contains("choose one of RL, HL"));
        assert!(text(two, Some("CE")).contains("no metric \"CE\""));
        let twice = b"dataset,method,mean\nx,a,1\nx,a,2\n";
        assert!(text(twice, None).contains("two results for a"));
    }
}
