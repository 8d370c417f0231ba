//! Tables with random damage: whatever comes out, it is no panic, and what is read is whole.

use pomdp_fs::data::{Format, Impute, LabelSpec, ReadOptions, read_bytes};
use pomdp_fs::rng::Streams;

const SEEDS: [&str; 6] = [
    "a,b,l\n1,2,1\n3,4,0\n",
    "sep=;\r\n# note\r\nid;a;b;tags\r\nT-1;1,5;x;p|q\r\nT-2;NULL;y;\r\nT-3;2;x;\"q; p\"\r\n",
    "id\ta\tb\tl\tm\nk1\t1\tred\tx\t\nk2\t2\tblue\t\tX\n",
    "\u{feff}\"a\",\"b\"\"c\",\"l\nm\"\n\"1\",2,Y\n3,\"4\n\",N\n",
    "#a,b,l\n1,2,TRUE\n\n,,\n3,4,FALSE\n",
    "a,a,b,,label:x,candidate:x\n1,2,3,,1,1\n4,5,6,,0,1\n",
];
/// What tables are made of, and what they are broken with.
const PIECES: [&[u8]; 18] = [
    b",",
    b";",
    b"\t",
    b"\"",
    b"\"\"",
    b"\n",
    b"\r\n",
    b"\r",
    b"#",
    b"sep=|\n",
    b"NA",
    b"1e999",
    b"\xff\xfe",
    b"|",
    b"[",
    b"-1,5",
    b"\0",
    b"label:",
];

/// What fits the seed.
fn right_options(seed: usize) -> ReadOptions {
    let names = |all: &[&str]| -> Vec<String> { all.iter().map(|n| (*n).to_owned()).collect() };
    let labels = match seed {
        1 => Some(LabelSpec::Tags("tags".to_owned())),
        2 => Some(LabelSpec::Last(2)),
        5 => None,
        _ => Some(LabelSpec::Last(1)),
    };
    ReadOptions {
        labels,
        id: [1, 2].contains(&seed).then(|| "id".to_owned()),
        one_hot: if [1, 2].contains(&seed) { names(&["b"]) } else { Vec::new() },
        ignore: if seed == 5 { names(&["a"]) } else { Vec::new() },
        impute: Impute::Mean,
        max_bytes: 1 << 16,
        ..ReadOptions::default()
    }
}

/// What may not fit.
fn other_options(choice: usize) -> ReadOptions {
    ReadOptions {
        format: (choice.is_multiple_of(2)).then_some(Format::Csv),
        labels: match choice / 2 % 4 {
            0 => Some(LabelSpec::Last(1 + choice % 2)),
            1 => Some(LabelSpec::Tags("tags".to_owned())),
            2 => Some(LabelSpec::Names(vec!["l".to_owned()])),
            _ => None,
        },
        id: (choice / 8).is_multiple_of(3).then(|| "id".to_owned()),
        impute: Impute::Refuse,
        header: !(choice / 24).is_multiple_of(5),
        max_bytes: 1 << 16,
        ..ReadOptions::default()
    }
}

#[test]
fn damaged_tables_are_read_or_refused() {
    let mut rng = Streams::new(9).stream("mutations");
    let (mut read, mut refused) = (0, 0);
    for round in 0..6000 {
        let mut bytes = SEEDS[round % SEEDS.len()].as_bytes().to_vec();
        for _ in 0..rng.below(6) {
            let at = rng.below(bytes.len() + 1);
            match rng.below(4) {
                0 if at < bytes.len() => _ = bytes.remove(at),
                1 if at < bytes.len() => bytes[at] = rng.below(256) as u8,
                2 => bytes.truncate(at.max(1)),
                _ => _ = bytes.splice(at..at, PIECES[rng.below(PIECES.len())].iter().copied()),
            }
        }
        let options = match rng.below(3) {
            0 => other_options(rng.below(120)),
            _ => right_options(round % SEEDS.len()),
        };
        match read_bytes(&bytes, None, "mutated", &options) {
            Ok(set) => {
                read += 1;
                assert!(set.n() > 0 && set.d() > 0 && set.feature_names.len() == set.d());
                for block in set.truth.iter().chain(&set.candidates) {
                    assert_eq!((block.rows(), block.cols()), (set.n(), set.labels()));
                }
                assert!(set.x.as_slice().iter().all(|v| v.is_finite()));
                assert!(set.ids.is_none_or(|ids| ids.values.len() == set.x.rows()));
            }
            Err(e) => {
                refused += 1;
                let text = e.to_string();
                assert!(!text.is_empty());
                let hidden = |c: char| c.is_control() && c != '\n';
                assert!(!text.contains(hidden), "{text:?}");
            }
        }
    }
    assert!(read > 500 && refused > 500, "{read} read, {refused} refused");
}
