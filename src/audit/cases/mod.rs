//! What is checked: each layer alone, every variant of the encoder, the losses of both stages, the
//! optimisers, and the full-size model.
//!
//! Sizes are small and odd, so that no two dimensions are equal by accident. Non-differentiable
//! points are avoided by construction: with ReLU the hidden biases are ±3 while the weights bound
//! the rest of the pre-activation by 1.6, and the neighbour graph is made once from X, which the
//! losses do not differentiate.

mod block;
mod encoder;
mod heads;
mod layers;
mod optimiser;
mod stages;

use std::ops::Range;

use super::controls::Control;
use super::gradients::{Case, Truth};
use crate::linalg::Mat;
use crate::nn::Layout;
use crate::rng::{Rng, Streams};

/// Every case, small ones first.
pub fn all() -> Vec<Case> {
    let mut cases = layers::cases();
    cases.extend(block::cases());
    cases.extend(heads::cases());
    cases.extend(optimiser::cases());
    cases.extend(encoder::cases());
    cases.extend(stages::cases());
    cases
}

/// Where a case adds its gradient to, if one is wanted, and the control that spoils it, if any.
type Wanted<'a> = Option<(&'a mut [f64], Option<Control>)>;

/// Collects the blocks of a case's vector.
struct Vars {
    rng: Rng,
    blocks: Vec<(String, Range<usize>)>,
    start: Vec<f64>,
}

impl Vars {
    fn new(case: &str) -> Self {
        Vars {
            rng: Streams::new(0).stream(&format!("audit/{case}")),
            blocks: Vec::new(),
            start: Vec::new(),
        }
    }

    /// A block of standard normal numbers, `rows` × `cols`.
    fn normal(&mut self, name: &str, rows: usize, cols: usize) -> Range<usize> {
        let values = (0..rows * cols).map(|_| self.rng.normal()).collect();
        self.block(name, values)
    }

    fn block(&mut self, name: &str, values: Vec<f64>) -> Range<usize> {
        let range = self.start.len()..self.start.len() + values.len();
        self.start.extend(values);
        self.blocks.push((name.into(), range.clone()));
        range
    }

    /// All parameters of a layout, away from special values: no zero bias, no unit gain.
    fn arena(&mut self, layout: &Layout, relu: bool) -> Range<usize> {
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
    fn constant(&mut self, rows: usize, cols: usize) -> Mat<f64> {
        Mat::from_fn(rows, cols, |_, _| self.rng.normal())
    }

    /// The case of `run(z, gradient)`: returns the loss, and adds its gradient to the slice if one
    /// is given, spoilt by the control if there is one.
    fn case<F>(self, name: &str, shape: String, run: F) -> Case
    where
        F: Fn(&[f64], Wanted<'_>) -> f64 + Clone + Send + Sync + 'static,
    {
        let (start, loss) = (self.start.clone(), run.clone());
        Case {
            name: name.into(),
            shape,
            blocks: self.blocks,
            start: self.start,
            truth: Truth::Differences(Box::new(move |z| loss(z, None))),
            analytic: Box::new(move |control| {
                let mut gradient = vec![0.0; start.len()];
                run(&start, Some((&mut gradient, control)));
                gradient
            }),
            detached: Vec::new(),
            sample: None,
        }
    }
}

/// A block of the vector as a matrix.
fn mat(z: &[f64], range: &Range<usize>, cols: usize) -> Mat<f64> {
    Mat::from_vec(range.len() / cols, cols, z[range.clone()].to_vec())
}

/// Adds a matrix to a block of the gradient.
fn add(dz: &mut [f64], range: &Range<usize>, values: &Mat<f64>) {
    for (d, v) in dz[range.clone()].iter_mut().zip(values.as_slice()) {
        *d += v;
    }
}

/// Σ a ∘ b: the fake loss that makes a layer with many outputs a scalar function.
fn inner(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    a.as_slice().iter().zip(b.as_slice()).map(|(x, y)| x * y).sum()
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
            assert!(c.caught, "{c:?}");
        }
        assert!(report.cases.len() >= 40);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<String> = all().into_iter().map(|c| c.name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
