//! A layer of your own: write forward and backward, and have every coordinate of its gradient checked.
//!
//! `cargo run --release --example check_gradient`
//!
//! The layer is a gate, out = σ(g) ∘ x. A check that has never caught anything proves nothing, so the
//! second run has the mistake that people make here: the derivative of σ is forgotten.

use pomdp_fs::audit::{Case, CaseReport, Truth, check};
use pomdp_fs::num::Real;

/// out_i = σ(g_i) x_i.
fn forward(g: &[f64], x: &[f64]) -> Vec<f64> {
    g.iter().zip(x).map(|(g, x)| g.sigmoid() * x).collect()
}

/// dg_i += dout_i x_i σ(g_i)(1 − σ(g_i)), dx_i += dout_i σ(g_i).
fn backward(dg: &mut [f64], dx: &mut [f64], dout: &[f64], g: &[f64], x: &[f64], forget: bool) {
    for i in 0..g.len() {
        let s = g[i].sigmoid();
        dg[i] += dout[i] * x[i] * if forget { s } else { s * (1.0 - s) };
        dx[i] += dout[i] * s;
    }
}

/// The layer as a function of one vector, the gates followed by the inputs. Constants `dout` make a
/// number of its many outputs.
fn report(forget: bool) -> CaseReport {
    const N: usize = 4;
    let start: Vec<f64> = (0..2 * N).map(|i| 0.7 * i as f64 - 2.0).collect();
    let dout = [1.0, -2.0, 0.5, 3.0];
    let at = start.clone();
    let case = Case {
        name: "gate".into(),
        shape: format!("{N} gates"),
        blocks: vec![("gate".into(), 0..N), ("input".into(), N..2 * N)],
        truth: Truth::Differences(Box::new(move |z| {
            forward(&z[..N], &z[N..]).iter().zip(dout).map(|(out, d)| out * d).sum()
        })),
        analytic: Box::new(move |_| {
            let mut gradient = vec![0.0; 2 * N];
            let (dg, dx) = gradient.split_at_mut(N);
            backward(dg, dx, &dout, &at[..N], &at[N..], forget);
            gradient
        }),
        start,
        detached: Vec::new(),
        sample: None,
    };
    check(&case, None)
}

fn main() {
    let (right, wrong) = (report(false), report(true));
    println!("right: largest relative error {:.1e}, pass {}", right.max_rel_err, right.pass);
    let worst = wrong.worst.expect("a wrong gradient has a worst coordinate");
    println!(
        "wrong: {}[{}] is {:.4}, differences say {:.4}, pass {}",
        worst.parameter, worst.index, worst.analytic, worst.numeric, wrong.pass
    );
    assert!(right.pass && !wrong.pass);
}
