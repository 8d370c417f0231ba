//! The two terms of Theorem 5.5 on real data: which of them rules, and whether the bound says anything.
//!
//! F is the class of linear predictors ŷ_j = clip((1 + w_j·x̃)/2) on the selected features with ‖w_j‖ ≤ W, x̃ the row
//! with a 1 at its end, ℓ_cls the absolute loss: M = 1, L_cls = 1. The loss is ½-Lipschitz in w·x̃, so by
//! contraction R̂_n(G) ≤ ½ W √(Σ‖x̃_i‖²)/n. W is the largest norm of a ridge that was fitted to the
//! pseudo labels, so the ridge is a member of F. (Strictly W must be fixed before the data are seen; a
//! larger one only makes the bound worse.)

use crate::data::{Dataset, Labels};
use crate::experiment::{Budget, Prepared, Protocol, Repeat};
use crate::linalg::Mat;
use crate::method::pomdp_fs::{Config, PomdpFs, Preset};
use crate::method::probe::columns::Columns;
use crate::method::probe::penalty::{choose_factor, ridge};
use crate::method::{Context, Method, Silent, Training};
use crate::num::Real;
use crate::rng::Streams;
use crate::{Error, Result};

use super::excess_risk::DELTA;

/// Both terms for one set and one preset.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// The data.
    pub dataset: String,
    /// The preset.
    pub preset: &'static str,
    /// Training rows.
    pub n: usize,
    /// ε of the pseudo labels.
    pub epsilon: f64,
    /// W.
    pub norm: f64,
    /// 2 L_cls ε.
    pub label_term: f64,
    /// 2 Gen_n.
    pub generalisation: f64,
    /// The part of 2 Gen_n that no class can avoid: 6 √(ln(2/δ)/2n).
    pub unavoidable: f64,
    /// Absolute loss on held-out rows: trained on pseudo labels, minus trained on the truth.
    pub excess: f64,
}

impl Terms {
    /// The bound.
    pub fn bound(&self) -> f64 {
        self.label_term + self.generalisation
    }
}

/// The first of five folds is held out, 20 % noise on the others.
pub fn terms(data: &Dataset, preset: Preset, seed: u64) -> Result<Terms> {
    let protocol = Protocol { seed, ..Protocol::default() };
    let repeat = Repeat::new(data, &protocol, 0, true)?;
    let prepared = Prepared::new(data, &repeat, Some(0), protocol.scaling);
    let (Some(truth), Some(test_truth)) = (&prepared.truth, &prepared.test_truth) else {
        return Err(Error::found(
            "data without true labels",
            "data whose true labels are known: ε needs them",
        ));
    };
    let budget = Budget::Paper.of(data.d());
    let streams = Streams::new(seed).child("decomposition");
    let mut context = Context { streams: streams.clone(), budget, observer: &mut Silent };
    let training = Training { x: &prepared.features, candidates: &prepared.candidates };
    let method = PomdpFs::new(Config::new(preset));
    let fitted = method.fit(&training, &mut context)?;
    let pseudo = fitted.pseudo.ok_or_else(|| Error::numeric("the fit made no pseudo labels"))?;
    let columns: Vec<usize> = fitted.ranking[..budget].iter().map(|r| r.feature).collect();
    let (train, test) =
        (prepared.features.select_cols(&columns), prepared.test_features.select_cols(&columns));

    let from_pseudo = Ridge::fit(&train, &pseudo, &streams);
    let from_truth = Ridge::fit(&train, truth, &streams);
    let norm = from_pseudo.norm();
    let n = train.rows() as f64;
    let squares: f64 =
        train.as_slice().iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>() + n;
    let unavoidable = 6.0 * (Real::ln(2.0 / DELTA) / (2.0 * n)).sqrt();
    let epsilon = pseudo.hamming_distance(truth);
    Ok(Terms {
        dataset: data.name.clone(),
        preset: match preset {
            Preset::Observation => "observation",
            Preset::Paper => "paper",
        },
        n: train.rows(),
        epsilon,
        norm,
        label_term: 2.0 * epsilon,
        generalisation: 2.0 * (2.0 * 0.5 * norm * squares.sqrt() / n) + unavoidable,
        unavoidable,
        excess: from_pseudo.loss(&test, test_truth) - from_truth.loss(&test, test_truth),
    })
}

/// A ridge of ±1 targets with an intercept.
struct Ridge {
    weights: Mat<f64>,
    intercept: Vec<f64>,
}

impl Ridge {
    fn fit(x: &Mat<f32>, labels: &Labels, streams: &Streams) -> Self {
        let targets =
            Mat::from_fn(
                labels.rows(),
                labels.cols(),
                |i, j| if labels.get(i, j) { 1.0 } else { -1.0 },
            );
        let factor = choose_factor(x, &targets, streams);
        let weights = ridge(&Columns::new(x), &targets, factor);
        let n = x.rows() as f64;
        let mean = |column: &dyn Fn(usize) -> f64| (0..x.rows()).map(column).sum::<f64>() / n;
        let intercept = (0..labels.cols())
            .map(|j| {
                let shift: f64 =
                    (0..x.cols()).map(|a| weights[(a, j)] * mean(&|i| f64::from(x[(i, a)]))).sum();
                mean(&|i| targets[(i, j)]) - shift
            })
            .collect();
        Ridge { weights, intercept }
    }

    /// Largest ‖(w_j, b_j)‖.
    fn norm(&self) -> f64 {
        let of = |j: usize| {
            let w: f64 =
                (0..self.weights.rows()).map(|a| self.weights[(a, j)] * self.weights[(a, j)]).sum();
            (w + self.intercept[j] * self.intercept[j]).sqrt()
        };
        (0..self.intercept.len()).map(of).fold(0.0, f64::max)
    }

    /// Mean |clip((1 + w·x̃)/2) − y|.
    fn loss(&self, x: &Mat<f32>, labels: &Labels) -> f64 {
        let mut total = 0.0;
        for i in 0..x.rows() {
            for j in 0..labels.cols() {
                let score: f64 = x
                    .row(i)
                    .iter()
                    .enumerate()
                    .map(|(a, &v)| f64::from(v) * self.weights[(a, j)])
                    .sum();
                let said = (0.5 * (1.0 + score + self.intercept[j])).clamp(0.0, 1.0);
                total += if labels.get(i, j) { 1.0 - said } else { said };
            }
        }
        total / (x.rows() * labels.cols()) as f64
    }
}
