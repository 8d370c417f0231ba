//! `reproduce` and `verify` from the outside: the same bytes whole, in shards, after a kill and from
//! an archive; damage is found.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A grid of twelve cells that takes a second: Emotions, two folds, methods without training.
const GRID: [&str; 10] = [
    "--sets",
    "emotions",
    "--methods",
    "mutual-information,all,zeros,drop-all,ridge,pml-map",
    "--folds",
    "2",
    "--studies",
    "main",
    "--budgets",
    "5%,paper,100%",
];
const CELLS: usize = 12;

fn program(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pomdp-fs").unwrap();
    command.args(arguments).current_dir(dir).env_remove("POMDP_FS_DATA");
    command.args(["--data-dir", concat!(env!("CARGO_MANIFEST_DIR"), "/data")]);
    command
}

fn reproduce(dir: &Path, more: &[&str]) -> String {
    let arguments = [&["reproduce"], &GRID[..], more].concat();
    let output = program(dir, &arguments).assert().success();
    String::from_utf8(output.get_output().stderr.clone()).unwrap()
}

/// Name and content of all cells.
fn cells(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder.join("cells")).unwrap().map(|e| e.unwrap().path());
    let json = files.filter(|f| f.extension().is_some_and(|e| e == "json"));
    json.filter(|f| !f.file_name().unwrap().to_str().unwrap().starts_with('.'))
        .map(|f| (f.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&f).unwrap()))
        .collect()
}

/// `--quick` takes one fold of the large sets and leaves out what takes more than a minute.
#[test]
fn quick_is_a_part_of_the_grid() {
    let dir = tempfile::tempdir().unwrap();
    let mut list = program(dir.path(), &["reproduce", "--quick", "--list", "--json", "list.json"]);
    let told = list.assert().success();
    let told = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
    assert!(told.contains("too long for --quick, so left out: pomdp-fs-paper on Bibtex"), "{told}");
    let list: Value =
        serde_json::from_slice(&fs::read(dir.path().join("list.json")).unwrap()).unwrap();
    let cells = list["cells"].as_array().unwrap();
    let folds = |set: &str, method: &str| {
        cells.iter().filter(|c| c["set"] == set && c["method"] == method).count()
    };
    for (set, count) in [("emotions", 2), ("yeast", 2), ("bibtex", 1), ("mediamill", 1)] {
        assert_eq!(folds(set, "pomdp-fs"), count, "{set}");
    }
    assert_eq!(folds("bibtex", "pomdp-fs-paper"), 0);
}

#[test]
fn shards_archives_and_resumed_runs_have_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let told = reproduce(path, &["--out", "whole", "--archive", "whole.gz", "--times", "t.csv"]);
    assert!(told.contains("12 cells: 0 finished, 12 to compute"), "{told}");
    let whole = cells(&path.join("whole"));
    assert_eq!(whole.len(), CELLS);
    for file in
        ["report.html", "report.md", "manifest.json", "tables/targets.tex", "tables/all.csv"]
    {
        assert!(path.join("whole").join(file).is_file(), "{file}");
    }
    assert!(fs::read_to_string(path.join("t.csv")).unwrap().contains("main,emotions,zeros,"));
    // Nothing is computed twice.
    let told = reproduce(path, &["--out", "whole"]);
    assert!(told.contains("12 cells: 12 finished, 0 to compute"), "{told}");
    // Shards in one folder, on other numbers of threads.
    for (shard, threads) in [("3/3", "1"), ("1/3", "2"), ("2/3", "3")] {
        reproduce(path, &["--out", "shards", "--shard", shard, "--threads", threads]);
        assert!(!path.join("shards/report.html").exists(), "a shard has no report");
    }
    assert!(cells(&path.join("shards")) == whole);
    program(path, &["reproduce", "--report-only", "shards", "whole.gz", "--out", "merged"])
        .assert()
        .success();
    let page = |folder: &str| fs::read_to_string(path.join(folder).join("report.html")).unwrap();
    assert!(page("merged").contains("12 cells") && !page("merged").contains("src="));
    // An archive starts another folder, and a list can say so before.
    let list = [&["reproduce"], &GRID[..], &["--list", "--from", "whole.gz", "--out", "unpacked"]];
    let list = program(path, &list.concat()).assert().success();
    let list = String::from_utf8_lossy(&list.get_output().stdout).into_owned();
    assert!(list.contains("12 cells, 0 of them missing"), "{list}");
    assert!(!path.join("unpacked").exists(), "a list makes no folder");
    let told = reproduce(path, &["--out", "unpacked", "--from", "whole.gz"]);
    assert!(told.contains("12 cells from whole.gz") && told.contains("0 to compute"), "{told}");
    assert!(cells(&path.join("unpacked")) == whole);
    let checked = program(path, &["verify", "whole.gz", "--sample", "2"]).assert().success();
    let checked = String::from_utf8_lossy(&checked.get_output().stdout).into_owned();
    assert!(checked.contains("2 of 2 cells have the same bytes"), "{checked}");
}

