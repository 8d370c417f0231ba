//! What the command line calls the values that a library error asks to change.

use crate::{ColumnChanges, Error, Remedy};

/// The error with the flag added to its hint.
pub(super) fn with_flag(error: Error) -> Error {
    let hint = match error.what_to_do() {
        (_, None) => return error,
        (Some(hint), Some(remedy)) => format!("{hint} ({})", flag(remedy)),
        (None, Some(remedy)) => format!("see {}", flag(remedy)),
    };
    error.hint(hint)
}

fn flag(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Labels => "--labels SPEC, or --xml FILE for an ARFF".to_owned(),
        Remedy::Candidates => "--candidates SPEC".to_owned(),
        Remedy::LabelFile => "--xml FILE".to_owned(),
        Remedy::Header => "--no-header".to_owned(),
        Remedy::Ignore(column) => format!("--ignore {}", list([column])),
        Remedy::Impute => "--impute mean or --impute zero".to_owned(),
        Remedy::Columns(changes) => column_flags(changes),
        Remedy::Tags(column) => format!("--labels {}", quoted(&format!("tags:{column}"))),
        Remedy::MemoryLimit => "--max-memory BYTES".to_owned(),
        Remedy::DataFolder => "--data-dir DIR".to_owned(),
        Remedy::Fetch(set) => format!("pomdp-fs data fetch {set} --data-dir DIR"),
        Remedy::Metric => "--metric NAME".to_owned(),
    }
}

/// The options that change columns in this way.
pub(super) fn column_flags(changes: &ColumnChanges) -> String {
    let mut flags = Vec::new();
    flags.extend(changes.id.as_ref().map(|id| format!("--id {}", quoted(id))));
    for (flag, columns) in [("--ignore", &changes.ignore), ("--one-hot", &changes.one_hot)] {
        if !columns.is_empty() {
            flags.push(format!("{flag} {}", list(columns)));
        }
    }
    if changes.impute {
        flags.push("--impute mean".to_owned());
    }
    flags.join(" ")
}

/// Names separated by commas, quoted as in CSV where they hold one, as one word of a shell.
fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let csv = |name: &String| match name.contains([',', '"']) || name.trim() != name {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.clone(),
    };
    quoted(&names.into_iter().map(csv).collect::<Vec<_>>().join(","))
}

/// One word of a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.:,/=+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use clap::{Command, CommandFactory};

    use super::*;

    fn long_flags(command: &Command, found: &mut HashSet<String>) {
        found.extend(command.get_arguments().filter_map(|a| a.get_long()).map(str::to_owned));
        command.get_subcommands().for_each(|c| long_flags(c, found));
    }

    #[test]
    fn every_flag_exists() {
        let mut known = HashSet::new();
        long_flags(&super::super::Cli::command(), &mut known);
        let name = || "x".to_owned();
        let all = [
            Remedy::Labels,
            Remedy::Candidates,
            Remedy::LabelFile,
            Remedy::Header,
            Remedy::Ignore(name()),
            Remedy::Impute,
            Remedy::Columns(ColumnChanges {
                id: Some(name()),
                ignore: vec![name()],
                one_hot: vec![name()],
                impute: true,
            }),
            Remedy::Tags(name()),
            Remedy::MemoryLimit,
            Remedy::DataFolder,
            Remedy::Fetch(name()),
            Remedy::Metric,
        ];
        for remedy in all {
            let text = flag(&remedy);
            let flags: Vec<&str> =
                text.split(' ').filter_map(|word| word.strip_prefix("--")).collect();
            assert!(!flags.is_empty(), "{remedy:?}");
            for flag in flags {
                assert!(known.contains(flag), "--{flag} of {remedy:?} is no flag");
            }
        }
        assert!(!known.contains("no-such-flag"));
    }

    #[test]
    fn names_survive_the_shell_and_the_list() {
        let changes = ColumnChanges {
            id: Some("ticket id".to_owned()),
            ignore: vec!["a,b".to_owned(), "it's".to_owned()],
            ..ColumnChanges::default()
        };
        assert_eq!(column_flags(&changes), "--id 'ticket id' --ignore '\"a,b\",it'\\''s'");
        assert_eq!(flag(&Remedy::Ignore("plain_name".to_owned())), "--ignore plain_name");
        let list = crate::data::split_names("\"a,b\",it's").unwrap();
        assert_eq!(list, ["a,b", "it's"]);
    }

    #[test]
    fn the_flag_follows_the_hint() {
        let text = |e: Error| with_flag(e).to_string();
        let error = Error::input("bad").hint("fill it in").remedy(Remedy::Impute);
        assert_eq!(text(error), "bad\n  hint: fill it in (--impute mean or --impute zero)");
        let error = Error::input("bad").remedy(Remedy::Candidates);
        assert_eq!(text(error), "bad\n  hint: see --candidates SPEC");
        assert_eq!(text(Error::input("bad").hint("do")), "bad\n  hint: do");
    }
}
