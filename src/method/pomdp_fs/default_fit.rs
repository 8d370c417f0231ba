//! The default preset from data to result: Stage 1 by beliefs, Stage 2 by a sequential policy.

use std::sync::Arc;

use super::belief::checkpoint::{Stored, pack};
use super::belief::verdict::{Judged, judge};
use super::belief::{BeliefFit, Beliefs};
use super::checkpoint::{open, seal};
use super::config::Config;
use super::fit::{History2, Trained, fingerprint};
use super::model::Weights;
use super::stage1::labels::pseudo_labels;
use super::stage2::sequential::select_features;
use crate::linalg::Mat;
use crate::method::settings::Settings;
use crate::method::{Context, Fitted, Observer, Training};
use crate::num::give_back;
use crate::{Error, Result};

/// Fits; the observer may watch, stop and continue.
pub(super) fn fit(
    config: &Config,
    training: &Training<'_>,
    context: &mut Context<'_>,
) -> Result<Fitted> {
    config.check()?;
    training.check()?;
    check_size(training.x)?;
    config.check_parts(training.x.rows())?;
    if context.budget == 0 {
        return Err(Error::config("the budget is 0, expected at least one feature"));
    }
    let streams = context.streams.child("pomdp-fs");
    let name = fingerprint(config, training, context.budget, &streams);
    let stored = context.observer.resume()?.map(|bytes| parts(&bytes)).transpose()?;
    let (stored1, stored2) = stored.unwrap_or_default();
    let (found, done) = stage1(config, training, &name, stored1, context)?;
    let labels = pseudo_labels(&found.confidence, training.candidates, config.at_least_one);
    let Judged { pseudo, confidence, prior, verdict } = judge(&found, labels, training.candidates);
    // What only Stage 1 needs is given back before Stage 2 begins.
    let Beliefs { linear, model, history, .. } = found;
    let rho = linear.rho.clone();
    drop(linear);
    give_back();
    let hard = (!config.soft).then(|| pseudo.to_mat());
    let selected = select_features(
        training.x,
        hard.as_ref().unwrap_or(&confidence),
        &config.stage2(),
        context.budget,
        &streams.child("stage2"),
        &mut Stage2Observer { inner: context.observer, stage1: &done, stored: stored2 },
    )?;
    Ok(Fitted {
        ranking: selected.ranking,
        pseudo: Some(pseudo),
        confidence: Some(confidence),
        prior,
        verdict: Some(verdict),
        trained: Some(Arc::new(Trained {
            features: selected.statistics,
            rho: Some(rho.iter().sum::<f64>() / rho.len().max(1) as f64),
            weights: Weights::Belief(model),
            history: (history, History2::Rollouts(selected.history)),
        })),
        ..Fitted::default()
    })
}

/// Refuses rows whose length is not finite in f32: the encoder would overflow.
fn check_size(x: &Mat<f32>) -> Result<()> {
    let length = |row: &[f32]| row.iter().map(|v| v * v).sum::<f32>();
    if x.rows_iter().all(|row| length(row).is_finite()) {
        return Ok(());
    }
    Err(Error::numeric("the features are too large: the length of a row overflows f32")
        .hint("scale the features"))
}

fn stage1(
    config: &Config,
    training: &Training<'_>,
    name: &str,
    stored: Option<Vec<u8>>,
    context: &mut Context<'_>,
) -> Result<(Beliefs, Vec<u8>)> {
    let observer = &mut *context.observer;
    let streams = context.streams.child("pomdp-fs/stage1");
    let tell = |observer: &mut dyn Observer, phase: &str, done: usize, total: usize| match observer
        .progress(phase, done, total)
    {
        true => Ok(()),
        false => Err(Error::cancelled()),
    };
    // A phase of its own: it tells nothing about the time of an epoch.
    tell(observer, "Stage 1: linear", 0, 1)?;
    let stored = stored.as_deref().map(|file| Stored::open(file, name)).transpose()?;
    let mut fit = BeliefFit::new(config, *training, streams, stored.as_ref())?;
    if let Some(stored) = stored {
        stored.networks(&mut fit.state)?;
    }
    observer.checkpoint(&|| join(&pack(&fit, name), None))?;
    tell(observer, "Stage 1", fit.state.epoch, config.epochs1)?;
    let record_epsilon = |fit: &mut BeliefFit<'_>, observer: &mut dyn Observer| {
        let labels = pseudo_labels(&fit.confidence(), training.candidates, config.at_least_one);
        if let Some(record) = fit.state.history.last_mut() {
            record.epsilon = observer.epsilon(&labels);
        }
    };
    record_epsilon(&mut fit, observer);
    while fit.more() {
        fit.advance()?;
        record_epsilon(&mut fit, observer);
        observer.checkpoint(&|| join(&pack(&fit, name), None))?;
        tell(observer, "Stage 1", fit.state.epoch, config.epochs1)?;
    }
    let done = pack(&fit, name);
    Ok((fit.finish(), done))
}

/// Lets Stage 2 keep its progress beside that of Stage 1.
struct Stage2Observer<'a> {
    inner: &'a mut dyn Observer,
    stage1: &'a [u8],
    stored: Option<Vec<u8>>,
}

impl Observer for Stage2Observer<'_> {
    fn progress(&mut self, phase: &str, done: usize, total: usize) -> bool {
        self.inner.progress(phase, done, total)
    }

    fn resume(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.stored.take())
    }

    fn checkpoint(&mut self, state: &dyn Fn() -> Vec<u8>) -> Result<()> {
        self.inner.checkpoint(&|| join(self.stage1, Some(&state())))
    }
}

/// The progress of both stages in one file: the length of the first, the first, the second if it began.
fn join(stage1: &[u8], stage2: Option<&[u8]>) -> Vec<u8> {
    let length = (stage1.len() as u64).to_le_bytes();
    seal([&length[..], stage1, stage2.unwrap_or_default()].concat())
}

type Parts = (Option<Vec<u8>>, Option<Vec<u8>>);

/// What [`join`] put together.
fn parts(bytes: &[u8]) -> Result<Parts> {
    let bytes = open(bytes)?;
    let cut = || -> Option<Parts> {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (stage1, stage2) = rest.split_at_checked(length)?;
        Some((Some(stage1.to_vec()), (!stage2.is_empty()).then(|| stage2.to_vec())))
    };
    cut().ok_or_else(|| Error::input("the stored progress is of another version of the program"))
}
