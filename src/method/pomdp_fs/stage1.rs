//! Stage 1 as a training loop: sample Z, fit U to Z, move the policy by REINFORCE.
//!
//! Preset `paper`: r = −ℓ_disc of the batch (10), every candidate's log-probability is weighted with
//! it (11), nothing else.
//!
//! Preset `observation`: a POMDP has an observation model, and the printed reward leaves it out. A
//! label that is not true becomes a candidate with probability ρ, so keeping candidate j says
//! nothing about C and dropping it costs ln ρ. With the entropy bonus the reward of one label is
//!
//! ```text
//! r_ij(1) = −BCE(U_ij, 1)          − τ ln p_ij
//! r_ij(0) = −BCE(U_ij, 0) + ln ρ   − τ ln (1 − p_ij)
//! ```
//!
//! whose best policy is p = σ((U + ln 1/ρ)/τ): the posterior under prior U. The baseline is the exact
//! expectation p r(1) + (1 − p) r(0), so the advantage is (1 − p)Δ for Z = 1 and −pΔ for Z = 0 with
//! Δ = r(1) − r(0). After each epoch ρ moves halfway to its estimate (Σ(1−p)C + 1)/(Σ(1−p) + 5).

use serde::{Deserialize, Serialize};

use super::config::{Config, Preset};
use super::disambiguation::{DiscWeights, Stage1};
use super::network::Network;
use super::noise_rate;
use crate::data::Labels;
use crate::graph::Graph;
use crate::linalg::Mat;
use crate::nn::adam::clip;
use crate::nn::{Adam, Dropout};
use crate::num::Real;
use crate::rng::{Rng, Streams};
use crate::{Error, Result};

/// One epoch of Stage 1, for the history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Epoch1 {
    /// Mean ℓ_BCE term.
    pub bce: f64,
    /// Mean graph term.
    pub graph: f64,
    /// Mean reward of a batch (`paper`) or of a label (`observation`).
    pub reward: f64,
    /// ρ after the epoch.
    pub rho: f64,
    /// Mean p over the candidates.
    pub mean_p: f64,
    /// Mean entropy of the policy over the candidates, in nats.
    pub entropy: f64,
    /// Mean norm of the encoder's gradient before clipping.
    pub gradient_norm: f64,
    /// Mean norm of the policy's gradient.
    pub policy_gradient_norm: f64,
    /// ε, the share of wrong cells of the pseudo labels after the epoch. Training never sees the
    /// truth; whoever knows it fills this in ([`Fit::judge`](super::Fit::judge)).
    pub epsilon: Option<f64>,
}

/// The state of Stage 1 between epochs: everything a resumed run needs.
#[derive(Clone, Debug, PartialEq)]
pub struct State1 {
    /// All weights.
    pub p: Vec<f32>,
    /// Optimiser of encoder and h_disc.
    pub disc: Adam<f32>,
    /// Optimiser of θ.
    pub policy: Adam<f32>,
    /// ρ.
    pub rho: f64,
    /// Epochs done.
    pub epoch: usize,
}

/// The training rows of one fit.
pub struct Trainer1<'a> {
    config: &'a Config,
    x: &'a Mat<f32>,
    candidates: &'a Labels,
    /// C as numbers.
    c: Mat<f32>,
    streams: Streams,
    stage: Stage1<f32>,
}

impl<'a> Trainer1<'a> {
    /// Rows of `x` with their candidates; `streams` names this fit.
    pub fn new(
        config: &'a Config,
        network: Network,
        x: &'a Mat<f32>,
        candidates: &'a Labels,
        streams: Streams,
    ) -> Self {
        let c = numbers(candidates);
        Trainer1 { config, x, candidates, c, streams, stage: Stage1::new(network) }
    }

    /// The state before the first epoch.
    pub fn start(&self) -> State1 {
        let network = self.stage.network();
        let mut p = network.init(&self.streams.child("init"));
        let rho = match self.config.rho {
            rho if rho > 0.0 => rho,
            _ => noise_rate::first(self.x, self.candidates, &self.streams),
        };
        if self.config.preset == Preset::Observation {
            // The prior starts at the prevalence that the candidates imply, the policy at the
            // posterior, with small weights.
            let n = self.candidates.rows().max(1) as f64;
            let (w, b) = (network.label_policy.w, network.label_policy.b);
            w.slice_mut(&mut p).iter_mut().for_each(|w| *w *= 0.1);
            for (j, count) in self.candidates.count_by_label().into_iter().enumerate() {
                let prevalence = ((count as f64 / n - rho) / (1.0 - rho)).clamp(0.01, 0.99);
                let prior = Real::ln(prevalence / (1.0 - prevalence));
                network.disc.b.slice_mut(&mut p)[j] = prior as f32;
                b.slice_mut(&mut p)[j] = (prior - Real::ln(rho)) as f32;
            }
        }
        let [disc, policy, ..] = self.config.optimisers();
        State1 {
            disc: Adam::new(network.disc_range().len(), disc),
            policy: Adam::new(network.label_policy_range().len(), policy),
            p,
            rho,
            epoch: 0,
        }
    }

