//! The same files, the same values as scipy, scikit-learn and liac-arff read (tests/golden/data).

mod skip;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pomdp_fs::data::{Dataset, Labels, ReadOptions, load};
use serde::Deserialize;
use sha2::{Digest, Sha256};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/data").join(name)
}

fn fixture<T: for<'a> Deserialize<'a>>(name: &str) -> T {
    serde_json::from_slice(&std::fs::read(golden(name)).unwrap()).unwrap()
}

#[derive(Deserialize)]
struct Values {
    x: Vec<Vec<f64>>,
    truth: Vec<Vec<u8>>,
    candidates: Option<Vec<Vec<u8>>>,
}

#[test]
fn small_files_have_the_values_that_other_tools_read() {
    let files: BTreeMap<String, Values> = fixture("small.json");
    assert_eq!(files.len(), 9);
    for (file, expected) in files {
        let set = load(golden(&file), &ReadOptions::default()).unwrap();
        let rows: Vec<Vec<f64>> = set.x.rows_iter().map(<[f64]>::to_vec).collect();
        assert_eq!(rows, expected.x, "{file}");
        let cells = |labels: &Labels| -> Vec<Vec<u8>> {
            let row = |i| labels.row(i).iter().map(|&on| u8::from(on)).collect();
            (0..labels.rows()).map(row).collect()
        };
        assert_eq!(cells(set.truth.as_ref().unwrap()), expected.truth, "{file}");
        assert_eq!(set.candidates.as_ref().map(cells), expected.candidates, "{file}");
    }
}

#[test]
fn matlab_files_say_what_was_skipped_and_which_way_round_they_were() {
    let notes = |file: &str| {
        let set = load(golden(file), &ReadOptions::default()).unwrap();
        set.source.notes.join("\n")
    };
    let packed = notes("packed.mat");
    assert!(packed.contains("skipped variables: 'note' (text), 'cells' (cell array)"), "{packed}");
    assert!(packed.contains("'target': 3x12 uint8, one column per instance, 0/1"), "{packed}");
    assert!(notes("plain.mat").contains("int16, one column per instance, -1/+1"));
    assert!(notes("turned.mat").contains("'data': 5x12 double, one column per instance"));
    assert!(notes("turned.mat").contains("'target': 12x3 uint8, one row per instance"));
    assert!(notes("parts.mat").contains("train rows, then test rows: 7 + 5"));
    assert!(notes("sparse.mat").contains("sparse double"));
}

#[derive(Deserialize)]
struct Whole {
    n: usize,
    d: usize,
    labels: usize,
    x_sha256: String,
    truth_sha256: String,
}

fn check_whole(set: &Dataset, expected: &Whole, file: &str) {
    assert_eq!(
        (set.n(), set.d(), set.labels()),
        (expected.n, expected.d, expected.labels),
        "{file}"
    );
    let hex = |bytes: &[u8]| -> String {
        Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
    };
    // Adding zero turns −0 into 0, as the fixture does.
    let x: Vec<u8> = set.x.as_slice().iter().flat_map(|v| (v + 0.0).to_le_bytes()).collect();
    let truth = set.truth.as_ref().unwrap();
    let y: Vec<u8> = truth.as_slice().iter().map(|&on| u8::from(on)).collect();
    assert_eq!(hex(&x), expected.x_sha256, "values of {file}");
    assert_eq!(hex(&y), expected.truth_sha256, "labels of {file}");
}

/// Every value of every bundled set; and of the others, if `POMDP_FS_DATA` names their folder.
#[test]
fn whole_sets_have_the_values_that_liac_arff_reads() {
    let folder = std::env::var_os("POMDP_FS_DATA").map(PathBuf::from);
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    for (file, expected) in fixture::<BTreeMap<String, Whole>>("whole.json") {
        let path = match file.contains('/') {
            false => Some(bundled.join(&file)),
            true => folder.as_ref().map(|f| f.join(&file)).filter(|p| p.exists()),
        };
        let Some(path) = skip::unless(path, &file, "not in the folder POMDP_FS_DATA") else {
            continue;
        };
        check_whole(&load(path, &ReadOptions::default()).unwrap(), &expected, &file);
    }
}
