//! A layer of your own: write forward and backward once for every kind of number, and have every
//! coordinate of its gradient checked, exactly and by differences.
//!
//! `cargo run --release --example check_gradient`
//!
//! The layer is a gate, out = σ(g) ∘ x. A check that has never caught anything proves nothing, so the
//! second run has the mistake that people make here: the derivative of σ is forgotten.

use pomdp_fs::audit::{Layer, check_layer, check_rounding, layer_case};
use pomdp_fs::num::Real;

/// The gates are the first half of the vector, the inputs the second.
struct Gate {
    forget: bool,
}

impl Layer for Gate {
    fn forward<T: Real>(&self, z: &[T]) -> Vec<T> {
        let (g, x) = z.split_at(z.len() / 2);
        g.iter().zip(x).map(|(&g, &x)| g.sigmoid() * x).collect()
    }

    /// dg_i += dout_i x_i σ(g_i)(1 − σ(g_i)), dx_i += dout_i σ(g_i).
    fn backward<T: Real>(&self, dz: &mut [T], dout: &[T], z: &[T]) {
        let n = z.len() / 2;
        for i in 0..n {
            let s = z[i].sigmoid();
            let slope = if self.forget { s } else { s * (T::ONE - s) };
            dz[i] += dout[i] * z[n + i] * slope;
            dz[n + i] += dout[i] * s;
        }
    }
}

fn main() {
    let blocks = [("gate", 4), ("input", 4)];
    let right = check_layer("gate", &blocks, Gate { forget: false });
    println!(
        "right: largest relative error {:.1e} by forward mode, {:.1e} by differences, pass {}",
        right.exact_rel_err, right.max_rel_err, right.pass
    );
    let wrong = check_layer("gate", &blocks, Gate { forget: true });
    let worst = wrong.worst.expect("a wrong gradient has a worst coordinate");
    println!(
        "wrong: {}[{}] is {:.4}, forward mode says {:.4}, differences {:.4}, pass {}",
        worst.parameter, worst.index, worst.analytic, worst.exact, worst.numeric, wrong.pass
    );
    for t in check_rounding(&layer_case("gate", &blocks, Gate { forget: false })) {
        println!(
            "{} in f32: off by {:.1e} at most, the bound is {:.1e}",
            t.tensor, t.max_rel_err_f32, t.max_bound_f32
        );
    }
    assert!(right.pass && !wrong.pass);
}
