use super::*;
use crate::method::pomdp_fs::Config;
use crate::method::{Observer, Silent};
use crate::rng::Streams;

fn data() -> (Mat<f32>, Labels, Labels) {
    let mut r = Streams::new(4).stream("consensus");
    let x = Mat::from_fn(200, 6, |_, _| r.normal() as f32);
    let truth = Labels::from_fn(200, 3, |i, j| x[(i, j)] > 0.4);
    let candidates = Labels::from_fn(200, 3, |i, j| truth.get(i, j) || r.bernoulli(0.25));
    (x, truth, candidates)
}

fn small() -> PomdpFs {
    PomdpFs::new(Config { width: 16, heads: 2, epochs1: 4, ..Config::default() })
}

fn fit(method: &dyn Method, observer: &mut dyn Observer) -> Result<Fitted> {
    let (x, _, candidates) = data();
    let training = Training { x: &x, candidates: &candidates };
    method.fit(&training, &mut Context { streams: Streams::new(1), budget: 2, observer })
}

#[test]
fn the_consensus_is_made_of_fits_that_differ_in_their_seeds_alone() {
    let (_, _, candidates) = data();
    let several = fit(&Consensus::new(small(), 3).unwrap(), &mut Silent).unwrap();
    let single = fit(&small(), &mut Silent).unwrap();
    let s = several.stability.as_ref().unwrap();
    assert_eq!((s.seeds, s.fits.len()), (3, 3));
    assert_eq!(s.fits[0].kept, single.pseudo.unwrap().count(), "the first fit is the single one");
    assert!(s.fits.windows(2).any(|w| w[0] != w[1]), "the fits differ");
    for share in [s.label_agreement, s.candidate_agreement, s.unanimous, s.selected_agreement] {
        assert!((0.8..=1.0).contains(&share), "{s:?}");
    }
    assert!(s.unanimous <= s.candidate_agreement && s.candidate_agreement <= s.label_agreement);
    let (p, pseudo) = (several.confidence.unwrap(), several.pseudo.unwrap());
    assert_eq!(pseudo, pseudo_labels(&p, &candidates, false));
    assert_ne!(p, single.confidence.unwrap(), "a mean of several");
    let (q, one) = (several.prior.unwrap(), single.prior.unwrap());
    assert!(q != one && (q.rows(), q.cols()) == (p.rows(), p.cols()), "a mean of the priors, too");
    assert_eq!(several.verdict.unwrap().status, Status::Cleaned);
    let mut features: Vec<usize> = several.ranking.iter().map(|r| r.feature).collect();
    features.sort_unstable();
    assert_eq!(features, [0, 1, 2, 3, 4, 5]);
    assert!(several.ranking.windows(2).all(|w| w[0].score >= w[1].score));
}

/// Stops at a moment, and keeps the state that was stored last.
struct Stopping {
    left: usize,
    stored: Option<Vec<u8>>,
}

impl Observer for Stopping {
    fn progress(&mut self, phase: &str, _: usize, _: usize) -> bool {
        assert!(phase.contains(" of 2"), "{phase}");
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }

    fn resume(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.stored.clone())
    }

    fn checkpoint(&mut self, state: &dyn Fn() -> Vec<u8>) -> Result<()> {
        self.stored = Some(state());
        Ok(())
    }
}

#[test]
fn an_interrupted_consensus_goes_on_to_the_same_result() {
    let method = Consensus::new(small(), 2).unwrap();
    let whole = fit(&method, &mut Silent).unwrap();
    let mut observer = Stopping { left: usize::MAX, stored: None };
    fit(&method, &mut observer).unwrap();
    let steps = usize::MAX - observer.left;
    for stop in [2, 4, steps - 2] {
        let mut observer = Stopping { left: stop, stored: None };
        assert!(fit(&method, &mut observer).is_err(), "stopped after {stop} of {steps}");
        observer.left = usize::MAX;
        let resumed = fit(&method, &mut observer).unwrap();
        assert_eq!(resumed.confidence, whole.confidence, "{stop}");
        assert_eq!(resumed.prior, whole.prior, "{stop}");
        assert_eq!(resumed.ranking, whole.ranking);
        assert_eq!(resumed.stability, whole.stability);
    }
}

#[test]
fn settings_know_the_number_of_fits() {
    let method = Consensus::new(small(), 3).unwrap();
    assert_eq!(method.settings()["seeds"], 3);
    let other = method.with(&json!({"seeds": 2, "width": 8, "heads": 2})).unwrap();
    assert_eq!((&other.settings()["seeds"], &other.settings()["width"]), (&json!(2), &json!(8)));
    assert!(method.with(&json!({"seeds": 1})).is_err());
    assert!(method.with(&json!({"seeds": "x"})).is_err());
    assert!(Consensus::new(small(), 1).is_err());
}

/// A fit that hands out the candidates had no belief before them: then the consensus has none to blend with.
#[test]
fn one_fit_without_a_prior_leaves_the_consensus_without() {
    let method = Consensus::new(small(), 2).unwrap();
    let candidates = Labels::from_fn(3, 2, |i, j| i != j);
    let fit = |prior| Fitted {
        ranking: rank(&[1.0, 0.0]),
        pseudo: Some(candidates.clone()),
        confidence: Some(candidates.to_mat()),
        prior,
        ..Fitted::default()
    };
    let half = || Some(Mat::from_fn(3, 2, |_, _| 0.5f32));
    let agree = |fits: [Fitted; 2]| {
        let stability = Stability::of(&fits, &candidates, 1, |_| None);
        method.agree(fits.into(), &candidates, stability).prior
    };
    assert_eq!(agree([fit(half()), fit(half())]), half());
    assert_eq!(agree([fit(half()), fit(None)]), None);
}

#[test]
fn fits_that_disagree_are_not_called_clean() {
    let with = |status| Fitted {
        verdict: Some(Verdict { status, text: String::new(), warnings: vec!["w".to_owned()] }),
        ..Fitted::default()
    };
    let y = Labels::from_fn(2, 2, |_, _| true);
    let stability = |agreement| Stability {
        seeds: 2,
        label_agreement: agreement,
        candidate_agreement: agreement,
        unanimous: agreement,
        ranking_correlation: 1.0,
        selected_agreement: 1.0,
        fits: Vec::new(),
    };
    let judge =
        |a, b, agreement| verdict(&[with(a), with(b)], &y, &y, &stability(agreement)).unwrap();
    let agreed = judge(Status::Cleaned, Status::Cleaned, 0.99);
    assert_eq!((agreed.status, agreed.warnings.len()), (Status::Cleaned, 1));
    assert_eq!(judge(Status::Cleaned, Status::Unchanged, 0.99).status, Status::Uncertain);
    let shaky = judge(Status::Cleaned, Status::Cleaned, 0.6);
    assert_eq!(shaky.status, Status::Uncertain);
    assert!(shaky.warnings[0].contains("60.0 %"), "{shaky:?}");
    assert_eq!(judge(Status::Collapsed, Status::Collapsed, 1.0).status, Status::Collapsed);
}
