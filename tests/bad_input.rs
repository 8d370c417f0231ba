//! Unusual and unusable input to the engine and to the whole method: a clear error or the right
//! result, never a panic, never a NaN that nobody is told about.

use pomdp_fs::data::Labels;
use pomdp_fs::graph::Graph;
use pomdp_fs::linalg::Mat;
use pomdp_fs::method::pomdp_fs::stage1::loss::{DiscLoss, DiscWeights, disc_loss, policy_loss};
use pomdp_fs::method::pomdp_fs::stage2::loss::{Advantages, Replay, Stage2Loss, Stage2Weights};
use pomdp_fs::method::pomdp_fs::stage2::rollout::{Actions, Rollouts, Sampled, Sampling};
use pomdp_fs::method::pomdp_fs::{Config, Fit, Network, PomdpFs, Preset, Weights};
use pomdp_fs::method::{Context, Fitted, Method, Silent, Training};
use pomdp_fs::nn::{Activation, Dropout, EncoderConfig, NormPlace};
use pomdp_fs::rng::Streams;
use pomdp_fs::{ErrorKind, Result};

const LABELS: usize = 3;

fn config(features: usize) -> EncoderConfig {
    EncoderConfig {
        width: 8,
        heads: 2,
        ffn: 12,
        candidate_token: true,
        ..EncoderConfig::paper(features, LABELS)
    }
}

fn network(encoder: EncoderConfig) -> (Network, Vec<f32>) {
    let network = Network::new(encoder).unwrap();
    let mut p: Vec<f32> = network.init(&Streams::new(0));
    // ψ starts at zero; any other value is a harder test.
    let mut rng = Streams::new(0).stream("psi");
    p[network.feature_policy_range()].fill_with(|| 0.3 * rng.normal() as f32);
    (network, p)
}

fn features(rows: usize, cols: usize) -> Mat<f32> {
    let mut rng = Streams::new(2).stream("x");
    Mat::from_fn(rows, cols, |_, _| rng.normal() as f32)
}

fn labels(rows: usize) -> Labels {
    Labels::from_fn(rows, LABELS, |i, j| (i + j) % 2 == 0)
}

/// Everything that Stage 1 computes on a batch.
#[derive(Debug, PartialEq)]
struct Pass {
    phi: Mat<f32>,
    disc: DiscLoss<f32>,
    policy: f32,
    gradient: Vec<f32>,
}

fn stage1(network: &Network, p: &[f32], x: &Mat<f32>, c: &Labels, advantage: &Mat<f32>) -> Pass {
    let z: Mat<f32> = c.to_mat();
    let graph = Graph::new(x, 5).unwrap_or_default();
    let mut saved = network.stage1_saved();
    let mut gradient = vec![0.0; p.len()];
    let dropout = Some(Dropout { rate: 0.2, key: 1 });
    let batch = (x.view(), z.view());
    network.forward(&mut saved, batch, p, dropout);
    let (mut dlogits, mut dscores) = (Mat::zeros(0, LABELS), Mat::zeros(0, LABELS));
    let weights = DiscWeights { bce: 0.1, graph: 0.01 };
    let disc = disc_loss(&mut dlogits, &saved.logits, &z, &graph, weights);
    network.disc_backward(&mut gradient, &dlogits, batch, p, &mut saved);
    let policy = policy_loss(&mut dscores, &saved.scores, &z, c, advantage);
    network.policy_backward(&mut gradient, &dscores, p, &saved);
    Pass { phi: saved.phi, disc, policy, gradient }
}

fn ones(rows: usize) -> Mat<f32> {
    Mat::from_fn(rows, LABELS, |_, _| 1.0)
}

/// Sampling and the joint loss of Stage 2 on a batch.
fn stage2(
    network: &Network,
    p: &[f32],
    x: &Mat<f32>,
    steps: usize,
) -> (Sampled<f32>, Stage2Loss<f32>, Vec<f32>) {
    let y = labels(x.rows()).to_mat();
    let mut rollouts = Rollouts::new(network.clone());
    let mut sampled = Sampled::default();
    rollouts.sample(&mut sampled, (x, &y), p, Sampling { steps, temperature: 1.0, key: 3 });
    let taken = sampled.losses.cols() - 1;
    let advantages = Advantages {
        reward: Mat::from_fn(x.rows(), taken, |i, t| sampled.losses[(i, t)]),
        baseline: vec![0.5; taken],
        scale: vec![1.0; taken],
    };
    let weights = Stage2Weights { supervised: vec![0.1; taken + 1], policy: 0.2, temperature: 1.0 };
    let mut gradient = vec![0.0; p.len()];
    let (actions, advantages, weights) = (&sampled.actions, &advantages, &weights);
    let replay = Replay { x, y: &y, actions, advantages, weights };
    let loss = rollouts.loss(Some(&mut gradient), &replay, 0..x.rows(), p);
    (sampled, loss, gradient)
}

