//! PARTICLE (Fang & Zhang, AAAI 2019; Zhang & Fang, TPAMI 43(10), 2021): PML-VLS and PML-MAP.
//!
//! ```text
//! 1. Weights of the k nearest other rows:  min ‖x_i − Σ_a w_a x_a‖²  s.t. w ≥ 0;  H_ia = w_a / Σ w.
//!    Labels propagate along them among the candidates; what keeps most of its confidence is credible.
//! 2. Linear SVMs (hinge, C) for each pair of labels, credible j without l against credible l
//!    without j, and for each label against its virtual opponent, credible j against no candidate j.
//! 3. VLS: a label is on when its weighted votes beat the virtual label's. MAP: when it is the more
//!    probable answer to its number of pairwise wins.
//! ```
//!
//! The source is the authors' MATLAB code of the conference version, whose defects are mended:
//!
//! * A row is not its own neighbour. In the code it is; then it reconstructs itself, and propagation
//!   does nothing (`include_self` brings that back).
//! * Confidences are compared among the candidates of a row. The code compares all labels, and may
//!   even call a label credible that is no candidate (`threshold_over_all` brings that back).
//! * MAP counts on the training rows. The code counts on the test rows with their true labels: a
//!   method that sees training data only cannot do that, so there is no such switch.
//! * Nothing of the test rows takes part in stage 1, and a pair of labels without examples gives no
//!   vote to either.
//!
//! There is no objective of the whole. Votes are signs, so the weights that rank features linearise
//! them: W_j = Σ_l ±acc_jl w_jl + acc_jv w_jv for VLS, W_j = Σ_l ±w_jl for MAP.

mod credible;
mod votes;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::votes::{Evidence, MapRule, VlsRule, Votes};
use super::binary::Machines;
use super::learner::Learner;
use super::settings::{Settings, within};
use super::standard::{Standard, rank_by_rows};
use super::{Context, Fitted, Predictor, Training};
use crate::Result;
use crate::classify::svm::{LinearSvm, Loss, Solver, Stop};

/// The order of the features is settled long before the last digits of the weights.
const STOP: Stop = Stop { gap: 1e-3, max_passes: 200 };

/// The settings of PML-VLS and PML-MAP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParticleSettings {
    /// k, the number of neighbours.
    pub k: usize,
    /// α, the share of a row's confidences that comes from its neighbours.
    pub alpha: f64,
    /// Candidates whose confidence, scaled to [0, 1] in each row, reaches this are credible.
    pub threshold: f64,
    /// C, the price of an error of a binary classifier.
    pub c: f64,
    /// Give each label as much confidence in total as it has candidates.
    pub mass_correction: bool,
    /// As the public code: each row is its own nearest neighbour.
    pub include_self: bool,
    /// As the public code: scale confidences over all labels of a row, candidates or not.
    pub threshold_over_all: bool,
}

impl Default for ParticleSettings {
    fn default() -> Self {
        ParticleSettings {
            k: 10,
            alpha: 0.95,
            threshold: 0.9,
            c: 1.0,
            mass_correction: true,
            include_self: false,
            threshold_over_all: false,
        }
    }
}

/// PML-VLS: votes against a virtual label.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vls(pub ParticleSettings);

/// PML-MAP: the more probable answer to a number of wins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Map(pub ParticleSettings);

impl Settings for Vls {
    fn check(&self) -> Result<()> {
        self.0.check()
    }
}

impl Settings for Map {
    fn check(&self) -> Result<()> {
        self.0.check()
    }
}

impl Learner for Vls {
    const NAME: &'static str = "pml-vls";

    fn learn(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        self.0.learn(training, context, true, |votes, _| Arc::new(VlsRule(votes)))
    }

    fn alternatives(&self) -> Vec<Value> {
        alternatives()
    }
}

impl Learner for Map {
    const NAME: &'static str = "pml-map";

    fn learn(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        self.0.learn(training, context, false, |votes, evidence| {
            Arc::new(MapRule::new(votes, evidence))
        })
    }

    fn alternatives(&self) -> Vec<Value> {
        alternatives()
    }
}

fn alternatives() -> Vec<Value> {
    vec![
        json!({"threshold": 0.5}),
        json!({"threshold": 0.7}),
        json!({"alpha": 0.5}),
        json!({"k": 20}),
        json!({"mass_correction": false}),
        json!({"c": 0.01}),
        json!({"c": 0.1}),
    ]
}

impl ParticleSettings {
    fn check(&self) -> Result<()> {
        within("k", self.k as f64, 1.0, 1e4)?;
        within("alpha", self.alpha, 0.0, 1.0)?;
        within("threshold", self.threshold, 0.0, 1.0)?;
        within("c", self.c, 1e-9, 1e9)
    }

    /// Both stages; `rule` makes the predictor. Only VLS has virtual labels.
    fn learn(
        &self,
        training: &Training<'_>,
        context: &mut Context<'_>,
        virtual_labels: bool,
        rule: impl FnOnce(Votes, &Evidence<'_>) -> Arc<dyn Predictor>,
    ) -> Result<Fitted> {
        let candidates = training.candidates;
        let centred = Standard::centred(training.x).apply(training.x)?;
        let elicited = credible::elicit(&centred, candidates, self, context)?;

        let standard = Standard::sparse(training.x);
        let x = standard.apply(training.x)?;
        let evidence = Evidence { x: &x, credible: &elicited.credible, candidates };
        let svm = LinearSvm {
            c: self.c,
            loss: Loss::Hinge,
            solver: Solver::Dual,
            stop: STOP,
            ..LinearSvm::default()
        };
        let streams = context.streams.child("particle");
        let problems = evidence.problems(virtual_labels);
        let machines = Machines::train(&x, &problems, &svm, &streams, context)?;
        let votes = Votes { standard, machines, labels: candidates.cols() };
        let ranking = rank_by_rows(&votes.weights(virtual_labels), x.cols());
        let predictor = rule(votes, &evidence);
        Ok(Fitted {
            ranking,
            pseudo: Some(elicited.credible),
            confidence: Some(elicited.confidence.cast()),
            predictor: Some(predictor),
            notes: Standard::note(training.x),
            ..Fitted::default()
        })
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
