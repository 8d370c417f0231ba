//! How fast this machine is with this program: peak and bandwidth, matrix products, training steps, a
//! rollout, SVM, nearest neighbours, readers. `docs/bench.md` says what is measured and how to read it.
//!
//! All pieces of work are visited in turn, many times; each has the time of its fastest run and of its
//! median run. Operations are counted, not estimated: the multiply-adds of matrix products and of the
//! attention that are really done, nothing for what is between them.

pub mod compare;
mod engine;
mod evaluation;
pub mod export;
pub mod machine;
mod timing;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};
pub use timing::Timed;
use timing::Work;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Visits to each piece of work.
    pub rounds: usize,
    /// Only pieces whose id contains this text.
    pub only: Option<String>,
}

/// Everything that was measured. The keys are a contract; ids are stable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Name of the processor.
    pub cpu: String,
    /// Threads that training steps, rollout, SVM and neighbours used.
    pub threads: usize,
    /// Multiply-adds of the widest vector unit, one core, GFLOP/s.
    pub peak_gflops: f64,
    /// The same on all threads together.
    pub peak_gflops_threads: f64,
    /// One core with each vector unit of this machine.
    pub peaks: Vec<machine::Peak>,
    /// Triad on one core, GB/s.
    pub bandwidth_gbs: machine::Bandwidth,
    /// Facts about the machine.
    pub machine: machine::Facts,
    /// Matrix products on one core.
    pub kernels: Vec<Kernel>,
    /// Forward, loss, backward, Adam.
    pub train_step: Vec<TrainStep>,
    /// Sampling, joint loss, backward, Adam; absent if it was not asked for.
    pub rollout: Option<Rollout>,
    /// SVM, nearest neighbours, readers.
    pub other: Vec<Other>,
}

/// A matrix product.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kernel {
    /// Stable id.
    pub id: String,
    /// nn, nt or tn: which operand is transposed.
    pub name: String,
    /// Rows, inner dimension, columns.
    pub shape: [usize; 3],
    /// Fastest and median run.
    #[serde(flatten)]
    pub time: Timed,
    /// By the fastest run.
    pub gflops: f64,
    /// Of one core.
    pub share_of_peak: f64,
}

/// A training step of Stage 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrainStep {
    /// Stable id.
    pub id: String,
    /// Instances.
    pub batch: usize,
    /// Tokens per instance.
    pub tokens: usize,
    /// Fastest and median run.
    #[serde(flatten)]
    pub time: Timed,
    /// Operations of a step, in units of 10⁹.
    pub gflop: f64,
    /// By the fastest run.
    pub gflops: f64,
    /// Of all threads.
    pub share_of_peak: f64,
}

/// Rollouts of Stage 2.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rollout {
    /// Stable id.
    pub id: String,
    /// Rollouts.
    pub batch: usize,
    /// Selections of each.
    pub steps: usize,
    /// Features to select from.
    pub features: usize,
    /// Fastest and median run.
    #[serde(flatten)]
    pub time: Timed,
    /// Operations of a step, in units of 10⁹.
    pub gflop: f64,
    /// By the fastest run.
    pub gflops: f64,
    /// Of all threads.
    pub share_of_peak: f64,
}

/// Work that is not counted in floating-point operations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Other {
    /// Stable id.
    pub id: String,
    /// Fastest and median run.
    #[serde(flatten)]
    pub time: Timed,
    /// How much of `unit` a second.
    pub throughput: f64,
    /// What is counted.
    pub unit: String,
}

/// Runs the one piece of work called `id` so many times and measures nothing: for profilers and for
/// counts of instructions.
pub fn repeat(id: &str, times: usize) -> Result<()> {
    let wanted = |other: &str| other == id;
    let mut works = engine::works(&wanted);
    works.extend(evaluation::works(&wanted)?);
    let Some(work) = works.first_mut() else {
        return Err(Error::found(format_args!("'{id}'"), "the id of a piece of work")
            .hint("the first column of the report has the ids"));
    };
    (0..times).for_each(|_| (work.run)());
    Ok(())
}

/// Measures; `progress(visits done, visits)` is told now and then.
pub fn run(options: &Options, mut progress: impl FnMut(usize, usize)) -> Result<Report> {
    let wanted = |id: &str| options.only.as_deref().is_none_or(|text| id.contains(text));
    let units = machine::units();
    let mut works: Vec<Work> = units.iter().map(|&unit| machine::peak_work(unit, false)).collect();
    works.push(machine::peak_work(units[units.len() - 1], true));
    works.extend(machine::bandwidth_works());
    let fixed = works.len();
    works.extend(engine::works(&wanted));
    works.extend(evaluation::works(&wanted)?);
    let times = timing::interleave(&mut works, options.rounds, &mut progress);
    let rate = |k: usize| works[k].amount / times[k].ms / 1e6;
    let peaks: Vec<machine::Peak> = units
        .iter()
        .enumerate()
        .map(|(k, &unit)| machine::Peak { unit: machine::unit_name(unit), gflops: rate(k) })
        .collect();
    // One thread cannot do more than one core: the better of the two measurements is the peak.
    let one = rate(units.len() - 1);
    let all = rate(units.len()).max(one);
    let from = units.len() + 1;
    let mut report = Report {
        cpu: machine::cpu(),
        threads: rayon::current_num_threads(),
        peak_gflops: one,
        peak_gflops_threads: all,
        peaks,
        bandwidth_gbs: machine::Bandwidth {
            l1: rate(from),
            l2: rate(from + 1),
            l3: rate(from + 2),
            dram: rate(from + 3),
        },
        machine: machine::facts(),
        kernels: Vec::new(),
        train_step: Vec::new(),
        rollout: None,
        other: Vec::new(),
    };
    for (work, &time) in works.iter().zip(&times).skip(fixed) {
        let (id, gflops, gflop) = (work.id.clone(), work.amount / time.ms / 1e6, work.amount / 1e9);
        match &work.kind {
            timing::Kind::Product { name, shape } => {
                let share_of_peak = gflops / one;
                let (name, shape) = ((*name).to_owned(), *shape);
                report.kernels.push(Kernel { id, name, shape, time, gflops, share_of_peak });
            }
            timing::Kind::Train { batch, tokens } => {
                let (batch, tokens, share_of_peak) = (*batch, *tokens, gflops / all);
                let step = TrainStep { id, batch, tokens, time, gflop, gflops, share_of_peak };
                report.train_step.push(step);
            }
            timing::Kind::Rollout { batch, steps, features } => {
                let (batch, steps, features) = (*batch, *steps, *features);
                let share_of_peak = gflops / all;
                report.rollout = Some(Rollout {
                    id,
                    batch,
                    steps,
                    features,
                    time,
                    gflop,
                    gflops,
                    share_of_peak,
                });
            }
            timing::Kind::Other { unit } => {
                let (throughput, unit) = (work.amount / time.ms * 1e3, (*unit).to_owned());
                report.other.push(Other { id, time, throughput, unit });
            }
        }
    }
    Ok(report)
}
