//! PAMB (Liu, Jia & Zhang, TPAMI 45(11), 2023): binary decomposition without label confidences.
//!
//! ```text
//! 1. Draw B = ⌈code_factor · log₂ L⌉ columns v ∈ {+1, 0, −1}^L; each makes an ordinary binary problem.
//! 2. Per column b:  min ½‖w_b‖² + C Σ_i max(0, 1 − s_ib (w_bᵀx_i + c_b))²  over the rows it uses.
//! 3. Score of label j:  f_j(x) = −Σ_b P̂_jb exp(−v_b(j) h_b(x)),  h_b(x) = w_bᵀx + c_b.
//! ```
//!
//! P_jb is the share of the rows with candidate j on which h_b has the sign v_b(j); P̂ are its rows
//! divided by their sums. Known from the paper is its abstract (a ternary code, decoding weighted by
//! performance and margin), and z and the code length from comparisons by others. The encoding
//! ([`code`]) and the bipartition are choices; the published base learner is probably a kernel SVM,
//! a linear one is needed for weights. There is no objective of the whole: each column has its own.
//!
//! Features are ranked by the rows of [π₁w₁, …, π_B w_B], π_b the training accuracy of column b.

mod code;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::code::{Code, Rule};
use super::binary::Machines;
use super::learner::Learner;
use super::settings::{Settings, within};
use super::standard::{Standard, rank_by_rows};
use super::{Context, Fitted, Predictor, Training};
use crate::Result;
use crate::classify::Prediction;
use crate::classify::svm::{LinearSvm, Stop};
use crate::data::Labels;
use crate::linalg::Mat;
use crate::num::Real;

/// Margins beyond this say nothing more, and exp must not overflow.
const LARGEST_MARGIN: f64 = 30.0;
/// The order of the features is settled long before the last digits of the weights.
const STOP: Stop = Stop { gap: 1e-3, max_passes: 200 };

/// PAMB and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pamb {
    /// Number of columns over log₂ L: 100 as its authors, 10 for speed.
    pub code_factor: f64,
    /// C, the price of an error of a binary classifier.
    pub c: f64,
    /// Which rows a column uses: `meets`, or `subset` as its ancestor PL-ECOC (almost none).
    pub rule: Rule,
}

impl Default for Pamb {
    fn default() -> Self {
        Pamb { code_factor: 100.0, c: 1.0, rule: Rule::Meets }
    }
}

impl Settings for Pamb {
    fn check(&self) -> Result<()> {
        within("code_factor", self.code_factor, 1.0, 1e4)?;
        within("c", self.c, 1e-9, 1e9)
    }
}

impl Learner for Pamb {
    const NAME: &'static str = "pamb";

    fn alternatives(&self) -> Vec<Value> {
        vec![json!({"c": 0.001}), json!({"c": 0.01}), json!({"c": 0.1}), json!({"c": 10.0})]
    }

    fn learn(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let standard = Standard::sparse(training.x);
        let x = standard.apply(training.x)?;
        let (d, candidates) = (x.cols(), training.candidates);
        let streams = context.streams.child("pamb");
        let log2 = Real::ln(candidates.cols() as f64) / Real::ln(2.0f64);
        let columns = (self.code_factor * log2).ceil() as usize;
        let mut notes = Standard::note(training.x);
        let mut code = Code::draw(candidates, columns, self.rule, &mut streams.stream("code"));
        if code.columns.is_empty() {
            notes.push("no column had rows of both classes: one label against the rest".into());
            code = Code::one_against_rest(candidates);
        }
        let svm = LinearSvm { c: self.c, stop: STOP, ..LinearSvm::default() };
        let machines = Machines::train(&x, &code.problems, &svm, &streams, context)?;
        let weighted = Mat::from_fn(d, machines.accuracy.len(), |i, b| {
            machines.accuracy[b] * machines.weights[(b, i)]
        });
        let ranking = rank_by_rows(&weighted, d);
        let predictor = Decoder::new(standard, code.columns, machines, &x, candidates);
        Ok(Fitted { ranking, predictor: Some(Arc::new(predictor)), notes, ..Fitted::default() })
    }
}

/// Loss-weighted decoding.
#[derive(Debug)]
struct Decoder {
    standard: Standard,
    /// v of each column.
    columns: Vec<Vec<i8>>,
    machines: Machines,
    /// P̂, L × B.
    performance: Mat<f64>,
    /// Labels that score higher are on.
    threshold: f64,
}

impl Decoder {
    fn new(
        standard: Standard,
        columns: Vec<Vec<i8>>,
        machines: Machines,
        x: &Mat<f64>,
        candidates: &Labels,
    ) -> Self {
        let performance = performance(&columns, &machines, x, candidates);
        let mut decoder = Decoder { standard, columns, machines, performance, threshold: 0.0 };
        let mut scores = decoder.scores(x);
        // As many labels on as there are candidates in training; the sources are silent.
        scores.as_mut_slice().sort_by(|a, b| b.total_cmp(a));
        let next = scores.as_slice().get(candidates.count());
        decoder.threshold = next.copied().unwrap_or(f64::NEG_INFINITY);
        decoder
    }

    /// f, n × L, of scaled rows.
    fn scores(&self, x: &Mat<f64>) -> Mat<f64> {
        let labels = self.performance.rows();
        let mut scores = Mat::zeros(x.rows(), labels);
        self.machines.for_each_margin(x, |i, margins| {
            let row = scores.row_mut(i);
            for (b, (column, &h)) in self.columns.iter().zip(margins).enumerate() {
                let h = h.clamp(-LARGEST_MARGIN, LARGEST_MARGIN);
                let (loss_up, loss_down) = (Real::exp(-h), Real::exp(h));
                for (j, &v) in column.iter().enumerate().filter(|(_, v)| **v != 0) {
                    row[j] -= self.performance[(j, b)] * if v > 0 { loss_up } else { loss_down };
                }
            }
        });
        // A label without a column has no loss; nothing known is the worst, not the best.
        let worst = -Real::exp(LARGEST_MARGIN);
        for j in (0..labels).filter(|&j| self.performance.row(j).iter().all(|&p| p == 0.0)) {
            (0..x.rows()).for_each(|i| scores[(i, j)] = worst);
        }
        scores
    }
}

impl Predictor for Decoder {
    fn predict(&self, x: &Mat<f32>) -> Result<Prediction> {
        let scores = self.scores(&self.standard.apply(x)?);
        Ok(Prediction::at_threshold(scores, self.threshold, false))
    }
}

/// P̂.
fn performance(
    columns: &[Vec<i8>],
    machines: &Machines,
    x: &Mat<f64>,
    candidates: &Labels,
) -> Mat<f64> {
    let mut p = Mat::zeros(candidates.cols(), columns.len());
    machines.for_each_margin(x, |i, margins| {
        for j in (0..candidates.cols()).filter(|&j| candidates.get(i, j)) {
            for (b, (column, h)) in columns.iter().zip(margins).enumerate() {
                p[(j, b)] += f64::from(u8::from(f64::from(column[j]) * h > 0.0));
            }
        }
    });
    // Shares of the rows of a label differ from counts by a factor that the normalisation cancels.
    for j in 0..p.rows() {
        let total: f64 = p.row(j).iter().sum();
        if total > 0.0 {
            p.row_mut(j).iter_mut().for_each(|v| *v /= total);
        }
    }
    p
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
