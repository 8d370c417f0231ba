//! Messages name the value, the cause and the remedy; help is found.

use std::fs;

use super::{folder, program, refused, run, select, succeed};

#[test]
fn settings_are_named_with_what_they_take() {
    let dir = folder();
    let cases = [
        ("epochs1=1e9x", "setting 'epochs1' has the value \"1e9x\", expected a whole number"),
        ("epochs1=-3", "setting 'epochs1' has the value -3, expected a whole number"),
        ("rho=much", "setting 'rho' has the value \"much\", expected a number"),
        ("at_least_one=3", "setting 'at_least_one' has the value 3, expected true or false"),
    ];
    for (set, message) in cases {
        refused(dir.path(), &select(&["--set", set]), &["--set", message, "its value now is"]);
    }
}

#[test]
fn an_index_that_is_too_large_is_one() {
    let dir = folder();
    for index in ["18446744073709551615", "4294967296", "99999999999999999999999999"] {
        fs::write(dir.path().join("x.svm"), format!("1 1:1\n1 {index}:1\n")).unwrap();
        let message = format!("x.svm:2:3: found '{index}:1', expected index:value");
        refused(dir.path(), &["data", "info", "x.svm"], &[&message, "below 2^32"]);
    }
}

#[test]
fn a_folder_is_no_missing_file() {
    let dir = folder();
    fs::create_dir_all(dir.path().join("model/config.json")).unwrap();
    refused(
        dir.path(),
        &["apply", "--model", "model", "toy.csv"],
        &["model/config.json: found a folder, expected a model"],
    );
}

#[test]
fn the_negative_controls_are_listed() {
    let dir = folder();
    let text = succeed(dir.path(), &["audit", "gradients", "--inject", "list"]);
    assert!(text.contains("SoftmaxRankOneMissing: "), "{text}");
    refused(dir.path(), &["audit", "gradients", "--inject", "no"], &["found control 'no'"]);
}

#[test]
fn without_a_command_help_is_shown() {
    let dir = folder();
    let mut bare = program(dir.path(), &[]);
    let output = bare.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("New here?"), "{text}");
    assert_eq!(text, succeed(dir.path(), &["-h"]));
    for command in ["pomdp-fs select ", "pomdp-fs data info FILE", "pomdp-fs select FILE"] {
        assert!(text.contains(command), "{command}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing was run");
}

#[test]
fn the_projects_own_files_are_right_in_a_data_folder() {
    let dir = tempfile::tempdir().unwrap();
    let project = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    for file in ["emotions.arff", "emotions.xml", "yeast.arff", "yeast.xml"] {
        fs::copy(format!("{project}/{file}"), dir.path().join(file)).unwrap();
    }
    let verify = ["data", "verify", "emotions", "yeast", "--data-dir", "."];
    let text = succeed(dir.path(), &verify);
    assert!(!text.contains("WRONG"), "{text}");
    let mut bytes = fs::read(dir.path().join("emotions.arff")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(dir.path().join("emotions.arff"), bytes).unwrap();
    let (code, text) = run(dir.path(), &verify);
    assert!(code == Some(1) && text.contains("emotions.arff: found SHA-256"), "{text}");
}
