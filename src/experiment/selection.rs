//! Selection: one cell of POMDP-FS, with everything that it learned.

use super::{
    Budget, ClassifierConfig, ClassifierKind, MethodRun, Outcome, Plan, Protocol, Score, Scoring,
    TrainLabels,
};
use crate::data::Dataset;
use crate::linalg::Mat;
use crate::method::Silent;
use crate::method::pomdp_fs::{Config, Consensus, Description, Model, PomdpFs, Trained};
use crate::{Error, Result};

/// What a selection is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Settings of the method.
    pub config: Config,
    /// Split, noise and scaling.
    pub protocol: Protocol,
    /// Number of features to select.
    pub budget: Budget,
    /// The classifier that scores the result.
    pub classifier: ClassifierConfig,
    /// The fold that is held out, so that the result can be scored; None: all rows train.
    pub hold_out: Option<usize>,
    /// How often the same rows are fitted, each time with other random numbers; see [`Consensus`].
    pub seeds: usize,
}

impl Request {
    /// The plan whose only method is POMDP-FS. A held-out fold is scored under every kind of
    /// training labels.
    pub fn plan<'a>(&self, data: &'a Dataset) -> Result<Plan<'a>> {
        let scoring = Scoring {
            train_labels: TrainLabels::ALL.to_vec(),
            classifiers: vec![self.classifier.clone()],
            budgets: vec![self.budget],
            ..Scoring::default()
        };
        let method = PomdpFs::new(self.config.clone());
        let run = match self.seeds {
            1 => MethodRun::new(Box::new(method) as Box<_>),
            seeds => MethodRun::new(Box::new(Consensus::new(method, seeds)?) as Box<_>),
        };
        Plan::new(data, self.protocol.clone(), scoring, vec![run], self.hold_out.is_some())
    }
}

/// Clean labels, a feature ranking and the model behind them.
pub struct Selection<'a> {
    /// The data.
    pub data: &'a Dataset,
    /// Settings of the method.
    pub config: Config,
    /// Number of selected features.
    pub budget: usize,
    /// Root of the random streams.
    pub seed: u64,
    /// Share of the irrelevant labels that was added as noise, if noise was added.
    pub noise: Option<f64>,
    /// Rows, labels, ranking, scores.
    pub outcome: Outcome,
    /// The score of the classifier on all features, trained on the pseudo labels, to compare with; None
    /// without held-out rows.
    pub all_features: Option<Score>,
}

impl<'a> Selection<'a> {
    /// Names what came out of the cell of `plan`.
    pub fn new(plan: &Plan<'a>, config: Config, noise: Option<f64>, outcome: Outcome) -> Self {
        let data = plan.data;
        let (budget, seed) = (plan.scoring.largest(data.d()), plan.protocol.seed);
        Selection { data, config, budget, seed, noise, outcome, all_features: None }
    }

    /// What POMDP-FS learned besides labels and ranking.
    pub fn trained(&self) -> &Trained {
        self.outcome.fitted.trained.as_ref().expect("the method is POMDP-FS")
    }

    /// The selected features, best first.
    pub fn selected(&self) -> &[usize] {
        &self.outcome.result.ranking[..self.budget]
    }

    /// The model for new rows.
    pub fn model(&self) -> Model {
        Model {
            description: Description {
                budget: self.budget,
                features: self.data.feature_names.clone(),
                numbered_features: self.data.source.numbered_features,
                labels: self.data.label_names.clone(),
                nominal: self.data.nominal.clone(),
                ranking: self.outcome.result.ranking.clone(),
                reading: self.data.source.reading.clone(),
                settings: self.config.clone(),
            },
            scaler: self.outcome.prepared.scaler.clone(),
            means: column_means(&self.data.x, &self.outcome.prepared.train_rows),
            weights: self.trained().weights.clone(),
        }
    }
}

fn column_means(x: &Mat<f64>, rows: &[usize]) -> Vec<f64> {
    let n = rows.len().max(1) as f64;
    // Divided first: a sum of huge values must not overflow.
    (0..x.cols()).map(|j| rows.iter().map(|&i| x[(i, j)] / n).sum()).collect()
}

/// Cleans the candidate labels of all rows and ranks the features.
///
/// The data need candidate labels; to try the method on data with true labels, make candidates with
/// [`crate::data::noise::inject`] or evaluate with [`super::evaluate`].
pub fn fit<'a>(
    data: &'a Dataset,
    config: &Config,
    budget: Budget,
    seed: u64,
) -> Result<Selection<'a>> {
    let request = Request {
        config: config.clone(),
        protocol: Protocol { seed, ..Protocol::default() },
        budget,
        classifier: ClassifierConfig::new(ClassifierKind::Svm),
        hold_out: None,
        seeds: 1,
    };
    if data.candidates.is_none() {
        return Err(Error::input("found no candidate labels, expected them"));
    }
    let plan = request.plan(data)?;
    let cell = plan.cells()[0];
    let outcome = cell.run(cell.prepare(), &mut Silent)?;
    Ok(Selection::new(&plan, config.clone(), None, outcome))
}
