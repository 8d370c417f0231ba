//! A flipped bit in a stored file: refused by name, or without any effect.

use std::fs;
use std::path::Path;
use std::time::Duration;

use pomdp_fs::experiment::Checkpoint;
use pomdp_fs::method::Silent;
use pomdp_fs::method::pomdp_fs::Model;

use super::{LONG, contents, folder, refused, select, start, succeed, wait_for};

/// Flips one bit in each of these bytes, one at a time, and looks.
fn flip(file: &Path, bytes: impl Iterator<Item = usize>, mut look: impl FnMut(usize)) -> usize {
    let whole = fs::read(file).unwrap();
    let mut count = 0;
    for at in bytes.filter(|&at| at < whole.len()) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(file, damaged).unwrap();
        look(at);
        count += 1;
    }
    fs::write(file, whole).unwrap();
    count
}

#[test]
fn no_byte_of_a_model_can_change() {
    let dir = folder();
    let at = dir.path();
    succeed(at, &select(&["--out", "model"]));
    let model = at.join("model");
    for (file, step) in [("config.json", 1), ("model.safetensors", 97)] {
        let path = model.join(file);
        let count = flip(&path, (0..).step_by(step).take(20_000), |byte| {
            let e = Model::load(&model).err().unwrap_or_else(|| panic!("{file}, byte {byte}"));
            assert!(e.to_string().contains(file), "{file}, byte {byte}: {e}");
        });
        assert!(count > 100, "{file} has {count} bytes to flip");
    }
    // The same as a user sees it.
    let apply = ["apply", "--model", "model", "toy.csv", "--labels", "prefix:tag_", "--out", "new"];
    let length = fs::metadata(model.join("config.json")).unwrap().len() as usize;
    flip(&model.join("config.json"), (0..length).step_by(length / 6), |_| {
        refused(at, &apply, &["model/config.json"]);
    });
    succeed(at, &apply);
}

#[test]
fn no_byte_of_the_progress_can_change() {
    let dir = folder();
    let at = dir.path();
    let args = select(&[&["--out", "out"], &LONG[..]].concat());
    let mut child = start(at, &args);
    let progress = at.join(".out.part/progress");
    wait_for(&progress);
    child.kill().unwrap();
    child.wait().unwrap();
    let whole = fs::read(&progress).unwrap();
    let id = whole.split(|&b| b == b'\n').nth(1).unwrap();
    let id = String::from_utf8(id.to_vec()).unwrap();
    let open = || Checkpoint::new(&progress, &id, Duration::ZERO, true, &mut Silent).map(drop);
    open().unwrap();
    let step = whole.len() / 500 + 1;
    let count = flip(&progress, (0..200).chain((200..).step_by(step).take(500)), |byte| {
        let e = open().err().unwrap_or_else(|| panic!("byte {byte}"));
        assert!(e.to_string().contains("progress"), "byte {byte}: {e}");
    });
    assert!(count > 300, "{count}");
    let resume = [&args[..], &["--resume"]].concat();
    for byte in [0, 30, 60, 100, whole.len() / 2, whole.len() - 1] {
        flip(&progress, [byte].into_iter(), |_| {
            refused(at, &resume, &["/progress: ", "--resume"]);
        });
    }
    assert!(fs::read(&progress).unwrap() == whole, "it is still there");
}

#[test]
fn a_damaged_cell_is_computed_again() {
    let dir = folder();
    let at = dir.path();
    let args = [
        "evaluate",
        "toy.csv",
        "--labels",
        "prefix:tag_",
        "--methods",
        "zeros,ridge",
        "--out",
        "all",
    ];
    succeed(at, &args);
    let table = |text: String| text.split("results in").next().unwrap().to_owned();
    let resume = [&args[..], &["--resume"]].concat();
    let first = fs::read(at.join("all/results.csv")).unwrap();
    assert!(succeed(at, &resume).contains("10 of 10 cells were finished before"));
    for (k, (file, bytes)) in contents(&at.join("all/cells")).into_iter().enumerate() {
        // Somewhere in the numbers, in the configuration, at the end.
        let byte = [bytes.len() / 2, bytes.len() / 5, bytes.len() - 3][k % 3];
        flip(&at.join("all/cells").join(&file), [byte].into_iter(), |_| {
            let text = table(succeed(at, &resume));
            assert!(text.contains("9 of 10 cells were finished before"), "{file}: {text}");
        });
        assert!(scores(&fs::read(at.join("all/results.csv")).unwrap()) == scores(&first));
    }
}

/// The table without its times.
fn scores(csv: &[u8]) -> Vec<String> {
    let text = String::from_utf8(csv.to_vec()).unwrap();
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let time = header.iter().position(|h| h.contains("seconds"));
    let row = |line: &str| {
        let cells = line.split(',').enumerate().filter(|(k, _)| Some(*k) != time);
        cells.map(|(_, c)| c).collect::<Vec<_>>().join(",")
    };
    text.lines().map(row).collect()
}
