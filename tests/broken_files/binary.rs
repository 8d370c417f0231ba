//! Files of other programs, damaged gzip and MATLAB files, and places that are no files.

use std::path::Path;

use pomdp_fs::data::{Format, ReadOptions, Role, load};

use super::skip::unless;
use super::{HEAD, case, check};

#[test]
fn foreign_files() {
    let mut hdf = vec![b' '; 512];
    hdf.extend(b"\x89HDF\r\n\x1a\n");
    check(
        "foreign_files",
        vec![
            case("empty", "d.arff", b""),
            case("only blanks", "d.arff", b" \n\n"),
            case("HTML instead of data", "d.arff", b"<!DOCTYPE html><html>404</html>"),
            case("MATLAB 7.3", "d.mat", [b"MATLAB 7.3 MAT-file".as_slice(), &[b' '; 200]].concat()),
            case("HDF5 behind a user block", "d.mat", hdf),
            case("NumPy", "d.npy", b"\x93NUMPY\x01\x00"),
            case("zip", "d.xlsx", b"PK\x03\x04rest"),
            case("bzip2", "d.bz2", b"BZh91AY"),
            case("R", "d.rda", b"RDX3\nX\n"),
            case("pickle", "d.pkl", b"\x80\x04\x95"),
            case("UTF-16", "d.csv", b"\xff\xfea\0,\0"),
            case("binary", "d.csv", b"abc\0def"),
        ],
    );
}

#[test]
fn gzip_files() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/data");
    let good = std::fs::read(golden.join("dense.arff.gz")).unwrap();
    let good = good.as_slice();
    let flipped = |at: usize| {
        let mut bytes = good.to_vec();
        bytes[at] ^= 0x55;
        bytes
    };
    check(
        "gzip_files",
        vec![
            case("truncated", "d.arff.gz", &good[..good.len() / 2]),
            case("truncated in the header", "d.arff.gz", &good[..5]),
            case("wrong checksum", "d.arff.gz", flipped(good.len() - 8)),
            case("damaged", "d.arff.gz", flipped(10)),
            case("text behind", "d.arff.gz", [good, b"more text here"].concat()),
            case("a compressed bomb", "d.arff.gz", bomb()),
        ],
    );
}

/// A gzip file of a few hundred kilobytes that holds a hundred million blanks behind a right header:
/// a deflate block whose back references repeat a single byte.
fn bomb() -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut bits: Vec<bool> = Vec::new();
    let mut push = |value: u32, count: u32, high_first: bool| {
        for k in 0..count {
            let shift = if high_first { count - 1 - k } else { k };
            bits.push(value >> shift & 1 == 1);
        }
    };
    push(1, 1, false); // last block
    push(1, 2, false); // fixed codes
    for byte in format!("{HEAD}@data\n ").bytes() {
        push(0x30 + u32::from(byte), 8, true);
    }
    for _ in 0..400_000 {
        push(0b1100_0101, 8, true); // length 258
        push(0, 5, true); // distance 1
    }
    push(0, 7, true); // end
    for chunk in bits.chunks(8) {
        out.push(chunk.iter().enumerate().fold(0, |b, (k, &on)| b | u8::from(on) << k));
    }
    out.extend([0; 8]);
    out
}

