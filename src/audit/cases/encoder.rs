//! The encoder in all its variants, with respect to every parameter and the input.

use super::{Case, Vars, add, inner, mat};
use crate::audit::Control;
use crate::linalg::Mat;
use crate::nn::{Activation, Dropout, Encoder, EncoderConfig, Layout, NormPlace};

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
    let dropout = dropout.then_some(Dropout { rate: 0.3, key: 7 });
    let shape = format!("{ROWS} instances, 5 features, width 6, 2 heads, 2 layers, FFN 7");
    v.case(&name, shape, move |z, gradient| {
        let (xm, pz) = (mat(z, &x, config.features), &z[p.clone()]);
        let mut c = config.candidate_token.then(|| c.view());
        let mut ws = encoder.workspace();
        encoder.forward(&mut ws, xm.view(), c, pz, dropout, 0);
        let value = inner(&ws.phi, &dphi);
        if let Some((dz, control)) = gradient {
            if control == Some(Control::DropoutMaskStale) {
                let other = dropout.map(|d| Dropout { key: d.key + 1, ..d });
                let mut stale = encoder.workspace();
                encoder.forward(&mut stale, xm.view(), c, pz, other, 0);
                for (saved, stale) in ws.saved.iter_mut().zip(stale.saved) {
                    saved.masks = stale.masks;
                }
            }
            if control == Some(Control::CandidateTokenDropped) {
                c = None;
            }
            let mut dx = Mat::zeros(ROWS, config.features);
            let (target, dp) = (Some(dx.view_mut()), &mut dz[p.clone()]);
            let handed = Control::weights(control, &layout, pz);
            encoder.backward(&mut ws, target, dp, dphi.view(), xm.view(), c, &handed);
            Control::spoil_gradient(control, &layout, dp);
            add(dz, &x, &dx);
        }
        value
    })
}
