//! The encoder in all its variants, with respect to every parameter and the input.

use std::ops::Range;

use super::{Case, Function, Vars, Wanted, add, inner, mat};
use crate::audit::Control;
use crate::linalg::Mat;
use crate::nn::{Activation, Dropout, Encoder, EncoderConfig, Layout, NormPlace};
use crate::num::Real;

const ROWS: usize = 3;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for norm in [NormPlace::Pre, NormPlace::Post] {
        for activation in [Activation::Gelu, Activation::Relu] {
            for groups in [1, 3] {
                for candidate_token in [false, true] {
                    for dropout in [false, true] {
                        let config = EncoderConfig {
                            width: 6,
                            heads: 2,
                            ffn: 7,
                            norm,
                            activation,
                            groups,
                            candidate_token,
                            ..EncoderConfig::paper(5, 3)
                        };
                        cases.push(case(config, dropout));
                    }
                }
            }
        }
    }
    cases
}

struct Encode {
    encoder: Encoder,
    layout: Layout,
    p: Range<usize>,
    x: Range<usize>,
    c: Option<Mat<f64>>,
    dphi: Mat<f64>,
    dropout: Option<Dropout>,
}

fn case(config: EncoderConfig, dropout: bool) -> Case {
    let pick = |on: bool, yes: &'static str, no: &'static str| if on { yes } else { no };
    let name = format!(
        "encoder/{}/{}/{}-groups/{}/{}",
        pick(config.norm == NormPlace::Pre, "pre", "post"),
        pick(config.activation == Activation::Gelu, "gelu", "relu"),
        config.groups,
        pick(config.candidate_token, "candidates", "no-candidates"),
        pick(dropout, "dropout", "no-dropout"),
    );
    let mut v = Vars::new(&name);
    let mut layout = Layout::default();
    let encoder = Encoder::new(&mut layout, config).expect("a valid configuration");
    let p = v.arena(&layout, config.activation == Activation::Relu);
    let x = v.normal("x", ROWS, config.features);
    let c = v.constant(ROWS, config.labels);
    let dphi = v.constant(ROWS, config.width);
    let c = config.candidate_token.then_some(c);
    let dropout = dropout.then_some(Dropout { rate: 0.3, key: 7 });
    let shape = format!("{ROWS} instances, 5 features, width 6, 2 heads, 2 layers, FFN 7");
    v.case(&name, shape, Encode { encoder, layout, p, x, c, dphi, dropout })
}

impl Function for Encode {
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T {
        let features = self.encoder.config().features;
        let (x, p) = (mat(z, &self.x, features), &z[self.p.clone()]);
        let (c, dphi) = (self.c.as_ref().map(Mat::cast::<T>), self.dphi.cast::<T>());
        let mut c = c.as_ref().map(Mat::view);
        let mut ws = self.encoder.workspace();
        self.encoder.forward(&mut ws, x.view(), c, p, self.dropout, 0);
        let value = inner(&ws.phi, &dphi);
        if let Some((dz, control)) = wanted {
            if control == Some(Control::DropoutMaskStale) {
                let other = self.dropout.map(|d| Dropout { key: d.key + 1, ..d });
                let mut stale = self.encoder.workspace();
                self.encoder.forward(&mut stale, x.view(), c, p, other, 0);
                for (saved, stale) in ws.saved.iter_mut().zip(stale.saved) {
                    saved.masks = stale.masks;
                }
            }
            if control == Some(Control::CandidateTokenDropped) {
                c = None;
            }
            let mut dx = Mat::zeros(ROWS, features);
            let (target, dp) = (Some(dx.view_mut()), &mut dz[self.p.clone()]);
            let handed = Control::weights(control, &self.layout, p);
            self.encoder.backward(&mut ws, target, dp, dphi.view(), x.view(), c, &handed);
            Control::spoil_gradient(control, &self.layout, dp);
            add(dz, &self.x, &dx);
        }
        value
    }
}
