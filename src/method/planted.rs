//! Data on which tests know what a method must find: the small fixture of golden numbers, planted
//! features, real sets with noise, and input that is bad in some way.

use super::{Context, Fitted, Method, Ranked, Silent, Training};
use crate::data::catalog::{Cut, Folders, find};
use crate::data::noise::{Scheme, inject};
use crate::data::{Labels, Scaler, Scaling};
use crate::linalg::Mat;
use crate::rng::Streams;

/// Candidate labels, z-scored features, and the features that matter.
pub(super) struct Planted {
    pub x: Mat<f32>,
    pub candidates: Labels,
    /// Features that made the labels; empty where they are not known.
    pub informative: Vec<usize>,
}

/// What the 5 × 4 golden fixture is made of: X and Y, to be used as they are.
pub(super) fn golden() -> (Mat<f64>, Labels) {
    #[rustfmt::skip]
    let x = vec![
        1.0, 0.0, 0.5, 0.2,
        0.9, 0.1, 0.4, 0.3,
        0.1, 1.0, 0.6, 0.8,
        0.0, 0.8, 0.5, 0.9,
        0.5, 0.5, 0.0, 0.1,
    ];
    let y = [[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0], [1, 1, 0]];
    (Mat::from_vec(5, 4, x), Labels::from_fn(5, 3, |i, j| y[i][j] == 1))
}

/// A positive start matrix without chance: 0.1 + ((a i + b j) mod 11) / 11.
pub(super) fn start(rows: usize, cols: usize, a: usize, b: usize) -> Mat<f64> {
    Mat::from_fn(rows, cols, |i, j| 0.1 + ((a * i + b * j) % 11) as f64 / 11.0)
}

/// Asserts that all numbers agree to a relative 1e-5 (printed zeros: absolute 1e-6).
#[track_caller]
pub(super) fn assert_close(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{got:?}");
    for (k, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= 1e-5 * w.abs() + 1e-6, "number {k}: {g}, expected {w}; {got:?}");
    }
}

impl Planted {
    /// Positive sparse data (P1): n = 400, d = 48, L = 6. Two features per label are on with
    /// probability 0.8 where the label is, else 0.05; the other 36 with 0.2. Two false labels per row.
    /// The features that matter come last: a tie counts against them.
    pub fn positive(seed: u64) -> Self {
        let (n, d, labels) = (400, 48, 6);
        let mut r = Streams::new(seed).stream("planted/positive");
        let mut truth = Labels::from_fn(n, labels, |_, _| r.bernoulli(0.3));
        (0..n).for_each(|i| truth.set(i, r.below(labels), true));
        let first = d - 2 * labels;
        let x = Mat::from_fn(n, d, |i, f| {
            let on = match f.checked_sub(first) {
                None => 0.2,
                Some(k) if truth.get(i, k / 2) => 0.8,
                Some(_) => 0.05,
            };
            f64::from(u8::from(r.bernoulli(on)))
        });
        let candidates = with_false_labels(&truth, 2, &Streams::new(seed));
        Planted { x: scaled(&x), candidates, informative: (first..d).collect() }
    }

    /// Dense signed data (P2): n = 400, d = 30, L = 6, standard normal features. The last 8 have
    /// normal weights in each label's score; a label is on where its score exceeds half of its
    /// standard deviation, and the label with the largest score is always on. Two false labels per row.
    pub fn signed(seed: u64) -> Self {
        let (n, d, labels, count) = (400, 30, 6, 8);
        let mut r = Streams::new(seed).stream("planted/signed");
        let x = Mat::from_fn(n, d, |_, _| r.normal());
        let w = Mat::from_fn(labels, count, |_, _| r.normal());
        let score = |i: usize, j: usize| -> f64 {
            let norm = w.row(j).iter().map(|v| v * v).sum::<f64>().sqrt();
            let used = &x.row(i)[d - count..];
            w.row(j).iter().zip(used).map(|(a, b)| a * b).sum::<f64>() / norm
        };
        let truth = Labels::from_fn(n, labels, |i, j| {
            let top = (0..labels).all(|other| score(i, other) <= score(i, j));
            top || score(i, j) > 0.5
        });
        let candidates = with_false_labels(&truth, 2, &Streams::new(seed));
        Planted { x: scaled(&x), candidates, informative: (d - count..d).collect() }
    }

