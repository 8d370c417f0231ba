//! Adam and AdamW against the moments in closed form: m_t / (1 − β₁ᵗ) is the weighted mean of the
//! gradients with weights β₁^(t−s), and likewise for the squares.

use super::{Case, Truth, Vars};
use crate::audit::Control;
use crate::nn::{Adam, AdamConfig};

const STEPS: usize = 7;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("adam", AdamConfig::new(0.03)),
        case("adamw", AdamConfig { decay: 0.2, ..AdamConfig::new(0.03) }),
    ]
}

fn case(kind: &str, config: AdamConfig) -> Case {
    let name = format!("optimiser/{kind}");
    let mut v = Vars::new(&name);
    let p = v.normal("parameters", 1, 9);
    let start = v.start[p].to_vec();
    let gradients: Vec<Vec<f64>> =
        (0..STEPS).map(|_| v.constant(1, 9).as_slice().to_vec()).collect();
    let (blocks, first, given) = (v.blocks, start.clone(), gradients.clone());
    Case {
        name,
        shape: format!("9 parameters, {STEPS} steps"),
        blocks,
        start,
        truth: Truth::ClosedForm(Box::new(move || {
            let end = |i: usize| closed_form(first[i], |s| given[s][i], config);
            (0..9).map(end).collect()
        })),
        analytic: {
            let first = v.start;
            Box::new(move |control| {
                let mut adam = Adam::new(9, spoilt(config, control));
                adam.steps += u64::from(control == Some(Control::AdamBiasCorrection));
                let coupled = control == Some(Control::AdamDecayCoupled);
                let decay = if coupled { config.decay } else { 0.0 };
                let mut p = first.clone();
                for g in &gradients {
                    let g: Vec<f64> = g.iter().zip(&p).map(|(g, p)| g + decay * p).collect();
                    adam.step(&mut p, &g);
                }
                p
            })
        },
        detached: Vec::new(),
        sample: None,
    }
}

/// The settings under a control: decays exchanged; no decay of the optimiser's own when it is part of
/// the gradient.
fn spoilt(config: AdamConfig, control: Option<Control>) -> AdamConfig {
    let (beta1, beta2) = config.betas;
    match control {
        Some(Control::AdamBetasSwapped) => AdamConfig { betas: (beta2, beta1), ..config },
        Some(Control::AdamDecayCoupled) => AdamConfig { decay: 0.0, ..config },
        _ => config,
    }
}

fn closed_form(mut p: f64, g: impl Fn(usize) -> f64, config: AdamConfig) -> f64 {
    let (beta1, beta2) = config.betas;
    for t in 0..STEPS {
        let mean = |beta: f64, f: &dyn Fn(f64) -> f64| {
            let weight = |s: usize| (s..t).fold(1.0, |w, _| w * beta);
            let sum: f64 = (0..=t).map(|s| weight(s) * f(g(s))).sum();
            sum / (0..=t).map(weight).sum::<f64>()
        };
        let step = mean(beta1, &|g| g) / (mean(beta2, &|g| g * g).sqrt() + config.epsilon);
        p -= config.rate * (config.decay * p + step);
    }
    p
}
