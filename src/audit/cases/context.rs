//! What the observation model adds: the label context and the marginal likelihood.

use std::ops::Range;

use super::{Case, Function, Vars, Wanted, blocks, inner, mat};
use crate::audit::Control;
use crate::linalg::Mat;
use crate::method::observation::likelihood::NoiseRate;
use crate::nn::Layout;
use crate::nn::label_context::LabelContext;
use crate::num::Real;

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> =
        [(3, 2), (4, 3), (1, 1)].into_iter().map(|(l, m)| label_context(l, m)).collect();
    cases.push(marginal_likelihood());
    cases
}

/// Two batches through one layer, so that a missing `+=` shows. A single label has no context: its
/// weights must get nothing.
struct Context {
    layer: LabelContext,
    p: Range<usize>,
    tokens: [Mat<f64>; 2],
    douts: [Mat<f64>; 2],
}

fn label_context(labels: usize, values: usize) -> Case {
    const ROWS: usize = 2;
    let name = format!("label-context/{labels}-labels");
    let mut v = Vars::new(&name);
    let mut layout = Layout::default();
    let layer = LabelContext::new(&mut layout, "context", labels, values, (4, 2));
    let p = v.arena(&layout, false);
    let tokens = [v.constant(ROWS * labels, values), v.constant(ROWS * labels, values)];
    let douts = [v.constant(ROWS, labels), v.constant(ROWS, labels)];
    let text =
        format!("two batches of {ROWS}, {labels} labels of {values} values, width 4, 2 heads");
    let mut case = v.case(&name, text, Context { layer, p, tokens, douts });
    if labels == 1 {
        case.detached = blocks(&case, &["context"]);
    }
    case
}

impl Function for Context {
    fn run<T: Real>(&self, z: &[T], mut wanted: Wanted<'_, T>) -> T {
        let tokens = self.tokens.each_ref().map(Mat::cast::<T>);
        let p = &z[self.p.clone()];
        let mut total = T::ZERO;
        for k in 0..2 {
            let dout = self.douts[k].cast::<T>();
            let (mut out, mut saved) = (Mat::zeros(dout.rows(), dout.cols()), self.layer.saved());
            self.layer.forward(&mut out, &mut saved, &tokens[k], p);
            total += inner(&out, &dout);
            if let Some((dz, control)) = &mut wanted {
                let stale = *control == Some(Control::ContextTokensStale);
                let t = &tokens[if stale { 1 - k } else { k }];
                let dp = &mut dz[self.p.clone()];
                self.layer.backward(dp, &mut self.layer.scratch(), &dout, t, p, &saved);
                if *control == Some(Control::ContextOutputDropped) {
                    self.layer.output.slice_mut(dp).fill(T::ZERO);
                }
            }
        }
        total
    }
}

/// −ln P(C | u, ρ) of candidates and other cells, by the logits.
struct MarginalLikelihood {
    logits: Range<usize>,
}

fn marginal_likelihood() -> Case {
    let name = "marginal-likelihood";
    let mut v = Vars::new(name);
    let logits = v.normal("logits", 4, 3);
    v.case(name, "4×3 cells, three noise rates".into(), MarginalLikelihood { logits })
}

impl Function for MarginalLikelihood {
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T {
        let noise = [0.05, 0.2, 0.6].map(|rho| NoiseRate::new(T::from_f64(rho)));
        let u = mat(z, &self.logits, 3);
        let candidate = |k: usize| if k.is_multiple_of(2) { T::ONE } else { T::ZERO };
        let mut total = T::ZERO;
        for (k, &u) in u.as_slice().iter().enumerate() {
            total += noise[k % 3].negative_log_likelihood(u, candidate(k));
        }
        if let Some((dz, control)) = wanted {
            let forgotten = control == Some(Control::PosteriorForgotten);
            for (k, &u) in u.as_slice().iter().enumerate() {
                let c = if forgotten { T::ZERO } else { candidate(k) };
                dz[self.logits.start + k] += noise[k % 3].slope(u, c);
            }
        }
        total
    }
}
