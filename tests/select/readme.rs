//! What the README shows is what the program does: its commands for a user's own table are run as they
//! stand, and they must print what stands below them.

use std::path::Path;

use super::{made_up, program, text};

const PROJECT: &str = env!("CARGO_MANIFEST_DIR");

/// The fenced blocks of the section "Your own data": commands, and what they print.
fn blocks() -> (Vec<String>, Vec<String>) {
    let readme = text(&Path::new(PROJECT).join("README.md"));
    let section = readme.split("\n## Your own data\n").nth(1).unwrap().split("\n## ").next();
    let mut blocks = section.unwrap().split("```").skip(1).step_by(2);
    let mut block = |kind: &str| -> Vec<String> {
        let lines = blocks.next().unwrap().strip_prefix(kind).unwrap().trim().lines();
        lines.map(str::to_owned).collect()
    };
    (block("sh\n"), block("text\n"))
}

#[test]
fn the_commands_for_ones_own_data_print_what_the_readme_shows() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("data")).unwrap();
    for (name, made) in made_up::files() {
        assert!(text(&Path::new(PROJECT).join(name)) == made, "{name}: run the example 'tickets'");
        std::fs::write(dir.path().join(name), made).unwrap();
    }
    let (commands, shown) = blocks();
    let mut printed = String::new();
    let ours = commands.iter().filter_map(|line| line.strip_prefix("pomdp-fs "));
    for line in ours.clone() {
        let command = line.split('#').next().unwrap();
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let output = program(dir.path(), &arguments).output().unwrap();
        // `data info` alone asks for what it has to be told.
        let asks = arguments == ["data", "info", "data/tickets.csv"];
        assert_eq!(output.status.code(), Some(if asks { 2 } else { 0 }), "{line}");
        printed += &String::from_utf8(output.stdout).unwrap();
    }
    assert!(ours.count() >= 3 && shown.len() >= 3, "{commands:?} {shown:?}");
    for line in &shown {
        assert!(printed.contains(line.as_str()), "'{line}' is not in:\n{printed}");
    }
}
