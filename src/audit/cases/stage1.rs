//! The losses of Stage 1 with respect to the whole arena, as printed, with the network of beliefs, and
//! at full size.

use std::ops::Range;

use super::{Case, Function, SAMPLE, Vars, Wanted, blocks, control_of};
use crate::audit::Control;
use crate::data::Labels;
use crate::graph::Graph;
use crate::linalg::Mat;
use crate::method::observation::likelihood::NoiseRate;
use crate::method::pomdp_fs::Network;
use crate::method::pomdp_fs::belief::network::{BeliefConfig, BeliefNetwork, Observed};
use crate::method::pomdp_fs::stage1::loss::{DiscWeights, disc_loss, policy_loss};
use crate::nn::{Dropout, EncoderConfig, loss};
use crate::num::Real;

const DROPOUT: Dropout = Dropout { rate: 0.2, key: 3 };
const OTHER_DROPOUT: Dropout = Dropout { rate: 0.2, key: 4 };

pub(super) fn cases() -> Vec<Case> {
    let mut full = disc("full-size/stage1", EncoderConfig::paper(23, 14), 2);
    full.sample = Some(SAMPLE);
    vec![
        disc("stage1/disc-loss/paper", small(1, true), 9),
        disc("stage1/disc-loss/groups", small(3, true), 9),
        belief("stage1/belief", small(1, false), true, 4),
        belief("stage1/belief/no-context", small(3, false), false, 5),
        belief_policy("stage1/belief-policy", small(1, false)),
        policy("stage1/policy-loss/paper", small(1, true)),
        full,
    ]
}

pub(super) fn small(groups: usize, candidate_token: bool) -> EncoderConfig {
    EncoderConfig {
        width: 6,
        heads: 2,
        ffn: 7,
        groups,
        candidate_token,
        ..EncoderConfig::paper(5, 3)
    }
}

pub(super) fn shape(e: &EncoderConfig, rows: usize) -> String {
    format!(
        "{rows} instances, {} features, {} labels, width {}, {} heads, {} layers, FFN {}",
        e.features, e.labels, e.width, e.heads, e.layers, e.ffn
    )
}

/// Random candidates, and sampled actions Z ⊆ C.
fn random_labels(vars: &mut Vars, rows: usize, labels: usize) -> (Labels, Mat<f64>) {
    let candidates = Labels::from_fn(rows, labels, |_, _| vars.rng.bernoulli(0.6));
    let z = Mat::from_fn(rows, labels, |i, j| {
        f64::from(u8::from(candidates.get(i, j) && vars.rng.bernoulli(0.5)))
    });
    (candidates, z)
}

/// A network with a random batch.
pub(super) struct Setting {
    pub network: Network,
    pub x: Mat<f64>,
    pub candidates: Labels,
    /// Sampled actions Z ⊆ C.
    pub z: Mat<f64>,
}

pub(super) fn setting(name: &str, encoder: EncoderConfig, rows: usize) -> (Setting, Vars) {
    let network = Network::new(encoder).expect("a valid configuration");
    let mut vars = Vars::new(name);
    vars.arena(&network.layout, false);
    let x = vars.constant(rows, encoder.features);
    let (candidates, z) = random_labels(&mut vars, rows, encoder.labels);
    (Setting { network, x, candidates, z }, vars)
}

/// ℓ_disc (7) with the graph term and dropout; the two policies must get nothing.
struct Disc(Setting);

fn disc(name: &str, encoder: EncoderConfig, rows: usize) -> Case {
    let (setting, vars) = setting(name, encoder, rows);
    let mut case = vars.case(name, shape(&encoder, rows), Disc(setting));
    case.detached = blocks(&case, &["label_policy", "feature_policy"]);
    case
}

