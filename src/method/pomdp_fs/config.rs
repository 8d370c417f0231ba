//! Every setting of the method, with the paper's symbol, default and range.

use serde::{Deserialize, Serialize};

use super::belief::network::{BeliefConfig, BeliefNetwork};
use super::stage2::sequential::Stage2Settings;
use crate::method::probe::weighting::Weighting;
use crate::method::settings::{Settings, within};
use crate::nn::{Activation, AdamConfig, EncoderConfig, NormPlace};
use crate::{Error, Result};

/// Which reading of the paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The reward has an observation model P(C | Y); the form that disambiguates. The default.
    #[default]
    Observation,
    /// To the letter of the paper.
    Paper,
}

impl Preset {
    /// Settings that are of the other preset alone.
    pub fn unread(self) -> &'static [&'static str] {
        match self {
            Preset::Observation => &[
                "lambda_struct",
                "neighbours",
                "epochs2",
                "rate_fs",
                "rate_psi",
                "lambda_fs",
                "beta",
                "temperature",
                "ranking",
                "memory_limit",
            ],
            Preset::Paper => &[
                "rate_context",
                "label_context",
                "context_width",
                "context_heads",
                "patience",
                "rho",
                "rho_per_label",
                "rollouts",
                "rate_rollout",
                "gamma",
                "weighting",
            ],
        }
    }
}

/// How features are ranked after Stage 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// How often the final policy selects the feature (Algorithm 1).
    Frequency,
    /// Average probability of the feature over the visited states (Section 4.2).
    Score,
    /// Mean drop of the loss when the feature is selected, shrunken where selections are few.
    Credit,
}

/// All settings. Times are epochs, rates are Adam's; see `docs/method.md` for the reasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Which reading of the paper.
    pub preset: Preset,
    /// d_model.
    pub width: usize,
    /// n_head.
    pub heads: usize,
    /// n_layer.
    pub layers: usize,
    /// Feed-forward width over d_model.
    pub ffn_factor: usize,
    /// Place of the layer norms.
    pub norm: NormPlace,
    /// Feed-forward activation.
    pub activation: Activation,
    /// Feature groups F (tokens); at most d are used.
    pub groups: usize,
    /// Mini-batch |B| of both stages.
    pub batch: usize,
    /// E₁, epochs of Stage 1.
    pub epochs1: usize,
    /// η_disc, of encoder and discriminative head.
    pub rate_disc: f64,
    /// η_pol, of the label policy.
    pub rate_policy: f64,
    /// Learning rate of the label context (preset `observation`).
    pub rate_context: f64,
    /// Whether the belief about a label sees the other labels (preset `observation`).
    pub label_context: bool,
    /// Width of the label context.
    pub context_width: usize,
    /// Heads of the label context.
    pub context_heads: usize,
    /// Epochs without a better held-out likelihood after which Stage 1 ends (preset `observation`).
    pub patience: usize,
    /// λ_struct, weight of the graph penalty.
    pub lambda_struct: f64,
    /// k of the neighbour graph.
    pub neighbours: usize,
    /// Dropout rate in Stage 1.
    pub dropout: f64,
    /// Decoupled weight decay of encoder and discriminative head.
    pub decay: f64,
    /// ρ: probability that a label that is not true became a candidate. Not given: it is estimated.
    pub rho: Option<f64>,
    /// A rate ρ_j for each label instead of one for all (preset `observation`).
    pub rho_per_label: bool,
    /// K of cross-fitting: train on K − 1 parts, disambiguate the rest. Not given: 5, in preset `paper` off.
    pub cross_fit: Option<usize>,
    /// Keep the best candidate of an instance when none reaches ½.
    pub at_least_one: bool,
    /// Stage 2 learns from the probabilities p instead of the hard labels 1[p ≥ ½].
    #[serde(default)]
    pub soft: bool,
    /// E₂, epochs of Stage 2 (preset `paper`).
    pub epochs2: usize,
    /// Longest rollout: T = min(k_fs, rollout). Not given: T = k_fs, as printed.
    pub rollout: Option<usize>,
    /// η_fs, of encoder and discriminative head in Stage 2.
    pub rate_fs: f64,
    /// Learning rate of the feature policy ψ.
    pub rate_psi: f64,
    /// λ_fs, weight of the policy loss in Stage 2.
    pub lambda_fs: f64,
    /// β, momentum of the moving-average baseline (preset `paper`).
    pub beta: f64,
    /// Rollouts of Stage 2; the last half of them makes the ranking (preset `observation`).
    pub rollouts: usize,
    /// η of the natural gradient of Stage 2 (preset `observation`).
    pub rate_rollout: f64,
    /// γ, weight of a second step: 0 is greedy, 1 plans two steps where a pair of features calls for
    /// it (preset `observation`).
    pub gamma: f64,
    /// How much features and labels count in Stage 2 (preset `observation`).
    pub weighting: Weighting,
    /// τ_act, softmax temperature of the feature policy.
    pub temperature: f64,
    /// Largest norm of a gradient; longer ones are scaled down.
    pub clip: f64,
    /// How features are ranked.
    pub ranking: Ranking,
    /// Memory of Stage 2's rollouts in MiB; larger batches are cut into pieces.
    pub memory_limit: usize,
}

