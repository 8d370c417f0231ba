//! Small fits: what they promise, what they refuse, and that they can be interrupted.

use super::*;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::pomdp_fs::Preset;
use crate::method::{Observer, Silent};
use crate::rng::Streams;

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
    Config { width: 16, heads: 2, epochs1: 12, epochs2: 2, batch: 32, ..Config::new(preset) }
}

fn run(config: &Config, t: &Toy, budget: usize) -> Result<Fitted> {
    run_observed(config, t, budget, &mut Silent)
}

#[test]
fn the_observation_model_removes_noise() {
    let t = toy(400, 8, 3);
    let outcome = run(&quick(Preset::Observation), &t, 3).unwrap();
    let pseudo = outcome.pseudo.unwrap();
    let (before, after) =
        (t.candidates.hamming_distance(&t.truth), pseudo.hamming_distance(&t.truth));
    assert!(after < 0.7 * before, "{after} after, {before} before");
    let trained = outcome.trained.unwrap();
    assert!((trained.rho.unwrap() - 0.25).abs() < 0.08, "rho {:?}", trained.rho);
    assert_eq!(outcome.ranking.len(), 8);
    let verdict = outcome.verdict.unwrap();
    assert_eq!(verdict.status, crate::method::Status::Cleaned, "{verdict:?}");
    assert!(trained.history.0.len() > 1 && !trained.history.1.losses().is_empty());
}

#[test]
fn pseudo_labels_are_candidates_and_confidences_are_probabilities() {
    for preset in [Preset::Observation, Preset::Paper] {
        let t = toy(90, 5, 3);
        let outcome = run(&quick(preset), &t, 2).unwrap();
        let (pseudo, p) = (outcome.pseudo.unwrap(), outcome.confidence.unwrap());
        // The printed form has no belief before the candidates; ours is open about every cell.
        assert_eq!(outcome.prior.is_some(), preset == Preset::Observation);
        let open = |q: &Mat<f32>| q.as_slice().iter().all(|q| (0.0..1.0).contains(q) && *q > 0.0);
        assert!(outcome.prior.is_none_or(|q| open(&q)));
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

/// Five parts are the default of the belief; another number is another belief, and another cell.
#[test]
fn the_belief_is_cross_fitted_in_as_many_parts_as_asked() {
    let t = toy(60, 4, 2);
    let of = |cross_fit| {
        let config = Config { cross_fit, epochs1: 2, ..quick(Preset::Observation) };
        let revision = PomdpFs::new(config.clone()).revision();
        (run(&config, &t, 2).unwrap().confidence.unwrap(), revision)
    };
    let [unset, five, three] = [None, Some(5), Some(3)].map(of);
    assert!(unset.0 == five.0 && unset.0 != three.0);
    assert_eq!([unset.1, five.1, three.1], [1, 2, 2], "the setting was once not heard");
    let config = Config { cross_fit: Some(80), ..quick(Preset::Observation) };
    let e = run(&config, &t, 2).unwrap_err();
    assert!(e.message().starts_with("cross_fit is 80 but there are 60 rows"), "{e}");
}

/// Keeps every checkpoint in `stored` and stops after each epoch of Stage 1.
struct Interrupted<'a> {
    stored: &'a mut Option<Vec<u8>>,
    truth: &'a Labels,
    patience: usize,
}

impl Observer for Interrupted<'_> {
    fn progress(&mut self, phase: &str, _: usize, _: usize) -> bool {
        self.patience -= usize::from(phase == "Stage 1" && self.patience < usize::MAX);
        self.patience > 0
    }
    fn resume(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.stored.clone())
    }
    fn checkpoint(&mut self, state: &dyn Fn() -> Vec<u8>) -> Result<()> {
        *self.stored = Some(state());
        Ok(())
    }
    fn epsilon(&mut self, pseudo: &Labels) -> Option<f64> {
        Some(pseudo.hamming_distance(self.truth))
    }
}

fn run_observed(config: &Config, t: &Toy, budget: usize, o: &mut dyn Observer) -> Result<Fitted> {
    let training = Training { x: &t.x, candidates: &t.candidates };
    let mut context = Context { streams: Streams::new(3), budget, observer: o };
    PomdpFs::new(config.clone()).fit(&training, &mut context)
}