impl Function for Disc {
    fn run<T: Real>(&self, p: &[T], wanted: Wanted<'_, T>) -> T {
        let Setting { network, x, candidates, z } = &self.0;
        let control = control_of(&wanted);
        let spoilt = |c: Control| control == Some(c);
        let (x, c, mut z) = (x.cast::<T>(), candidates.to_mat(), z.cast::<T>());
        let mean = T::ONE / T::from_f64((z.rows() * z.cols()) as f64);
        let weights = DiscWeights { bce: mean, graph: T::from_f64(0.5) * mean };
        let batch = (x.view(), c.view());
        let mut saved = network.stage1_saved();
        network.forward(&mut saved, batch, p, Some(DROPOUT));
        if spoilt(Control::BceTargetIgnored) {
            z.fill(T::ZERO);
        }
        let neighbours = if spoilt(Control::LaplacianEdgesMissing) { 1 } else { 2 };
        let graph = Graph::new(&x, neighbours).expect("finite");
        let mut dlogits = saved.logits.clone();
        let loss = disc_loss(&mut dlogits, &saved.logits, &z, &graph, weights);
        if let Some((dp, _)) = wanted {
            if spoilt(Control::SavedStale) {
                network.forward(&mut saved, batch, p, Some(OTHER_DROPOUT));
            }
            let handed = Control::weights(control, &network.layout, p);
            network.disc_backward(dp, &dlogits, batch, &handed, &mut saved);
            Control::spoil_gradient(control, &network.layout, dp);
        }
        loss.bce + loss.graph
    }
}

/// The starting point in `T`, with the numbers of `range` from `p`: that is what "detached" means.
fn held<T: Real>(start: &[f64], p: &[T], range: Range<usize>) -> Vec<T> {
    let mut held: Vec<T> = start.iter().map(|&v| T::from_f64(v)).collect();
    held[range.clone()].copy_from_slice(&p[range]);
    held
}

/// The labels whose policy gets a gradient; under the control that leaks, all.
fn open_labels(candidates: &Labels, control: Option<Control>) -> Labels {
    let leaks = control == Some(Control::BernoulliMaskLeak);
    let (rows, cols) = (candidates.rows(), candidates.cols());
    Labels::from_fn(rows, cols, |i, j| leaks || candidates.get(i, j))
}

/// ℓ_pol (11) with φ detached: the numeric side holds φ at its value, so every parameter of the
/// encoder must get exactly zero.
struct Policy {
    setting: Setting,
    advantage: Mat<f64>,
    start: Vec<f64>,
}

fn policy(name: &str, encoder: EncoderConfig) -> Case {
    const ROWS: usize = 4;
    let (setting, mut vars) = setting(name, encoder, ROWS);
    let advantage = vars.constant(ROWS, encoder.labels);
    let start = vars.start.clone();
    let mut case = vars.case(name, shape(&encoder, ROWS), Policy { setting, advantage, start });
    case.detached = blocks(&case, &["tokens", "block", "last_norm", "disc", "feature_policy"]);
    case
}

impl Function for Policy {
    fn run<T: Real>(&self, p: &[T], wanted: Wanted<'_, T>) -> T {
        let Setting { network, x, candidates, z } = &self.setting;
        let control = control_of(&wanted);
        let held = held(&self.start, p, network.label_policy_range());
        let (x, c, z) = (x.cast::<T>(), candidates.to_mat(), z.cast::<T>());
        let batch = (x.view(), c.view());
        let mut saved = network.stage1_saved();
        network.forward(&mut saved, batch, &held, None);
        let open = open_labels(candidates, control);
        let (mut dscores, advantage) = (saved.scores.clone(), self.advantage.cast());
        let loss = policy_loss(&mut dscores, &saved.scores, &z, &open, &advantage);
        if let Some((dp, _)) = wanted {
            network.policy_backward(dp, &dscores, &held, &saved);
            if control == Some(Control::PolicyNotDetached) {
                network.disc_backward(dp, &dscores, batch, &held, &mut saved);
            }
        }
        loss
    }
}

/// A network of beliefs with a random batch.
struct Beliefs {
    network: BeliefNetwork,
    /// x, u, u′.
    seen: [Mat<f64>; 3],
    candidates: Labels,
    z: Mat<f64>,
    start: Vec<f64>,
}

fn beliefs(name: &str, encoder: EncoderConfig, rows: usize) -> (Beliefs, Vars) {
    let network = BeliefNetwork::new(BeliefConfig { encoder, context: (4, 2) }).expect("valid");
    let mut vars = Vars::new(name);
    vars.arena(&network.layout, false);
    let labels = encoder.labels;
    let seen = [encoder.features, labels, labels].map(|cols| vars.constant(rows, cols));
    let (candidates, z) = random_labels(&mut vars, rows, labels);
    let start = vars.start.clone();
    (Beliefs { network, seen, candidates, z, start }, vars)
}

