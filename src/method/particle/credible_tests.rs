use super::*;
use crate::method::planted::{Planted, assert_close, golden};
use crate::method::{Observer, Silent};
use crate::rng::Streams;

fn with_context<T>(run: impl FnOnce(&mut Context<'_>) -> T) -> T {
    run(&mut Context { streams: Streams::new(0), budget: 1, observer: &mut Silent })
}

fn dense(h: &Reconstruction) -> Mat<f64> {
    let mut all = Mat::zeros(h.len(), h.len());
    for (i, row) in h.iter().enumerate() {
        row.iter().for_each(|&(a, w)| all[(i, a)] = w);
    }
    all
}

/// Numbers of a prototype in another language; k = 2, α = 0.95, features as they are.
#[test]
fn golden_numbers() {
    let (x, y) = golden();
    let h = reconstruct(&x, &nearest_among(&x, 2, false));
    #[rustfmt::skip]
    assert_close(dense(&h).as_slice(), &[
        0.0, 1.0, 0.0, 0.0, 0.0,
        0.796974, 0.0, 0.0, 0.0, 0.203026,
        0.0, 0.0, 0.0, 0.775635, 0.224365,
        0.0, 0.0, 1.0, 0.0, 0.0,
        0.0, 1.0, 0.0, 0.0, 0.0,
    ]);
    let f = with_context(|c| propagate(&h, &y, 0.95, c)).unwrap();
    #[rustfmt::skip]
    assert_close(f.as_slice(), &[
        0.975, 0.0, 0.025,
        1.0, 0.0, 0.0,
        0.0, 0.968442, 0.031558,
        0.0, 1.0, 0.0,
        0.975, 0.025, 0.0,
    ]);
}

/// The defect of the public code: a row that is its own neighbour reconstructs itself.
#[test]
fn a_row_must_not_be_its_own_neighbour() {
    let planted = Planted::signed(1).first(80);
    let x: Mat<f64> = planted.x.cast();
    let identity = Mat::from_fn(80, 80, |i, j| f64::from(u8::from(i == j)));
    let distance = |itself: bool| {
        let h = dense(&reconstruct(&x, &nearest_among(&x, 10, itself)));
        h.as_slice()
            .iter()
            .zip(identity.as_slice())
            .fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
    };
    assert!(distance(true) < 1e-6, "{}", distance(true));
    assert!(distance(false) > 0.5);
    // Then propagation has no effect either.
    let h = reconstruct(&x, &nearest_among(&x, 10, true));
    let f = with_context(|c| propagate(&h, &planted.candidates, 0.95, c)).unwrap();
    for i in 0..80 {
        let count = planted.candidates.row(i).iter().filter(|c| **c).count() as f64;
        assert!(f.row(i).iter().all(|v| *v == 0.0 || (v - 1.0 / count).abs() < 1e-6));
    }
}

#[test]
fn confidences_stay_among_the_candidates() {
    let planted = Planted::positive(3);
    let x: Mat<f64> = planted.x.cast();
    let neighbours = nearest_among(&x, 10, false);
    let h = reconstruct(&x, &neighbours);
    for (i, row) in h.iter().enumerate() {
        let sum: f64 = row.iter().map(|(_, w)| w).sum();
        assert!((sum - 1.0).abs() < 1e-12 || sum == 0.0);
        assert!(row.iter().all(|&(a, w)| a != i && w >= 0.0));
    }
    let f = with_context(|c| propagate(&h, &planted.candidates, 0.95, c)).unwrap();
    for i in 0..f.rows() {
        assert!((f.row(i).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((0..6).all(|j| planted.candidates.get(i, j) || f[(i, j)] == 0.0));
    }
}

/// Without neighbours or with equal confidences every candidate is credible; never an empty set.
#[test]
fn someone_is_always_credible() {
    for settings in [
        ParticleSettings::default(),
        ParticleSettings { mass_correction: false, threshold: 1.0, ..Default::default() },
        ParticleSettings { k: 1, alpha: 1.0, ..Default::default() },
    ] {
        for planted in [Planted::positive(4), Planted::positive(4).first(1)] {
            let x: Mat<f64> = planted.x.cast();
            let y = &planted.candidates;
            let found = with_context(|c| elicit(&x, y, &settings, c)).unwrap();
            for i in 0..y.rows() {
                assert!((0..6).all(|j| y.get(i, j) || !found.credible.get(i, j)));
                assert!(found.credible.row(i).contains(&true));
            }
        }
    }
    // The public threshold calls labels credible that are no candidates.
    let planted = Planted::positive(4);
    let public = ParticleSettings { threshold_over_all: true, ..Default::default() };
    let x: Mat<f64> = planted.x.cast();
    let found = with_context(|c| elicit(&x, &planted.candidates, &public, c)).unwrap();
    let mut cells = found.credible.as_slice().iter().zip(planted.candidates.as_slice());
    assert!(cells.any(|(e, c)| *e && !c));
}

#[test]
fn stops_on_request() {
    struct Until(&'static str);
    impl Observer for Until {
        fn progress(&mut self, phase: &str, _: usize, _: usize) -> bool {
            phase != self.0
        }
    }
    let (x, y) = golden();
    for phase in ["neighbours", "propagation"] {
        let observer = &mut Until(phase);
        let mut context = Context { streams: Streams::new(0), budget: 1, observer };
        let e = elicit(&x, &y, &ParticleSettings::default(), &mut context).err().unwrap();
        assert_eq!(e.kind(), crate::ErrorKind::Cancelled);
    }
}
