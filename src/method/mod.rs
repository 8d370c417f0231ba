//! Methods: from noisy candidate labels to a feature ranking and, if the method makes them, clean
//! labels. One trait, one file a method.

mod affinity;
mod binary;
mod confidence;
mod controls;
mod factorise;
mod forward;
mod fpml;
mod kmeans;
mod learner;
mod linear_predictor;
mod logistic;
mod mutual_information;
mod nlr;
pub mod observation;
mod optics;
mod pamb;
mod particle;
#[cfg(test)]
mod planted;
mod pml_fsla;
mod pml_fsmir;
mod pml_fsso;
mod pml_ld;
pub mod pomdp_fs;
pub(crate) mod probe;
mod ridge;
mod ridge_form;
mod schirn;
pub mod settings;
mod standard;
mod verdict;

use std::sync::Arc;

use serde_json::Value;

use self::pomdp_fs::{Config, PomdpFs, Preset, Stability, Trained};
pub use self::verdict::{Status, Verdict};
use crate::classify::Prediction;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::rng::Streams;
use crate::{Error, Result};

/// What a method may see: scaled features and candidate labels, never the truth.
#[derive(Clone, Copy, Debug)]
pub struct Training<'a> {
    /// Features X, n × d, scaled.
    pub x: &'a Mat<f32>,
    /// Candidate labels C, n × L.
    pub candidates: &'a Labels,
}

impl Training<'_> {
    /// Refuses data that nothing can be learned from: nothing at all, or values that are not finite.
    pub fn check(&self) -> Result<()> {
        let (x, c) = (self.x, self.candidates);
        if x.rows() == 0 || x.cols() == 0 || c.cols() == 0 {
            return Err(Error::found(
                format!("{} rows, {} features, {} labels", x.rows(), x.cols(), c.cols()),
                "at least one of each",
            ));
        }
        if x.rows() != c.rows() {
            return Err(Error::found(
                format!("{} rows of features and {} of labels", x.rows(), c.rows()),
                "the same number",
            ));
        }
        x.check_finite("features")
    }
}

/// Everything a fit needs besides the data.
pub struct Context<'a> {
    /// The fit's random streams.
    pub streams: Streams,
    /// Number of features k_fs to select.
    pub budget: usize,
    /// Told about the progress; may ask to stop.
    pub observer: &'a mut dyn Observer,
}

/// Hears about the progress of a fit, and keeps its checkpoints.
pub trait Observer {
    /// `done` of `total` units of work of `phase` are finished. Returns false to stop the fit,
    /// which then ends with [`crate::ErrorKind::Cancelled`].
    fn progress(&mut self, phase: &str, done: usize, total: usize) -> bool;
    /// The state that an interrupted run of this very fit stored, if there is one.
    fn resume(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
    /// Offered between two units of work: the observer decides whether it stores the state now.
    fn checkpoint(&mut self, _state: &dyn Fn() -> Vec<u8>) -> Result<()> {
        Ok(())
    }
    /// Whether [`Observer::progress`] is about to stop the fit: a state that is offered now is the
    /// last one.
    fn stops(&self) -> bool {
        false
    }
    /// ε of intermediate pseudo labels, from whoever knows the truth. For the history alone:
    /// nothing that is learned depends on it.
    fn epsilon(&mut self, _pseudo: &Labels) -> Option<f64> {
        None
    }
}

/// Hears nothing and never stops.
pub struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &str, _: usize, _: usize) -> bool {
        true
    }
}

/// What a method found out.
#[derive(Clone, Debug, Default)]
pub struct Fitted {
    /// All features, best first; ties by lower index.
    pub ranking: Vec<Ranked>,
    /// Hard pseudo labels Ŷ of the training instances, if the method makes them.
    pub pseudo: Option<Labels>,
    /// Probability of each training label, n × L, if the method makes them.
    pub confidence: Option<Mat<f32>>,
    /// The same before the candidate of the cell was heard: P(Y_ij = 1 | x_i), by models that did not see
    /// row i. Only beside confidences with this mean, see [`crate::classify::blend`].
    pub prior: Option<Mat<f32>>,
    /// The method's own predictor of labels, if it has one.
    pub predictor: Option<Arc<dyn Predictor>>,
    /// The objective after each iteration, if the method minimises one.
    pub objective: Vec<f64>,
    /// What the method thinks of its own labels, if it can tell.
    pub verdict: Option<Verdict>,
    /// What was done to the input on the way, one sentence each, for the reader of the result.
    pub notes: Vec<String>,
    /// What POMDP-FS learned besides: weights, noise rate, history.
    pub trained: Option<Arc<Trained>>,
    /// How much several fits of POMDP-FS agree, if it was fitted several times.
    pub stability: Option<Stability>,
}

/// Predicts the labels of new rows as the authors of a method meant it.
pub trait Predictor: Send + Sync + std::fmt::Debug {
    /// Scores and labels of rows that are scaled as [`Training::x`] was.
    fn predict(&self, x: &Mat<f32>) -> Result<Prediction>;
}

/// A feature and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Column of X.
    pub feature: usize,
    /// The larger the better; only the order has a meaning across methods.
    pub score: f64,
}

