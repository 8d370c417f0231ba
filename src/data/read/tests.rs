use super::*;

const ARFF: &str = "@relation r\n@attribute a numeric\n@attribute l {0,1}\n@attribute m {0,1}\n@data\n1,0,1\n2,1,1\n";
const XML: &str = "<labels><label name='m'><label name='l'/></label></labels>";

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

#[test]
fn the_label_file_is_found_beside_packed_and_split_files() {
    let packed = gzip::pack(ARFF.as_bytes());
    let dir = folder(&[
        ("x.xml", XML.as_bytes()),
        ("x-train.arff", ARFF.as_bytes()),
        ("x.arff.gz", &packed),
    ]);
    for (file, format) in [("x-train.arff", "arff, dense"), ("x.arff.gz", "arff, dense, gzip")] {
        let set = load(dir.path().join(file), &ReadOptions::default()).unwrap();
        assert_eq!(set.label_names, ["l", "m"], "{file}");
        assert_eq!(set.source.format, format);
        let notes = set.source.notes.join("\n");
        assert!(notes.contains("hierarchy") && notes.contains("not in the order"), "{notes}");
    }
    let set = load(dir.path().join("x.arff.gz"), &ReadOptions::default()).unwrap();
    assert_eq!(set.source.sha256, crate::checksum::sha256(&packed));
    assert_eq!(set.name, "x");
}

#[test]
fn two_files_are_joined_by_label_name() {
    let candidates = "m,a,l\n1,9,0\n1,9,0\n";
    let dir = folder(&[("y.csv", b"a,l,m\n1,0,1\n2,1,1\n"), ("c.csv", candidates.as_bytes())]);
    let labels = Some(LabelSpec::Names(vec!["l".to_owned(), "m".to_owned()]));
    let other = Some(dir.path().join("c.csv"));
    let options = ReadOptions { labels, candidates_from: other.clone(), ..ReadOptions::default() };
    let set = load(dir.path().join("y.csv"), &options).unwrap();
    assert_eq!(set.candidates.as_ref().unwrap().as_slice(), [false, true, false, true]);
    assert!(
        set.source.notes.last().unwrap().contains("1 true labels are not among the candidates")
    );
    let options = ReadOptions { candidates_from: None, truth_from: other, ..options };
    let turned = load(dir.path().join("y.csv"), &options).unwrap();
    assert_eq!((turned.truth, turned.candidates), (set.candidates, set.truth));
}