    /// One epoch: every row once, in random order. Also returns the confidences after it.
    pub fn epoch(&mut self, state: &mut State1) -> Result<(Epoch1, Mat<f32>)> {
        self.stage.network().check_inputs(self.x, &state.p)?;
        let streams = self.streams.child(&format!("epoch/{}", state.epoch));
        let order = streams.stream("order").permutation(self.x.rows());
        let mut record = Epoch1::default();
        let batches = order.chunks(self.config.batch);
        let count = batches.len().max(1) as f64;
        for (k, rows) in batches.enumerate() {
            let streams = streams.child(&format!("batch/{k}"));
            self.step(state, rows, &streams, &mut record).map_err(|e| {
                Error::numeric(format!(
                    "Stage 1, epoch {}, batch {}: {}",
                    state.epoch + 1,
                    k + 1,
                    e.message()
                ))
                .hint("lower rate_disc or rate_policy, or look for extreme values in the features")
            })?;
        }
        for mean in [
            &mut record.bce,
            &mut record.graph,
            &mut record.reward,
            &mut record.gradient_norm,
            &mut record.policy_gradient_norm,
        ] {
            *mean /= count;
        }
        let confidence = self.confidence(&state.p, self.x, self.candidates);
        if self.config.preset == Preset::Observation {
            state.rho = noise_rate::next(state.rho, &confidence, self.candidates);
        }
        record.rho = state.rho;
        (record.mean_p, record.entropy) = summary(&confidence, self.candidates);
        state.epoch += 1;
        Ok((record, confidence))
    }

    fn step(
        &mut self,
        state: &mut State1,
        rows: &[usize],
        streams: &Streams,
        record: &mut Epoch1,
    ) -> Result<()> {
        let (x, c) = (self.x.select_rows(rows), self.c.select_rows(rows));
        let candidates = self.candidates.select_rows(rows);
        let config = self.config;
        let dropout = (config.dropout > 0.0)
            .then(|| Dropout { rate: config.dropout, key: streams.key("dropout") });
        let batch = (x.view(), c.view());
        self.stage.forward(batch.0, batch.1, &state.p, dropout);
        let z = sample(&self.stage.scores, &candidates, &mut streams.stream("actions"));
        let graph = Graph::new(&x, config.neighbours)?;
        let weights = self.weights(rows.len(), candidates.cols());

        let mut dp = vec![0.0; state.p.len()];
        let loss = self.stage.disc_loss(&z, &graph, weights);
        self.stage.disc_backward(&mut dp, batch, &state.p);
        let reward = -f64::from(loss.bce + loss.graph);
        let (advantage, reward) = match config.preset {
            Preset::Paper => (printed_advantage(reward, &z), reward),
            Preset::Observation => self.advantage(&z, &candidates, state.rho),
        };
        self.stage.policy_loss(&z, &candidates, &advantage);
        self.stage.policy_backward(&mut dp, batch, &state.p);
        self.stage.network().layout.check_finite(&dp, "gradient")?;

        let (disc, policy) =
            (self.stage.network().disc_range(), self.stage.network().label_policy_range());
        record.gradient_norm += clip(&mut dp[disc.clone()], config.clip);
        record.policy_gradient_norm += clip(&mut dp[policy.clone()], config.clip);
        state.disc.step(&mut state.p[disc.clone()], &dp[disc]);
        state.policy.step(&mut state.p[policy.clone()], &dp[policy]);
        record.bce += f64::from(loss.bce);
        record.graph += f64::from(loss.graph);
        record.reward += reward;
        Ok(())
    }

    /// The paper takes means over labels (7); with the observation model all terms are
    /// log-likelihoods of an instance, so labels are summed.
    fn weights(&self, rows: usize, labels: usize) -> DiscWeights<f32> {
        let cells = match self.config.preset {
            Preset::Paper => rows * labels,
            Preset::Observation => rows,
        };
        let bce = 1.0 / cells as f32;
        DiscWeights { bce, graph: self.config.lambda_struct as f32 * bce }
    }