/// A way to rank features (and perhaps to clean labels).
pub trait Method: Send + Sync {
    /// Name on the command line and in tables.
    fn name(&self) -> &str;
    /// All settings as a JSON object: with the data, the noise, the split and the seed they
    /// determine the result.
    fn settings(&self) -> Value;
    /// The same method with other settings; see [`settings::changed`].
    fn with(&self, changes: &Value) -> Result<Box<dyn Method>>;
    /// Learns from candidate labels.
    fn fit(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted>;
    /// Changes of settings that `--tune` tries, the defaults not among them.
    fn grid(&self) -> Vec<Value> {
        Vec::new()
    }
    /// How many of the d features are used at this budget.
    fn selected(&self, budget: usize, d: usize) -> usize {
        budget.min(d)
    }
    /// Settings that it has and does not read as it is set now.
    fn unread(&self) -> &'static [&'static str] {
        &[]
    }
    /// Goes up whenever the same settings begin to give another result: stored cells of former
    /// revisions are then other cells.
    fn revision(&self) -> u32 {
        0
    }
    /// How many fits evaluation averages; more than one for a method that is chance itself.
    fn repetitions(&self) -> usize {
        1
    }
}

/// Names that [`by_name`] knows, in the order of tables.
pub const NAMES: [&str; 22] = [
    "pomdp-fs",
    "pomdp-fs-paper",
    "pomdp-fs-soft",
    "pml-fsla",
    "pml-fsmir",
    "pml-fsso",
    "fpml",
    "pml-ld",
    "pamb",
    "pml-vls",
    "pml-map",
    "nlr",
    "schirn",
    "forward",
    "ridge",
    "random",
    "all",
    "zeros",
    "drop-all",
    "logistic",
    "logistic-context",
    "mutual-information",
];

/// The method with this name, with its default settings.
pub fn by_name(name: &str) -> Result<Box<dyn Method>> {
    match name {
        "pomdp-fs" => Ok(Box::new(PomdpFs::new(Config::new(Preset::Observation)))),
        "pomdp-fs-paper" => Ok(Box::new(PomdpFs::new(Config::new(Preset::Paper)))),
        "pomdp-fs-soft" => {
            let soft = Config { soft: true, ..Config::new(Preset::Paper) };
            Ok(Box::new(PomdpFs::new(soft)))
        }
        "pml-fsla" => Ok(Box::new(pml_fsla::PmlFsla::default())),
        "pml-fsmir" => Ok(Box::new(pml_fsmir::PmlFsmir::default())),
        "pml-fsso" => Ok(Box::new(pml_fsso::PmlFsso::default())),
        "fpml" => Ok(Box::new(fpml::Fpml::default())),
        "pml-ld" => Ok(Box::new(pml_ld::PmlLd::default())),
        "pamb" => Ok(Box::new(pamb::Pamb::default())),
        "pml-vls" => Ok(Box::new(particle::Vls::default())),
        "pml-map" => Ok(Box::new(particle::Map::default())),
        "nlr" => Ok(Box::new(nlr::Nlr::default())),
        "schirn" => Ok(Box::new(schirn::Schirn::default())),
        "forward" => Ok(Box::new(forward::Forward::default())),
        "ridge" => Ok(Box::new(ridge::Ridge::default())),
        "random" => Ok(Box::new(controls::Random)),
        "all" => Ok(Box::new(controls::All)),
        "zeros" => Ok(Box::new(controls::Zeros)),
        "logistic" => Ok(Box::new(logistic::Logistic::new(false))),
        "logistic-context" => Ok(Box::new(logistic::Logistic::new(true))),
        "drop-all" => Ok(Box::new(controls::DropAll)),
        "mutual-information" => Ok(Box::new(controls::MutualInformation::default())),
        _ => Err(Error::config(format!(
            "found method '{name}', expected one of {}",
            NAMES.join(", ")
        ))),
    }
}

/// Ranks features by score, descending, ties by lower index; a score that is not finite counts as 0.
pub fn rank(scores: &[f64]) -> Vec<Ranked> {
    let mut ranking: Vec<Ranked> = scores
        .iter()
        .enumerate()
        .map(|(feature, &s)| Ranked { feature, score: if s.is_finite() { s } else { 0.0 } })
        .collect();
    ranking.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranking
}

/// The paper's budget (6.1): the top 20 % of the features, or 20 when d < 100, never more than d.
pub fn paper_budget(d: usize) -> usize {
    if d < 100 { d.min(20) } else { d / 5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranking_is_stable_and_finite() {
        let order: Vec<usize> =
            rank(&[1.0, f64::NAN, 3.0, 1.0, -1.0]).iter().map(|r| r.feature).collect();
        assert_eq!(order, [2, 0, 3, 1, 4]);
    }

    #[test]
    fn budget_of_the_paper() {
        let cases = [(1, 1), (16, 16), (49, 20), (99, 20), (100, 20), (103, 20), (1836, 367)];
        for (d, k) in cases {
            assert_eq!(paper_budget(d), k, "d = {d}");
        }
    }
}
