//! Stage 1 as bytes, the linear belief and the networks, so that an interrupted fit goes on to the same
//! result.

use serde::{Deserialize, Serialize};

use super::fit::{BeliefFit, BeliefState, Best};
use super::train::PartState;
use crate::linalg::Mat;
use crate::method::observation::cross_fit::Parts;
use crate::method::observation::label_context::{Form, LabelContext};
use crate::method::observation::{LinearBelief, LinearModel, Signs};
use crate::method::pomdp_fs::checkpoint::{open, seal};
use crate::method::pomdp_fs::stage1::train::Epoch1;
use crate::nn::Adam;
use crate::tensors::{Packer, Unpacked};
use crate::{Error, Result, io};

/// Everything that is not an array.
#[derive(Serialize, Deserialize)]
struct Rest {
    fingerprint: String,
    linear: LinearRest,
    epoch: usize,
    /// Epoch, loss and shape of the scores.
    best: Option<(usize, f64, (usize, usize))>,
    steps: Vec<[u64; 3]>,
    history: Vec<Epoch1>,
}

/// What of the linear belief is not an array.
#[derive(Serialize, Deserialize)]
struct LinearRest {
    loss: (f64, f64),
    signs: Signs,
    context: Option<Form>,
}

/// The three optimisers of a part, by name.
fn optimisers(state: &PartState) -> [(&'static str, &Adam<f32>); 3] {
    [("deep", &state.deep), ("context", &state.context), ("policy", &state.policy)]
}

/// Packs the state; `fingerprint` names data and settings.
pub fn pack(fit: &BeliefFit<'_>, fingerprint: &str) -> Vec<u8> {
    let (state, mut packer) = (&fit.state, Packer::default());
    let linear = put_linear(&mut packer, fit.linear());
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
        linear,
        epoch: state.epoch,
        best: state.best.as_ref().map(|b| (b.epoch, b.loss, (b.scores.rows(), b.scores.cols()))),
        steps: state.parts.iter().map(|p| optimisers(p).map(|(_, adam)| adam.steps)).collect(),
        history: state.history.clone(),
    };
    let text = serde_json::to_string(&rest).expect("plain values");
    seal(packer.pack(Some(("beliefs", text))).expect("lists of numbers"))
}

fn put_linear(packer: &mut Packer, linear: &LinearBelief) -> LinearRest {
    let LinearBelief { rho, base, logits, loss, signs, model, .. } = linear;
    packer.put("linear.rho", &[rho.len()], rho);
    let mut put = |name: &str, m: &Mat<f64>| {
        packer.put(format!("linear.{name}"), &[m.rows(), m.cols()], m.as_slice());
    };
    for (name, m) in
        [("base", base), ("logits", logits), ("plain", &model.plain), ("unit", &model.unit)]
    {
        put(name, m);
    }
    for (name, array) in model.context.iter().flat_map(LabelContext::arrays) {
        put(name, &array);
    }
    let context = model.context.as_ref().map(LabelContext::form);
    LinearRest { loss: *loss, signs: *signs, context }
}

fn get_linear(
    arrays: &Unpacked<'_>,
    rest: &LinearRest,
    parts: Parts,
    (n, features, labels): (usize, usize, usize),
) -> Result<LinearBelief> {
    let sized = |name: &str, rows: usize, cols: usize| -> Result<Mat<f64>> {
        let values = arrays.get_shaped(&format!("linear.{name}"), &[rows, cols])?;
        Ok(Mat::from_vec(rows, cols, values))
    };
    let matrix = |name: &str, rows: usize| sized(name, rows, labels);
    let context = rest.context.map(|form| form.read(labels, sized)).transpose()?;
    Ok(LinearBelief {
        rho: arrays.get_shaped("linear.rho", &[labels])?,
        parts,
        base: matrix("base", n)?,
        logits: matrix("logits", n)?,
        loss: rest.loss,
        signs: rest.signs,
        model: LinearModel {
            plain: matrix("plain", features + 1)?,
            unit: matrix("unit", features + 1)?,
            context,
        },
    })
}

/// A stored fit of the same data, settings and seed.
pub struct Stored<'a> {
    arrays: Unpacked<'a>,
    rest: Rest,
}

impl<'a> Stored<'a> {
    /// Reads what [`pack`] made.
    pub fn open(file: &'a [u8], fingerprint: &str) -> Result<Self> {
        let arrays = Unpacked::new(open(file)?)?;
        let rest: Rest = io::parse_json(arrays.note("beliefs")?.as_bytes())?;
        if rest.fingerprint != fingerprint {
            return Err(Error::input(
                "the stored progress belongs to other data or other settings",
            )
            .hint("give the same data, settings and seed as before, or delete it and start anew"));
        }
        Ok(Stored { arrays, rest })
    }

    /// The linear belief of `sizes` (n, d, L), whose first partition was `parts`.
    pub fn linear(&self, parts: Parts, sizes: (usize, usize, usize)) -> Result<LinearBelief> {
        get_linear(&self.arrays, &self.rest.linear, parts, sizes)
    }

    /// Puts the networks into `state`, which was made for the same fit.
    pub fn networks(self, state: &mut BeliefState) -> Result<()> {
        let Stored { arrays, rest } = self;
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
}
