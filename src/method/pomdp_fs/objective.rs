//! The two readings of the paper, side by side: everything in which they differ, default settings
//! aside ([`Config::new`](super::Config::new)).
//!
//! [`PAPER`] is to the letter. In Stage 1 one reward for the whole batch, r = −ℓ_disc (10), weights
//! every candidate's log-probability (11). In Stage 2 one advantage r − b, with r = −ℓ_sup at the end
//! of the rollouts and b the moving average of r (17), weights every action; the targets are hard.
//!
//! [`OBSERVATION`] adds what a POMDP has and the printed reward leaves out, an observation model. A
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
//! Δ = r(1) − r(0). In Stage 2 it uses potential-based shaping: with ℓ_t the supervised loss in state
//! t the reward of step t is ℓ_t − ℓ_{t+1}; over a rollout it adds up to the paper's terminal reward
//! up to a constant, so the best policies are the same, but each action has its own credit.

use super::config::Preset;
use super::stage2::loss::Advantages;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::num::Real;

/// One reading of the paper.
pub struct Objective {
    /// Name of the method.
    pub method: &'static str,
    /// Whether the encoder sees the candidates, as a token.
    pub candidate_token: bool,
    /// Whether the label policy sees the candidates beside φ.
    pub policy_sees_candidates: bool,
    /// Whether there is a noise rate ρ: prior and policy start from it, and it is learned.
    pub observation_model: bool,
    /// Whether ℓ_disc is a mean over the labels, as in (7), or their sum, as in a log-likelihood.
    pub mean_over_labels: bool,
    /// Fills the advantages A_ij / B of the sampled labels; returns the mean reward.
    pub label_advantage: fn(&mut Mat<f32>, &LabelSample<'_>) -> f64,
    /// Whether Stage 2 learns from hard pseudo labels or from the posteriors p.
    pub hard_targets: bool,
    /// Share of Stage 2's supervised loss that counts at the end of a rollout, as in (14); the rest
    /// is spread over all its states.
    pub supervised_at_end: f32,
    /// Fills the advantages of the selected features.
    pub feature_advantage: fn(&mut Advantages<f32>, &RolloutLosses<'_>),
}

/// To the letter of the paper.
pub const PAPER: Objective = Objective {
    method: "pomdp-fs-paper",
    candidate_token: true,
    policy_sees_candidates: false,
    observation_model: false,
    mean_over_labels: true,
    label_advantage: batch_reward,
    hard_targets: true,
    supervised_at_end: 1.0,
    feature_advantage: terminal_reward,
};

/// With an observation model. C stays out of the encoder, or the prior could read it off.
pub const OBSERVATION: Objective = Objective {
    method: "pomdp-fs",
    candidate_token: false,
    policy_sees_candidates: true,
    observation_model: true,
    mean_over_labels: false,
    label_advantage: label_reward,
    hard_targets: false,
    supervised_at_end: 0.5,
    feature_advantage: shaped_reward,
};

impl Preset {
    /// What this preset optimises.
    pub fn objective(self) -> &'static Objective {
        match self {
            Preset::Paper => &PAPER,
            Preset::Observation => &OBSERVATION,
        }
    }
}

/// A batch of Stage 1 after Z was sampled.
pub struct LabelSample<'a> {
    /// Z, B × L.
    pub z: &'a Mat<f32>,
    /// C, B × L.
    pub candidates: &'a Labels,
    /// U, B × L.
    pub logits: &'a Mat<f32>,
    /// s, B × L.
    pub scores: &'a Mat<f32>,
    /// ℓ_disc.
    pub disc_loss: f64,
    /// ρ, if there is an observation model.
    pub rho: Option<f64>,
    /// τ, weight of the entropy.
    pub entropy: f64,
}

/// The reward of (10) weights every label of the batch alike: A_ij = r / B.
fn batch_reward(advantage: &mut Mat<f32>, sample: &LabelSample<'_>) -> f64 {
    let reward = -sample.disc_loss;
    advantage.set_rows(sample.z.rows());
    advantage.fill((reward / sample.z.rows() as f64) as f32);
    reward
}

/// The reward of each label by itself, with its expectation as the baseline.
fn label_reward(advantage: &mut Mat<f32>, sample: &LabelSample<'_>) -> f64 {
    let LabelSample { z, candidates, logits, scores, entropy: tau, .. } = *sample;
    let ln_rho = Real::ln(sample.rho.expect("an observation model has a noise rate"));
    let (mut total, mut count) = (0.0, 0usize);
    let mean = 1.0 / z.rows() as f64;
    advantage.set_rows(z.rows());
    advantage.fill(0.0);
    for i in 0..z.rows() {
        for j in (0..z.cols()).filter(|&j| candidates.get(i, j)) {
            let (u, s) = (f64::from(logits[(i, j)]), f64::from(scores[(i, j)]));
            let p = s.sigmoid();
            let keep = u.log_sigmoid() - tau * s.log_sigmoid();
            let drop = (-u).log_sigmoid() + ln_rho - tau * (-s).log_sigmoid();
            let kept = z[(i, j)] > 0.5;
            let credit = if kept { 1.0 - p } else { -p };
            advantage[(i, j)] = (credit * (keep - drop) * mean) as f32;
            total += if kept { keep } else { drop };
            count += 1;
        }
    }
    total / count.max(1) as f64
}

/// A batch of Stage 2 after its rollouts.
pub struct RolloutLosses<'a> {
    /// ℓ_t of every state, B × (T + 1).
    pub losses: &'a Mat<f32>,
    /// b, the moving average of the terminal reward.
    pub baseline: f64,
    /// γ, discount of the shaped rewards.
    pub gamma: f64,
}