impl Config {
    /// The defaults of a preset.
    pub fn new(preset: Preset) -> Self {
        let paper = Config {
            preset: Preset::Paper,
            width: 128,
            heads: 4,
            layers: 2,
            ffn_factor: 4,
            norm: NormPlace::Pre,
            activation: Activation::Gelu,
            groups: 1,
            batch: 64,
            epochs1: 30,
            rate_disc: 1e-3,
            rate_policy: 1e-4,
            rate_context: 1e-2,
            label_context: true,
            context_width: 16,
            context_heads: 2,
            patience: 4,
            lambda_struct: 0.01,
            neighbours: 5,
            dropout: 0.0,
            decay: 0.0,
            rho: None,
            rho_per_label: false,
            cross_fit: None,
            at_least_one: false,
            soft: false,
            epochs2: 4,
            rollout: None,
            rate_fs: 1e-3,
            rate_psi: 1e-3,
            lambda_fs: 1.0,
            beta: 0.9,
            rollouts: 20,
            rate_rollout: 1.0,
            gamma: 1.0,
            weighting: Weighting::Spread,
            temperature: 1.0,
            clip: 5.0,
            ranking: Ranking::Frequency,
            memory_limit: 1024,
        };
        match preset {
            Preset::Paper => paper,
            Preset::Observation => Config {
                preset,
                width: 32,
                layers: 1,
                epochs1: 40,
                rate_disc: 3e-4,
                rate_policy: 1e-2,
                dropout: 0.5,
                decay: 1e-2,
                soft: true,
                ..paper
            },
        }
    }

