//! The joint loss of Stage 2 with respect to the whole arena, small and at full size.

use super::stage1::{Setting, setting, shape, small};
use super::{Case, Function, SAMPLE, Wanted, blocks, control_of};
use crate::audit::Control;
use crate::linalg::Mat;
use crate::method::pomdp_fs::stage2::loss::{Advantages, Replay, Stage2Weights};
use crate::method::pomdp_fs::stage2::rollout::{Actions, Rollouts};
use crate::nn::EncoderConfig;
use crate::num::Real;

pub(super) fn cases() -> Vec<Case> {
    let full = EncoderConfig::paper(23, 14);
    let mut full = stage2("full-size/stage2", full, 2, 2, Credit::Steps);
    // Each coordinate passes through all steps.
    full.sample = Some(SAMPLE / 10);
    vec![
        stage2("stage2/paper", small(1, false), 5, 3, Credit::Batch),
        stage2("stage2/candidate-token", small(1, true), 4, 2, Credit::Batch),
        stage2("stage2/shaped", small(3, false), 5, 4, Credit::Steps),
        full,
    ]
}

enum Credit {
    /// One advantage for the whole batch, as printed.
    Batch,
    /// One for each step, with losses along the way.
    Steps,
}

/// The joint loss (18) through T steps, with masks and baseline; the actions are held fixed.
struct Joint {
    setting: Setting,
    actions: Vec<Vec<usize>>,
    credit: Credit,
    reward: Mat<f64>,
}

fn stage2(name: &str, encoder: EncoderConfig, rows: usize, steps: usize, credit: Credit) -> Case {
    let (setting, mut vars) = setting(name, encoder, rows);
    let actions: Vec<Vec<usize>> =
        (0..rows).map(|_| vars.rng.permutation(encoder.features)[..steps].to_vec()).collect();
    let reward = match credit {
        Credit::Batch => Mat::from_fn(rows, steps, |_, _| -0.4),
        Credit::Steps => vars.constant(rows, steps),
    };
    let title = format!("{}, {steps} steps", shape(&encoder, rows));
    let mut case = vars.case(name, title, Joint { setting, actions, credit, reward });
    // The candidate token shows the empty set, so its weights are multiplied by zeros.
    case.detached = blocks(&case, &["label_policy", "tokens.candidates.w"]);
    case
}

impl Function for Joint {
    fn run<T: Real>(&self, p: &[T], wanted: Wanted<'_, T>) -> T {
        let Setting { network, x, z, .. } = &self.setting;
        let (rows, steps) = (self.reward.rows(), self.reward.cols());
        let number = T::from_f64;
        let mean = T::ONE / number((rows * z.cols()) as f64);
        let supervised = |t: usize| match self.credit {
            Credit::Batch => {
                if t == steps {
                    mean
                } else {
                    T::ZERO
                }
            }
            Credit::Steps => mean * number(1.0 + t as f64),
        };
        let mut advantages = Advantages {
            reward: self.reward.cast::<T>(),
            baseline: vec![number(-0.7); steps],
            scale: (0..steps).map(|t| number(1.0 + 0.3 * t as f64)).collect(),
        };
        let mut weights = Stage2Weights {
            supervised: (0..=steps).map(supervised).collect(),
            policy: T::ONE / number(rows as f64),
            temperature: number(0.8),
        };
        let mut actions = self.actions.clone();
        match control_of(&wanted) {
            Some(Control::BaselineForgotten) => advantages.baseline.fill(T::ZERO),
            Some(Control::ReplayReordered) => actions.iter_mut().for_each(|a| a.reverse()),
            Some(Control::TemperatureMissing) => weights.temperature = T::ONE,
            _ => {}
        }
        let mut rollouts = Rollouts::new(network.clone());
        let (advantages, weights, actions) = (&advantages, &weights, &Actions::new(&actions));
        let (x, y) = (&x.cast(), &z.cast());
        let replay = Replay { x, y, actions, advantages, weights };
        let loss = rollouts.loss(wanted.map(|g| g.0), &replay, 0..rows, p);
        loss.supervised + loss.policy
    }
}
