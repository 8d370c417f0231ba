//! Links and foreign files in the places where results are made.

use std::fs;
use std::os::unix::fs::symlink;

use super::{folder, refused, select, succeed};

#[test]
fn links_are_not_followed_and_foreign_files_stay() {
    let dir = folder();
    let at = dir.path();
    let precious = at.join("precious");
    fs::create_dir(&precious).unwrap();
    for name in ["thesis.tex", "ranking.csv", "progress"] {
        fs::write(precious.join(name), "years").unwrap();
    }
    let untouched = || {
        for name in ["thesis.tex", "ranking.csv", "progress"] {
            assert_eq!(fs::read_to_string(precious.join(name)).unwrap(), "years", "{name}");
        }
    };
    let command = select(&["--out", "out"]);
    for link in ["out", ".out.part", ".out.old"] {
        symlink(&precious, at.join(link)).unwrap();
        for command in [
            &command,
            &select(&["--out", "out", "--resume"]),
            &select(&["--out", "out/", "--restart"]),
        ] {
            refused(at, command, &[link, "found a symbolic link, which is not followed", "--out"]);
        }
        assert!(fs::symlink_metadata(at.join(link)).unwrap().is_symlink());
        untouched();
        fs::remove_file(at.join(link)).unwrap();
    }
    for hidden in [".out.part", ".out.old", "out"] {
        fs::rename(&precious, at.join(hidden)).unwrap();
        for command in [&command, &select(&["--out", "out", "--restart"])] {
            refused(at, command, &[hidden, "found a file that is no result of this command"]);
        }
        fs::rename(at.join(hidden), &precious).unwrap();
        untouched();
    }
    // A link among our own files.
    fs::create_dir(at.join(".out.part")).unwrap();
    symlink(precious.join("progress"), at.join(".out.part/progress")).unwrap();
    refused(at, &select(&["--out", "out", "--resume"]), &["progress: found a link"]);
    fs::remove_dir_all(at.join(".out.part")).unwrap();
    untouched();
    succeed(at, &command);
}
