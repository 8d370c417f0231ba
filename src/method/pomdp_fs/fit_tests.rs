//! Small fits: what they promise, what they refuse, and that they can be interrupted.

use super::*;
use crate::method::Silent;
use crate::method::pomdp_fs::checkpoint::{pack, unpack};

/// Label j is on when feature j is positive; the other features are noise.
struct Toy {
    x: Mat<f32>,
    truth: Labels,
    candidates: Labels,
}

fn toy(n: usize, d: usize, labels: usize) -> Toy {
    let mut r = Streams::new(11).stream("toy");
    let x = Mat::from_fn(n, d, |_, _| r.normal() as f32);
    let truth = Labels::from_fn(n, labels, |i, j| x[(i, j % d)] > 0.4);
    let candidates = Labels::from_fn(n, labels, |i, j| truth.get(i, j) || r.bernoulli(0.25));
    Toy { x, truth, candidates }
}

fn quick(preset: Preset) -> Config {
    Config { width: 16, heads: 2, epochs1: 12, epochs2: Some(2), batch: 32, ..Config::new(preset) }
}

fn run(config: &Config, t: &Toy, budget: usize) -> Result<Fitted> {
    let training = Training { x: &t.x, candidates: &t.candidates };
    let mut silent = Silent;
    let mut context = Context { streams: Streams::new(3), budget, observer: &mut silent };
    PomdpFs::new(config.clone()).fit(&training, &mut context)
}

#[test]
fn the_observation_model_removes_noise() {
    let t = toy(400, 8, 3);
    let quick = quick(Preset::Observation);
    let config = Config { rate_disc: 3e-3, rate_policy: 3e-3, dropout: 0.3, ..quick };
    let outcome = run(&config, &t, 3).unwrap();
    let pseudo = outcome.pseudo.unwrap();
    let (before, after) =
        (t.candidates.hamming_distance(&t.truth), pseudo.hamming_distance(&t.truth));
    assert!(after < 0.7 * before, "{after} after, {before} before");
    assert!(
        (outcome.trained.as_ref().unwrap().rho - 0.25).abs() < 0.08,
        "rho {}",
        outcome.trained.as_ref().unwrap().rho
    );
    assert_eq!(outcome.ranking.len(), 8);
    assert_eq!(
        (
            outcome.trained.as_ref().unwrap().history.0.len(),
            outcome.trained.as_ref().unwrap().history.1.len()
        ),
        (12, 2)
    );
}

#[test]
fn pseudo_labels_are_candidates_and_confidences_are_probabilities() {
    for preset in [Preset::Observation, Preset::Paper] {
        let t = toy(90, 5, 3);
        let outcome = run(&quick(preset), &t, 2).unwrap();
        let (pseudo, p) = (outcome.pseudo.unwrap(), outcome.confidence.unwrap());
        for i in 0..90 {
            for j in 0..3 {
                assert!(t.candidates.get(i, j) || !pseudo.get(i, j));
                assert!((0.0..=1.0).contains(&p[(i, j)]));
                assert!(t.candidates.get(i, j) || p[(i, j)] == 0.0);
            }
        }
        let mut features: Vec<usize> = outcome.ranking.iter().map(|r| r.feature).collect();
        features.sort_unstable();
        assert_eq!(features, [0, 1, 2, 3, 4]);
    }
}

