//! The measured cases as files, so that other programs can do the same work and show that they do:
//! weights, inputs, what the first passes give. `benches/peers` reads them.

use std::path::Path;

use serde_json::json;

use super::engine::{FEATURES, LABELS, ROLLOUT, RolloutStep, TRAIN, TrainStep};
use crate::linalg::Mat;
use crate::method::pomdp_fs::Network;
use crate::tensors::Packer;
use crate::{Error, Result, io};

/// Losses that are stored of a training step.
const LOSSES: usize = 5;

/// Writes `train_BATCHxTOKENS.safetensors`, `rollout.safetensors` and `cases.json` into `dir`.
pub fn write(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, "create", &e))?;
    for (batch, tokens) in TRAIN {
        let mut step = TrainStep::new(batch, tokens);
        let mut packer = Packer::default();
        weights(&mut packer, "param", &step.network, &step.p);
        matrix(&mut packer, "x", &step.x);
        matrix(&mut packer, "z", &step.z);
        let losses: Vec<f32> = (0..LOSSES).map(|_| step.run()).collect();
        packer.put("losses", &[LOSSES], &losses);
        let file = dir.join(format!("train_{batch}x{tokens}.safetensors"));
        io::write_atomic(&file, &packer.pack(None)?)?;
    }
    let mut step = RolloutStep::new();
    let mut packer = Packer::default();
    let network = step.rollouts.network().clone();
    weights(&mut packer, "param", &network, &step.p);
    matrix(&mut packer, "x", &step.x);
    matrix(&mut packer, "y", &step.y);
    let loss = step.gradient();
    weights(&mut packer, "grad", &network, &step.dp);
    matrix(&mut packer, "reward", &step.advantages.reward);
    let (batch, steps, features) = ROLLOUT;
    let actions: Vec<f32> = step.sampled.actions.as_slice().iter().map(|&a| a as f32).collect();
    packer.put("actions", &[batch, steps], &actions);
    packer.put("loss", &[2], &[loss.supervised, loss.policy]);
    io::write_atomic(&dir.join("rollout.safetensors"), &packer.pack(None)?)?;
    let cases = json!({
        "train": TRAIN,
        "rollout": { "batch": batch, "steps": steps, "features": features, "baseline": -0.7 },
        "encoder": network.config(),
        "train_features": FEATURES,
        "labels": LABELS,
        "learning_rate": 1e-3,
    });
    io::write_json(&dir.join("cases.json"), &cases)
}

fn matrix(packer: &mut Packer, name: &str, m: &Mat<f32>) {
    packer.put(name, &[m.rows(), m.cols()], m.as_slice());
}

fn weights(packer: &mut Packer, group: &str, network: &Network, values: &[f32]) {
    for (name, param) in network.layout.iter() {
        let (rows, cols) = param.shape();
        packer.put(format!("{group}.{name}"), &[rows, cols], param.slice(values));
    }
}
