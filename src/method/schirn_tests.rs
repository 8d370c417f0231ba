use super::*;
use crate::method::planted::{
    Planted, assert_close, assert_survives_bad_input, assert_thread_independent, golden, mean_hits,
};
use crate::method::{Method, Observer, Silent};
use crate::rng::Streams;

fn run(x: &Mat<f64>, candidates: &Labels, schirn: &Schirn) -> (Mat<f64>, Solved) {
    let design = RidgeForm::new(with_bias(x));
    let mut context = Context { streams: Streams::new(0), budget: 1, observer: &mut Silent };
    let solved = solve(&design, candidates, schirn, &mut context).unwrap();
    (design.weights(&solved.coefficients), solved)
}

/// A hundred rounds as stated above, with NumPy 2's SVD and a plain inverse, on the fixture with a
/// column of ones: W (bias last), N, the open constraint and the objective.
#[test]
fn golden_numbers() {
    let (x, y) = golden();
    let diagonal = Schirn { alpha: 0.0, beta: 0.5, lambda: 0.05, rounds: 100, off_diagonal: false };
    let (w, solved) = run(&x, &y, &diagonal);
    #[rustfmt::skip]
    assert_close(w.as_slice(), &[
        0.61464603, -0.23389112, -0.0004002,
        -0.11897181, 0.60361403, -0.00128344,
        -0.1258303, -0.15924676, -0.00155741,
        -0.25776798, 0.13794899, 0.0003692,
        0.48565005, 0.40313971, 0.0001604,
    ]);
    let noise: Vec<usize> =
        (0..15).filter(|&k| y.as_slice()[k] && !solved.kept.as_slice()[k]).collect();
    assert_eq!(noise, [2, 8]);
    assert_close(&[solved.open, solved.objective[99]], &[0.033777083, 0.728606339]);

    // The slip of the public code: every entry of S grows.
    let (w, solved) = run(&x, &y, &Schirn { off_diagonal: true, ..diagonal });
    assert_close(&w.as_slice()[..3], &[0.6345324, -0.22474712, 0.02910076]);
    assert_close(&[solved.open, solved.objective[99]], &[0.067487644, 0.739193847]);
}

#[test]
fn singular_values_grow_by_the_shift() {
    let t = Mat::from_vec(3, 2, vec![3.0, 0.0, 0.0, 4.0, 0.0, 0.0]);
    assert_close(raise_rank(&t, 0.5, false).as_slice(), &[3.5, 0.0, 0.0, 4.5, 0.0, 0.0]);
    assert_close(raise_rank(&t, 0.5, true).as_slice(), &[3.5, 0.5, 0.5, 4.5, 0.0, 0.0]);
    assert!((nuclear_norm(&t) - 7.0).abs() < 1e-12);
    // A singular value of 0 has no direction.
    let one = Mat::from_vec(2, 2, vec![2.0, 0.0, 0.0, 0.0]);
    assert_close(raise_rank(&one, 1.0, false).as_slice(), &[3.0, 0.0, 0.0, 0.0]);
    assert_eq!(raise_rank(&Mat::zeros(2, 2), 1.0, false), Mat::zeros(2, 2));
}

/// No theory says that an augmented Lagrangian descends; here it must end below its start, and the
/// constraint must have closed.
#[test]
fn the_constraint_closes_and_the_objective_falls() {
    for name in ["yeast", "emotions", "bibtex"] {
        let mut planted = Planted::real(name);
        if name == "bibtex" {
            planted = planted.first(400);
        }
        let standard = Standard::centred(&planted.x);
        let x = standard.apply(&planted.x).unwrap();
        let (_, solved) = run(&x, &planted.candidates, &Schirn::default());
        assert!(solved.open < WORTH_A_NOTE, "{name}: open by {}", solved.open);
        let (first, last) = (solved.objective[0], solved.objective[99]);
        assert!(last < first, "{name}: from {first} to {last}");
        let (_, early) = run(&x, &planted.candidates, &Schirn { rounds: 30, ..Schirn::default() });
        assert!(early.open > solved.open, "{name}");
    }
}

#[test]
fn finds_planted_features() {
    assert!(mean_hits(&Schirn::default(), Planted::positive) >= 8.0);
    assert!(mean_hits(&Schirn::default(), Planted::signed) >= 6.0);
}

#[test]
fn survives_bad_input() {
    assert_survives_bad_input(&Schirn::default());
}

#[test]
fn the_number_of_threads_does_not_matter() {
    assert_thread_independent(&Schirn::default(), &Planted::positive(1));
}

#[test]
fn settings_are_checked_and_the_grid_is_valid() {
    let schirn = Schirn::default();
    assert!(schirn.grid().len() <= 7);
    for change in schirn.grid() {
        assert_ne!(schirn.with(&change).unwrap().settings(), schirn.settings());
    }
    for wrong in [json!({"beta": 0.0}), json!({"rounds": 0}), json!({"alpha": -1.0})] {
        assert!(schirn.with(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_price_on_noise_makes_it_rarer_and_a_stop_is_honoured() {
    let planted = Planted::positive(3);
    let kept =
        |alpha: f64| planted.fit(&Schirn { alpha, ..Schirn::default() }, 0).pseudo.unwrap().count();
    assert!(kept(0.0) < kept(0.3) && kept(0.3) <= planted.candidates.count());
    struct After(usize);
    impl Observer for After {
        fn progress(&mut self, _: &str, done: usize, _: usize) -> bool {
            done < self.0
        }
    }
    for after in [0, 3] {
        let observer = &mut After(after);
        let mut context = Context { streams: Streams::new(0), budget: 1, observer };
        let e = Schirn::default().fit(&planted.training(), &mut context).unwrap_err();
        assert_eq!(e.kind(), crate::ErrorKind::Cancelled);
    }
}

/// The authors publish 0.618 with settings that they do not.
#[test]
fn birds_as_its_authors() {
    let (folder, why) = (std::env::var_os("POMDP_FS_DATA"), "POMDP_FS_DATA names no folder");
    if crate::skip::unless(folder, module_path!(), why).is_none() {
        return;
    }
    let precision = crate::method::nlr::tests::birds(&Schirn::default());
    println!("average precision {precision:.3}");
    assert!(precision > 0.4, "{precision}");
}
