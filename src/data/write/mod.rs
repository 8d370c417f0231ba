//! From a [`Dataset`] to a file: ARFF with its label XML, CSV, LIBSVM. What is written is read back
//! the same, bit for bit; what a format cannot hold is refused, not dropped.

mod arff;
mod csv;
mod libsvm;

use std::path::{Path, PathBuf};

use super::read::Format;
use super::{Dataset, Labels};
use crate::{Error, Result, io};
pub(crate) use csv::bytes as csv_bytes;

/// Writes `dataset` to `path`; the format is the one that the extension names (`.arff`, `.csv`,
/// `.tsv`, `.svm`, `.libsvm`), unless `format` says another. Returns the files that were written.
pub fn save(dataset: &Dataset, path: &Path, format: Option<Format>) -> Result<Vec<PathBuf>> {
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    let extension = extension.to_string_lossy();
    let named = match extension.as_ref() {
        "arff" => Some(Format::Arff),
        "csv" | "tsv" => Some(Format::Csv),
        "svm" | "libsvm" | "svmlight" | "txt" => Some(Format::Libsvm),
        _ => None,
    };
    let place = |e: Error| e.in_file(path);
    match format.or(named) {
        Some(Format::Arff) => {
            let xml = path.with_extension("xml");
            let (table, labels) = arff::text(dataset).map_err(place)?;
            io::write_atomic(&xml, labels.as_bytes())?;
            io::write_atomic(path, table.as_bytes())?;
            Ok(vec![path.to_path_buf(), xml])
        }
        Some(Format::Csv) if extension == "tsv" => {
            io::write_atomic(path, &csv::bytes(dataset, b'\t').map_err(place)?)?;
            Ok(vec![path.to_path_buf()])
        }
        Some(format @ (Format::Csv | Format::Libsvm)) => {
            io::write_atomic(path, &encode(dataset, format).map_err(place)?)?;
            Ok(vec![path.to_path_buf()])
        }
        Some(Format::Mat) => Err(place(Error::config("MATLAB files can be read, not written"))
            .hint("write .csv, .arff or .svm")),
        None => Err(place(Error::found(
            format_args!("the extension '.{extension}'"),
            ".arff, .csv, .tsv or .svm",
        ))),
    }
}

/// The bytes of a data set in a format that is one file: CSV with commas, or LIBSVM.
pub fn encode(dataset: &Dataset, format: Format) -> Result<Vec<u8>> {
    match format {
        Format::Csv => csv::bytes(dataset, b','),
        Format::Libsvm => Ok(libsvm::text(dataset)?.into_bytes()),
        Format::Arff | Format::Mat => Err(Error::config("expected CSV or LIBSVM")),
    }
}

/// The label blocks that exist, truth first.
fn blocks(dataset: &Dataset) -> Vec<(bool, &Labels)> {
    let truth = dataset.truth.iter().map(|y| (true, y));
    truth.chain(dataset.candidates.iter().map(|c| (false, c))).collect()
}

