//! Losses, policies and the graph penalty, as functions of logits.

use std::ops::Range;

use super::{Case, Function, Vars, Wanted, add, control_of, mat};
use crate::audit::Control;
use crate::graph::Graph;
use crate::linalg::Mat;
use crate::nn::loss;
use crate::nn::policy::{Categorical, bernoulli_loss};
use crate::num::Real;

const OPEN: [bool; 6] = [true, false, true, true, false, true];

pub(super) fn cases() -> Vec<Case> {
    let hard = (0..15).map(|j| f64::from(u8::from(j % 3 == 0))).collect();
    let soft = (0..15).map(|j| 0.05 + 0.1 * f64::from(j % 9)).collect();
    let x = Vars::new("laplacian/features").constant(9, 3);
    vec![
        on_logits("bce/hard", "3×5", (3, 5), Head::Bce(hard)),
        on_logits("bce/soft", "3×5", (3, 5), Head::Bce(soft)),
        on_logits("laplacian", "9 instances, 4 labels, k = 3", (9, 4), Head::Laplacian(x)),
        on_logits("policy/bernoulli", "2×6, 4 candidates", (2, 6), Head::Bernoulli),
        categorical("unit-temperature", 1.0),
        categorical("temperature", 0.6),
    ]
}

fn categorical(kind: &str, temperature: f64) -> Case {
    let name = format!("policy/categorical-{kind}");
    on_logits(&name, "1×6, 4 open", (1, 6), Head::Categorical(temperature))
}

/// What is computed from the logits.
enum Head {
    /// Cross-entropy against these targets.
    Bce(Vec<f64>),
    /// The penalty of the graph over these features.
    Laplacian(Mat<f64>),
    Bernoulli,
    /// With this temperature.
    Categorical(f64),
}

struct OnLogits {
    head: Head,
    logits: Range<usize>,
    cols: usize,
}

fn on_logits(name: &str, shape: &str, (rows, cols): (usize, usize), head: Head) -> Case {
    let mut v = Vars::new(name);
    let logits = v.normal("logits", rows, cols);
    v.case(name, shape.into(), OnLogits { head, logits, cols })
}

impl Function for OnLogits {
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T {
        let logits = mat(z, &self.logits, self.cols);
        let mut ds = Mat::zeros(logits.rows(), self.cols);
        let value = self.head.run(&mut ds, &logits, control_of(&wanted));
        if let Some((dz, _)) = wanted {
            add(dz, &self.logits, &ds);
        }
        value
    }
}

impl Head {
    /// The loss; its gradient is added to `ds`, spoilt by the control.
    fn run<T: Real>(&self, ds: &mut Mat<T>, s: &Mat<T>, control: Option<Control>) -> T {
        // The open labels or features; under a control that forgets them, all.
        let open = |forgets| if control == Some(forgets) { [true; 6] } else { OPEN };
        match self {
            Head::Bce(targets) => {
                let ignored = control == Some(Control::BceTargetIgnored);
                let target = |&t: &f64| if ignored { T::ZERO } else { T::from_f64(t) };
                let z: Vec<T> = targets.iter().map(target).collect();
                let weight = T::ONE / T::from_f64(z.len() as f64);
                loss::bce(ds.as_mut_slice(), s.as_slice(), &z, weight)
            }
            Head::Laplacian(x) => {
                let missing = control == Some(Control::LaplacianEdgesMissing);
                let graph = Graph::new(&x.cast::<T>(), if missing { 2 } else { 3 });
                graph.expect("finite").penalty(ds, s, T::from_f64(0.1))
            }
            Head::Bernoulli => {
                let advantage = [0.7, 2.0, -1.3, 0.4, 1.0, -0.2].map(T::from_f64);
                let z = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0].map(T::from_f64);
                let open = open(Control::BernoulliMaskLeak);
                let row = |i, ds: &mut [T]| bernoulli_loss(ds, s.row(i), &z, &open, &advantage);
                row(0, ds.row_mut(0)) + row(1, ds.row_mut(1))
            }
            Head::Categorical(temperature) => {
                let missing = control == Some(Control::TemperatureMissing);
                let policy = Categorical {
                    scores: s.row(0),
                    open: &open(Control::CategoricalMaskStale),
                    temperature: T::from_f64(if missing { 1.0 } else { *temperature }),
                };
                policy.log_prob(ds.row_mut(0), &mut [T::ZERO; 6], 3, T::from_f64(-1.7))
            }
        }
    }
}
