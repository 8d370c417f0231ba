//! The exact witness: derivatives by forward mode, and the symmetry of the Hessian.
//!
//! The loss is run on dual numbers, eight coordinates at a time: no step and no truncation. What is
//! left is rounding. The other side is the engine's backward pass in double-double, so it has none.
//! Where the f64 tangents cannot confirm it (a derivative that is a small difference of large numbers has
//! few digits in f64), the coordinate is run again on dual numbers over double-double.

use rayon::prelude::*;

use super::Control;
use super::function::{Kind, Wide, cast, gradient};
use super::gradients::{Case, EXACT_TOLERANCE, relative_errors};
use crate::num::{DoubleDouble, Dual, Real};
use crate::rng::Streams;

/// Chunks of directions that share a copy of the starting point.
const CHUNKS: usize = 16;

/// The derivatives of the loss by these coordinates, and how many of them needed double-double.
pub(super) fn derivatives(case: &Case, coordinates: &[usize]) -> (Vec<DoubleDouble>, usize) {
    let analytic = gradient::<DoubleDouble>(&*case.function, &cast(&case.start), None);
    let analytic: Vec<DoubleDouble> = coordinates.iter().map(|&k| analytic[k]).collect();
    let mut exact: Vec<DoubleDouble> = cast(&forward_mode::<f64, 8>(case, coordinates));
    let errors = relative_errors(&analytic, &exact);
    let open: Vec<usize> = (0..errors.len()).filter(|&k| errors[k] > EXACT_TOLERANCE).collect();
    let again: Vec<usize> = open.iter().map(|&k| coordinates[k]).collect();
    for (&k, value) in open.iter().zip(forward_mode::<DoubleDouble, 2>(case, &again)) {
        exact[k] = value;
    }
    (exact, open.len())
}

/// N coordinates in each run of the loss.
fn forward_mode<B: Real, const N: usize>(case: &Case, coordinates: &[usize]) -> Vec<B>
where
    Dual<B, N>: Kind,
{
    coordinates
        .par_chunks(CHUNKS * N)
        .flat_map_iter(|chunk| {
            let mut z: Vec<Dual<B, N>> = cast(&case.start);
            let mut found = Vec::with_capacity(chunk.len());
            for few in chunk.chunks(N) {
                for (l, &k) in few.iter().enumerate() {
                    z[k].tangent[l] = B::ONE;
                }
                let value = Dual::run(&*case.function, &z, None);
                found.extend_from_slice(&value.tangent[..few.len()]);
                for (l, &k) in few.iter().enumerate() {
                    z[k].tangent[l] = B::ZERO;
                }
            }
            found
        })
        .collect()
}

/// What two random directions u and v through all coordinates at once say.
pub(super) struct Along {
    /// |f′(u) − g·u| / Σ|gᵢuᵢ|, the larger of both directions: forward mode against every coordinate of the backward
    /// pass, also where too many for one run each.
    pub slope: f64,
    /// |u·Hv − v·Hu| over the larger Σ|uᵢ(Hv)ᵢ|; H is the Jacobian of what the backward pass computes, by dual
    /// numbers. A field is a gradient only where this is 0.
    pub asymmetry: f64,
}

/// Loss and backward pass on dual numbers over double-double, along two random directions.
pub(super) fn along(case: &Case, control: Option<Control>) -> Along {
    let mut rng = Streams::new(0).stream(&format!("{}/directions", case.name));
    let number = DoubleDouble::from_f64;
    let direction = |&value: &f64| Wide {
        value: number(value),
        tangent: [number(rng.normal()), number(rng.normal())],
    };
    let z: Vec<Wide> = case.start.iter().map(direction).collect();
    let mut jacobian = vec![Wide::ZERO; z.len()];
    let loss = Wide::run(&*case.function, &z, Some((&mut jacobian, control)));
    // Σ and Σ|·| of a direction times something that the backward pass gave.
    let form = |left: usize, of: &dyn Fn(&Wide) -> DoubleDouble| {
        let terms = z.iter().zip(&jacobian).map(|(z, g)| z.tangent[left] * of(g));
        terms.fold((DoubleDouble::ZERO, 0.0), |(sum, size), t| (sum + t, size + t.abs().to_f64()))
    };
    let share = |difference: DoubleDouble, size: f64| match difference.to_f64().abs() {
        0.0 => 0.0,
        difference if difference.is_nan() => f64::INFINITY,
        difference => difference / size,
    };
    let slope = |l: usize| {
        let (sum, size) = form(l, &|g| g.value);
        share(sum - loss.tangent[l], size.max(loss.tangent[l].to_f64().abs()))
    };
    let ((uhv, size), (vhu, other)) = (form(0, &|g| g.tangent[1]), form(1, &|g| g.tangent[0]));
    Along { slope: slope(0).max(slope(1)), asymmetry: share(uhv - vhu, size.max(other)) }
}
