//! Several fits of the same rows with other random numbers, and what they agree on.
//!
//! The first fit draws what a single fit draws; the others have streams of their own. The consensus
//! is the mean of the confidences and the mean of the ranks. For new rows the weights are those of the
//! fit whose labels are nearest to the consensus.

mod observe;
mod stability;

use std::sync::Arc;

use serde_json::{Value, json};

use self::observe::{OneOfSeveral, unpack};
pub use self::stability::{OneFit, Stability};
use super::fit::Trained;
use super::method::PomdpFs;
use super::stage1::labels::pseudo_labels;
use super::stage2::ranking::FeatureStatistics;
use crate::data::Labels;
use crate::linalg::Mat;
use crate::method::{Context, Fitted, Method, Ranked, Status, Training, Verdict, rank};
use crate::{Error, Result};

/// Agreement of the candidate cells of two fits below which labels are called unsure.
const UNSTABLE: f64 = 0.9;

/// POMDP-FS, fitted several times.
#[derive(Clone, Debug)]
pub struct Consensus {
    method: PomdpFs,
    seeds: usize,
}

impl Consensus {
    /// `seeds` fits of `method`.
    pub fn new(method: PomdpFs, seeds: usize) -> Result<Self> {
        match seeds {
            0 | 1 => {
                Err(Error::config(format!("found {seeds} training seeds, expected at least 2")))
            }
            _ => Ok(Consensus { method, seeds }),
        }
    }
}

impl Method for Consensus {
    fn name(&self) -> &str {
        self.method.name()
    }

    fn revision(&self) -> u32 {
        self.method.revision()
    }

    fn settings(&self) -> Value {
        let mut settings = self.method.settings();
        settings["seeds"] = json!(self.seeds);
        settings
    }

    fn with(&self, changes: &Value) -> Result<Box<dyn Method>> {
        let mut changes = changes.clone();
        let seeds = changes.as_object_mut().and_then(|c| c.remove("seeds"));
        let seeds = match seeds {
            None => self.seeds,
            Some(value) => {
                value.as_u64().and_then(|s| usize::try_from(s).ok()).ok_or_else(|| {
                    Error::config(format!(
                        "setting 'seeds' has the value {value}, expected a number"
                    ))
                })?
            }
        };
        let config = crate::method::settings::changed(&self.method.config, &changes)?;
        Ok(Box::new(Consensus::new(PomdpFs::new(config), seeds)?))
    }

    fn fit(&self, training: &Training<'_>, context: &mut Context<'_>) -> Result<Fitted> {
        let mut states = match context.observer.resume()? {
            Some(stored) => unpack(&stored, self.seeds)?,
            None => Vec::new(),
        };
        let mut fits = Vec::with_capacity(self.seeds);
        for seed in 0..self.seeds {
            let streams = match seed {
                0 => context.streams.clone(),
                _ => context.streams.child(&format!("seed/{seed}")),
            };
            let mut observer = OneOfSeveral::new(context.observer, (seed, self.seeds), &mut states);
            let mut own = Context { streams, budget: context.budget, observer: &mut observer };
            let fitted = self.method.fit(training, &mut own)?;
            observer.done();
            fits.push(fitted);
        }
        let epsilon = |labels: &Labels| context.observer.epsilon(labels);
        let stability = Stability::of(&fits, training.candidates, context.budget, epsilon);
        Ok(self.agree(fits, training.candidates, stability))
    }
}

impl Consensus {
    fn agree(&self, fits: Vec<Fitted>, candidates: &Labels, stability: Stability) -> Fitted {
        let confidence = mean(fits.iter().filter_map(|f| f.confidence.as_ref()).collect());
        // A fit that hands out the candidates has no prior: then the consensus has none.
        let priors: Option<Vec<_>> = fits.iter().map(|f| f.prior.as_ref()).collect();
        let at_least_one = self.method.config.at_least_one;
        let pseudo = pseudo_labels(&confidence, candidates, at_least_one);
        let distance = |f: &Fitted| f.pseudo.as_ref().map_or(1.0, |y| y.hamming_distance(&pseudo));
        let nearest = (0..fits.len())
            .min_by(|&a, &b| distance(&fits[a]).total_cmp(&distance(&fits[b])))
            .unwrap_or(0);
        let trained = fits[nearest].trained.as_ref().map(|trained| {
            let rates: Option<Vec<f64>> = stability.fits.iter().map(|f| f.rho).collect();
            Arc::new(Trained {
                features: mean_statistics(&fits),
                rho: rates.map(|r| r.iter().sum::<f64>() / r.len() as f64),
                ..Trained::clone(trained)
            })
        });
        Fitted {
            ranking: mean_ranking(&fits),
            verdict: verdict(&fits, &pseudo, candidates, &stability),
            notes: fits[nearest].notes.clone(),
            pseudo: Some(pseudo),
            confidence: Some(confidence),
            prior: priors.map(mean),
            trained,
            stability: Some(stability),
            ..Fitted::default()
        }
    }
}

