//! The page: story first, then tables and drawings. It needs nothing but itself; a small script sorts
//! tables for those who want it, and without it everything can be read.

use minijinja::{Value, context};

use super::Report;
use super::sheet::{Drawing, Section, Sheet};
use crate::Result;
use crate::report::render;

/// The page as HTML.
pub fn html(report: &Report) -> Result<String> {
    let run = &report.run;
    let sets = run.sets.iter().map(|set| {
        let size = format!("{} × {}, {} labels", set.n, set.d, set.labels);
        let state = match (set.partial, set.real) {
            (true, _) => "partial",
            (_, true) => "real candidates",
            _ => "complete",
        };
        context! { title => &set.title, size, state, sha256 => &set.sha256 }
    });
    let hours = report.times.iter().map(|t| t.seconds).sum::<f64>() / 3600.0;
    render(
        include_str!("report.html"),
        context! {
            story => &report.story,
            sections => Value::from_iter(report.sections.iter().map(section)),
            sets => Value::from_iter(sets),
            version => &run.version,
            cells => run.cells,
            hours => format!("{hours:.2}"),
        },
    )
}

fn section(section: &Section) -> Value {
    let pick = |long: bool| {
        let drawings = section.drawings.iter().filter(move |d| d.long == long);
        Value::from_iter(drawings.map(drawing))
    };
    context! {
        id => section.id,
        title => section.title,
        text => &section.text,
        sheets => Value::from_iter(section.sheets.iter().map(sheet)),
        drawings => pick(false),
        more => pick(true),
    }
}

fn sheet(sheet: &Sheet) -> Value {
    context! {
        file => &sheet.file,
        title => &sheet.title,
        note => &sheet.note,
        long => sheet.long,
        head => sheet.table.header().to_vec(),
        kinds => (0..sheet.table.header().len()).map(|k| kind(sheet, k)).collect::<Vec<_>>(),
        rows => sheet.table.rows().to_vec(),
    }
}

/// How a column is set: `n` for numbers, to the right; `w` for sentences, which may break; else to the left.
fn kind(sheet: &Sheet, column: usize) -> &'static str {
    let cells = || sheet.table.rows().iter().map(|row| row[column].as_str());
    let is_number = |cell: &str| {
        let digits = cell.trim_start_matches(['-', '−', '+', '<', '±', '.', ' ']);
        digits.is_empty() || digits.starts_with(|c: char| c.is_ascii_digit())
    };
    match () {
        () if cells().any(|cell| cell.chars().count() > 32) => "w",
        () if column > 0 && cells().all(is_number) => "n",
        () => "",
    }
}

fn drawing(drawing: &Drawing) -> Value {
    let keys = drawing.keys.iter().map(|(ink, name)| context! { ink, name });
    context! {
        title => &drawing.title,
        keys => Value::from_iter(keys),
        // Names in it are escaped where it is drawn.
        svg => Value::from_safe_string(drawing.svg.clone()),
        wide => drawing.keys.is_empty(),
    }
}
