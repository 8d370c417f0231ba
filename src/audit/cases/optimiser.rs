//! Adam and AdamW against the moments in closed form: m_t / (1 − β₁ᵗ) is the weighted mean of the
//! gradients with weights β₁^(t−s), and likewise for the squares. The "gradient" of such a case are the
//! parameters after the last step.

use super::{Case, Function, Vars, Wanted};
use crate::audit::Control;
use crate::linalg::Mat;
use crate::nn::{Adam, AdamConfig};
use crate::num::{DoubleDouble, Real, add_assign};

const STEPS: usize = 7;
const PARAMETERS: usize = 9;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("adam", AdamConfig::new(0.03)),
        case("adamw", AdamConfig { decay: 0.2, ..AdamConfig::new(0.03) }),
    ]
}

struct Optimise {
    config: AdamConfig,
    /// One row a step.
    gradients: Mat<f64>,
}

fn case(kind: &str, config: AdamConfig) -> Case {
    let name = format!("optimiser/{kind}");
    let mut v = Vars::new(&name);
    v.normal("parameters", 1, PARAMETERS);
    let gradients = v.constant(STEPS, PARAMETERS);
    let shape = format!("{PARAMETERS} parameters, {STEPS} steps");
    let formula = gradients.cast();
    let mut case = v.case(&name, shape, Optimise { config, gradients });
    let closed = |(i, &p): (usize, &f64)| {
        closed_form(DoubleDouble::from_f64(p), |s: usize| formula[(s, i)], config)
    };
    case.closed_form = Some(case.start.iter().enumerate().map(closed).collect());
    case
}

impl Function for Optimise {
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T {
        let Some((dz, control)) = wanted else { return T::ZERO };
        let config = self.config;
        let mut adam = Adam::new(PARAMETERS, spoilt(config, control));
        adam.steps += u64::from(control == Some(Control::AdamBiasCorrection));
        let coupled = control == Some(Control::AdamDecayCoupled);
        let decay = T::from_f64(if coupled { config.decay } else { 0.0 });
        let (gradients, mut p) = (self.gradients.cast::<T>(), z.to_vec());
        for g in gradients.rows_iter() {
            let g: Vec<T> = g.iter().zip(&p).map(|(&g, &p)| g + decay * p).collect();
            adam.step(&mut p, &g);
        }
        add_assign(dz, &p);
        T::ZERO
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

fn closed_form<T: Real>(mut p: T, g: impl Fn(usize) -> T, config: AdamConfig) -> T {
    let [rate, decay, epsilon] = [config.rate, config.decay, config.epsilon].map(T::from_f64);
    for t in 0..STEPS {
        let mean = |beta: f64, f: &dyn Fn(T) -> T| {
            let weight = |s: usize| (s..t).fold(T::ONE, |w, _| w * T::from_f64(beta));
            let sum: T = (0..=t).map(|s| weight(s) * f(g(s))).sum();
            sum / (0..=t).map(weight).sum::<T>()
        };
        let (beta1, beta2) = config.betas;
        let step = mean(beta1, &|g| g) / (mean(beta2, &|g| g * g).sqrt() + epsilon);
        p -= rate * (decay * p + step);
    }
    p
}
