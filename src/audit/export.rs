//! One complete training case as files that any other tool can read and recompute.
//!
//! `case.json` has the configuration and the names of the loss terms, `case.safetensors` (f64) the
//! rest: `param.*` weights, `input.*` data, sampled actions and advantages, `mask.*` dropout masks,
//! `graph.*` edges, `out.*` outputs, `loss.*` terms, `grad.*` gradients, `adam.*` weights after one
//! Adam step, `adam_losses` the total loss before each of ten steps. `docs/audit.md` has the layout
//! and a program that recomputes it all with another library's automatic differentiation.

use std::path::Path;

use serde_json::{Value, json};

use crate::data::Labels;
use crate::graph::Graph;
use crate::linalg::Mat;
use crate::method::pomdp_fs::Network;
use crate::method::pomdp_fs::stage1::loss::{DiscWeights, disc_loss, policy_loss};
use crate::method::pomdp_fs::stage2::loss::{Advantages, Replay, Stage2Weights};
use crate::method::pomdp_fs::stage2::rollout::{Actions, Rollouts};
use crate::nn::{Activation, Adam, AdamConfig, Dropout, EncoderConfig, NormPlace};
use crate::num::Real;
use crate::rng::Streams;
use crate::tensors::Packer;
use crate::{Error, Result, io};

/// Learning rates of the paper (App. G): encoder and heads, label policy.
const RATES: (f64, f64) = (1e-3, 1e-4);
const ADAM_STEPS: usize = 10;
const STEPS: usize = 4;

/// The cases, by name.
pub const NAMES: &[&str] = &[
    "pre-gelu",
    "pre-relu",
    "post-gelu",
    "post-relu",
    "stage2-pre-gelu",
    "stage2-post-relu",
    "full-size",
];

/// A named array of numbers with its shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Name, with its group before the first dot.
    pub name: String,
    /// Sizes, row-major.
    pub shape: Vec<usize>,
    /// Values.
    pub values: Vec<f64>,
}

/// A case, complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// The configuration.
    pub config: Value,
    /// All arrays.
    pub tensors: Vec<Tensor>,
}

/// Runs the case in precision T and keeps everything.
pub fn build<T: Real>(name: &str) -> Result<Export> {
    if !NAMES.contains(&name) {
        return Err(Error::config(format!(
            "there is no case '{name}', expected one of: {}",
            NAMES.join(", ")
        )));
    }
    let stage2 = name.starts_with("stage2");
    let post = name.contains("post");
    let full = name == "full-size";
    let base = if full { EncoderConfig::paper(23, 14) } else { EncoderConfig::paper(7, 4) };
    let (width, heads, ffn) = if full { (128, 4, 512) } else { (8, 2, 12) };
    let encoder = EncoderConfig {
        width,
        heads,
        ffn,
        norm: if post { NormPlace::Post } else { NormPlace::Pre },
        activation: if name.ends_with("relu") { Activation::Relu } else { Activation::Gelu },
        groups: if post { 3 } else { 1 },
        candidate_token: !stage2,
        ..base
    };
    let network = Network::new(encoder)?;
    let mut case = Builder::<T>::new(name, network);
    if stage2 {
        case.stage2()
    } else {
        case.stage1()?
    }
    Ok(case.export)
}

struct Builder<T> {
    network: Network,
    p: Vec<T>,
    streams: Streams,
    export: Export,
}

impl<T: Real> Builder<T> {
    fn new(name: &str, network: Network) -> Self {
        let streams = Streams::new(0).child("export").child(name);
        let mut p = network.init::<f64>(&streams);
        // Away from special values, so that no error can hide behind a zero bias or a unit gain.
        let mut rng = streams.stream("shake");
        p.iter_mut().for_each(|v| *v += 0.1 * rng.normal());
        let p: Vec<T> = p.into_iter().map(T::from_f64).collect();
        let encoder = network.config();
        let config = json!({
            "case": name,
            "version": env!("CARGO_PKG_VERSION"),
            "precision": T::NAME,
            "encoder": encoder,
            "learning_rate": RATES.0,
            "policy_learning_rate": RATES.1,
            "adam_steps": ADAM_STEPS,
        });
        let mut builder =
            Builder { network, p, streams, export: Export { config, tensors: Vec::new() } };
        let p = builder.p.clone();
        builder.put_arena("param", &p);
        builder
    }

    fn put(
        &mut self,
        name: impl Into<String>,
        shape: &[usize],
        values: impl IntoIterator<Item = T>,
    ) {
        self.export.tensors.push(Tensor {
            name: name.into(),
            shape: shape.to_vec(),
            values: values.into_iter().map(T::to_f64).collect(),
        });
    }

    fn put_mat(&mut self, name: impl Into<String>, m: &Mat<T>) {
        self.put(name, &[m.rows(), m.cols()], m.as_slice().iter().copied());
    }

    fn put_arena(&mut self, group: &str, values: &[T]) {
        let layout = self.network.layout.clone();
        for (name, param) in layout.iter() {
            let (rows, cols) = param.shape();
            let slice = param.slice(values).iter().copied();
            self.put(format!("{group}.{name}"), &[rows, cols], slice);
        }
    }

