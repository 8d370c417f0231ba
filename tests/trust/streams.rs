//! Where output goes: pipes, devices, closed and full ones.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{folder, outcome, program, select, succeed};

/// A command of each kind of output.
fn commands() -> Vec<Vec<&'static str>> {
    vec![
        select(&["--out", "out"]),
        vec!["data", "list"],
        vec!["data", "info", "toy.csv", "--labels", "3", "--json", "-"],
        vec!["completions", "bash"],
        vec!["man"],
        vec!["--help"],
        vec!["select", "--help"],
        vec!["audit", "gradients", "--inject", "list"],
    ]
}

#[test]
fn a_closed_pipe_is_no_error() {
    let dir = folder();
    for args in commands() {
        let mut child = program(dir.path(), &args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let (code, text) = outcome(child.wait_with_output().unwrap());
        assert_eq!(code, Some(0), "{args:?}: {text}");
        assert!(!text.contains("panicked") && !text.contains("error"), "{args:?}: {text}");
    }
    assert!(dir.path().join("out/report.html").exists(), "the work went on");
}

#[test]
fn a_full_device_is_an_error() {
    let dir = folder();
    for args in commands() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (code, text) = outcome(program(dir.path(), &args).stdout(full).output().unwrap());
        assert_eq!(code, Some(2), "{args:?}: {text}");
        assert!(text.contains("cannot write all of the output: No space left"), "{text}");
    }
    for args in [&["data", "info", "none.csv"][..], &["nothing"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let code = program(dir.path(), args).stderr(full).status().unwrap().code();
        assert_eq!(code, Some(2), "nobody can be told, and nobody is told by a panic");
    }
}

fn info(json: &str) -> Vec<&str> {
    vec!["data", "info", "toy.csv", "--labels", "prefix:tag_", "--quiet", "--json", json]
}

#[test]
fn json_goes_to_pipes_and_devices() {
    use std::os::unix::fs::FileTypeExt;
    let dir = folder();
    let at = dir.path();
    let (code, expected) = outcome(program(at, &info("-")).output().unwrap());
    assert_eq!(code, Some(0));
    // A named pipe.
    let pipe = at.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    succeed(at, &info("pipe"));
    assert_eq!(reader.join().unwrap(), expected);
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo(), "the pipe is still one");
    // A device.
    succeed(at, &info("/dev/null"));
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let (code, text) = outcome(program(at, &info("/dev/full")).output().unwrap());
    assert!(code == Some(2) && text.contains("/dev/full: cannot write: No space left"), "{text}");
    // What a shell has open, as in --json >(jq).
    let line =
        format!("{} {} 3>got.json", env!("CARGO_BIN_EXE_pomdp-fs"), info("/dev/fd/3").join(" "));
    let status =
        Command::new("sh").current_dir(at).args(["-c", &line]).stdout(Stdio::null()).status();
    assert!(status.unwrap().success());
    assert_eq!(fs::read_to_string(at.join("got.json")).unwrap(), expected);
    assert_no_leftovers(at);
}

fn assert_no_leftovers(at: &Path) {
    let mut names: Vec<_> =
        fs::read_dir(at).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["got.json", "pipe", "toy.csv"]);
}