/// The label blocks, for a format that cannot do without.
fn some_blocks(dataset: &Dataset) -> Result<Vec<(bool, &Labels)>> {
    let blocks = blocks(dataset);
    match blocks.len() {
        0 => Err(Error::input("the data set has neither true nor candidate labels")
            .hint("a file without labels is written as .csv")),
        _ => Ok(blocks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{LabelSpec, ReadOptions, load};
    use crate::linalg::Mat;
    use proptest::prelude::*;

    /// Names that contain everything that must be quoted somewhere.
    fn name() -> impl Strategy<Value = String> {
        "[a-zA-Z0-9 ,;:'\"\\\\{}%@#?<&>\\-+.äß\n\t]{0,12}"
    }

    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![
            Just(0.0),
            Just(-0.0),
            Just(1.0),
            -1e3f64..1e3,
            any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |v| v.is_finite()),
        ]
    }

    prop_compose! {
        fn dataset()(n in 1usize..6, d in 1usize..6, l in 1usize..5, blocks in 1usize..4)
            (features in proptest::collection::vec(name(), d),
             labels in proptest::collection::vec(name(), l),
             x in proptest::collection::vec(value(), n * d),
             y in proptest::collection::vec(any::<bool>(), n * l),
             c in proptest::collection::vec(any::<bool>(), n * l),
             blocks in Just(blocks), n in Just(n), d in Just(d), l in Just(l)) -> Dataset {
            // The index makes names different; blanks around a name are not kept by any reader.
            let unique = |prefix: &str| {
                let prefix = prefix.to_owned();
                move |(i, s): (usize, String)| format!("{prefix}{i}{s}|")
            };
            Dataset {
                name: "out".to_owned(),
                x: Mat::from_vec(n, d, x),
                truth: (blocks & 1 > 0).then(|| Labels::from_vec(n, l, y)),
                candidates: (blocks & 2 > 0).then(|| Labels::from_vec(n, l, c)),
                feature_names: features.into_iter().enumerate().map(unique("f")).collect(),
                label_names: labels.into_iter().enumerate().map(unique("l")).collect(),
                ..Dataset::default()
            }
        }
    }

    fn same(a: &Dataset, b: &Dataset) {
        let bits = |m: &Mat<f64>| m.as_slice().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(a.feature_names, b.feature_names);
        assert_eq!(a.label_names, b.label_names);
        assert_eq!(bits(&a.x), bits(&b.x));
        assert_eq!(a.truth, b.truth);
        assert_eq!(a.candidates, b.candidates);
        assert_eq!(a.nominal, b.nominal);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn what_is_written_is_read_back(data in dataset(), tag in 0usize..4) {
            let dir = tempfile::tempdir().unwrap();
            let extension = ["arff", "csv", "tsv", "svm"][tag];
            let path = dir.path().join("out").with_extension(extension);
            let both = data.truth.is_some() && data.candidates.is_some();
            match save(&data, &path, None) {
                Ok(files) => {
                    prop_assert!(files.iter().all(|f| f.exists()));
                    same(&load(&path, &ReadOptions::default()).unwrap(), &data);
                }
                Err(e) => prop_assert!(extension == "svm" && both, "{e}"),
            }
        }
    }

    #[test]
    fn nominal_features_keep_their_values() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("n.arff");
        let text = "@relation 'r: -C -1'\n@attribute a {'x y',b,c}\n@attribute b {YES,NO}\n@attribute l {0,1}\n@data\nc,YES,1\nb,NO,0\n'x y',NO,1\n";
        std::fs::write(&path, text).unwrap();
        let first = load(&path, &ReadOptions::default()).unwrap();
        assert_eq!(first.nominal[&1], ["NO", "YES"]);
        let out = dir.path().join("m.arff");
        save(&first, &out, None).unwrap();
        same(&load(&out, &ReadOptions::default()).unwrap(), &first);
    }

    #[test]
    fn refuses_what_a_format_cannot_hold() {
        let data = Dataset { x: Mat::zeros(1, 1), ..Dataset::default() };
        assert!(save(&data, Path::new("x.xlsx"), None).is_err());
        assert!(save(&data, Path::new("x.mat"), Some(Format::Mat)).is_err());
        for file in ["x.arff", "x.svm"] {
            let error = save(&data, Path::new(file), None).unwrap_err().to_string();
            assert!(error.contains("neither"), "{error}");
        }
    }

    #[test]
    fn features_alone_can_be_a_csv() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.csv");
        let data = Dataset {
            x: Mat::from_vec(2, 1, vec![0.5, -2.0]),
            feature_names: vec!["label:a".to_owned()],
            ..Dataset::default()
        };
        save(&data, &path, None).unwrap();
        let labels = Some(LabelSpec::None);
        same(&load(&path, &ReadOptions { labels, ..ReadOptions::default() }).unwrap(), &data);
    }
}