/// A MATLAB file with the given elements behind a right header.
fn mat(elements: &[u8]) -> Vec<u8> {
    let mut bytes = b"MATLAB 5.0 MAT-file".to_vec();
    bytes.resize(124, b' ');
    bytes.extend([0, 1, b'I', b'M']);
    bytes.extend(elements);
    bytes
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// A double matrix `name` with these dimensions and this many declared bytes of values.
fn matrix(name: &[u8; 4], rows: u32, cols: u32, values: &[f64], declared: u32) -> Vec<u8> {
    let mut body = words(&[6, 8, 6, 0, 5, 8, rows, cols, 0x0004_0001]);
    body.extend(name);
    body.extend(words(&[9, declared]));
    body.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    let mut element = words(&[14, body.len() as u32]);
    element.extend(body);
    element
}

#[test]
fn matlab_files() {
    let data =
        |values: &[f64]| matrix(b"data", values.len() as u32, 1, values, 8 * values.len() as u32);
    let y = |rows, cols, values: &[f64]| {
        let mut bytes = matrix(b"gnd\0", rows, cols, values, 8 * values.len() as u32);
        bytes[42] = 3; // the name has three letters
        bytes
    };
    let join = |parts: &[Vec<u8>]| mat(&parts.concat());
    let broken = |name, bytes: Vec<u8>| case(name, "d.mat", bytes);
    check(
        "matlab_files",
        vec![
            broken("truncated header", mat(&[])[..60].to_vec())
                .with(|o| o.format = Some(Format::Mat)),
            broken("wrong byte order mark", [&mat(&[])[..126], b"XY"].concat()),
            broken("no variables", mat(&[])),
            broken("truncated tag", mat(&[14, 0, 0])),
            broken("truncated values", join(&[data(&[1.0, 2.0])])[..190].to_vec()),
            broken("element longer than the file", mat(&words(&[14, 4_000_000_000]))),
            broken("huge dimensions", mat(&matrix(b"data", 0x7fff_ffff, 0x7fff_ffff, &[1.0], 8))),
            broken("dimensions that do not fit", mat(&matrix(b"data", 3, 3, &[1.0], 8))),
            broken("negative dimensions", mat(&matrix(b"data", u32::MAX, 1, &[1.0], 8))),
            broken("damaged compression", mat(&[words(&[15, 8]), vec![0xff; 8]].concat())),
            broken("truncated compression", mat(&[words(&[15, 2]), vec![0x78, 0x9c]].concat())),
            broken("no features", join(&[y(1, 2, &[0.0, 1.0])])),
            broken("no labels", join(&[data(&[1.0, 2.0])])),
            broken(
                "no shared number of instances",
                join(&[data(&[1.0, 2.0]), y(3, 1, &[0.0, 1.0, 1.0])]),
            ),
            broken("label value 7", join(&[data(&[1.0, 2.0]), y(1, 2, &[0.0, 7.0])])),
            broken("missing feature", join(&[data(&[1.0, f64::NAN]), y(1, 2, &[0.0, 1.0])])),
            broken("infinite feature", join(&[data(&[f64::INFINITY, 1.0]), y(1, 2, &[0.0, 1.0])])),
            broken("part that is not there", join(&[data(&[1.0, 2.0]), y(1, 2, &[0.0, 1.0])]))
                .with(|o| o.part = pomdp_fs::data::Part::Test),
        ],
    );
    // The same pieces, whole, are a data set.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("good.mat");
    std::fs::write(&path, join(&[data(&[1.0, 2.0]), y(1, 2, &[0.0, 1.0])])).unwrap();
    assert_eq!(load(&path, &ReadOptions::default()).unwrap().n(), 2);
}

#[test]
fn places_that_are_no_files() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let error = load(dir.path().join(name), &ReadOptions::default()).unwrap_err();
        error.to_string().replace(&dir.path().display().to_string(), "DIR")
    };
    insta::assert_snapshot!(at(""), @"DIR/: found a folder, expected a data file");
    insta::assert_snapshot!(at("none.arff"), @"DIR/none.arff: cannot read: No such file or directory (os error 2)");
}

#[cfg(unix)]
#[test]
fn no_permission() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret.arff");
    std::fs::write(&path, HEAD).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    let refused = std::fs::File::open(&path).err();
    if unless(refused, "no_permission", "this user may read everything").is_none() {
        return;
    }
    let error = load(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        error.ends_with("secret.arff: cannot read: Permission denied (os error 13)"),
        "{error}"
    );
}

/// A role that the file cannot fill is no error: the block is simply read as candidates.
#[test]
fn candidates_alone_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d.arff");
    std::fs::write(&path, format!("{HEAD}@data\n1,x,1\n")).unwrap();
    let options = ReadOptions { role: Some(Role::Candidates), ..ReadOptions::default() };
    let set = load(&path, &options).unwrap();
    assert!(set.truth.is_none() && set.candidates.is_some());
}
