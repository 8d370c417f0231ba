use super::*;
use crate::method::Method;
use crate::method::planted::{
    Planted, assert_survives_bad_input, assert_thread_independent, mean_hits,
};
use crate::rng::Streams;

#[test]
fn finds_planted_features() {
    assert!(mean_hits(&Pamb::default(), Planted::positive) >= 8.0);
    assert!(mean_hits(&Pamb::default(), Planted::signed) >= 6.0);
}

#[test]
fn survives_bad_input() {
    assert_survives_bad_input(&Pamb::default());
}

#[test]
fn the_number_of_threads_does_not_matter() {
    assert_thread_independent(&Pamb::default(), &Planted::positive(1));
}

#[test]
fn settings_are_checked_and_the_grid_is_valid() {
    let pamb = Pamb::default();
    for change in pamb.grid() {
        assert_ne!(pamb.with(&change).unwrap().settings(), pamb.settings());
    }
    assert!(pamb.with(&json!({"c": 0.0})).is_err());
    assert!(pamb.with(&json!({"rule": "all"})).is_err());
    assert_eq!(pamb.with(&json!({"rule": "subset"})).unwrap().settings()["rule"], "subset");
}

/// A decoder with hand-made weights: two rows, two labels and a third that was never seen.
fn decoder(columns: Vec<Vec<i8>>, weights: Vec<f64>) -> (Decoder, Mat<f64>) {
    let x = Mat::from_vec(2, 1, vec![-1.0, 1.0]);
    let candidates = Labels::from_vec(2, 3, vec![true, false, false, false, true, false]);
    let accuracy = vec![1.0; columns.len()];
    let machines = Machines { weights: Mat::from_vec(columns.len(), 2, weights), accuracy };
    let standard = Standard::centred(&x.cast());
    (Decoder::new(standard, columns, machines, &x, &candidates), x)
}

#[test]
fn decodes_by_weighted_losses() {
    let (one, x) = decoder(vec![vec![1, -1, 0], vec![-1, 1, 0]], vec![-1.0, 0.0, 2.0, 0.0]);
    // Both columns are right on both rows: P̂ = ½ each.
    assert_eq!(one.performance.row(0), [0.5, 0.5]);
    assert_eq!(one.performance.row(2), [0.0, 0.0]);
    let f = one.scores(&x);
    let want = -0.5 * (Real::exp(-1.0f64) + Real::exp(-2.0f64));
    assert!((f[(0, 0)] - want).abs() < 1e-15);
    assert_eq!(f[(0, 2)], -Real::exp(30.0f64));
    let prediction = one.predict(&x.cast()).unwrap();
    assert_eq!(prediction.labels.as_slice(), [true, false, false, false, true, false]);
    // The order of the columns, or a column negated with its classifier, changes nothing.
    let (swapped, _) = decoder(vec![vec![-1, 1, 0], vec![1, -1, 0]], vec![2.0, 0.0, -1.0, 0.0]);
    let (negated, _) = decoder(vec![vec![1, -1, 0], vec![1, -1, 0]], vec![-1.0, 0.0, -2.0, 0.0]);
    assert_eq!(f, swapped.scores(&x));
    assert_eq!(f, negated.scores(&x));
    let (wrong, _) = decoder(vec![vec![1, -1, 0], vec![-1, 1, 0]], vec![-1.0, 0.0, -2.0, 0.0]);
    assert_ne!(f, wrong.scores(&x));
}

#[test]
fn own_predictions_know_the_planted_labels() {
    let planted = Planted::positive(2);
    let fitted = planted.fit(&Pamb::default(), 0);
    let prediction = fitted.predictor.unwrap().predict(&planted.x).unwrap();
    let agreement = 1.0 - prediction.labels.hamming_distance(&planted.candidates);
    assert!(agreement > 0.65, "{agreement}");
    assert_eq!(prediction.labels.count(), planted.candidates.count());
}

#[test]
fn the_seed_draws_the_code() {
    let planted = Planted::positive(2);
    let pamb = Pamb::default().with(&json!({"code_factor": 5.0})).unwrap();
    let scores = |seed| planted.fit(&*pamb, seed).ranking;
    assert_eq!(scores(1), scores(1));
    assert_ne!(scores(1), scores(2));
    let streams = Streams::new(1).child("pamb");
    let code = Code::draw(&planted.candidates, 13, Rule::Meets, &mut streams.stream("code"));
    assert_eq!(code.columns.len(), 13);
}
