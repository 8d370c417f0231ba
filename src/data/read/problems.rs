//! All columns that cannot be used as they stand, in one message with what to do about each.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::survey::{Column, Kind};
use crate::text::name;
use crate::{ColumnChanges, Error, Remedy};

/// Columns that a message names; more are counted.
const NAMED: usize = 25;

/// What a column was meant to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meant {
    Feature,
    Label,
}

/// One column is described by its first error, which has a place; several by a list.
pub(crate) fn report(troubled: &[(&Column, Meant)], first: Error) -> Error {
    match troubled {
        [] => first,
        [(column, meant)]
            if *meant == Meant::Label
                || matches!(column.kind(), Kind::Numbers | Kind::Binary | Kind::NearlyNumbers) =>
        {
            first
        }
        _ => list(troubled),
    }
}

fn list(troubled: &[(&Column, Meant)]) -> Error {
    let mut text = match troubled.len() {
        1 => "found a column that cannot be used as it stands:".to_owned(),
        n => format!("found {n} columns that cannot be used as they stand:"),
    };
    let mut changes = ColumnChanges::default();
    for (k, (column, meant)) in troubled.iter().enumerate() {
        if k < NAMED {
            let _ = write!(
                text,
                "\n  column {} '{}': {}",
                column.number,
                name(&column.name),
                describe(column, *meant)
            );
        }
        suggest(column, *meant, &mut changes);
    }
    if troubled.len() > NAMED {
        let _ = write!(text, "\n  … and {} more", troubled.len() - NAMED);
    }
    Error::input(text)
        .hint("say what becomes of them: an id, left out, one feature per word, filled in")
        .remedy(Remedy::Columns(changes))
}

/// What is in a column, in a few words.
pub(crate) fn describe(column: &Column, meant: Meant) -> String {
    let such: Vec<String> = column.examples.iter().map(|e| format!("'{}'", name(e))).collect();
    let such = such.join(", ");
    let others = match column.missing {
        0 => String::new(),
        n => format!("; {n} missing, first in line {}", column.first_missing.unwrap_or(0)),
    };
    if meant == Meant::Label {
        return format!(
            "a label with {such}, expected yes or no (1 and 0, Y and N, x and nothing){others}"
        );
    }
    let what = match column.kind() {
        Kind::Empty => "no value at all".to_owned(),
        Kind::Numbers | Kind::Binary => {
            return match column.missing {
                0 => "numbers".to_owned(),
                n => format!(
                    "numbers, {n} missing, first in line {}",
                    column.first_missing.unwrap_or(0)
                ),
            };
        }
        Kind::YesNo => "yes and no".to_owned(),
        Kind::NearlyNumbers => format!("numbers, and {} other values such as {such}", column.words),
        Kind::Dates => format!("dates such as {such}"),
        Kind::Ids => format!("a different value in each row, such as {such}"),
        Kind::Tags => format!("joined tags such as {such}"),
        Kind::Words if column.choices() == 1 => format!("one word, {such}"),
        Kind::Words => format!(
            "{} different words: {such}{}",
            column.choices(),
            if column.choices() > 3 { ", …" } else { "" }
        ),
        Kind::Text => format!("text such as {such}"),
    };
    what + &others
}

/// What the columns of a table need that cannot be used as they stand, or share a name. What may be a
/// label is left to the choice of labels.
pub fn needed_changes(columns: &[Column]) -> ColumnChanges {
    let mut changes = ColumnChanges::default();
    let mut called: HashMap<&str, usize> = HashMap::new();
    columns.iter().for_each(|c| *called.entry(&c.name).or_default() += 1);
    for column in columns {
        if called[column.name.as_str()] > 1 {
            changes.ignore.push(column.name.clone());
            continue;
        }
        match column.kind() {
            Kind::Tags | Kind::Binary | Kind::YesNo => {}
            Kind::Numbers if column.missing == 0 => {}
            _ => suggest(column, Meant::Feature, &mut changes),
        }
    }
    let mut seen = HashSet::new();
    changes.ignore.retain(|name| seen.insert(name.clone()));
    changes
}

fn suggest(column: &Column, meant: Meant, changes: &mut ColumnChanges) {
    let name = || column.name.clone();
    match column.kind() {
        _ if meant == Meant::Label => {}
        Kind::Ids if changes.id.is_none() => changes.id = Some(name()),
        Kind::Words if column.choices() > 1 || column.missing > 0 => changes.one_hot.push(name()),
        Kind::Numbers | Kind::Binary | Kind::YesNo => changes.impute = true,
        _ => changes.ignore.push(name()),
    }
}