fn mean(all: Vec<&Mat<f32>>) -> Mat<f32> {
    let share = 1.0 / all.len() as f64;
    Mat::from_fn(all[0].rows(), all[0].cols(), |i, j| {
        (all.iter().map(|p| f64::from(p[(i, j)])).sum::<f64>() * share) as f32
    })
}

/// By the mean place; the score is 1 for a feature that is first in every fit and falls to 0.
fn mean_ranking(fits: &[Fitted]) -> Vec<Ranked> {
    let d = fits[0].ranking.len();
    let mut places = vec![0usize; d];
    for fit in fits {
        fit.ranking.iter().enumerate().for_each(|(place, r)| places[r.feature] += place);
    }
    let largest = (fits.len() * d.saturating_sub(1)).max(1) as f64;
    rank(&places.iter().map(|&sum| 1.0 - sum as f64 / largest).collect::<Vec<_>>())
}

fn mean_statistics(fits: &[Fitted]) -> FeatureStatistics {
    let all: Vec<&FeatureStatistics> =
        fits.iter().filter_map(|f| f.trained.as_ref()).map(|t| &t.features).collect();
    let mean = |of: fn(&FeatureStatistics) -> &[f64]| -> Vec<f64> {
        let features = 0..of(all[0]).len();
        let share = 1.0 / all.len() as f64;
        features.map(|f| all.iter().map(|s| of(s)[f]).sum::<f64>() * share).collect()
    };
    FeatureStatistics {
        frequency: mean(|s| &s.frequency),
        credit: mean(|s| &s.credit),
        score: mean(|s| &s.score),
    }
}

/// One judgement from several: only what all fits say is said without a doubt.
fn verdict(
    fits: &[Fitted],
    pseudo: &Labels,
    candidates: &Labels,
    stability: &Stability,
) -> Option<Verdict> {
    let all: Vec<&Verdict> = fits.iter().filter_map(|f| f.verdict.as_ref()).collect();
    let first = all.first()?;
    let unstable = stability.candidate_agreement < UNSTABLE;
    let same = all.iter().all(|v| v.status == first.status);
    let (n, kept) = (candidates.count(), pseudo.count());
    let removed = format!("{} of {n} candidates are removed", n - kept);
    let status = match first.status {
        Status::Cleaned if unstable => Status::Uncertain,
        _ if !same => Status::Uncertain,
        status => status,
    };
    let text = match status {
        _ if !same => {
            let words: Vec<String> = all.iter().map(|v| v.status.name().to_owned()).collect();
            format!(
                "The fits judge their labels differently ({}); by their consensus {removed}. Check a \
                 sample by hand.",
                words.join(", ")
            )
        }
        Status::Cleaned => format!("{removed} as noise, by the consensus of {} fits.", all.len()),
        Status::Unchanged => {
            format!("Nothing was learned about noise in any of {} fits: {removed}.", all.len())
        }
        Status::Uncertain => format!(
            "By the consensus of {} fits {removed}, but there are doubts; check a sample by hand.",
            all.len()
        ),
        Status::Collapsed => format!(
            "Do not use these labels: only {kept} of {n} candidates would be kept in the consensus of \
             {} fits.",
            all.len()
        ),
    };
    let mut warnings: Vec<String> = Vec::new();
    if unstable {
        warnings.push(format!(
            "two fits that differ in their random numbers alone agree on only {:.1} % of the candidates",
            100.0 * stability.candidate_agreement
        ));
    }
    for warning in all.iter().flat_map(|v| &v.warnings) {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    Some(Verdict { status, text, warnings })
}

#[cfg(test)]
mod tests;