fn finite(values: &[f32]) -> bool {
    values.iter().all(|v| v.is_finite())
}

#[test]
fn zero_rows_give_zero_losses_and_zero_gradients() {
    for norm in [NormPlace::Pre, NormPlace::Post] {
        let (network, p) = network(EncoderConfig { norm, ..config(4) });
        let x = Mat::zeros(0, 4);
        network.check_inputs(&x, &p).unwrap();
        let pass = stage1(&network, &p, &x, &labels(0), &ones(0));
        assert_eq!((pass.disc, pass.policy), (DiscLoss { bce: 0.0, graph: 0.0 }, 0.0));
        assert!(pass.gradient.iter().all(|&g| g == 0.0));
        assert_eq!(pass.phi.rows(), 0);
        let (sampled, loss, gradient) = stage2(&network, &p, &x, 2);
        assert!(sampled.actions.rows() == 0 && sampled.losses.rows() == 0);
        assert_eq!(loss, Stage2Loss::default());
        assert!(gradient.iter().all(|&g| g == 0.0));
        // The encoder alone, without the batch around it.
        let mut ws = network.encoder.workspace::<f32>();
        let (none, mut dp) = (Mat::zeros(0, LABELS), vec![0.0; p.len()]);
        network.encoder.forward(&mut ws, x.view(), Some(none.view()), &p, None, 0);
        let (dphi, c) = (Mat::zeros(0, 8), Some(none.view()));
        network.encoder.backward(&mut ws, None, &mut dp, dphi.view(), x.view(), c, &p);
        assert!(dp.iter().all(|&g| g == 0.0));
    }
}

#[test]
fn one_row_equals_the_same_row_in_a_batch() {
    let (network, p) = network(config(4));
    let x = features(40, 4);
    let all = stage1(&network, &p, &x, &labels(40), &ones(40));
    let one = stage1(&network, &p, &x.select_rows(&[0]), &labels(1), &ones(1));
    assert_eq!(one.phi.row(0), all.phi.row(0), "bit for bit");
    assert_eq!(one.disc.graph, 0.0, "one row has no neighbour");
    assert!(one.disc.bce > 0.0 && finite(&one.gradient));
    let (sampled, loss, gradient) = stage2(&network, &p, &x.select_rows(&[0]), 3);
    assert_eq!(sampled.actions.row(0), stage2(&network, &p, &x, 3).0.actions.row(0));
    assert!(loss.supervised > 0.0 && loss.policy.is_finite() && finite(&gradient));
}

#[test]
fn one_feature_is_selected_with_certainty() {
    let (network, p) = network(config(1));
    let x = features(5, 1);
    let pass = stage1(&network, &p, &x, &labels(5), &ones(5));
    assert!(pass.disc.bce > 0.0 && finite(&pass.gradient));
    // More steps than features: T = min(steps, d).
    for steps in [1, 7] {
        let (sampled, loss, gradient) = stage2(&network, &p, &x, steps);
        assert_eq!(sampled.actions, Actions::new(&vec![vec![0]; 5]));
        assert_eq!(sampled.losses.cols(), 2);
        assert_eq!(sampled.probabilities, [5.0]);
        assert_eq!(loss.policy, 0.0, "ln 1");
        assert!(gradient[network.feature_policy_range()].iter().all(|&g| g == 0.0));
        assert!(loss.supervised > 0.0 && finite(&gradient));
    }
    let (_, loss, gradient) = stage2(&network, &p, &x, 0);
    assert!(loss.supervised > 0.0 && loss.policy == 0.0 && finite(&gradient), "no step at all");
}

#[test]
fn more_neighbours_than_rows() {
    let (network, p) = network(config(4));
    let x = features(4, 4);
    for k in [3, 4, 5, 1000, usize::MAX] {
        let graph = Graph::new(&x, k).unwrap();
        assert_eq!(graph, Graph::new(&x, 3).unwrap(), "all others are neighbours, {k}");
        assert_eq!(graph.edges().len(), 6);
    }
    assert!(Graph::new(&x, 0).unwrap().edges().is_empty());
    assert!(finite(&stage1(&network, &p, &x, &labels(4), &ones(4)).gradient));
}