/// A = r − b for every action of the batch (17), r = −mean ℓ_T.
fn terminal_reward(advantages: &mut Advantages<f32>, rollouts: &RolloutLosses<'_>) {
    let (rows, steps) = (rollouts.losses.rows(), rollouts.losses.cols() - 1);
    advantages.resize(rows, steps);
    advantages.reward.fill(-mean_at(rollouts.losses, steps) as f32);
    advantages.baseline.fill(rollouts.baseline as f32);
    advantages.scale.fill(1.0);
}

/// Σ_{s ≥ t} γ^(s−t) (ℓ_s − ℓ_{s+1}), minus its batch mean at step t, divided by its deviation.
fn shaped_reward(advantages: &mut Advantages<f32>, rollouts: &RolloutLosses<'_>) {
    let (losses, gamma) = (rollouts.losses, rollouts.gamma as f32);
    let (rows, steps) = (losses.rows(), losses.cols() - 1);
    advantages.resize(rows, steps);
    for i in 0..rows {
        let mut to_go = 0.0;
        for t in (0..steps).rev() {
            to_go = losses[(i, t)] - losses[(i, t + 1)] + gamma * to_go;
            advantages.reward[(i, t)] = to_go;
        }
    }
    for t in 0..steps {
        let reward = |i: usize| f64::from(advantages.reward[(i, t)]);
        let centre = mean_at(&advantages.reward, t);
        let variance = mean((0..rows).map(|i| (reward(i) - centre) * (reward(i) - centre)));
        advantages.baseline[t] = centre as f32;
        // One rollout has no deviation; its advantage is zero.
        advantages.scale[t] = if rows < 2 { 0.0 } else { 1.0 / (variance.sqrt() as f32 + 1e-8) };
    }
}

/// Mean of column t.
pub(super) fn mean_at(values: &Mat<f32>, t: usize) -> f64 {
    mean((0..values.rows()).map(|i| f64::from(values[(i, t)])))
}

/// 0 for no values.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0usize), |(s, c), v| (s + v, c + 1));
    sum / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shaped(losses: &Mat<f32>, gamma: f64) -> Advantages<f32> {
        let mut advantages = Advantages::default();
        shaped_reward(&mut advantages, &RolloutLosses { losses, baseline: 9.0, gamma });
        advantages
    }

    #[test]
    fn shaped_rewards_telescope_and_are_centred() {
        let losses = Mat::from_vec(2, 3, vec![0.9, 0.5, 0.4, 0.8, 0.7, 0.1]);
        let t = shaped(&losses, 1.0);
        assert!((t.reward[(0, 0)] - 0.5).abs() < 1e-6 && (t.reward[(1, 0)] - 0.7).abs() < 1e-6);
        for k in 0..2 {
            let a = |i: usize| (t.reward[(i, k)] - t.baseline[k]) * t.scale[k];
            assert!((a(0) + a(1)).abs() < 1e-5 && (a(0).abs() - 1.0).abs() < 1e-5);
        }
        assert!((shaped(&losses, 0.0).reward[(0, 0)] - 0.4).abs() < 1e-6);
        assert_eq!(shaped(&losses.select_rows(&[0]), 0.0).scale, [0.0, 0.0]);
    }

    #[test]
    fn the_printed_advantage_is_one_number() {
        let losses = Mat::from_vec(2, 3, vec![0.9, 0.5, 0.4, 0.8, 0.7, 0.1]);
        let mut a = Advantages::default();
        let rollouts = RolloutLosses { losses: &losses, baseline: -0.5, gamma: 1.0 };
        terminal_reward(&mut a, &rollouts);
        assert!(a.reward.as_slice().iter().all(|r| (r + 0.25).abs() < 1e-6));
        assert_eq!((a.baseline, a.scale), (vec![-0.5; 2], vec![1.0; 2]));
    }

    /// Both advantages of one label against the formulas above, in f64.
    #[test]
    fn label_rewards_by_hand() {
        let (z, logits) = (Mat::from_vec(1, 3, vec![1.0, 0.0, 0.0]), [0.4f32, -1.2, 3.0]);
        let scores = Mat::from_vec(1, 3, vec![0.7, 0.2, 5.0]);
        let candidates = Labels::from_vec(1, 3, vec![true, true, false]);
        let sample = LabelSample {
            z: &z,
            candidates: &candidates,
            logits: &Mat::from_vec(1, 3, logits.to_vec()),
            scores: &scores,
            disc_loss: 0.8,
            rho: Some(0.25),
            entropy: 0.5,
        };
        let mut a = Mat::zeros(0, 3);
        let reward = label_reward(&mut a, &sample);
        let ln_sigmoid = |v: f64| -libm::log(1.0 + libm::exp(-v));
        let rewards = |j: usize| {
            let (u, s) = (f64::from(logits[j]), f64::from(scores[(0, j)]));
            let keep = ln_sigmoid(u) - 0.5 * ln_sigmoid(s);
            (
                keep,
                ln_sigmoid(-u) + libm::log(0.25) - 0.5 * ln_sigmoid(-s),
                libm::exp(ln_sigmoid(s)),
            )
        };
        let ((keep0, drop0, p0), (keep1, drop1, p1)) = (rewards(0), rewards(1));
        assert!((f64::from(a[(0, 0)]) - (1.0 - p0) * (keep0 - drop0)).abs() < 1e-6);
        assert!((f64::from(a[(0, 1)]) + p1 * (keep1 - drop1)).abs() < 1e-6);
        assert_eq!(a[(0, 2)], 0.0, "label 2 is no candidate");
        assert!((reward - 0.5 * (keep0 + drop1)).abs() < 1e-6);
        assert_eq!(batch_reward(&mut a, &sample), -0.8);
        assert!(a.as_slice().iter().all(|&v| v == -0.8));
    }
}
