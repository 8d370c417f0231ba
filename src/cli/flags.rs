//! What the command line calls the values that a library error asks to change.

use crate::{Error, Remedy};

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
        Remedy::Ignore(name) => format!("--ignore '{name}'"),
        Remedy::Impute => "--impute mean or --impute zero".to_owned(),
        Remedy::MemoryLimit => "--max-memory BYTES".to_owned(),
        Remedy::DataFolder => "--data-dir DIR".to_owned(),
        Remedy::Fetch(set) => format!("pomdp-fs data fetch {set} --data-dir DIR"),
        Remedy::Metric => "--metric NAME".to_owned(),
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
    fn the_flag_follows_the_hint() {
        let text = |e: Error| with_flag(e).to_string();
        let error = Error::input("bad").hint("fill it in").remedy(Remedy::Impute);
        assert_eq!(text(error), "bad\n  hint: fill it in (--impute mean or --impute zero)");
        let error = Error::input("bad").remedy(Remedy::Candidates);
        assert_eq!(text(error), "bad\n  hint: see --candidates SPEC");
        assert_eq!(text(Error::input("bad").hint("do")), "bad\n  hint: do");
    }
}