    /// A bundled set with the noise of the paper, all rows.
    pub fn real(name: &str) -> Self {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
        let set = find(name).unwrap().load(Cut::Paper, &Folders::only(&[], &[folder])).unwrap();
        let truth = set.truth.expect("a bundled set has its truth");
        let noisy = inject(&truth, Scheme::Uniform, 0.2, &Streams::new(0)).unwrap();
        Planted { x: scaled(&set.x), candidates: noisy.candidates, informative: Vec::new() }
    }

    /// Only the first `rows` instances.
    pub fn first(mut self, rows: usize) -> Self {
        let kept: Vec<usize> = (0..rows.min(self.x.rows())).collect();
        self.x = self.x.select_rows(&kept);
        self.candidates = self.candidates.select_rows(&kept);
        self
    }

    pub fn training(&self) -> Training<'_> {
        Training { x: &self.x, candidates: &self.candidates }
    }

    /// The method's result with this seed.
    pub fn fit(&self, method: &dyn Method, seed: u64) -> Fitted {
        let streams = Streams::new(seed);
        let budget = self.informative.len().max(1);
        let mut context = Context { streams, budget, observer: &mut Silent };
        method.fit(&self.training(), &mut context).unwrap()
    }

    /// How many of the informative features are among the first of the ranking.
    pub fn hits(&self, ranking: &[Ranked]) -> usize {
        let first = ranking.iter().take(self.informative.len());
        first.filter(|r| self.informative.contains(&r.feature)).count()
    }
}

/// Mean hits over six seeds: of 12 features in P1, of 8 in P2. Shown by `--nocapture`.
pub(super) fn mean_hits(method: &dyn Method, make: fn(u64) -> Planted) -> f64 {
    let hits = |seed| {
        let planted = make(seed);
        planted.hits(&planted.fit(method, seed).ranking) as f64
    };
    let mean = (0..6).map(hits).sum::<f64>() / 6.0;
    println!("{}: {mean:.1} hits of {}", method.name(), make(0).informative.len());
    mean
}

/// Asserts that one thread and two threads make the same bits.
pub(super) fn assert_thread_independent(method: &dyn Method, planted: &Planted) {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fitted = pool.install(|| planted.fit(method, 3));
        (fitted.ranking, fitted.objective, fitted.confidence)
    };
    let (one, two) = (run(1), run(2));
    assert!(one == two, "{} depends on the number of threads", method.name());
}

/// Asserts that each kind of bad input is survived: every feature is ranked once, with a finite
/// score, constant ones not among the first; own labels are candidates, own predictions finite.
pub(super) fn assert_survives_bad_input(method: &dyn Method) {
    for (what, planted) in bad_inputs() {
        let fitted = planted.fit(method, 1);
        let (n, d) = (planted.x.rows(), planted.x.cols());
        let mut seen: Vec<usize> = fitted.ranking.iter().map(|r| r.feature).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..d).collect::<Vec<_>>(), "{what}");
        assert!(fitted.ranking.iter().all(|r| r.score.is_finite() && r.score >= 0.0), "{what}");
        assert!(fitted.objective.iter().all(|f| f.is_finite()), "{what}");
        if what == "constant features" {
            let first = &fitted.ranking[..12];
            assert!(first.iter().all(|r| r.feature != 5 && r.feature != 40), "{what}: {first:?}");
        }
        if let Some(p) = &fitted.confidence {
            assert_eq!((p.rows(), p.cols()), (n, planted.candidates.cols()), "{what}");
            assert!(p.as_slice().iter().all(|p| (0.0..=1.0).contains(p)), "{what}");
        }
        if let Some(pseudo) = &fitted.pseudo {
            let mut cells = pseudo.as_slice().iter().zip(planted.candidates.as_slice());
            assert!(cells.all(|(y, c)| *c || !y), "{what}: a label that was no candidate");
        }
        if let Some(predictor) = &fitted.predictor {
            let prediction = predictor.predict(&planted.x).unwrap();
            assert_eq!(prediction.labels.rows(), n, "{what}");
            assert_eq!(prediction.scores.nan(), 0, "{what}");
            assert!(predictor.predict(&Mat::zeros(2, d + 1)).is_err(), "{what}: one column more");
        }
    }
}