#[test]
fn a_row_without_candidates_is_worth_nothing_to_the_policy() {
    let (network, p) = network(config(4));
    let x = features(6, 4);
    let empty = Labels::from_fn(6, LABELS, |i, j| i != 2 && (i + j) % 2 == 0);
    let pass = stage1(&network, &p, &x, &empty, &ones(6));
    assert!(finite(&pass.gradient) && pass.policy.is_finite());
    // Its advantage may be anything, even NaN: nothing is multiplied with it.
    let mut advantage = ones(6);
    advantage.row_mut(2).fill(f32::NAN);
    assert_eq!(stage1(&network, &p, &x, &empty, &advantage), pass);
    let none = Labels::none(6, LABELS);
    let pass = stage1(&network, &p, &x, &none, &ones(6));
    assert_eq!(pass.policy, 0.0);
    assert!(pass.gradient[network.label_policy_range()].iter().all(|&g| g == 0.0));
    assert!(pass.disc.bce > 0.0 && finite(&pass.gradient));
}

#[test]
fn bad_features_and_weights_are_named() {
    let (network, p) = network(config(4));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut x = features(5, 4);
        x[(3, 2)] = bad;
        let e = network.check_inputs(&x, &p).unwrap_err();
        let want = format!("found {bad} in row 3, column 2 (from 0), expected finite features");
        assert_eq!((e.kind(), e.message()), (ErrorKind::Input, want.as_str()));
        assert_eq!(Graph::new(&x, 2).unwrap_err().message(), want);
        let mut weights = p.clone();
        weights[network.disc.b.range().start + 1] = bad;
        let e = network.check_inputs(&features(5, 4), &weights).unwrap_err();
        let want = format!("the weight of disc.b at (0, 1) is {bad}");
        assert_eq!((e.kind(), e.message()), (ErrorKind::Numeric, want.as_str()));
    }
    let e = network.check_inputs(&features(5, 3), &p).unwrap_err();
    assert_eq!(e.message(), "found 3 features, expected 4");
    let e = network.check_inputs(&features(5, 4), &p[1..]).unwrap_err();
    assert!(e.message().ends_with(&format!("weights, expected {}", p.len())), "{e}");
}

#[test]
fn bad_targets_are_named() {
    let (network, _) = network(config(4));
    network.check_targets(5, &ones(5)).unwrap();
    let e = network.check_targets(4, &ones(5)).unwrap_err();
    assert_eq!(e.message(), "found targets of size 5×3, expected 4×3");
    let mut y = ones(5);
    y[(4, 1)] = f32::NAN;
    let e = network.check_targets(5, &y).unwrap_err();
    assert_eq!(e.message(), "found NaN in row 4, column 1 (from 0), expected finite targets");
    for bad in [-0.5, 1.5] {
        y[(4, 1)] = bad;
        let e = network.check_targets(5, &y).unwrap_err();
        let want =
            format!("found target {bad} in row 4, label 1 (from 0), expected a number from 0 to 1");
        assert_eq!(e.message(), want);
    }
}

/// Without the check nothing panics either, and the loss of the batch shows what happened; other
/// rows are untouched.
#[test]
fn an_unchecked_nan_is_seen_in_the_loss() {
    for norm in [NormPlace::Pre, NormPlace::Post] {
        for activation in [Activation::Gelu, Activation::Relu] {
            for bad in [f32::NAN, f32::INFINITY] {
                let (network, p) = network(EncoderConfig { norm, activation, ..config(4) });
                let mut x = features(5, 4);
                let clean = stage1(&network, &p, &x, &labels(5), &ones(5));
                x[(3, 2)] = bad;
                let pass = stage1(&network, &p, &x, &labels(5), &ones(5));
                assert!(pass.disc.bce.is_nan() && !finite(&pass.gradient));
                assert!(network.layout.check_finite(&pass.gradient, "gradient").is_err());
                assert_eq!(pass.phi.row(0), clean.phi.row(0));
                let (sampled, loss, gradient) = stage2(&network, &p, &x, 4);
                assert!(loss.supervised.is_nan() && !finite(&gradient));
                assert!(sampled.losses.row(3)[4].is_nan(), "all features of row 3 are selected");
                assert!(finite(sampled.losses.row(0)));
                for i in 0..5 {
                    let mut sorted = sampled.actions.row(i).to_vec();
                    sorted.sort_unstable();
                    assert_eq!(sorted, [0, 1, 2, 3], "each feature once");
                }
                let mut weights = p.clone();
                weights[network.encoder.tokens.w.range().start] = bad;
                let pass = stage1(&network, &weights, &features(5, 4), &labels(5), &ones(5));
                assert!(pass.disc.bce.is_nan() && !finite(&pass.gradient));
                let (_, loss, _) = stage2(&network, &weights, &features(5, 4), 4);
                assert!(loss.supervised.is_nan());
            }
        }
    }
}