#[test]
fn verify_finds_a_cell_that_was_changed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    reproduce(path, &["--out", "run", "--quiet"]);
    let good = program(path, &["verify", "run", "--sample", "4", "--json", "-"]).assert().success();
    let good: Value = serde_json::from_slice(&good.get_output().stdout).unwrap();
    assert_eq!((&good["pass"], good["cells"].as_array().unwrap().len()), (&true.into(), 4));
    // Another number with the checksum that fits it: only computing the cell again can tell.
    let whole = cells(&path.join("run"));
    let (name, bytes) = whole.iter().find(|(_, b)| contains(b, "\"method\":\"ridge\"")).unwrap();
    let file = path.join("run/cells").join(name);
    let text = String::from_utf8(bytes.clone()).unwrap();
    let (content, _) = text.split_once("\"file_sha256\":\"").unwrap();
    let forged = content.replacen("\"ranking_loss\":0.", "\"ranking_loss\":0.9", 1);
    assert_ne!(forged, content);
    let sealed = |digits: &str| format!("{forged}\"file_sha256\":\"{digits}\"}}\n");
    let sum = Sha256::digest(sealed(&"0".repeat(64)).as_bytes());
    let sum: String = sum.iter().map(|b| format!("{b:02x}")).collect();
    fs::write(&file, sealed(&sum)).unwrap();
    let bad = program(path, &["verify", "run", "--sample", "99"]).assert().code(1);
    let bad = String::from_utf8(bad.get_output().stdout.clone()).unwrap();
    assert!(bad.contains("DIFFERENT: 1 of 6 scores") && bad.contains("11 of 12"), "{bad}");
    // Damage that does not fit the checksum is found without computing, and repaired.
    fs::write(&file, text.replacen("\"ranking_loss\":0.", "\"ranking_loss\":0.9", 1)).unwrap();
    let refused = program(path, &["reproduce", "--report-only", "run", "--out", "r"]).assert();
    let refused = String::from_utf8(refused.code(2).get_output().stderr.clone()).unwrap();
    assert!(refused.contains(name.as_str()) && refused.contains("SHA-256"), "{refused}");
    let told = reproduce(path, &["--out", "run"]);
    assert!(told.contains("it is computed again") && told.contains("11 finished"), "{told}");
    assert!(cells(&path.join("run")) == whole);
}

fn contains(bytes: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(bytes).contains(text)
}

#[test]
fn kills_lose_running_cells_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    reproduce(path, &["--out", "whole", "--quiet"]);
    let arguments = [&["reproduce"], &GRID[..], &["--out", "killed", "--threads", "1"]].concat();
    for wait in [40, 80, 160, 320] {
        let mut child = Process::new(env!("CARGO_BIN_EXE_pomdp-fs"))
            .args(&arguments)
            .args(["--data-dir", concat!(env!("CARGO_MANIFEST_DIR"), "/data")])
            .current_dir(path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        let _ = child.kill();
        child.wait().unwrap();
    }
    reproduce(path, &["--out", "killed", "--quiet"]);
    assert!(cells(&path.join("killed")) == cells(&path.join("whole")));
    assert_eq!(fs::read_dir(path.join("killed/claims")).unwrap().count(), 0);
}

#[test]
fn cells_are_listed_and_bad_requests_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let arguments = [&["reproduce"], &GRID[..], &["--list", "--json", "-"]].concat();
    let list = program(path, &arguments).assert().success();
    let list: Value = serde_json::from_slice(&list.get_output().stdout).unwrap();
    let rows = list["cells"].as_array().unwrap();
    assert_eq!((rows.len(), &list["missing"]), (CELLS, &CELLS.into()));
    assert!(list["seconds_left"].as_f64().unwrap() > 0.0);
    for key in ["id", "study", "set", "method", "noise", "seed", "fold", "seconds", "state"] {
        assert!(!rows[0][key].is_null(), "{key}");
    }
    assert!(!path.join("reproduction").exists(), "a list makes no folder");
    let refused = |more: &[&str]| {
        let output = program(path, &[&["reproduce"], more].concat()).assert().code(2);
        String::from_utf8(output.get_output().stderr.clone()).unwrap()
    };
    assert!(refused(&["--shard", "5/4"]).contains("expected i/n"));
    assert!(refused(&["--sets", "emotions", "--methods", "x"]).contains("expected one of"));
    assert!(
        refused(&["--sets", "emotions", "--fold", "5"]).contains("found fold 5, expected 0 to 4")
    );
    assert!(refused(&["--sets", "birds", "--list"]).contains("'birds' is not here"));
    assert!(refused(&["--report-only", "nowhere"]).contains("a folder of 'pomdp-fs reproduce'"));
    fs::write(path.join("no.gz"), "text").unwrap();
    assert!(refused(&["--report-only", "no.gz"]).contains("no.gz"));
    let verify = program(path, &["verify", "nowhere"]).assert().code(2);
    assert!(String::from_utf8_lossy(&verify.get_output().stderr).contains("nowhere"));
}

/// `docs/results` is the report of the cells beside it, as this program writes it.
#[test]
fn the_committed_report_is_that_of_the_committed_cells() {
    let results = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/results"));
    let archive = results.join("cells.gz");
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["reproduce", "--report-only", archive.to_str().unwrap(), "--out", "again"];
    program(dir.path(), &arguments).arg("--quiet").assert().success();
    for file in ["report.md", "report.html", "manifest.json", "tables/targets.md", "tables/all.csv"]
    {
        let again = fs::read(dir.path().join("again").join(file)).unwrap();
        let committed = fs::read(results.join(file)).unwrap();
        assert!(
            again == committed,
            "{file} differs: pomdp-fs reproduce --report-only docs/results/cells.gz --out docs/results"
        );
    }
}