/// A fit that is thrown away after every epoch and continued from its checkpoint.
#[test]
fn an_interrupted_fit_ends_with_the_same_bytes() {
    let t = toy(70, 4, 2);
    for (preset, cross_fit) in
        [Preset::Observation, Preset::Paper].into_iter().flat_map(|p| [(p, None), (p, Some(3))])
    {
        let config = Config { epochs1: 3, cross_fit, ..quick(preset) };
        let (mut stored, truth) = (None, &t.truth);
        let mut patient = Interrupted { stored: &mut None, truth, patience: usize::MAX };
        let whole = run_observed(&config, &t, 2, &mut patient).unwrap();
        let mut attempts = 0;
        let resumed = loop {
            let mut hasty = Interrupted { stored: &mut stored, truth, patience: 2 };
            attempts += 1;
            match run_observed(&config, &t, 2, &mut hasty) {
                Ok(fitted) => break fitted,
                Err(e) => assert_eq!(e.kind(), crate::ErrorKind::Cancelled),
            }
        };
        // Preset `paper` trains a model for each part, one after the other.
        let models = cross_fit.filter(|_| preset == Preset::Paper).unwrap_or(0);
        assert!(attempts > 3 * models + 2, "one epoch each: {attempts}");
        assert_eq!(resumed.ranking, whole.ranking, "{cross_fit:?}");
        assert_eq!(resumed.confidence, whole.confidence, "{cross_fit:?}");
        assert_eq!(resumed.prior, whole.prior, "{cross_fit:?}");
        let (resumed, whole) = (resumed.trained.unwrap(), whole.trained.unwrap());
        assert_eq!(resumed, whole, "{cross_fit:?}");
        for epoch in &whole.history.0 {
            assert!(epoch.epsilon.is_some());
            assert_eq!(epoch.rho.is_some(), preset == Preset::Observation);
        }
    }
}

/// Data, candidates, budget, settings and seed: a stored progress continues only its own fit, and
/// only if every bit of it is right.
#[test]
fn foreign_or_damaged_progress_is_refused() {
    let t = toy(40, 3, 2);
    let config = Config { epochs1: 2, ..quick(Preset::Observation) };
    let mut stored = None;
    let mut hasty = Interrupted { stored: &mut stored, truth: &t.truth, patience: 2 };
    run_observed(&config, &t, 2, &mut hasty).unwrap_err();
    let stored = stored.unwrap();
    let message =
        |config: &Config, t: &Toy, budget: usize, seed: u64, mut bytes: Option<Vec<u8>>| {
            let training = Training { x: &t.x, candidates: &t.candidates };
            let mut o = Interrupted { stored: &mut bytes, truth: &t.truth, patience: 9 };
            let mut context = Context { streams: Streams::new(seed), budget, observer: &mut o };
            let result = PomdpFs::new(config.clone()).fit(&training, &mut context);
            result.err().map(|e| e.message().to_owned())
        };
    let mut x = toy(40, 3, 2);
    x.x[(39, 2)] += 1.0;
    let mut candidates = toy(40, 3, 2);
    candidates.candidates.set(0, 0, !candidates.candidates.get(0, 0));
    let other = Config { temperature: 0.5, ..config.clone() };
    assert_eq!(message(&config, &t, 2, 3, Some(stored.clone())), None);
    for (config, t, budget, seed) in [
        (&config, &x, 2, 3),
        (&config, &candidates, 2, 3),
        (&other, &t, 2, 3),
        (&config, &t, 3, 3),
        (&config, &t, 2, 4),
    ] {
        let found = message(config, t, budget, seed, Some(stored.clone())).unwrap();
        assert_eq!(found, "the stored progress belongs to other data or other settings");
    }
    for at in (0..stored.len()).step_by(stored.len() / 97) {
        let mut flipped = stored.clone();
        flipped[at] ^= 1 << (at % 8);
        let found = message(&config, &t, 2, 3, Some(flipped)).unwrap();
        assert!(found.starts_with("the stored progress is damaged"), "byte {at}: {found}");
    }
    for length in [0, 5, stored.len() / 2, stored.len() - 1] {
        let found = message(&config, &t, 2, 3, Some(stored[..length].to_vec())).unwrap();
        assert!(found.starts_with("the stored progress is damaged"), "{length} bytes: {found}");
    }
}

#[test]
fn unusual_data_are_handled() {
    let config = Config { epochs1: 2, epochs2: 1, ..quick(Preset::Observation) };
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
            assert!(crate::num::all_finite(p.as_slice()));
            assert!(outcome.trained.unwrap().rho.is_none_or(f64::is_finite));
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
    let many = Config { cross_fit: Some(5), ..quick(Preset::Paper) };
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
            assert!(done <= total);
            done < 1
        }
    }
    for preset in [Preset::Observation, Preset::Paper] {
        let e = run_observed(&quick(preset), &toy(40, 3, 2), 2, &mut Stop).unwrap_err();
        assert_eq!(e.kind(), crate::ErrorKind::Cancelled);
    }
}
