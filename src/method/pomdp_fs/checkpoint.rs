//! A fit's progress as bytes, so that an interrupted run goes on to the same result.
//!
//! The bytes are a safetensors file (arrays as tensors, f32 and f64, exactly; the rest as JSON in its
//! metadata), followed by the SHA-256 of all that. A flipped bit is therefore found before anything
//! is read, and a fingerprint of data and settings keeps the progress of another fit out.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::fit::Progress;
use super::stage1::train::{Epoch1, State1};
use super::stage2::ranking::Credits;
use super::stage2::train::{Epoch2, State2};
use crate::linalg::Mat;
use crate::nn::{Adam, AdamConfig};
use crate::tensors::{Packer, Unpacked};
use crate::{Error, Result};

/// Bytes of a SHA-256.
const DIGEST: usize = 32;

/// Everything that is not an array.
#[derive(Serialize, Deserialize)]
struct Rest {
    fingerprint: String,
    part: usize,
    shape: (usize, usize),
    stage1: Option<Stage<()>>,
    stage2: Option<Stage<f64>>,
    history1: Vec<Epoch1>,
    history2: Vec<Epoch2>,
}

/// Scalars of a stage: epoch, steps of its two optimisers, ρ or b.
#[derive(Serialize, Deserialize)]
struct Stage<V> {
    epoch: usize,
    steps: (u64, u64),
    value: V,
}

/// Packs the progress of a fit. `fingerprint` names data and settings; see [`unpack`].
pub fn pack(progress: &Progress, disambiguator: &[f32], fingerprint: &str) -> Vec<u8> {
    let mut packer = Packer::default();
    let mut put = |name: &str, values: &[f32]| packer.put(name, &[values.len()], values);
    put("confidence", progress.confidence.as_slice());
    put("disambiguator", disambiguator);
    if let Some(s) = &progress.stage1 {
        put("stage1.p", &s.p);
        put("stage1.disc.m", &s.disc.m);
        put("stage1.disc.v", &s.disc.v);
        put("stage1.policy.m", &s.policy.m);
        put("stage1.policy.v", &s.policy.v);
    }
    if let Some(s) = &progress.stage2 {
        put("stage2.p", &s.p);
        put("stage2.main.m", &s.main.m);
        put("stage2.main.v", &s.main.v);
        put("stage2.psi.m", &s.psi.m);
        put("stage2.psi.v", &s.psi.v);
        packer.put("stage2.selected", &[s.credits.selected.len()], &s.credits.selected);
        packer.put("stage2.credit", &[s.credits.credit.len()], &s.credits.credit);
    }
    let rest = Rest {
        fingerprint: fingerprint.into(),
        part: progress.part,
        shape: (progress.confidence.rows(), progress.confidence.cols()),
        stage1: progress.stage1.as_ref().map(|s| Stage {
            epoch: s.epoch,
            steps: (s.disc.steps, s.policy.steps),
            value: (),
        }),
        stage2: progress.stage2.as_ref().map(|s| Stage {
            epoch: s.epoch,
            steps: (s.main.steps, s.psi.steps),
            value: s.baseline,
        }),
        history1: progress.history1.clone(),
        history2: progress.history2.clone(),
    };
    let text = serde_json::to_string(&rest).expect("plain values");
    seal(packer.pack(Some(("progress", text))).expect("lists of numbers"))
}

/// Appends the SHA-256.
pub(super) fn seal(mut file: Vec<u8>) -> Vec<u8> {
    let digest = Sha256::digest(&file);
    file.extend_from_slice(&digest);
    file
}

/// Takes the SHA-256 off, if it is right.
pub(super) fn open(file: &[u8]) -> Result<&[u8]> {
    let damaged = || {
        Error::input("the stored progress is damaged: its SHA-256 is not that of its content")
            .hint("delete it and start the fit anew")
    };
    let (content, digest) = file.split_last_chunk::<DIGEST>().ok_or_else(damaged)?;
    if Sha256::digest(content)[..] != digest[..] {
        return Err(damaged());
    }
    Ok(content)
}

/// Unpacks what [`pack`] made; refuses bytes that are damaged or of another fit. `rates` are the
/// optimisers' settings (Stage 1 main, label policy, Stage 2 main, ψ), which belong to the
/// configuration.
pub fn unpack(
    file: &[u8],
    fingerprint: &str,
    rates: [AdamConfig; 4],
) -> Result<(Progress, Vec<f32>)> {
    let content = open(file)?;
    let broken = |what: &dyn std::fmt::Display| {
        Error::input(format!("the stored progress cannot be read: {what}"))
            .hint("it may be of another version; delete it and start the fit anew")
    };
    let arrays = Unpacked::new(content)?;
    let rest: Rest = serde_json::from_str(arrays.note("progress")?).map_err(|e| broken(&e))?;
    if rest.fingerprint != fingerprint {
        return Err(Error::input("the stored progress belongs to other data or other settings")
            .hint("give the same data, settings and seed as before, or delete it and start anew"));
    }
    let adam = |name: &str, steps: u64, config: AdamConfig| -> Result<Adam<f32>> {
        let (m, v) = (arrays.get(&format!("{name}.m"))?, arrays.get(&format!("{name}.v"))?);
        Ok(Adam { config, m, v, steps })
    };
    let stage1 = match &rest.stage1 {
        None => None,
        Some(s) => Some(State1 {
            p: arrays.get("stage1.p")?,
            disc: adam("stage1.disc", s.steps.0, rates[0])?,
            policy: adam("stage1.policy", s.steps.1, rates[1])?,
            epoch: s.epoch,
        }),
    };
    let stage2 = match &rest.stage2 {
        None => None,
        Some(s) => Some(State2 {
            p: arrays.get("stage2.p")?,
            main: adam("stage2.main", s.steps.0, rates[2])?,
            psi: adam("stage2.psi", s.steps.1, rates[3])?,
            baseline: s.value,
            epoch: s.epoch,
            credits: Credits {
                selected: arrays.get("stage2.selected")?,
                credit: arrays.get("stage2.credit")?,
            },
        }),
    };
    let confidence: Vec<f32> = arrays.get("confidence")?;
    if confidence.len() != rest.shape.0 * rest.shape.1 {
        return Err(broken(&"its confidences have another size"));
    }
    let progress = Progress {
        stage1,
        part: rest.part,
        confidence: Mat::from_vec(rest.shape.0, rest.shape.1, confidence),
        stage2,
        history1: rest.history1,
        history2: rest.history2,
    };
    Ok((progress, arrays.get("disambiguator")?))
}