/// Small sets, each bad in its own way.
fn bad_inputs() -> Vec<(&'static str, Planted)> {
    let base = || Planted::positive(9).first(60);
    let mut empty_rows = base();
    let mut unseen_label = base();
    let mut no_label = base();
    let mut constant = base();
    for i in 0..60 {
        unseen_label.candidates.set(i, 2, false);
        (0..6).for_each(|j| no_label.candidates.set(i, j, false));
        constant.x[(i, 5)] = 7.0;
        constant.x[(i, 40)] = 0.0;
        if i % 4 == 0 {
            (0..6).for_each(|j| empty_rows.candidates.set(i, j, false));
        }
    }
    let mut everywhere = base();
    everywhere.candidates = Labels::from_fn(60, 6, |_, _| true);
    let mut all_constant = base();
    all_constant.x.fill(0.0);
    let mut negative = base();
    negative.x.as_mut_slice().iter_mut().for_each(|v| *v = -*v - 3.0);
    let mut two_labels = base();
    two_labels.candidates = two_labels.candidates.select_cols(&[0, 1]);
    let mut one_label = base();
    one_label.candidates = one_label.candidates.select_cols(&[0]);
    let mut few_features = base();
    few_features.x = few_features.x.select_cols(&[0, 36, 40]);
    let mut one_feature = base();
    one_feature.x = one_feature.x.select_cols(&[36]);
    let mut equal_rows = base();
    equal_rows.x = equal_rows.x.select_rows(&[0; 60]);
    vec![
        ("rows without candidates", empty_rows),
        ("a label never seen", unseen_label),
        ("no candidate at all", no_label),
        ("every label a candidate everywhere", everywhere),
        ("constant features", constant),
        ("nothing but constant features", all_constant),
        ("negative features", negative),
        ("two labels", two_labels),
        ("one label", one_label),
        ("fewer features than labels", few_features),
        ("one feature", one_feature),
        ("equal rows", equal_rows),
        ("two rows", base().first(2)),
        ("one row", base().first(1)),
    ]
}

fn scaled(x: &Mat<f64>) -> Mat<f32> {
    let rows: Vec<usize> = (0..x.rows()).collect();
    Scaler::fit(x, &rows, Scaling::ZScore).apply(x, &rows)
}

/// Adds `count` irrelevant labels to each row, or all it has.
fn with_false_labels(truth: &Labels, count: usize, streams: &Streams) -> Labels {
    let mut r = streams.stream("planted/false");
    let mut candidates = truth.clone();
    for i in 0..truth.rows() {
        let mut off: Vec<usize> = (0..truth.cols()).filter(|&j| !truth.get(i, j)).collect();
        r.shuffle(&mut off);
        off.iter().take(count).for_each(|&j| candidates.set(i, j, true));
    }
    candidates
}

/// The planted features can be found, and a ranking that knows nothing does not find them.
#[test]
fn planted_features_stand_out() {
    let correlation = |p: &Planted| -> Vec<Ranked> {
        let score = |f: usize| -> f64 {
            let with_label = |j: usize| -> f64 {
                let column = (0..p.x.rows()).map(|i| (p.x[(i, f)], p.candidates.get(i, j)));
                column.map(|(v, on)| if on { f64::from(v) } else { -f64::from(v) }).sum()
            };
            (0..p.candidates.cols()).map(|j| with_label(j).abs()).fold(0.0, f64::max)
        };
        super::rank(&(0..p.x.cols()).map(score).collect::<Vec<_>>())
    };
    let positive = Planted::positive(0);
    assert!(positive.hits(&correlation(&positive)) >= 11);
    let signed = Planted::signed(0);
    assert!(signed.hits(&correlation(&signed)) >= 6);
    // A ranking of nothing but ties finds none.
    assert_eq!(positive.hits(&super::rank(&[0.0; 48])), 0);
    assert_eq!(signed.hits(&super::rank(&[0.0; 30])), 0);
    let random = super::by_name("random").unwrap();
    assert!(mean_hits(&*random, Planted::positive) < 6.0);
    assert!(mean_hits(&*random, Planted::signed) < 4.5);
}