fn fit(x: &Mat<f32>, candidates: &Labels, preset: Preset, batch: usize) -> Result<Fitted> {
    let config =
        Config { width: 8, heads: 2, epochs1: 2, epochs2: 2, batch, ..Config::new(preset) };
    let mut silent = Silent;
    let mut context = Context { streams: Streams::new(1), budget: 3, observer: &mut silent };
    PomdpFs::new(config).fit(&Training { x, candidates }, &mut context)
}

/// Weights that were stored badly stop the next epoch, by name.
#[test]
fn a_fit_does_not_go_on_from_bad_weights() {
    let (x, candidates) = (features(9, 4), labels(9));
    let config =
        Config { width: 8, heads: 2, epochs1: 2, epochs2: 2, ..Config::new(Preset::Paper) };
    let training = Training { x: &x, candidates: &candidates };
    let mut fit = Fit::new(&config, training, 3, Streams::new(1)).unwrap();
    for _ in 0..3 {
        assert!(fit.advance().unwrap());
        let (progress, disambiguator) = fit.progress();
        let (mut progress, disambiguator) = (progress.clone(), disambiguator.to_vec());
        let good = progress.clone();
        let p = match (&mut progress.stage1, &mut progress.stage2) {
            (_, Some(state)) => &mut state.p,
            (Some(state), None) => &mut state.p,
            (None, None) => unreachable!("an epoch was done"),
        };
        p[2] = f32::NAN;
        fit.resume(progress, disambiguator.clone());
        let e = fit.advance().unwrap_err();
        assert_eq!(e.message(), "the weight of tokens.cls at (0, 2) is NaN");
        fit.resume(good, disambiguator);
    }
}

/// The whole method: small and empty batches, one feature, no candidates at all.
#[test]
fn the_method_survives_small_data() {
    for preset in [Preset::Paper, Preset::Observation] {
        for (rows, cols, batch) in [(1, 1, 1), (1, 4, 64), (5, 1, 2), (5, 4, 1), (9, 4, 4)] {
            for candidates in [labels(rows), Labels::none(rows, LABELS)] {
                let what = format!("{preset:?}, {rows}×{cols}, batches of {batch}");
                let outcome = fit(&features(rows, cols), &candidates, preset, batch).unwrap();
                match &outcome.trained.as_ref().unwrap().weights {
                    Weights::Printed { disambiguator, selector } => {
                        assert!(finite(disambiguator) && finite(selector), "{what}");
                    }
                    Weights::Belief(belief) => {
                        assert!(belief.parts.iter().all(|p| finite(p)), "{what}");
                        assert!(belief.linear.plain.as_slice().iter().all(|w| w.is_finite()));
                    }
                }
                assert!(outcome.trained.as_ref().unwrap().rho.is_none_or(f64::is_finite), "{what}");
                assert!(finite(outcome.confidence.unwrap().as_slice()), "{what}");
                let ranking = outcome.ranking;
                assert!(ranking.len() == cols && ranking.iter().all(|r| r.score.is_finite()));
                for e in &outcome.trained.as_ref().unwrap().history.0 {
                    assert!(e.bce.is_finite() && e.reward.is_finite() && e.entropy.is_finite());
                }
                for (before, after) in outcome.trained.as_ref().unwrap().history.1.losses() {
                    assert!(before.is_finite() && after.is_finite(), "{what}");
                }
            }
        }
    }
}

#[test]
fn the_method_refuses_what_it_cannot_use() {
    for preset in [Preset::Paper, Preset::Observation] {
        let refusal = |x: &Mat<f32>, c: &Labels| fit(x, c, preset, 4).unwrap_err();
        let e = refusal(&Mat::zeros(0, 4), &labels(0));
        assert_eq!(
            e.message(),
            "found 0 rows, 4 features, 3 labels, expected at least one of each"
        );
        let e = refusal(&features(5, 4), &labels(4));
        assert_eq!(e.kind(), ErrorKind::Input);
        let mut x = features(5, 4);
        x[(4, 0)] = f32::INFINITY;
        let e = refusal(&x, &labels(5));
        assert_eq!(e.message(), "found inf in row 4, column 0 (from 0), expected finite features");
        // Finite, and still too large for any distance in f32.
        x[(4, 0)] = 1e30;
        let e = refusal(&x, &labels(5));
        assert_eq!(e.kind(), ErrorKind::Numeric);
        assert!(e.message().contains("the features are too large"), "{e}");
    }
}
