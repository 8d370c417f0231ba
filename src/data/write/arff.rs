//! Dense ARFF and MULAN's label XML. Candidates become columns `candidate:NAME` that the XML does not
//! list when there is a truth as well.

use std::fmt::Write;

use super::some_blocks;
use crate::data::Dataset;
use crate::data::read::layout::{CANDIDATE, feature_column};
use crate::{Error, Result};

/// The ARFF and the XML.
pub(super) fn text(dataset: &Dataset) -> Result<(String, String)> {
    let blocks = some_blocks(dataset)?;
    let mut out = format!("@relation {}\n\n", quote(&dataset.name));
    check_names(dataset)?;
    for (j, name) in dataset.feature_names.iter().enumerate() {
        let kind = match dataset.nominal.get(&j) {
            Some(values) => {
                let values: Vec<String> = values.iter().map(|v| quote(v)).collect();
                format!("{{{}}}", values.join(","))
            }
            None => "numeric".to_owned(),
        };
        let _ = writeln!(out, "@attribute {} {kind}", quote(&feature_column(name)));
    }
    for (truth, _) in &blocks {
        for name in &dataset.label_names {
            let column = if *truth { name.clone() } else { format!("{CANDIDATE}{name}") };
            let _ = writeln!(out, "@attribute {} {{0,1}}", quote(&column));
        }
    }
    out.push_str("\n@data\n");
    for i in 0..dataset.n() {
        for (j, value) in dataset.x.row(i).iter().enumerate() {
            match dataset.nominal.get(&j) {
                Some(values) => out.push_str(&quote(nominal(values, *value, i, j)?)),
                None => {
                    let _ = write!(out, "{value}");
                }
            }
            out.push(',');
        }
        let cells = blocks.iter().flat_map(|(_, block)| block.row(i));
        let cells: Vec<&str> = cells.map(|&on| if on { "1" } else { "0" }).collect();
        out.push_str(&cells.join(","));
        out.push('\n');
    }
    Ok((out, xml(&dataset.label_names)))
}

/// The declared value with this number.
fn nominal(values: &[String], value: f64, row: usize, feature: usize) -> Result<&str> {
    let index = value as usize;
    match values.get(index) {
        Some(name) if index as f64 == value => Ok(name),
        _ => Err(Error::input(format!(
            "row {row}: {value} is not one of the {} values of nominal feature {feature}",
            values.len()
        ))),
    }
}

/// In ARFF every column needs a name of its own.
fn check_names(dataset: &Dataset) -> Result<()> {
    let features: std::collections::HashSet<&String> = dataset.feature_names.iter().collect();
    match dataset.label_names.iter().find(|n| features.contains(n)) {
        Some(name) => {
            Err(Error::input(format!("'{name}' is the name of a feature and of a label"))
                .hint("write .csv, which marks the labels"))
        }
        None => Ok(()),
    }
}

/// Quotes what ARFF would otherwise misread.
fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-+:/()|".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => out.push(c),
        }
    }
    out + "'"
}

fn xml(labels: &[String]) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<labels xmlns=\"http://mulan.sourceforge.net/labels\">\n",
    );
    for name in labels {
        let mut escaped = String::new();
        for c in name.chars() {
            match c {
                '&' => escaped.push_str("&amp;"),
                '<' => escaped.push_str("&lt;"),
                '"' => escaped.push_str("&quot;"),
                '\n' | '\r' | '\t' => {
                    let _ = write!(escaped, "&#{};", u32::from(c));
                }
                _ => escaped.push(c),
            }
        }
        let _ = writeln!(out, "<label name=\"{escaped}\"></label>");
    }
    out + "</labels>\n"
}
