//! What every target does: read bytes, then hold the result against its own rules.

use pomdp_fs::data::{Format, Impute, LabelSpec, ReadOptions, read_bytes};

/// Small enough that a mistake in a size is an error here and not a full memory.
const MAX_BYTES: u64 = 1 << 22;

/// Reads `data` in the given format, or in the one that is found, and checks what came out.
pub fn read(data: &[u8], xml: Option<&[u8]>, format: Option<Format>) {
    // The first byte chooses options, so that their code is reached as well.
    let (choice, data) = data.split_first().map_or((0, data), |(c, rest)| (*c, rest));
    let options = ReadOptions {
        format,
        labels: match (choice & 1 == 1, choice & 32 == 32) {
            (true, _) => Some(LabelSpec::Last(1 + usize::from(choice >> 6))),
            (false, true) => Some(LabelSpec::Tags("tags".to_owned())),
            _ => None,
        },
        impute: if choice & 2 == 2 { Impute::Mean } else { Impute::Refuse },
        header: choice & 4 == 0,
        one_hot: if choice & 8 == 8 { vec!["b".to_owned()] } else { Vec::new() },
        id: (choice & 16 == 16).then(|| "id".to_owned()),
        max_bytes: MAX_BYTES,
        ..ReadOptions::default()
    };
    match read_bytes(data, xml, "fuzz", &options) {
        Ok(set) => {
            assert!(set.n() > 0 && set.d() > 0 && set.labels() > 0);
            assert_eq!(set.feature_names.len(), set.d());
            assert!(set.truth.is_some() || set.candidates.is_some());
            for block in set.truth.iter().chain(&set.candidates) {
                assert_eq!((block.rows(), block.cols()), (set.n(), set.labels()));
            }
            assert!(set.x.as_slice().iter().all(|v| v.is_finite()));
        }
        Err(e) => assert!(!e.to_string().is_empty()),
    }
}
