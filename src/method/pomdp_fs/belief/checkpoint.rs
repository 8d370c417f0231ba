//! The networks of Stage 1 as bytes, so that an interrupted fit goes on to the same result.

use serde::{Deserialize, Serialize};

use super::fit::{BeliefState, Best};
use super::train::PartState;
use crate::linalg::Mat;
use crate::method::pomdp_fs::checkpoint::{open, seal};
use crate::method::pomdp_fs::stage1::train::Epoch1;
use crate::nn::Adam;
use crate::tensors::{Packer, Unpacked};
use crate::{Error, Result, io};

/// Everything that is not an array.
#[derive(Serialize, Deserialize)]
struct Rest {
    fingerprint: String,
    epoch: usize,
    /// Epoch, loss and shape of the scores.
    best: Option<(usize, f64, (usize, usize))>,
    steps: Vec<[u64; 3]>,
    history: Vec<Epoch1>,
}

/// The three optimisers of a part, by name.
fn optimisers(state: &PartState) -> [(&'static str, &Adam<f32>); 3] {
    [("deep", &state.deep), ("context", &state.context), ("policy", &state.policy)]
}

/// Packs the state; `fingerprint` names data and settings.
pub fn pack(state: &BeliefState, fingerprint: &str) -> Vec<u8> {
    let mut packer = Packer::default();
    for (k, part) in state.parts.iter().enumerate() {
        packer.put(format!("part{k}.p"), &[part.p.len()], &part.p);
        for (name, adam) in optimisers(part) {
            packer.put(format!("part{k}.{name}.m"), &[adam.m.len()], &adam.m);
            packer.put(format!("part{k}.{name}.v"), &[adam.v.len()], &adam.v);
        }
    }
    if let Some(best) = &state.best {
        for (k, weights) in best.weights.iter().enumerate() {
            packer.put(format!("best.part{k}"), &[weights.len()], weights);
        }
        let scores = best.scores.as_slice();
        packer.put("best.scores", &[scores.len()], scores);
    }
    let rest = Rest {
        fingerprint: fingerprint.into(),
        epoch: state.epoch,
        best: state.best.as_ref().map(|b| (b.epoch, b.loss, (b.scores.rows(), b.scores.cols()))),
        steps: state.parts.iter().map(|p| optimisers(p).map(|(_, adam)| adam.steps)).collect(),
        history: state.history.clone(),
    };
    let text = serde_json::to_string(&rest).expect("plain values");
    seal(packer.pack(Some(("beliefs", text))).expect("lists of numbers"))
}

/// Puts what [`pack`] made into `state`, which was made for the same fit.
pub fn unpack(file: &[u8], fingerprint: &str, state: &mut BeliefState) -> Result<()> {
    let arrays = Unpacked::new(open(file)?)?;
    let rest: Rest = io::parse_json(arrays.note("beliefs")?.as_bytes())?;
    if rest.fingerprint != fingerprint {
        return Err(Error::input("the stored progress belongs to other data or other settings")
            .hint("give the same data, settings and seed as before, or delete it and start anew"));
    }
    for (k, (part, steps)) in state.parts.iter_mut().zip(&rest.steps).enumerate() {
        part.p = arrays.get_shaped(&format!("part{k}.p"), &[part.p.len()])?;
        let PartState { deep, context, policy, .. } = part;
        for ((name, adam), &steps) in
            [("deep", deep), ("context", context), ("policy", policy)].into_iter().zip(steps)
        {
            adam.m = arrays.get_shaped(&format!("part{k}.{name}.m"), &[adam.m.len()])?;
            adam.v = arrays.get_shaped(&format!("part{k}.{name}.v"), &[adam.v.len()])?;
            adam.steps = steps;
        }
    }
    state.best = match rest.best {
        None => None,
        Some((epoch, loss, (rows, cols))) => {
            let weights = (0..state.parts.len())
                .map(|k| arrays.get(&format!("best.part{k}")))
                .collect::<Result<Vec<_>>>()?;
            let scores = arrays.get_shaped("best.scores", &[rows * cols])?;
            Some(Best { epoch, loss, weights, scores: Mat::from_vec(rows, cols, scores) })
        }
    };
    (state.epoch, state.history) = (rest.epoch, rest.history);
    Ok(())
}
