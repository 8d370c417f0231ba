use super::judge::Judge;
use super::platt::Platt;
use super::rbf_svm::RbfSvm;
use super::svm::LinearSvm;
use super::threshold::Threshold;
use super::tune::{GRID, HasCost, Rule, Tuned};
use super::{Classifier, Model, Targets};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::measure::{Comparison, Convention, micro_f1};
use crate::rng::Streams;

/// Normal features; label j is on where feature j is large, so every label has fewer than half.
fn set(n: usize, labels: usize, cut: f64) -> (Mat<f64>, Labels) {
    let mut r = Streams::new(2).stream("tune");
    let x = Mat::from_fn(n, 12, |_, _| r.normal());
    let y = Labels::from_fn(n, labels, |i, j| x[(i, j)] > cut);
    (x, y)
}

fn rule(c: Option<f64>, judge: Judge<'_>, threshold: Threshold) -> Rule<'_> {
    Rule { c, judge, threshold, temper: 1.0, believed: None }
}

fn tuned<C>(machine: C, judge: Judge<'_>) -> Tuned<'_, C> {
    Tuned { machine, rule: rule(None, judge, Threshold::F1) }
}

fn fit<C: HasCost>(tuned: &Tuned<'_, C>, x: &Mat<f64>, y: &Labels) -> Box<dyn Model> {
    tuned.fit(x, Targets::Labels(y), &Streams::new(0)).unwrap()
}

#[test]
fn the_choice_is_on_the_grid_and_repeatable() {
    let (x, y) = set(90, 2, 0.0);
    for judge in [Judge::Ranking(&y), Judge::ThreeMetrics] {
        let run = || {
            let model = fit(&tuned(LinearSvm::default(), judge), &x, &y);
            (model.chosen_c(), model.chosen_threshold(), model.predict(&x).unwrap())
        };
        let (first, again) = (run(), run());
        assert_eq!(first, again);
        assert!(GRID.contains(&first.0.unwrap()) && first.1.unwrap().is_finite());
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(one.install(run), first, "the number of threads");
    }
    let kernel = fit(&tuned(RbfSvm::default(), Judge::ThreeMetrics), &x, &y);
    let c = kernel.chosen_c().unwrap();
    assert!(c >= 1e-2, "too stiff to follow the line: {c}");
    let (single, label) = (x.select_rows(&[0]), y.select_rows(&[0]));
    let model = fit(&tuned(LinearSvm::default(), Judge::Ranking(&label)), &single, &label);
    assert!(model.chosen_threshold().unwrap().is_finite());
}

/// The judge's labels decide, not those of the training: a machine whose training labels are the
/// opposite of the candidates is best when it is stiff.
#[test]
fn the_candidates_judge() {
    // The second label is frequent and does not depend on the features, so that a stiff machine is
    // not right about the first.
    let (x, mut y) = set(300, 2, 0.0);
    (0..300).for_each(|i| y.set(i, 1, i % 5 != 0));
    let opposite = Labels::from_fn(300, 2, |i, j| if j == 0 { !y.get(i, j) } else { y.get(i, j) });
    let choose = |judge| fit(&tuned(LinearSvm::default(), judge), &x, &y).chosen_c().unwrap();
    let (right, wrong) = (choose(Judge::Ranking(&y)), choose(Judge::Ranking(&opposite)));
    assert!(wrong < right, "{wrong} by the opposite labels, {right} by the same");
    let short = y.select_rows(&[0, 1]);
    let machine = tuned(LinearSvm::default(), Judge::Ranking(&short));
    let e = machine.fit(&x, Targets::Labels(&y), &Streams::new(0)).err().unwrap();
    assert!(e.message().contains("labels of shape 2 × 2 to judge by"), "{e}");
}

/// Rare labels that are never probable: hardly a margin is positive, but the chosen threshold finds
/// them. A C that is given is used and not reported as a choice.
#[test]
fn the_threshold_finds_rare_labels() {
    let (x, _) = set(600, 3, 0.0);
    let mut r = Streams::new(3).stream("rare");
    let y = Labels::from_fn(600, 3, |i, j| x[(i, j)] + 2.0 * r.normal() > 3.0);
    let f1 = |threshold, c| {
        let rule = rule(Some(c), Judge::Ranking(&y), threshold);
        let machine = Tuned { machine: LinearSvm::default(), rule };
        let model = fit(&machine, &x, &y);
        assert_eq!(model.chosen_c(), None);
        assert_eq!(model.chosen_threshold().is_some(), threshold == Threshold::F1);
        let found = model.predict(&x).unwrap();
        let compared = Comparison::new(&y, &found.scores, &found.labels).unwrap();
        micro_f1(&compared, Convention::ScikitLearn)
    };
    let (chosen, fixed) = (f1(Threshold::F1, 1e-2), f1(Threshold::Fixed, 1e-2));
    assert!(chosen > 0.2 && chosen > 2.0 * fixed, "{chosen} chosen, {fixed} fixed");
    // Probabilities too.
    let platt = tuned(Platt { inner: LinearSvm::default() }, Judge::Ranking(&y));
    let t = fit(&platt, &x, &y).chosen_threshold().unwrap();
    assert!((0.0..1.0).contains(&t), "{t}");
}

/// Confidences of zero: nothing is learned and nothing is predicted.
#[test]
fn no_label_at_all() {
    let (x, y) = set(30, 2, 0.0);
    let none = Mat::zeros(30, 2);
    let machine = tuned(LinearSvm::default(), Judge::Ranking(&y));
    let model = machine.fit(&x, Targets::Confidence(&none), &Streams::new(0)).unwrap();
    assert_eq!(model.predict(&x).unwrap().labels.count(), 0);
}

/// The machine learns p^½, the threshold is that of p; hard labels are left alone.
#[test]
fn tempered_confidences_train_and_raw_ones_judge() {
    let (x, y) = set(200, 2, 0.5);
    let p = Mat::from_fn(200, 2, |i, j| if y.get(i, j) { 0.81f32 } else { 0.09 });
    let root = Mat::from_fn(200, 2, |i, j| if y.get(i, j) { 0.9f32 } else { 0.3 });
    let run = |targets: Targets<'_>, temper: f64, c: Option<f64>, threshold| {
        let rule = Rule { temper, ..rule(c, Judge::Ranking(&y), threshold) };
        let tuned = Tuned { machine: LinearSvm::default(), rule };
        tuned.fit(&x, targets, &Streams::new(0)).unwrap()
    };
    let scores = |m: &dyn Model| m.predict(&x).unwrap().scores.values().clone();
    let fixed = |p: &Mat<f32>, temper| {
        scores(run(Targets::Confidence(p), temper, Some(0.01), Threshold::Fixed).as_ref())
    };
    let (found, wanted, raw) = (fixed(&p, 0.5), fixed(&root, 1.0), fixed(&p, 1.0));
    let gap = |a: &Mat<f64>, b: &Mat<f64>| {
        a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    assert!(gap(&found, &wanted) < 1e-5 && gap(&found, &raw) > 0.1);
    let cut = |p: &Mat<f32>, temper| {
        let model = run(Targets::Confidence(p), temper, Some(0.01), Threshold::F1);
        model.chosen_threshold().unwrap()
    };
    assert!((cut(&p, 0.5) - cut(&root, 1.0)).abs() > 1e-3, "the threshold is that of p");
    let hard =
        |temper| scores(run(Targets::Labels(&y), temper, Some(0.01), Threshold::Fixed).as_ref());
    assert_eq!(hard(0.5), hard(1.0));
}

/// A machine may learn one thing and have its threshold judged by another.
#[test]
fn the_threshold_is_judged_by_what_is_believed() {
    let (x, y) = set(200, 2, 0.5);
    let learned = Mat::from_fn(200, 2, |i, j| if y.get(i, j) { 0.6f32 } else { 0.1 });
    let believed = Mat::from_fn(200, 2, |_, _| 0.9f32);
    let found = |believed| -> crate::Result<_> {
        let rule = Rule { believed, ..rule(Some(0.01), Judge::Ranking(&y), Threshold::F1) };
        let tuned = Tuned { machine: LinearSvm::default(), rule };
        let model = tuned.fit(&x, Targets::Confidence(&learned), &Streams::new(0))?;
        Ok((model.predict(&x)?.scores.values().clone(), model.chosen_threshold()))
    };
    let (alone, same, other) =
        (found(None).unwrap(), found(Some(&learned)).unwrap(), found(Some(&believed)).unwrap());
    assert_eq!(alone, same);
    assert_eq!(alone.0, other.0, "the scores are of what was learned");
    assert!(other.1.unwrap() < alone.1.unwrap(), "more is believed to be on");
    assert!(found(Some(&Mat::zeros(3, 2))).is_err(), "another number of rows");
}
