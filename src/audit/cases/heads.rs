//! Losses, policies and the graph penalty, as functions of logits.

use super::{Case, Vars, add, mat};
use crate::audit::Control;
use crate::graph::Graph;
use crate::linalg::Mat;
use crate::nn::loss;
use crate::nn::policy::{Categorical, bernoulli_loss};

const OPEN: [bool; 6] = [true, false, true, true, false, true];

pub(super) fn cases() -> Vec<Case> {
    vec![
        bce("hard", |j| f64::from(u8::from(j % 3 == 0))),
        bce("soft", |j| 0.05 + 0.1 * (j % 9) as f64),
        laplacian(),
        bernoulli(),
        categorical("unit-temperature", 1.0),
        categorical("temperature", 0.6),
    ]
}

/// A case over one block of logits; `run` returns the loss and adds its gradient to `ds`.
fn on_logits<F>(name: &str, shape: &str, rows: usize, cols: usize, run: F) -> Case
where
    F: Fn(&mut Mat<f64>, &Mat<f64>, Option<Control>) -> f64 + Clone + Send + Sync + 'static,
{
    let mut v = Vars::new(name);
    let s = v.normal("logits", rows, cols);
    v.case(name, shape.into(), move |z, gradient| {
        let logits = mat(z, &s, cols);
        let mut ds = Mat::zeros(rows, cols);
        let control = gradient.as_ref().and_then(|(_, control)| *control);
        let value = run(&mut ds, &logits, control);
        if let Some((dz, _)) = gradient {
            add(dz, &s, &ds);
        }
        value
    })
}

fn bce(kind: &str, target: fn(usize) -> f64) -> Case {
    let z: Vec<f64> = (0..15).map(target).collect();
    on_logits(&format!("bce/{kind}"), "3×5", 3, 5, move |du, u, control| {
        let ignored = control == Some(Control::BceTargetIgnored);
        let z = if ignored { &[0.0; 15][..] } else { &z };
        loss::bce(du.as_mut_slice(), u.as_slice(), z, 1.0 / 15.0)
    })
}

fn laplacian() -> Case {
    let x = Vars::new("laplacian/features").constant(9, 3);
    let graph = Graph::new(&x, 3).expect("finite");
    let fewer = Graph::new(&x, 2).expect("finite");
    on_logits("laplacian", "9 instances, 4 labels, k = 3", 9, 4, move |du, u, control| {
        let missing = control == Some(Control::LaplacianEdgesMissing);
        let graph = if missing { &fewer } else { &graph };
        graph.penalty(du, u, 0.1)
    })
}

/// The open labels or features; under a control that forgets them, all.
fn open(control: Option<Control>, forgets: Control) -> [bool; 6] {
    if control == Some(forgets) { [true; 6] } else { OPEN }
}

fn bernoulli() -> Case {
    let advantage = [0.7, 2.0, -1.3, 0.4, 1.0, -0.2];
    on_logits("policy/bernoulli", "2×6, 4 candidates", 2, 6, move |ds, s, control| {
        let z = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];
        let open = open(control, Control::BernoulliMaskLeak);
        let row = |i: usize, ds: &mut [f64]| bernoulli_loss(ds, s.row(i), &z, &open, &advantage);
        row(0, ds.row_mut(0)) + row(1, ds.row_mut(1))
    })
}

fn categorical(kind: &str, temperature: f64) -> Case {
    let name = format!("policy/categorical-{kind}");
    on_logits(&name, "1×6, 4 open", 1, 6, move |ds, s, control| {
        let missing = control == Some(Control::TemperatureMissing);
        let policy = Categorical {
            scores: s.row(0),
            open: &open(control, Control::CategoricalMaskStale),
            temperature: if missing { 1.0 } else { temperature },
        };
        policy.log_prob(ds.row_mut(0), &mut [0.0; 6], 3, -1.7)
    })
}
