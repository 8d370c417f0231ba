//! What a machine learns from labels that were estimated.
//!
//! p is the probability of a label once its candidate was heard, q the probability before, from the
//! features alone. Under the observation model E[p | x] = q (a test of `method::observation::likelihood`): both
//! have the same mean, and p has the noise of one candidate on top. A machine that learns
//!
//! `t = (1 − w)·p + w·q`
//!
//! meets (1 − w)² of that variance, at the price of w times the error of q. The threshold asks how many
//! labels are true, and a prior that is a little too large for rare labels would ask for far too many of
//! them: it is judged by (p + t)/2. docs/evaluation.md has what this is worth, beside candidates that are
//! smoothed alike.

use super::tempered;
use crate::linalg::Mat;
use crate::{Error, Result};

/// Labels with less noise, made from p and q.
#[derive(Clone, Debug, PartialEq)]
pub struct Blend {
    /// t, what the machine learns.
    pub learned: Mat<f32>,
    /// (p + t)/2, what its threshold is judged by.
    pub believed: Mat<f32>,
}

impl Blend {
    /// With the share w of the prior q. What is learned is made of p to the power `temper`.
    pub fn new(p: &Mat<f32>, q: &Mat<f32>, w: f64, temper: f64) -> Result<Self> {
        if (p.rows(), p.cols()) != (q.rows(), q.cols()) {
            return Err(Error::found(
                format!("a prior of shape {} × {}", q.rows(), q.cols()),
                format!("{} × {}, that of the confidences", p.rows(), p.cols()),
            ));
        }
        let mean = |p: &Mat<f32>, w: f64| {
            Mat::from_fn(p.rows(), p.cols(), |i, j| {
                ((1.0 - w) * f64::from(p[(i, j)]) + w * f64::from(q[(i, j)])) as f32
            })
        };
        Ok(Blend { learned: mean(&tempered(p.clone(), temper), w), believed: mean(p, 0.5 * w) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        let (p, q) = (Mat::from_vec(1, 2, vec![0.64f32, 0.0]), Mat::from_vec(1, 2, vec![0.4, 0.2]));
        let close = |found: &Mat<f32>, wanted: [f32; 2]| {
            found.as_slice().iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6)
        };
        let blend = Blend::new(&p, &q, 0.5, 1.0).unwrap();
        assert!(close(&blend.learned, [0.52, 0.1]), "{blend:?}");
        assert!(close(&blend.believed, [0.58, 0.05]), "{blend:?}");
        // p is tempered, not the blend, and only for what is learned.
        let root = Blend::new(&p, &q, 0.5, 0.5).unwrap();
        assert!(close(&root.learned, [0.6, 0.1]) && root.believed == blend.believed, "{root:?}");
        let alone = Blend::new(&p, &q, 0.0, 1.0).unwrap();
        assert_eq!(alone, Blend { learned: p.clone(), believed: p.clone() });
        assert!(Blend::new(&p, &Mat::zeros(2, 2), 0.5, 1.0).is_err());
    }
}
