//! Against scikit-learn's SVC, against itself with copies, and on degenerate data.

use super::super::fixture;
use super::*;
use crate::data::Labels;

const TEXT: &str = include_str!("../../../tests/golden/evaluation/rbf_svm.csv");

fn fixture(kind: &str) -> Mat<f64> {
    fixture::block(TEXT, kind)
}

fn tight() -> RbfSvm {
    RbfSvm { gamma: Some(0.3), tolerance: 1e-7, ..RbfSvm::default() }
}

#[test]
fn decision_values_of_scikit_learn() {
    let (x, new) = (fixture("x"), fixture("new"));
    let y = fixture::labels(TEXT, "y");
    for (c, kind) in [(1.0, "c=1"), (100.0, "c=100")] {
        let svm = RbfSvm { c, ..tight() };
        let model = svm.fit(&x, Targets::Labels(&y), &Streams::new(0)).unwrap();
        let found = model.predict(&new).unwrap();
        let want = fixture(kind);
        for (got, want) in found.scores.values().as_slice().iter().zip(want.as_slice()) {
            assert!(
                (got - want).abs() < 1e-4 * want.abs().max(1.0),
                "{kind}: {got}, expected {want}"
            );
        }
    }
    assert!((scale(&x) - fixture("gamma")[(0, 0)]).abs() < 1e-9);
}

/// A kernel computed row by row gives the machine of the kept one.
#[test]
fn rows_on_demand_are_the_kept_rows() {
    let x = fixture("x");
    let (kept, demand) = (Kernel::new(&x, 0.3), Kernel::OnDemand(x.clone(), 0.3));
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for i in 0..x.rows() {
        for (p, q) in kept.row(i, &mut a).iter().zip(demand.row(i, &mut b)) {
            assert!((p - q).abs() < 1e-6);
        }
    }
}

#[test]
fn confidences_are_weighted_copies_and_constant_labels_are_constant() {
    let x = fixture("x").select_rows(&(0..20).collect::<Vec<_>>());
    let soft = Mat::from_fn(20, 2, |i, j| if j == 1 { 0.0 } else { 0.3 + 0.4 * (i % 2) as f32 });
    let model = tight().fit(&x, Targets::Confidence(&soft), &Streams::new(0)).unwrap();
    let found = model.predict(&x).unwrap();
    // The same problem with every instance written twice.
    let twice: Vec<usize> = (0..20).chain(0..20).collect();
    let both = Labels::from_fn(40, 1, |i, _| i < 20);
    let weights: Vec<f64> = (0..40)
        .map(|i| {
            let p = f64::from(soft[(i % 20, 0)]);
            if i < 20 { p } else { 1.0 - p }
        })
        .collect();
    let doubled = x.select_rows(&twice);
    let costs = Costs::new(Targets::Labels(&both), 1.0).weigh_instances(&weights);
    let machine = tight().solve(&Kernel::new(&doubled, 0.3), &costs, 0);
    let kernel = between(&x, &doubled, 0.3);
    for i in 0..20 {
        let want = machine.bias + crate::num::dot(kernel.row(i), &machine.coefficients);
        assert!((found.scores.values()[(i, 0)] - want).abs() < 1e-5);
        assert_eq!(found.scores.values()[(i, 1)], -1.0);
    }
    let one =
        tight().fit(&x.select_rows(&[0]), Targets::Labels(&Labels::none(1, 1)), &Streams::new(0));
    assert_eq!(one.unwrap().predict(&x).unwrap().labels.count(), 0);
    let bad = RbfSvm { c: -1.0, ..tight() };
    assert!(bad.fit(&x, Targets::Confidence(&soft), &Streams::new(0)).is_err());
    assert!(model.predict(&Mat::zeros(1, 9)).is_err());
}