    /// A_ij / B of the observation preset, and the mean reward of a candidate.
    fn advantage(&self, z: &Mat<f32>, candidates: &Labels, rho: f64) -> (Mat<f32>, f64) {
        let (mut total, mut count) = (0.0, 0usize);
        let mean = 1.0 / z.rows() as f64;
        let tau = self.config.entropy;
        let mut advantage = Mat::zeros(z.rows(), z.cols());
        for i in 0..z.rows() {
            for j in (0..z.cols()).filter(|&j| candidates.get(i, j)) {
                let u = f64::from(self.stage.logits[(i, j)]);
                let s = f64::from(self.stage.scores[(i, j)]);
                let p = s.sigmoid();
                let keep = u.log_sigmoid() - tau * s.log_sigmoid();
                let drop = (-u).log_sigmoid() + Real::ln(rho) - tau * (-s).log_sigmoid();
                let kept = z[(i, j)] > 0.5;
                let credit = if kept { 1.0 - p } else { -p };
                advantage[(i, j)] = (credit * (keep - drop) * mean) as f32;
                total += if kept { keep } else { drop };
                count += 1;
            }
        }
        (advantage, total / count.max(1) as f64)
    }

    /// p_ij of the rows of `x`; see [`confidence`].
    pub fn confidence(&mut self, p: &[f32], x: &Mat<f32>, candidates: &Labels) -> Mat<f32> {
        confidence(&mut self.stage, p, x, candidates)
    }
}

/// p_ij of the rows of `x` under the weights `p`: σ(s) on candidates, 0 elsewhere, without dropout.
pub fn confidence(
    stage: &mut Stage1<f32>,
    p: &[f32],
    x: &Mat<f32>,
    candidates: &Labels,
) -> Mat<f32> {
    stage.forward(x.view(), numbers(candidates).view(), p, None);
    let s = &stage.scores;
    Mat::from_fn(
        x.rows(),
        s.cols(),
        |i, j| {
            if candidates.get(i, j) { s[(i, j)].sigmoid() } else { 0.0 }
        },
    )
}

/// The printed reward weights every label of the batch alike: A_ij = r / B.
fn printed_advantage(reward: f64, z: &Mat<f32>) -> Mat<f32> {
    let each = (reward / z.rows() as f64) as f32;
    Mat::from_fn(z.rows(), z.cols(), |_, _| each)
}

/// Z_ij ~ Bernoulli(σ(s_ij)) on candidates.
fn sample(scores: &Mat<f32>, candidates: &Labels, rng: &mut Rng) -> Mat<f32> {
    Mat::from_fn(scores.rows(), scores.cols(), |i, j| {
        let keep = candidates.get(i, j) && rng.bernoulli(f64::from(scores[(i, j)].sigmoid()));
        f32::from(u8::from(keep))
    })
}

/// Mean p and mean entropy over the candidates.
fn summary(confidence: &Mat<f32>, candidates: &Labels) -> (f64, f64) {
    let on = confidence.as_slice().iter().zip(candidates.as_slice()).filter(|(_, c)| **c);
    let (mut sum, mut entropy) = (0.0, 0.0);
    for (&p, _) in on {
        let p = f64::from(p);
        sum += p;
        for q in [p, 1.0 - p] {
            entropy -= if q > 0.0 { q * Real::ln(q) } else { 0.0 };
        }
    }
    let count = candidates.count().max(1) as f64;
    (sum / count, entropy / count)
}

/// Labels as 0 and 1.
pub fn numbers(labels: &Labels) -> Mat<f32> {
    let cells = labels.as_slice().iter().map(|&on| f32::from(u8::from(on))).collect();
    Mat::from_vec(labels.rows(), labels.cols(), cells)
}

/// Ŷ_ij = 1[p_ij ≥ ½] (Algorithm 1); with `at_least_one` the best candidate of a row that has
/// candidates but no label above ½ is kept too.
pub fn harden(confidence: &Mat<f32>, candidates: &Labels, at_least_one: bool) -> Labels {
    let mut hard = Labels::from_fn(confidence.rows(), confidence.cols(), |i, j| {
        candidates.get(i, j) && confidence[(i, j)] >= 0.5
    });
    if at_least_one {
        for i in 0..hard.rows() {
            let best = (0..hard.cols())
                .filter(|&j| candidates.get(i, j))
                .max_by(|&a, &b| confidence[(i, a)].total_cmp(&confidence[(i, b)]).then(b.cmp(&a)));
            if let Some(best) = best
                && !hard.row(i).contains(&true)
            {
                hard.set(i, best, true);
            }
        }
    }
    hard
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_above_one_half_and_at_least_one() {
        let p = Mat::from_vec(3, 3, vec![0.5, 0.49, 0.9, 0.2, 0.4, 0.4, 0.0, 0.0, 0.0]);
        let c = Labels::from_fn(3, 3, |i, j| i < 2 && !(i == 0 && j == 2));
        let hard = harden(&p, &c, false);
        assert_eq!(hard.row(0), [true, false, false], "label 2 is no candidate");
        assert_eq!(hard.count(), 1);
        let hard = harden(&p, &c, true);
        assert_eq!(hard.row(1), [false, true, false], "ties go to the lower index");
        assert_eq!(hard.row(2), [false; 3], "a row without candidates stays empty");
    }
}