    fn normal(&self, name: &str, rows: usize, cols: usize) -> Mat<T> {
        let mut rng = self.streams.stream(name);
        Mat::from_fn(rows, cols, |_, _| T::from_f64(rng.normal()))
    }

    /// Ten Adam steps from the start; `loss` accumulates the gradient and returns the total loss.
    fn train(&mut self, mut loss: impl FnMut(&[T], &mut [T]) -> T) {
        let policy = self.network.label_policy_range();
        let mut p = self.p.clone();
        let mut main = Adam::new(p.len(), AdamConfig::new(RATES.0));
        let mut label = Adam::new(policy.len(), AdamConfig::new(RATES.1));
        let mut losses = Vec::new();
        let mut after_one = Vec::new();
        for step in 0..ADAM_STEPS {
            let mut dp = vec![T::ZERO; p.len()];
            losses.push(loss(&p, &mut dp));
            if step == 0 {
                self.put_arena("grad", &dp);
            }
            // The label policy has a learning rate of its own.
            let mut theta = p[policy.clone()].to_vec();
            label.step(&mut theta, &dp[policy.clone()]);
            main.step(&mut p, &dp);
            p[policy.clone()].copy_from_slice(&theta);
            if step == 0 {
                after_one = p.clone();
            }
        }
        self.put_arena("adam", &after_one);
        self.put("adam_losses", &[ADAM_STEPS], losses);
    }

    fn stage1(&mut self) -> Result<()> {
        let rows = 6;
        let labels = self.network.config().labels;
        let x = self.normal("x", rows, self.network.config().features);
        let mut rng = self.streams.stream("labels");
        let candidates = Labels::from_fn(rows, labels, |_, _| rng.bernoulli(0.6));
        let c = candidates.to_mat();
        let kept = |i, j| candidates.get(i, j) && rng.bernoulli(0.5);
        let z = Labels::from_fn(rows, labels, kept).to_mat();
        let advantage = self.normal("advantage", rows, labels);
        let graph = Graph::new(&x, 2)?;
        let mean = T::ONE / T::from_f64((rows * labels) as f64);
        let weights = DiscWeights { bce: mean, graph: T::from_f64(0.1) * mean };
        let dropout = Dropout { rate: 0.25, key: self.streams.key("dropout") };
        self.export.config["bce_weight"] = json!(weights.bce.to_f64());
        self.export.config["graph_weight"] = json!(weights.graph.to_f64());
        self.export.config["dropout_rate"] = json!(dropout.rate);

        for (name, m) in [("x", &x), ("c", &c), ("z", &z), ("advantage", &advantage)] {
            self.put_mat(format!("input.{name}"), m);
        }
        let index = |k: usize| T::from_f64(k as f64);
        let edges = graph.edges();
        let ends = edges.iter().flat_map(|&(i, j, _)| [index(i), index(j)]);
        self.put("graph.edges", &[edges.len(), 2], ends.collect::<Vec<_>>());
        let heat: Vec<T> = edges.iter().map(|e| e.2).collect();
        self.put("graph.weights", &[edges.len()], heat);
        self.put_masks(&x, &c, dropout);

        let network = self.network.clone();
        let mut saved = network.stage1_saved();
        let (mut dlogits, mut dscores) = (Mat::zeros(0, labels), Mat::zeros(0, labels));
        let mut run = |p: &[T], dp: &mut [T]| {
            let batch = (x.view(), c.view());
            network.forward(&mut saved, batch, p, Some(dropout));
            let disc = disc_loss(&mut dlogits, &saved.logits, &z, &graph, weights);
            network.disc_backward(dp, &dlogits, batch, p, &mut saved);
            let policy = policy_loss(&mut dscores, &saved.scores, &z, &candidates, &advantage);
            network.policy_backward(dp, &dscores, p, &saved);
            let outputs = [saved.phi.clone(), saved.logits.clone(), saved.scores.clone()];
            ([disc.bce, disc.graph, policy], outputs)
        };
        let mut unused = vec![T::ZERO; self.p.len()];
        let (terms, outputs) = run(&self.p, &mut unused);
        for (name, m) in ["phi", "logits", "scores"].iter().zip(&outputs) {
            self.put_mat(format!("out.{name}"), m);
        }
        for (name, value) in ["bce", "graph", "policy"].iter().zip(terms) {
            self.put(format!("loss.{name}"), &[1], [value]);
        }
        self.train(|p, dp| run(p, dp).0.into_iter().sum());
        Ok(())
    }

    /// The masks of one shard that holds the whole batch: masks do not depend on the shards.
    fn put_masks(&mut self, x: &Mat<T>, c: &Mat<T>, dropout: Dropout) {
        let encoder = self.network.encoder.clone();
        let mut ws = encoder.workspace();
        encoder.forward(&mut ws, x.view(), Some(c.view()), &self.p, Some(dropout), 0);
        for (l, block) in ws.blocks().iter().enumerate() {
            for (site, mask) in block.masks().expect("dropout is on") {
                self.put_mat(format!("mask.block{l}.{site}"), mask);
            }
        }
    }

