//! What is known between two rollouts as bytes, so that an interrupted selection goes on to the same
//! result: every random number is found by the name of its rollout.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{RolloutRecord, Stage2Settings, Tally};
use crate::linalg::Mat;
use crate::num::little_endian;
use crate::rng::Streams;
use crate::{Error, Result, checksum, io};

/// Numbers that are hashed at a time.
const PIECE: usize = 1 << 14;

#[derive(Serialize, Deserialize)]
struct Stored {
    fingerprint: String,
    /// Numbers by their bits: text would round them.
    history: Vec<[u64; 3]>,
    scores: Vec<u64>,
    tally: Vec<Vec<u64>>,
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Names everything that the result depends on.
pub fn fingerprint(
    x: &Mat<f32>,
    targets: &Mat<f64>,
    settings: &Stage2Settings,
    budget: usize,
    streams: &Streams,
) -> String {
    let mut hash = Sha256::new();
    let shape = (x.rows(), x.cols(), targets.cols(), budget);
    let settings = serde_json::to_string(settings).expect("plain values");
    hash.update(format!("{shape:?} {settings} {streams:?}"));
    // In pieces: the bytes of all features would be a copy of them.
    x.as_slice().chunks(PIECE).for_each(|values| hash.update(little_endian(values)));
    targets.as_slice().chunks(PIECE).for_each(|values| hash.update(little_endian(values)));
    checksum::hex(&hash.finalize())
}

/// Packs what the rollouts so far have taught.
pub fn pack(
    fingerprint: &str,
    history: &[RolloutRecord],
    scores: &[f64],
    tally: &Tally,
) -> Vec<u8> {
    let record = |r: &RolloutRecord| [r.loss_start, r.loss_end, r.certainty].map(f64::to_bits);
    let stored = Stored {
        fingerprint: fingerprint.into(),
        history: history.iter().map(record).collect(),
        scores: bits(scores),
        tally: tally.columns().map(|column| bits(column)).to_vec(),
    };
    serde_json::to_vec(&stored).expect("plain values")
}

/// Puts what [`pack`] made into `scores` and `tally`, which were made for the same selection; returns
/// the history.
pub fn unpack(
    bytes: &[u8],
    fingerprint: &str,
    scores: &mut [f64],
    tally: &mut Tally,
) -> Result<Vec<RolloutRecord>> {
    let stored: Stored = io::parse_json(bytes)?;
    let columns = tally.columns_mut();
    let fits = stored.fingerprint == fingerprint
        && stored.scores.len() == scores.len()
        && stored.tally.len() == columns.len()
        && stored.tally.iter().all(|column| column.len() == scores.len());
    if !fits {
        return Err(Error::input("the stored progress belongs to other data or other settings")
            .hint("give the same data, settings and seed as before, or delete it and start anew"));
    }
    let fill = |to: &mut [f64], from: &[u64]| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = f64::from_bits(*from));
    };
    fill(scores, &stored.scores);
    columns.into_iter().zip(&stored.tally).for_each(|(to, from)| fill(to, from));
    let record = |r: &[u64; 3]| {
        let [loss_start, loss_end, certainty] = r.map(f64::from_bits);
        RolloutRecord { loss_start, loss_end, certainty }
    };
    Ok(stored.history.iter().map(record).collect())
}
