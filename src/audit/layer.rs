//! The check of a layer that is not the engine's own.

use super::cases::{Vars, inner};
use super::function::{Function, Wanted};
use super::gradients::{Case, CaseReport, check};
use crate::linalg::Mat;
use crate::num::Real;

/// A layer with hand-written derivatives. It sees all its numbers (weights, inputs) as one vector,
/// block after block, and is written for every kind of number.
pub trait Layer: Send + Sync + 'static {
    /// The outputs.
    fn forward<T: Real>(&self, z: &[T]) -> Vec<T>;

    /// Adds to `dz` the gradient of Σ doutᵢ outᵢ.
    fn backward<T: Real>(&self, dz: &mut [T], dout: &[T], z: &[T]);
}

/// Checks the gradient of a layer at a random point: every coordinate against forward mode and
/// against five-point differences, and the symmetry of its Hessian. `blocks` are the names and lengths
/// of the parts of its vector.
///
/// ```
/// use pomdp_fs::audit::{Layer, check_layer};
/// use pomdp_fs::num::Real;
///
/// struct Square;
/// impl Layer for Square {
///     fn forward<T: Real>(&self, z: &[T]) -> Vec<T> {
///         z.iter().map(|&x| x * x).collect()
///     }
///     fn backward<T: Real>(&self, dz: &mut [T], dout: &[T], z: &[T]) {
///         (0..z.len()).for_each(|i| dz[i] += (dout[i] + dout[i]) * z[i]);
///     }
/// }
/// assert!(check_layer("square", &[("x", 5)], Square).pass);
/// ```
pub fn check_layer(name: &str, blocks: &[(&str, usize)], layer: impl Layer) -> CaseReport {
    check(&layer_case(name, blocks, layer), None)
}

/// The case of a layer, for [`check`] and [`super::check_rounding`]. Its starting point is random normal and
/// may be changed before the check.
pub fn layer_case(name: &str, blocks: &[(&str, usize)], layer: impl Layer) -> Case {
    let mut vars = Vars::new(name);
    let parts: Vec<String> = blocks
        .iter()
        .map(|&(name, len)| (vars.normal(name, 1, len), format!("{name} {len}")).1)
        .collect();
    let outputs = layer.forward(vars.start()).len();
    let dout = vars.constant(1, outputs);
    vars.case(name, format!("{}; {outputs} outputs", parts.join(", ")), Outside { layer, dout })
}

/// Random constants make a number of the many outputs.
struct Outside<L> {
    layer: L,
    dout: Mat<f64>,
}

impl<L: Layer> Function for Outside<L> {
    fn run<T: Real>(&self, z: &[T], wanted: Wanted<'_, T>) -> T {
        let (out, dout) = (self.layer.forward(z), self.dout.cast::<T>());
        if let Some((dz, _)) = wanted {
            self.layer.backward(dz, dout.as_slice(), z);
        }
        inner(&Mat::from_vec(1, out.len(), out), &dout)
    }
}

#[cfg(test)]
mod tests {
    use super::super::check_rounding;
    use super::*;

    /// out = σ(g) ∘ x.
    #[derive(Clone, Copy)]
    enum Gate {
        Right,
        /// The derivative of σ is forgotten.
        Forgotten,
        /// Only the first gate learns.
        Lazy,
    }

    impl Layer for Gate {
        fn forward<T: Real>(&self, z: &[T]) -> Vec<T> {
            let (g, x) = z.split_at(z.len() / 2);
            g.iter().zip(x).map(|(&g, &x)| g.sigmoid() * x).collect()
        }

        fn backward<T: Real>(&self, dz: &mut [T], dout: &[T], z: &[T]) {
            let n = z.len() / 2;
            for i in 0..n {
                let s = z[i].sigmoid();
                dz[n + i] += dout[i] * s;
                dz[i] += match self {
                    Gate::Right => dout[i] * z[n + i] * s * (T::ONE - s),
                    Gate::Forgotten => dout[i] * z[n + i] * s,
                    Gate::Lazy => T::ZERO,
                };
            }
        }
    }

    #[test]
    fn a_layer_from_outside_is_checked_by_both_witnesses() {
        let blocks = [("gate", 4), ("input", 4)];
        let right = check_layer("gate", &blocks, Gate::Right);
        assert!(right.pass && right.checked == 8, "{right:?}");
        let wrong = check_layer("gate", &blocks, Gate::Forgotten);
        assert!(!wrong.pass && wrong.max_rel_err > 1e-3 && wrong.exact_rel_err > 1e-3, "{wrong:?}");
        assert!(wrong.asymmetry.unwrap() > 1e-3, "{wrong:?}");
        assert_eq!(wrong.worst.unwrap().parameter, "gate");
        let lazy = check_layer("gate", &blocks, Gate::Lazy);
        assert!(!lazy.pass && lazy.unreached == ["gate"]);
    }

    #[test]
    fn its_rounding_can_be_bounded_too() {
        let case = layer_case("gate", &[("gate", 4), ("input", 4)], Gate::Right);
        let tensors = check_rounding(&case);
        assert_eq!(tensors.len(), 2);
        assert!(tensors.iter().all(|t| t.pass && t.max_rel_err_f32 > t.max_rel_err_f64));
    }
}