impl Beliefs {
    /// x, u, u′ and C.
    fn numbers<T: Real>(&self) -> [Mat<T>; 4] {
        let [x, base, linear] = self.seen.each_ref().map(Mat::cast);
        [x, base, linear, self.candidates.to_mat()]
    }

    fn noise<T: Real>(&self) -> Vec<NoiseRate<T>> {
        let rate = |j: usize| NoiseRate::new(T::from_f64(0.1 + 0.1 * j as f64));
        (0..self.z.cols()).map(rate).collect()
    }
}

fn observed<T>(seen: &[Mat<T>; 4]) -> Observed<'_, T>
where
    T: Real,
{
    let [x, base, linear, c] = seen;
    Observed { x: x.view(), base, linear, c }
}

/// BCE of the network's own belief w, with dropout. The tokens of the label context are numbers, not
/// functions: they are made from the starting point's v and held there, whatever the weights of the
/// moment.
struct Belief {
    beliefs: Beliefs,
    with_context: bool,
}

fn belief(name: &str, encoder: EncoderConfig, with_context: bool, rows: usize) -> Case {
    let (beliefs, vars) = beliefs(name, encoder, rows);
    let mut case = vars.case(name, shape(&encoder, rows), Belief { beliefs, with_context });
    let unused: &[&str] = if with_context { &["policy"] } else { &["policy", "context"] };
    case.detached = blocks(&case, unused);
    case
}

impl Function for Belief {
    fn run<T: Real>(&self, p: &[T], wanted: Wanted<'_, T>) -> T {
        let Beliefs { network, z, start, .. } = &self.beliefs;
        let (seen, noise) = (self.beliefs.numbers::<T>(), self.beliefs.noise::<T>());
        let (seen, context, dropout) = (observed(&seen), self.with_context, Some(DROPOUT));
        let at_start: Vec<T> = start.iter().map(|&v| T::from_f64(v)).collect();
        let mut saved = network.saved();
        network.prior(&mut saved, seen, &at_start, dropout);
        network.tokens(&mut saved, seen, &noise);
        network.prior(&mut saved, seen, p, dropout);
        network.belief(&mut saved, seen, context, p);
        let mut dw = Mat::zeros(z.rows(), z.cols());
        let (z, mean) = (z.cast::<T>(), T::ONE / T::from_f64(z.rows() as f64));
        let loss = loss::bce(dw.as_mut_slice(), saved.own.as_slice(), z.as_slice(), mean);
        if let Some((dp, control)) = wanted {
            if control == Some(Control::SavedStale) {
                network.forward(&mut saved, seen, &noise, context, p, Some(OTHER_DROPOUT));
            }
            network.backward(dp, &dw, seen.x, context, p, &mut saved);
        }
        loss
    }
}

/// ℓ_pol of the belief's policy: slope and offset alone get a gradient, U is detached.
struct BeliefPolicy {
    beliefs: Beliefs,
    advantage: Mat<f64>,
}

fn belief_policy(name: &str, encoder: EncoderConfig) -> Case {
    const ROWS: usize = 4;
    let (beliefs, mut vars) = beliefs(name, encoder, ROWS);
    let advantage = vars.constant(ROWS, encoder.labels);
    let mut case = vars.case(name, shape(&encoder, ROWS), BeliefPolicy { beliefs, advantage });
    case.detached = blocks(&case, &["tokens", "block", "last_norm", "disc", "context"]);
    case
}

impl Function for BeliefPolicy {
    fn run<T: Real>(&self, p: &[T], wanted: Wanted<'_, T>) -> T {
        let Beliefs { network, candidates, z, start, .. } = &self.beliefs;
        let held = held(start, p, network.policy_range());
        let (seen, noise) = (self.beliefs.numbers::<T>(), self.beliefs.noise::<T>());
        let mut saved = network.saved();
        network.forward(&mut saved, observed(&seen), &noise, true, &held, None);
        let open = open_labels(candidates, control_of(&wanted));
        let (mut unused, mut row) = (vec![T::ZERO; p.len()], vec![T::ZERO; z.cols()]);
        let dp = wanted.map_or(&mut unused[..], |(dp, _)| dp);
        network.policy_loss(dp, &mut row, &z.cast(), &open, &self.advantage.cast(), &saved)
    }
}
