//! What is checked: each layer alone, every variant of the encoder, the losses of both stages, the
//! optimisers, and the full-size model.
//!
//! Sizes are small and odd, so that no two dimensions are equal by accident. Non-differentiable
//! points are avoided by construction: with ReLU the hidden biases are ±3 while the weights bound
//! the rest of the pre-activation by 1.6, and the neighbour graph is made once from X, which the
//! losses do not differentiate. All random numbers are numbers of f32, so that every kind of number
//! starts from the same point.

mod attention;
mod block;
mod context;
mod encoder;
mod heads;
mod layers;
mod optimiser;
mod stage1;
mod stage2;

use std::ops::Range;

use super::controls::Control;
use super::function::{Function, Wanted};
use super::gradients::Case;
use crate::linalg::Mat;
use crate::nn::Layout;
use crate::num::{Real, add_assign};
use crate::rng::{Rng, Streams};

/// Every case, small ones first.
pub fn all() -> Vec<Case> {
    let mut cases = layers::cases();
    cases.extend(attention::cases());
    cases.extend(context::cases());
    cases.extend(block::cases());
    cases.extend(heads::cases());
    cases.extend(optimiser::cases());
    cases.extend(encoder::cases());
    cases.extend(stage1::cases());
    cases.extend(stage2::cases());
    cases
}

/// Coordinates compared at full size.
const SAMPLE: usize = 4000;

/// The nearest number of f32.
fn short(x: f64) -> f64 {
    f64::from(x as f32)
}

/// Collects the blocks of a case's vector.
pub(super) struct Vars {
    rng: Rng,
    blocks: Vec<(String, Range<usize>)>,
    start: Vec<f64>,
}

impl Vars {
    pub(super) fn new(case: &str) -> Self {
        Vars {
            rng: Streams::new(0).stream(&format!("audit/{case}")),
            blocks: Vec::new(),
            start: Vec::new(),
        }
    }

    /// A block of standard normal numbers, `rows` × `cols`.
    pub(super) fn normal(&mut self, name: &str, rows: usize, cols: usize) -> Range<usize> {
        let values = (0..rows * cols).map(|_| self.rng.normal()).collect();
        self.block(name, values)
    }

    /// The point collected so far.
    pub(super) fn start(&self) -> &[f64] {
        &self.start
    }

    fn block(&mut self, name: &str, values: Vec<f64>) -> Range<usize> {
        let range = self.start.len()..self.start.len() + values.len();
        self.start.extend(values.into_iter().map(short));
        self.blocks.push((name.into(), range.clone()));
        range
    }

    /// All parameters of a layout, away from special values: no zero bias, no unit gain.
    pub(super) fn arena(&mut self, layout: &Layout, relu: bool) -> Range<usize> {
        let from = self.start.len();
        for (name, param) in layout.iter() {
            let (rows, cols) = param.shape();
            let fan = 1.0 / (rows as f64).sqrt();
            let mut alternate = 3.0;
            let values = (0..rows * cols)
                .map(|_| {
                    let u = self.rng.range(-1.0, 1.0);
                    if name.ends_with("gain") {
                        1.0 + 0.2 * u
                    } else if relu && name.ends_with("up.w") {
                        0.2 * u
                    } else if relu && name.ends_with("up.b") {
                        alternate = -alternate;
                        alternate
                    } else if name.ends_with(".w") {
                        1.5 * fan * u
                    } else {
                        0.1 * u
                    }
                })
                .collect();
            self.block(name, values);
        }
        from..self.start.len()
    }

    /// A constant matrix, not part of the vector.
    pub(super) fn constant(&mut self, rows: usize, cols: usize) -> Mat<f64> {
        Mat::from_fn(rows, cols, |_, _| short(self.rng.normal()))
    }

    /// The case of this function at the point collected so far.
    pub(super) fn case(self, name: &str, shape: String, function: impl Function + 'static) -> Case {
        Case {
            name: name.into(),
            shape,
            blocks: self.blocks,
            start: self.start,
            function: Box::new(function),
            closed_form: None,
            detached: Vec::new(),
            sample: None,
        }
    }
}

/// Names of the case's blocks that begin with one of `prefixes`.
fn blocks(case: &Case, prefixes: &[&str]) -> Vec<String> {
    let starts = |name: &str| prefixes.iter().any(|p| name.starts_with(p));
    case.blocks.iter().map(|(n, _)| n).filter(|n| starts(n)).cloned().collect()
}

/// The control that spoils the gradient, if one is wanted and spoilt.
fn control_of<T>(wanted: &Wanted<'_, T>) -> Option<Control> {
    wanted.as_ref().and_then(|(_, control)| *control)
}

/// A block of the vector as a matrix.
fn mat<T: Real>(z: &[T], range: &Range<usize>, cols: usize) -> Mat<T> {
    Mat::from_vec(range.len() / cols, cols, z[range.clone()].to_vec())
}

/// Adds a matrix to a block of the gradient.
fn add<T: Real>(dz: &mut [T], range: &Range<usize>, values: &Mat<T>) {
    add_assign(&mut dz[range.clone()], values.as_slice());
}

/// Σ a ∘ b: the fake loss that makes a layer with many outputs a scalar function.
pub(super) fn inner<T: Real>(a: &Mat<T>, b: &Mat<T>) -> T {
    a.as_slice().iter().zip(b.as_slice()).map(|(&x, &y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::super::check_all;
    use super::*;

    #[test]
    fn every_gradient_is_right_and_every_control_is_caught() {
        // The full-size cases take seconds: `pomdp-fs audit gradients` runs them.
        let cases: Vec<Case> = all().into_iter().filter(|c| c.sample.is_none()).collect();
        let report = check_all(&cases, None, |_| {});
        for c in &report.cases {
            assert!(c.pass, "{c:?}");
        }
        for c in &report.controls {
            assert!(c.caught && c.caught_exact, "{c:?}");
        }
        assert!(report.cases.len() >= 40 && report.pass());
    }

    #[test]
    fn names_are_unique_and_every_start_is_a_number_of_f32() {
        let cases = all();
        let mut names: Vec<&str> = cases.iter().map(|c| c.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), cases.len());
        assert!(cases.iter().all(|c| c.start.iter().all(|&v| v == short(v))));
    }
}