    /// Numeric settings that always have a value: name, value, smallest, largest.
    fn ranges(&self) -> [(&'static str, f64, f64, f64); 27] {
        let n = |v: usize| v as f64;
        [
            ("width", n(self.width), 1.0, 4096.0),
            ("heads", n(self.heads), 1.0, 256.0),
            ("layers", n(self.layers), 1.0, 64.0),
            ("ffn_factor", n(self.ffn_factor), 1.0, 64.0),
            ("groups", n(self.groups), 1.0, 4096.0),
            ("batch", n(self.batch), 1.0, 65536.0),
            ("epochs1", n(self.epochs1), 1.0, 1e6),
            ("rate_disc", self.rate_disc, 0.0, 1.0),
            ("rate_policy", self.rate_policy, 0.0, 1.0),
            ("rate_context", self.rate_context, 0.0, 1.0),
            ("context_width", n(self.context_width), 1.0, 1024.0),
            ("context_heads", n(self.context_heads), 1.0, 64.0),
            ("patience", n(self.patience), 1.0, 1e6),
            ("lambda_struct", self.lambda_struct, 0.0, 1e6),
            ("neighbours", n(self.neighbours), 0.0, 1e6),
            ("dropout", self.dropout, 0.0, 0.95),
            ("decay", self.decay, 0.0, 1.0),
            ("epochs2", n(self.epochs2), 0.0, 1e6),
            ("rate_fs", self.rate_fs, 0.0, 1.0),
            ("rate_psi", self.rate_psi, 0.0, 1.0),
            ("lambda_fs", self.lambda_fs, 0.0, 1e6),
            ("beta", self.beta, 0.0, 1.0),
            ("rollouts", n(self.rollouts), 1.0, 1e6),
            ("rate_rollout", self.rate_rollout, 0.0, 1e3),
            ("gamma", self.gamma, 0.0, 1.0),
            ("clip", self.clip, 1e-6, 1e6),
            ("memory_limit", n(self.memory_limit), 16.0, 1e6),
        ]
    }

    /// Numeric settings that may be left open.
    fn optional_ranges(&self) -> [(&'static str, Option<f64>, f64, f64); 3] {
        let n = |v: Option<usize>| v.map(|v| v as f64);
        [
            ("rho", self.rho, 0.01, 0.6),
            ("cross_fit", n(self.cross_fit), 2.0, 100.0),
            ("rollout", n(self.rollout), 1.0, 1e6),
        ]
    }

    /// Refuses more parts of cross-fitting than there are rows.
    pub fn check_parts(&self, rows: usize) -> Result<()> {
        match self.cross_fit {
            Some(parts) if parts > rows => Err(Error::config(format!(
                "cross_fit is {parts} but there are {rows} rows, expected at most as many parts as rows"
            ))),
            _ => Ok(()),
        }
    }

    /// The four optimisers: encoder and h_disc, label policy, the same pair in Stage 2, ψ.
    pub fn optimisers(&self) -> [AdamConfig; 4] {
        let decayed = |rate| AdamConfig { decay: self.decay, ..AdamConfig::new(rate) };
        [
            decayed(self.rate_disc),
            AdamConfig::new(self.rate_policy),
            decayed(self.rate_fs),
            AdamConfig::new(self.rate_psi),
        ]
    }

    /// The printed network for d features and L labels: its encoder sees X and C.
    pub fn network(&self, features: usize, labels: usize) -> EncoderConfig {
        EncoderConfig { candidate_token: true, ..self.encoder(features, labels) }
    }

    /// The network of beliefs for d features and L labels: its encoder sees X alone.
    pub fn belief_network(&self, features: usize, labels: usize) -> Result<BeliefNetwork> {
        BeliefNetwork::new(BeliefConfig {
            encoder: self.encoder(features, labels),
            context: (self.context_width, self.context_heads),
        })
    }

    /// The sequential policy of Stage 2.
    pub fn stage2(&self) -> Stage2Settings {
        Stage2Settings {
            rollouts: self.rollouts,
            rate: self.rate_rollout,
            gamma: self.gamma,
            weighting: self.weighting,
            longest: self.rollout,
        }
    }

    fn encoder(&self, features: usize, labels: usize) -> EncoderConfig {
        EncoderConfig {
            features,
            labels,
            width: self.width,
            heads: self.heads,
            layers: self.layers,
            ffn: self.ffn_factor * self.width,
            norm: self.norm,
            activation: self.activation,
            groups: self.groups.min(features),
            candidate_token: false,
        }
    }
}

impl Settings for Config {
    /// Refuses values out of range, with the range.
    fn check(&self) -> Result<()> {
        for (name, value, low, high) in self.ranges() {
            within(name, value, low, high)?;
        }
        for (name, value, low, high) in self.optional_ranges() {
            value.map_or(Ok(()), |value| within(name, value, low, high))?;
        }
        if !(self.temperature > 0.0 && self.temperature <= 1e3) {
            return Err(Error::config(format!(
                "temperature is {}, allowed: above 0, at most 1000",
                self.temperature
            )));
        }
        for (name, width, heads) in
            [("", self.width, self.heads), ("context_", self.context_width, self.context_heads)]
        {
            if !width.is_multiple_of(heads) {
                return Err(Error::config(format!(
                    "{name}width is {width} and {name}heads is {heads}: the width must be a multiple \
                     of the heads"
                )));
            }
        }
        Ok(())
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::new(Preset::Observation)
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