    fn stage2(&mut self) {
        let rows = 5;
        let encoder = self.network.config();
        let x = self.normal("x", rows, encoder.features);
        let mut rng = self.streams.stream("targets");
        let y = Mat::from_fn(rows, encoder.labels, |_, _| T::from_f64(rng.uniform()));
        let actions: Vec<Vec<usize>> =
            (0..rows).map(|_| rng.permutation(encoder.features)[..STEPS].to_vec()).collect();
        let reward = self.normal("reward", rows, STEPS);
        let mean = T::ONE / T::from_f64((rows * encoder.labels) as f64);
        let actions = Actions::new(&actions);
        let advantages = Advantages {
            reward,
            baseline: vec![T::from_f64(0.2); STEPS],
            scale: vec![T::from_f64(0.5); STEPS],
        };
        let step = |t: usize| mean * T::from_f64(if t == STEPS { 1.0 } else { 0.1 });
        let weights = Stage2Weights {
            supervised: (0..=STEPS).map(step).collect(),
            policy: T::from_f64(0.3),
            temperature: T::from_f64(0.8),
        };
        self.export.config["policy_weight"] = json!(weights.policy.to_f64());
        self.export.config["temperature"] = json!(weights.temperature.to_f64());

        self.put_mat("input.x", &x);
        self.put_mat("input.y", &y);
        let index: Vec<T> = actions.as_slice().iter().map(|&a| T::from_f64(a as f64)).collect();
        self.put("input.actions", &[rows, STEPS], index);
        let advantage = Mat::from_fn(rows, STEPS, |i, t| {
            (advantages.reward[(i, t)] - advantages.baseline[t]) * advantages.scale[t]
        });
        self.put_mat("input.advantage", &advantage);
        self.put("input.supervised_weights", &[STEPS + 1], weights.supervised.clone());

        let mut rollouts = Rollouts::new(self.network.clone());
        let mut run = |p: &[T], dp: &mut [T]| {
            let (advantages, weights) = (&advantages, &weights);
            let replay = Replay { x: &x, y: &y, actions: &actions, advantages, weights };
            let loss = rollouts.loss(Some(dp), &replay, 0..rows, p);
            [loss.supervised, loss.policy]
        };
        let mut unused = vec![T::ZERO; self.p.len()];
        let terms = run(&self.p, &mut unused);
        for (name, value) in ["supervised", "policy"].iter().zip(terms) {
            self.put(format!("loss.{name}"), &[1], [value]);
        }
        self.train(|p, dp| run(p, dp).into_iter().sum());
    }
}

impl Export {
    /// The tensor called `name`.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.iter().find(|t| t.name == name)
    }

    /// Writes `case.json` and `case.safetensors` into `dir`, which is created.
    pub fn write(&self, dir: &Path) -> Result<()> {
        std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, "create", &e))?;
        let mut packer = Packer::default();
        for t in &self.tensors {
            packer.put(t.name.as_str(), &t.shape, &t.values);
        }
        let packed = packer.pack(None)?;
        io::write_atomic(&dir.join("case.safetensors"), &packed)?;
        let text = serde_json::to_string_pretty(&self.config).expect("plain values") + "\n";
        io::write_atomic(&dir.join("case.json"), text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_complete_and_finite() {
        for &name in NAMES.iter().filter(|n| **n != "full-size") {
            let export = build::<f64>(name).unwrap();
            for group in ["param", "input", "loss", "grad", "adam"] {
                let found = export.tensors.iter().any(|t| t.name.starts_with(group));
                assert!(found, "{name}: {group}");
            }
            for t in &export.tensors {
                assert!(t.values.iter().all(|v| v.is_finite()), "{name}: {}", t.name);
                assert_eq!(t.values.len(), t.shape.iter().product::<usize>());
            }
            let losses = &export.get("adam_losses").unwrap().values;
            assert_eq!(losses.len(), ADAM_STEPS);
            // In Stage 1 the policy's term is not a descent direction of the encoder: φ is detached.
            let downhill = losses[9] < losses[0];
            assert!(downhill || !name.starts_with("stage2"), "{name}: {losses:?}");
        }
    }

    #[test]
    fn files_can_be_read_back_and_names_are_checked() {
        let dir = tempfile::tempdir().unwrap();
        let export = build::<f64>("stage2-pre-gelu").unwrap();
        export.write(&dir.path().join("new")).unwrap();
        let bytes = std::fs::read(dir.path().join("new/case.safetensors")).unwrap();
        let read = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(read.len(), export.tensors.len());
        let tensor = read.tensor("grad.disc.w").unwrap();
        let want = export.get("grad.disc.w").unwrap();
        assert_eq!(tensor.shape(), want.shape);
        assert_eq!(tensor.data()[..8], want.values[0].to_le_bytes());
        let e = build::<f64>("nothing").unwrap_err();
        assert!(e.message().starts_with("there is no case 'nothing', expected one of: pre-gelu"));
    }
}
