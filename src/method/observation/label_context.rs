//! Label context of either form: [`super::context`] for any number of labels, [`super::joint`] for a few.

use serde::{Deserialize, Serialize};

use super::context::{self, ContextWeights, LinearContext};
use super::cross_fit::{Parts, mean_loss};
use super::joint::{self, JointContext, JointWeights};
use super::likelihood::NoiseRate;
use crate::Result;
use crate::linalg::Mat;

/// The two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A linear model for each label.
    Linear,
    /// One belief over all label sets.
    Joint,
}

/// Weights of a form, for new rows.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelContext {
    /// See [`ContextWeights`].
    Linear(ContextWeights),
    /// See [`JointWeights`].
    Joint(JointWeights),
}

impl Form {
    /// [`Form::fit`] of the form with the higher held-out likelihood on this partition.
    pub fn fit_better(
        u: &Mat<f64>,
        c: &Mat<f64>,
        noise: &[NoiseRate<f64>],
        parts: &Parts,
    ) -> (Mat<f64>, LabelContext) {
        let linear = Form::Linear.fit(u, c, noise, parts);
        if u.cols() > joint::MOST_LABELS {
            return linear;
        }
        let joint = Form::Joint.fit(u, c, noise, parts);
        let loss = |found: &Mat<f64>| mean_loss(found, c, noise);
        if loss(&joint.0) < loss(&linear.0) { joint } else { linear }
    }

    /// Cross-fitted u′, and the mean of the models.
    pub fn fit(
        self,
        u: &Mat<f64>,
        c: &Mat<f64>,
        noise: &[NoiseRate<f64>],
        parts: &Parts,
    ) -> (Mat<f64>, LabelContext) {
        match self {
            Form::Linear => {
                let LinearContext { logits, weights } = LinearContext::fit(u, c, noise, parts);
                (logits, LabelContext::Linear(weights))
            }
            Form::Joint => {
                let JointContext { logits, weights } = JointContext::fit(u, c, noise, parts);
                (logits, LabelContext::Joint(weights))
            }
        }
    }

    /// No context yet.
    pub fn zeros(self, labels: usize) -> LabelContext {
        match self {
            Form::Linear => LabelContext::Linear(ContextWeights::zeros(labels)),
            Form::Joint => LabelContext::Joint(JointWeights::zeros(labels)),
        }
    }

    /// Weights of L labels from their arrays: `get(name, rows, columns)` finds one.
    pub fn read(
        self,
        labels: usize,
        get: impl Fn(&str, usize, usize) -> Result<Mat<f64>>,
    ) -> Result<LabelContext> {
        Ok(match self {
            Form::Linear => LabelContext::Linear(ContextWeights {
                mixing: get("mixing", labels, labels)?,
                own: get("own", context::OWN, labels)?,
            }),
            Form::Joint => {
                let counts = get("counts", 1, 2)?;
                LabelContext::Joint(JointWeights {
                    pairs: get("pairs", labels, labels)?,
                    own: get("own", joint::OWN, labels)?,
                    counts: [counts[(0, 0)], counts[(0, 1)]],
                })
            }
        })
    }
}

impl LabelContext {
    /// Which form it is.
    pub fn form(&self) -> Form {
        match self {
            LabelContext::Linear(_) => Form::Linear,
            LabelContext::Joint(_) => Form::Joint,
        }
    }

    /// u′ of rows with logits u and candidates C.
    pub fn apply(&self, u: &Mat<f64>, c: &Mat<f64>, noise: &[NoiseRate<f64>]) -> Mat<f64> {
        match self {
            LabelContext::Linear(weights) => weights.apply(u, c, noise),
            LabelContext::Joint(weights) => weights.apply(u, c, noise),
        }
    }

    /// self += share · other, of the same form.
    pub fn add(&mut self, other: &Self, share: f64) {
        match (self, other) {
            (LabelContext::Linear(a), LabelContext::Linear(b)) => a.add(b, share),
            (LabelContext::Joint(a), LabelContext::Joint(b)) => a.add(b, share),
            _ => unreachable!("one form per fit"),
        }
    }

    /// What [`Form::read`] needs, by name.
    pub fn arrays(&self) -> Vec<(&'static str, Mat<f64>)> {
        match self {
            LabelContext::Linear(w) => {
                vec![("mixing", w.mixing.clone()), ("own", w.own.clone())]
            }
            LabelContext::Joint(w) => vec![
                ("pairs", w.pairs.clone()),
                ("own", w.own.clone()),
                ("counts", Mat::from_vec(1, 2, w.counts.to_vec())),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;
    use crate::{Error, ErrorKind};

    #[test]
    fn arrays_bring_the_weights_back() {
        let mut r = Streams::new(4).stream("label context");
        for form in [Form::Linear, Form::Joint] {
            let mut weights = form.zeros(3);
            let mut numbers = |rows, cols| Mat::from_fn(rows, cols, |_, _| r.normal());
            weights = form
                .read(3, |name, rows, cols| {
                    assert!(weights.arrays().iter().any(|(n, _)| *n == name));
                    Ok(Mat::zeros(rows, cols))
                })
                .unwrap();
            assert_eq!(weights, form.zeros(3));
            let other = match form {
                Form::Linear => LabelContext::Linear(ContextWeights {
                    mixing: numbers(3, 3),
                    own: numbers(context::OWN, 3),
                }),
                Form::Joint => LabelContext::Joint(JointWeights {
                    pairs: numbers(3, 3),
                    own: numbers(joint::OWN, 3),
                    counts: [0.3, -0.2],
                }),
            };
            weights.add(&other, 1.0);
            assert_eq!((&weights, weights.form()), (&other, form));
            let arrays = other.arrays();
            let again = form.read(3, |name, rows, cols| {
                let found =
                    arrays.iter().find(|(n, m)| *n == name && (m.rows(), m.cols()) == (rows, cols));
                found.map(|(_, m)| m.clone()).ok_or_else(|| Error::input("missing"))
            });
            assert_eq!(again.unwrap(), other);
            let missing = form.read(3, |_, _, _| Err(Error::input("missing")));
            assert_eq!(missing.unwrap_err().kind(), ErrorKind::Input);
        }
    }

    /// Exactly one of five labels is true: sets say it better than sums.
    #[test]
    fn the_better_form_is_taken() {
        let mut r = Streams::new(2).stream("form");
        let truth: Vec<usize> = (0..500).map(|_| r.below(5)).collect();
        let c = Mat::from_fn(500, 5, |i, j| f64::from(u8::from(truth[i] == j || r.bernoulli(0.3))));
        let noise = vec![NoiseRate::new(0.3); 5];
        let parts = Parts::new(500, 5, &Streams::new(3));
        let flat = Mat::from_fn(500, 5, |_, _| -1.386);
        assert_eq!(Form::fit_better(&flat, &c, &noise, &parts).1.form(), Form::Joint);
        let many = Mat::zeros(10, joint::MOST_LABELS + 1);
        let noise = vec![NoiseRate::new(0.3); many.cols()];
        let parts = Parts::new(10, 5, &Streams::new(3));
        assert_eq!(Form::fit_better(&many, &many, &noise, &parts).1.form(), Form::Linear);
    }
}
