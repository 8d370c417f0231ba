//! `data fetch` without a network: a stand-in for `curl` shows what happens in every case.
#![cfg(unix)]

mod skip;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// Runs `data fetch chd_49` with a `curl` that is this shell script; `None` means no curl at all.
/// The script prints the file; `$url` is its address.
fn fetch(folder: &Path, script: Option<&str>) -> (i32, String) {
    let bin = tempfile::tempdir().unwrap();
    if let Some(script) = script {
        let curl = bin.path().join("curl");
        let text = format!("#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\nurl=$1\n{script}\n");
        std::fs::write(&curl, text).unwrap();
        std::fs::set_permissions(&curl, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    // The script may need these, but the system's own curl must stay out of sight.
    for tool in ["cat", "basename"] {
        for place in ["/bin", "/usr/bin"] {
            let tool_path = Path::new(place).join(tool);
            if tool_path.exists() && !bin.path().join(tool).exists() {
                std::os::unix::fs::symlink(tool_path, bin.path().join(tool)).unwrap();
            }
        }
    }
    let output = Command::cargo_bin("pomdp-fs")
        .unwrap()
        .env("PATH", bin.path())
        .env_remove("POMDP_FS_DATA")
        .args(["data", "fetch", "chd_49", "--data-dir", folder.to_str().unwrap()])
        .output()
        .unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder.join("chd_49")).map_or(0, Iterator::count)
}

#[test]
fn every_failure_has_its_message_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (code, error) = fetch(dir.path(), None);
    assert!(code == 2 && error.contains("the program 'curl' is not installed"), "{error}");
    assert!(error.contains("hint: download https://"), "{error}");
    let offline = "echo 'curl: (6) Could not resolve host' >&2; exit 6";
    let (code, error) = fetch(dir.path(), Some(offline));
    assert!(
        code == 2 && error.contains("the download failed: curl: (6) Could not resolve host"),
        "{error}"
    );
    let (code, error) = fetch(dir.path(), Some("echo '<html>moved</html>'"));
    assert!(code == 2 && error.contains("the download is not the expected file"), "{error}");
    assert!(error.contains("found 19 bytes, expected 79471 bytes"), "{error}");
    assert_eq!(files(dir.path()), 0);
}

#[test]
fn a_right_file_is_kept_and_not_fetched_twice() {
    let folder = std::env::var_os("POMDP_FS_DATA").map(PathBuf::from).filter(|f| f.is_dir());
    let test = "a_right_file_is_kept_and_not_fetched_twice";
    let Some(folder) = skip::unless(folder, test, "POMDP_FS_DATA names no folder") else { return };
    let dir = tempfile::tempdir().unwrap();
    let copy = format!("cat {}/chd_49/$(basename \"$url\")", folder.display());
    let (code, error) = fetch(dir.path(), Some(&copy));
    assert_eq!(code, 0, "{error}");
    assert_eq!(files(dir.path()), 2);
    let (code, error) = fetch(dir.path(), None);
    assert!(code == 0 && error.contains("already here, and right"), "{error}");
}

#[test]
fn sets_without_an_address_say_so() {
    let run = |args: &[&str]| {
        let output = Command::cargo_bin("pomdp-fs")
            .unwrap()
            .env_remove("POMDP_FS_DATA")
            .args(["data", "fetch"])
            .args(args)
            .output()
            .unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let dir = tempfile::tempdir().unwrap();
    let error = run(&["mediamill", "--data-dir", dir.path().to_str().unwrap()]);
    assert!(error.contains("'mediamill' has no address"), "{error}");
    assert!(run(&["birds"]).contains("nothing says where to put the files"));
}
