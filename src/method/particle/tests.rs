use super::*;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::planted::{
    Planted, assert_survives_bad_input, assert_thread_independent, golden, mean_hits,
};
use crate::method::{Method, Observer, Silent};
use crate::rng::Streams;

fn both() -> [Box<dyn Method>; 2] {
    [Box::new(Vls::default()), Box::new(Map::default())]
}

#[test]
fn finds_planted_features() {
    for method in both() {
        assert!(mean_hits(&*method, Planted::positive) >= 8.0);
        assert!(mean_hits(&*method, Planted::signed) >= 4.0);
    }
}

#[test]
fn survives_bad_input() {
    both().iter().for_each(|method| assert_survives_bad_input(&**method));
}

#[test]
fn the_number_of_threads_does_not_matter() {
    both().iter().for_each(|method| assert_thread_independent(&**method, &Planted::positive(1)));
}

#[test]
fn settings_are_checked_and_the_grid_is_valid() {
    let vls = Vls::default();
    for change in vls.grid() {
        let changed = vls.with(&change).unwrap();
        assert_eq!(changed.name(), "pml-vls");
        assert_ne!(changed.settings(), vls.settings());
    }
    for wrong in [json!({"k": 0}), json!({"alpha": 1.5}), json!({"threshold": -0.1})] {
        assert!(vls.with(&wrong).is_err(), "{wrong}");
    }
}

/// Rows with label 1 only, label 2 only, both as candidates with one credible, and none.
#[test]
fn problems_use_certain_rows_only() {
    let candidates =
        Labels::from_vec(4, 2, vec![true, false, false, true, true, true, false, false]);
    let mut credible = candidates.clone();
    credible.set(2, 1, false);
    let x = Mat::zeros(4, 1);
    let evidence = Evidence { x: &x, credible: &credible, candidates: &candidates };
    let all = evidence.problems(true);
    assert_eq!(all.len(), 3);
    assert_eq!((&all[0].positive, &all[0].negative), (&vec![0], &vec![1]));
    assert_eq!((&all[1].positive, &all[1].negative), (&vec![0, 2], &vec![1, 3]));
    assert_eq!((&all[2].positive, &all[2].negative), (&vec![1], &vec![0, 3]));
    assert_eq!(evidence.problems(false).len(), 1);
}

/// Three labels on a line with hand-made classifiers.
fn votes(virtual_labels: bool) -> Votes {
    // Pairs (0, 1), (0, 2), (1, 2); then the three virtual ones.
    let mut weights = vec![2.0, 0.0, 0.0, 0.0, -1.0, 0.0];
    let mut accuracy = vec![0.75, 0.0, 0.5];
    if virtual_labels {
        weights.extend([1.0, 0.0, -1.0, 0.0, 0.0, 0.0]);
        accuracy.extend([1.0, 0.5, 0.0]);
    }
    let rows = accuracy.len();
    let machines = Machines { weights: Mat::from_vec(rows, 2, weights), accuracy };
    let standard = Standard::centred(&Mat::from_vec(2, 1, vec![-1.0, 1.0]));
    Votes { standard, machines, labels: 3 }
}

#[test]
fn vls_weighs_votes() {
    let x = Mat::from_vec(1, 1, vec![1.0f32]);
    // x = 1: 0 beats 1 (0.75); nobody wins (0, 2); 2 beats 1 (0.5); 0 beats its virtual label (1),
    // 1 loses against it (0.5), the third is not trained.
    let prediction = VlsRule(votes(true)).predict(&x).unwrap();
    assert_eq!(prediction.scores.values().row(0), [1.75, 0.0, 0.5]);
    assert_eq!(prediction.labels.row(0), [true, false, false]);
    // W = Σ ± acc · w.
    let w = votes(true).weights(true);
    assert_eq!(w.as_slice(), [0.75 * 2.0 + 1.0, -0.75 * 2.0 - 0.5 - 0.5, 0.5]);
    assert_eq!(votes(false).weights(false).as_slice(), [2.0, -3.0, 1.0]);
}

#[test]
fn map_counts_wins_on_training_rows() {
    let x = Mat::from_vec(4, 1, vec![1.0, 1.0, -1.0, -1.0]);
    let y = Labels::from_fn(4, 3, |i, j| j == usize::from(i >= 2));
    let rule = MapRule::new(votes(false), &Evidence { x: &x, credible: &y, candidates: &y });
    // Label 0 wins one pair where x = 1 and none where x = −1: P = ½, cond1 = (1, 3, 1)/5 and
    // cond0 = (3, 1, 1)/5.
    let want = [0.25, 0.75, 0.5];
    assert!(rule.posterior.row(0).iter().zip(want).all(|(p, w)| (p - w).abs() < 1e-12));
    // Label 1 wins both of its pairs where x = −1.
    let prediction = rule.predict(&x.cast()).unwrap();
    let on: Vec<&[bool]> = (0..4).map(|i| prediction.labels.row(i)).collect();
    assert_eq!(on[0], [true, false, false]);
    assert_eq!(on[2], [false, true, false]);
}

#[test]
fn credible_labels_are_more_precise_than_candidates() {
    // The planted false labels are not kept, so precision is measured against the features: a
    // truly relevant label has its two features on with probability 0.64, else 0.0025.
    let planted = Planted::positive(5);
    let fitted = planted.fit(&Vls::default(), 0);
    let supported = |labels: &Labels| {
        let cells = (0..400).flat_map(|i| (0..6).map(move |j| (i, j)));
        let on: Vec<(usize, usize)> = cells.filter(|&(i, j)| labels.get(i, j)).collect();
        let seen = |&&(i, j): &&(usize, usize)| {
            let both = &planted.informative[2 * j..2 * j + 2];
            both.iter().map(|&f| planted.x[(i, f)]).sum::<f32>() > 0.0
        };
        on.iter().filter(seen).count() as f64 / on.len() as f64
    };
    let credible = fitted.pseudo.unwrap();
    assert!(supported(&credible) > supported(&planted.candidates) + 0.2);
    let per_row = credible.count() as f64 / 400.0;
    assert!((1.0..1.6).contains(&per_row), "{per_row}");
    let confidence = fitted.confidence.unwrap();
    assert!(confidence.as_slice().iter().zip(credible.as_slice()).all(|(p, e)| (*p >= 0.9) == *e));
}

#[test]
fn fits_the_golden_fixture_and_stops_on_request() {
    struct Never;
    impl Observer for Never {
        fn progress(&mut self, _: &str, _: usize, _: usize) -> bool {
            false
        }
    }
    let (x, y) = golden();
    let x: Mat<f32> = x.cast();
    let training = Training { x: &x, candidates: &y };
    for method in both() {
        let fit = |observer: &mut dyn Observer| {
            method.fit(&training, &mut Context { streams: Streams::new(0), budget: 2, observer })
        };
        let fitted = fit(&mut Silent).unwrap();
        assert_eq!(fitted.notes, ["4 features were put to mean 0 and standard deviation 1"]);
        // Label 1 lives on the first feature, label 2 on the second.
        assert!(fitted.ranking[..3].iter().any(|r| r.feature == 0));
        assert_eq!(fit(&mut Never).unwrap_err().kind(), crate::ErrorKind::Cancelled);
    }
}
