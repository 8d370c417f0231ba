//! Mistakes that the rounding check must catch.

use rayon::prelude::*;

use super::{Measured, RoundingControl, UNEXPLAINED, distance, unexplained};
use crate::audit::controls::Control;
use crate::audit::function::gradient;
use crate::num::DoubleDouble;

/// Whether a mistake is caught in a case, or nothing where it changes nothing.
type Attempt<'a> = dyn Fn(&Measured<'_>) -> Option<bool> + Sync + 'a;

pub(super) fn try_controls(measured: &[Measured<'_>]) -> Vec<RoundingControl> {
    // Where every number has its bound: a sample may miss those that a mistake changes.
    let small: Vec<&Measured<'_>> = measured.iter().filter(|m| m.case.sample.is_none()).collect();
    let attempt = |fault: String, description: &str, caught: &Attempt<'_>| {
        let found: Vec<bool> = small.par_iter().filter_map(|m| caught(m)).collect();
        let (cases, of) = (found.iter().filter(|&&caught| caught).count(), found.len());
        let (description, caught) = (description.into(), of > 0 && cases == of);
        RoundingControl { fault, description, caught, cases, of }
    };
    let mut controls = vec![
        attempt("BoundTooSmall".into(), "the f32 gradient is held to the bound of f64", &too_small),
        attempt(
            "GradientMoved".into(),
            "the largest number of the f32 gradient is moved by twice its bound",
            &moved,
        ),
        attempt(
            "RoundingForgotten".into(),
            "the f32 gradient is a millionth of its bound off what its roundings add up to",
            &forgotten,
        ),
    ];
    for &control in Control::ALL {
        let spoilt = |m: &Measured<'_>| {
            let values = gradient::<f64>(&*m.case.function, &m.case.start, Some(control));
            (values != m.double.values).then(|| m.breaks(&values, &m.double.bounds()))
        };
        controls.push(attempt(format!("{control:?}"), control.description(), &spoilt));
    }
    controls
}

fn too_small(m: &Measured<'_>) -> Option<bool> {
    // Where f32 happens to be exact no bound is too small.
    let exact = |(&v, &t): (&f64, &DoubleDouble)| distance(v, t) == 0.0;
    let inexact = !m.single.values.iter().zip(&m.truth).all(exact);
    inexact.then(|| m.breaks(&m.single.values, &m.double.bounds()))
}

/// The coordinate of the largest number.
fn largest(m: &Measured<'_>) -> Option<usize> {
    let size = |at: &usize| m.single.values[*at].abs();
    (0..m.single.values.len()).max_by(|a, b| size(a).total_cmp(&size(b)))
}

fn moved(m: &Measured<'_>) -> Option<bool> {
    let (at, mut values) = (largest(m)?, m.single.values.clone());
    let away = 2.0 * m.single.explained[at].bound;
    let farther = distance(values[at] + away, m.truth[at]) > away;
    values[at] += if farther { away } else { -away };
    (away > 0.0).then(|| m.breaks(&values, &m.single.bounds()))
}

fn forgotten(m: &Measured<'_>) -> Option<bool> {
    let at = largest(m)?;
    let explained = &m.single.explained[at];
    let off = m.single.values[at] + 1e-6 * explained.bound;
    (explained.bound > 0.0).then(|| unexplained(off, m.truth[at], explained) > UNEXPLAINED)
}