/// A fit that is thrown away after every epoch and continued from its progress.
#[test]
fn an_interrupted_fit_ends_with_the_same_bytes() {
    let t = toy(70, 4, 2);
    for cross_fit in [0, 3] {
        let config = Config { epochs1: 3, cross_fit, ..quick(Preset::Observation) };
        let training = Training { x: &t.x, candidates: &t.candidates };
        let whole = run(&config, &t, 2).unwrap();
        let fresh = || Fit::new(&config, training, 2, Streams::new(3).child("pomdp-fs")).unwrap();
        let mut stored = None;
        let resumed = loop {
            let mut fit = fresh();
            if let Some(file) = stored.take() {
                let file: Vec<u8> = file;
                assert!(unpack(&file, "another", config.optimisers()).is_err());
                assert!(unpack(&file[..file.len() / 2], "toy", config.optimisers()).is_err());
                let (progress, weights) = unpack(&file, "toy", config.optimisers()).unwrap();
                fit.resume(progress, weights);
            }
            if !fit.advance().unwrap() {
                break fit.finish();
            }
            let (progress, weights) = fit.progress();
            stored = Some(pack(progress, weights, "toy"));
        };
        assert_eq!(resumed.ranking, whole.ranking, "cross_fit {cross_fit}");
        assert_eq!(resumed.confidence, whole.confidence, "cross_fit {cross_fit}");
        assert_eq!(resumed.trained, whole.trained, "cross_fit {cross_fit}");
    }
}

#[test]
fn unusual_data_are_handled() {
    let config = Config { epochs1: 2, epochs2: Some(1), ..quick(Preset::Observation) };
    let mut constant = toy(40, 3, 2);
    constant.x = Mat::from_fn(40, 3, |i, j| if j == 0 { 1.0 } else { constant.x[(i, j)] });
    let mut never = toy(40, 3, 2);
    never.candidates = Labels::from_fn(40, 2, |i, j| j == 0 && i % 2 == 0);
    let mut all = toy(40, 3, 2);
    all.candidates = Labels::from_fn(40, 2, |_, _| true);
    let mut none = toy(40, 3, 2);
    none.candidates = Labels::none(40, 2);
    for t in [
        &toy(40, 1, 2),
        &toy(40, 3, 1),
        &toy(5, 3, 2),
        &toy(1, 2, 2),
        &constant,
        &never,
        &all,
        &none,
    ] {
        for preset in [Preset::Observation, Preset::Paper] {
            let outcome = run(&Config { preset, ..config.clone() }, t, 99).unwrap();
            let p = outcome.confidence.unwrap();
            assert!(
                crate::num::all_finite(p.as_slice())
                    && outcome.trained.as_ref().unwrap().rho.is_finite()
            );
            assert!(outcome.ranking.iter().all(|r| r.score.is_finite()));
        }
    }
}

#[test]
fn impossible_requests_are_refused() {
    let t = toy(4, 3, 2);
    let message =
        |config: &Config, t: &Toy, budget| run(config, t, budget).unwrap_err().message().to_owned();
    let config = quick(Preset::Observation);
    assert!(message(&config, &t, 0).starts_with("the budget is 0"));
    let many = Config { cross_fit: 5, ..config.clone() };
    assert!(message(&many, &t, 1).starts_with("cross_fit is 5 but there are 4 rows"));
    let mut bad = toy(4, 3, 2);
    bad.x[(2, 1)] = f32::NAN;
    assert_eq!(
        message(&config, &bad, 1),
        "found NaN in row 2, column 1 (from 0), expected finite features"
    );
    bad.x = Mat::zeros(0, 3);
    bad.candidates = Labels::none(0, 2);
    assert!(message(&config, &bad, 1).starts_with("found 0 rows"));
    bad.x = Mat::zeros(2, 3);
    assert!(message(&config, &bad, 1).contains("the same number"));
}

#[test]
fn the_observer_can_stop_a_fit() {
    struct Stop;
    impl Observer for Stop {
        fn progress(&mut self, _: &str, done: usize, total: usize) -> bool {
            assert_eq!(total, 14);
            done < 3
        }
    }
    let t = toy(40, 3, 2);
    let training = Training { x: &t.x, candidates: &t.candidates };
    let mut stop = Stop;
    let mut context = Context { streams: Streams::new(3), budget: 2, observer: &mut stop };
    let method = PomdpFs::new(quick(Preset::Observation));
    let e = method.fit(&training, &mut context).unwrap_err();
    assert_eq!(e.kind(), crate::ErrorKind::Cancelled);
}
