//! A fit's progress as one file, so that an interrupted run goes on to the same bytes.
//!
//! The file is a safetensors file: arrays as tensors (f32 and f64, exactly), the rest as JSON in its
//! metadata. It is replaced atomically after an epoch, so it is always whole.

use std::collections::HashMap;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::fit::Progress;
use super::stage1::{Epoch1, State1};
use super::stage2::{Epoch2, State2};
use crate::linalg::Mat;
use crate::nn::{Adam, AdamConfig, Fault};
use crate::num::little_endian;
use crate::{Error, Result};

/// Everything that is not an array.
#[derive(Serialize, Deserialize)]
struct Rest {
    fingerprint: String,
    part: usize,
    rho: f64,
    shape: (usize, usize),
    stage1: Option<Stage>,
    stage2: Option<Stage>,
    history1: Vec<Epoch1>,
    history2: Vec<Epoch2>,
}

/// Scalars of a stage: epoch, steps of its two optimisers, ρ or b.
#[derive(Serialize, Deserialize)]
struct Stage {
    epoch: usize,
    steps: (u64, u64),
    value: f64,
}

/// Packs the progress of a fit. `fingerprint` names data and settings; see [`unpack`].
pub fn pack(progress: &Progress, disambiguator: &[f32], fingerprint: &str) -> Vec<u8> {
    let mut tensors: Vec<(&str, Dtype, Vec<u8>)> = Vec::new();
    let mut put = |name, values: &[f32]| tensors.push((name, Dtype::F32, little_endian(values)));
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
        tensors.push(("stage2.selected", Dtype::F64, little_endian(&s.selected)));
        tensors.push(("stage2.credit", Dtype::F64, little_endian(&s.credit)));
    }
    let rest = Rest {
        fingerprint: fingerprint.into(),
        part: progress.part,
        rho: progress.rho,
        shape: (progress.confidence.rows(), progress.confidence.cols()),
        stage1: progress.stage1.as_ref().map(|s| Stage {
            epoch: s.epoch,
            steps: (s.disc.steps, s.policy.steps),
            value: s.rho,
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
    let views = tensors.iter().map(|(name, dtype, bytes)| {
        let size = if *dtype == Dtype::F32 { 4 } else { 8 };
        let view = TensorView::new(*dtype, vec![bytes.len() / size], bytes);
        (*name, view.expect("sizes agree"))
    });
    let metadata = HashMap::from([("progress".to_owned(), text)]);
    safetensors::serialize(views, Some(metadata)).expect("valid tensors")
}

/// Unpacks what [`pack`] made; refuses a file of another fit. `rates` are the optimisers' settings
/// (Stage 1 main, label policy, Stage 2 main, ψ), which belong to the configuration.
pub fn unpack(
    file: &[u8],
    fingerprint: &str,
    rates: [AdamConfig; 4],
) -> Result<(Progress, Vec<f32>)> {
    let broken = |what: &dyn std::fmt::Display| {
        Error::input(format!("the stored progress cannot be read: {what}"))
            .hint("run again without --resume")
    };
    let (_, header) = SafeTensors::read_metadata(file).map_err(|e| broken(&e))?;
    let text = header.metadata().as_ref().and_then(|m| m.get("progress"));
    let text = text.ok_or_else(|| broken(&"it has no progress record"))?;
    let rest: Rest = serde_json::from_str(text).map_err(|e| broken(&e))?;
    if rest.fingerprint != fingerprint {
        return Err(Error::input("the stored progress belongs to other data or other settings")
            .hint("give the same data, options and seed as before, or run without --resume"));
    }
    let tensors = SafeTensors::deserialize(file).map_err(|e| broken(&e))?;
    let f32s = |name: &str| -> Result<Vec<f32>> {
        let data = tensors.tensor(name).map_err(|e| broken(&e))?.data().to_vec();
        Ok(data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("4"))).collect())
    };
    let f64s = |name: &str| -> Result<Vec<f64>> {
        let data = tensors.tensor(name).map_err(|e| broken(&e))?.data().to_vec();
        Ok(data.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("8"))).collect())
    };
    let adam = |name: &str, steps: u64, config: AdamConfig| -> Result<Adam<f32>> {
        let (m, v) = (f32s(&format!("{name}.m"))?, f32s(&format!("{name}.v"))?);
        Ok(Adam { config, m, v, steps, fault: Fault::None })
    };
    let stage1 = match &rest.stage1 {
        None => None,
        Some(s) => Some(State1 {
            p: f32s("stage1.p")?,
            disc: adam("stage1.disc", s.steps.0, rates[0])?,
            policy: adam("stage1.policy", s.steps.1, rates[1])?,
            rho: s.value,
            epoch: s.epoch,
        }),
    };
    let stage2 = match &rest.stage2 {
        None => None,
        Some(s) => Some(State2 {
            p: f32s("stage2.p")?,
            main: adam("stage2.main", s.steps.0, rates[2])?,
            psi: adam("stage2.psi", s.steps.1, rates[3])?,
            baseline: s.value,
            epoch: s.epoch,
            selected: f64s("stage2.selected")?,
            credit: f64s("stage2.credit")?,
        }),
    };
    let confidence = f32s("confidence")?;
    if confidence.len() != rest.shape.0 * rest.shape.1 {
        return Err(broken(&"its confidences have another size"));
    }
    let progress = Progress {
        stage1,
        part: rest.part,
        confidence: Mat::from_vec(rest.shape.0, rest.shape.1, confidence),
        rho: rest.rho,
        stage2,
        history1: rest.history1,
        history2: rest.history2,
    };
    Ok((progress, f32s("disambiguator")?))
}
