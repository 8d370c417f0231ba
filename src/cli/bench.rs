//! `pomdp-fs bench`: how fast this machine is with this program.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::Context;
use super::progress;
use crate::bench::compare::{Change, Compared, compare};
use crate::bench::{self, Report, export};
use crate::report::TextTable;
use crate::{Error, Result, io};

/// Measure this machine: peak, bandwidth, matrix products, training steps, rollout, SVM, readers
#[derive(Args)]
#[command(after_help = "Examples:\n  pomdp-fs bench --threads 1 --json now.json\n  \
    pomdp-fs bench --threads 1 --compare before.json\n  \
    pomdp-fs bench --only train_step --rounds 50\n\n\
    The machine should be idle. docs/bench.md says what is measured, how to read it, and how to send \
    results.")]
pub struct Bench {
    /// Visits to each piece of work; more make the figures steadier
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Only the pieces of work whose id contains TEXT
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// A report that `--json` wrote: say what became faster or slower beyond the noise
    #[arg(long, value_name = "OLD.json")]
    compare: Option<PathBuf>,
    /// Run the piece of work called TEXT (of --only) N times and measure nothing: for profilers
    #[arg(long, value_name = "N", requires = "only", conflicts_with = "compare")]
    repeat: Option<usize>,
    /// Write the measured cases to DIR for other programs, and measure nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["compare", "only"])]
    export: Option<PathBuf>,
}

/// The report, and the comparison if one was asked for.
#[derive(Serialize)]
struct Outcome {
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<Vec<Compared>>,
}

impl Bench {
    /// Measures and shows everything.
    pub fn run(&self, context: &Context) -> Result<bool> {
        if let Some(dir) = &self.export {
            export::write(dir)?;
            context.say(format!("cases written to {}", dir.display()));
            return Ok(true);
        }
        if let (Some(times), Some(id)) = (self.repeat, &self.only) {
            bench::repeat(id, times)?;
            return Ok(true);
        }
        let old: Option<Report> = self.compare.as_deref().map(io::read_json).transpose()?;
        let options = bench::Options { rounds: usize::from(self.rounds), only: self.only.clone() };
        let bar = progress::bar(context.quiet, "{bar:30} {pos}/{len} visits, {eta} left");
        let report = bench::run(&options, |done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        })?;
        bar.finish_and_clear();
        let empty = report.kernels.is_empty() && report.train_step.is_empty();
        if let Some(text) = &self.only
            && empty
            && report.rollout.is_none()
            && report.other.is_empty()
        {
            return Err(Error::config(format!("no piece of work has '{text}' in its id")));
        }
        show(context, &report);
        let compared = old.map(|old| {
            let compared = compare(&old, &report);
            show_changes(context, &old, &report, &compared);
            compared
        });
        context.emit(&Outcome { report, compared })?;
        Ok(true)
    }
}

fn show(context: &Context, report: &Report) {
    let facts = &report.machine;
    context.say(format!(
        "{}, {} of {} cores, {}, {}",
        report.cpu,
        report.threads,
        facts.cores,
        facts.platform,
        facts.caches.join(", ")
    ));
    let peaks: Vec<String> =
        report.peaks.iter().map(|p| format!("{} {:.1}", p.unit, p.gflops)).collect();
    context.say(format!(
        "peak, one core, GFLOP/s: {}; {} threads together: {:.1}",
        peaks.join(", "),
        report.threads,
        report.peak_gflops_threads
    ));
    let b = &report.bandwidth_gbs;
    context.say(format!(
        "triad, one core, GB/s: L1 {:.0}, L2 {:.0}, L3 {:.0}, DRAM {:.1}\n",
        b.l1, b.l2, b.l3, b.dram
    ));
    let mut table = TextTable::new(["work", "ms", "median ms", "GFLOP/s", "share of peak"]);
    let kernels = report.kernels.iter().map(|k| (&k.id, k.time, k.gflops, k.share_of_peak));
    let steps = report.train_step.iter().map(|s| (&s.id, s.time, s.gflops, s.share_of_peak));
    let rollout = report.rollout.iter().map(|r| (&r.id, r.time, r.gflops, r.share_of_peak));
    for (id, time, gflops, share) in kernels.chain(steps).chain(rollout) {
        table.push([
            id.clone(),
            format!("{:.4}", time.ms),
            format!("{:.4}", time.ms_median),
            format!("{gflops:.1}"),
            format!("{:.0} %", 100.0 * share),
        ]);
    }
    if !table.rows().is_empty() {
        context.say(format!("{table}\n"));
    }
    let mut table = TextTable::new(["work", "ms", "median ms", "a second", "of"]);
    for o in &report.other {
        let (ms, median) = (format!("{:.3}", o.time.ms), format!("{:.3}", o.time.ms_median));
        table.push([o.id.clone(), ms, median, format!("{:.3e}", o.throughput), o.unit.clone()]);
    }
    if !table.rows().is_empty() {
        context.say(table);
    }
}

fn show_changes(context: &Context, old: &Report, new: &Report, compared: &[Compared]) {
    if (&old.cpu, old.threads) != (&new.cpu, new.threads) {
        context.say(format!(
            "\nthe old report is from another machine or thread count: {}, {} threads",
            old.cpu, old.threads
        ));
    }
    let mut table = TextTable::new(["work", "new/old", "by medians", "noise", ""]);
    let number = |v: Option<f64>| v.map_or(String::new(), |v| format!("{v:.3}"));
    for c in compared {
        let change = match c.change {
            Change::Same => "",
            Change::Faster => "faster",
            Change::Slower => "SLOWER",
            Change::Missing => "only in one report",
        };
        table.push([
            c.id.clone(),
            number(c.ratio),
            number(c.ratio_median),
            number(c.margin),
            change.to_owned(),
        ]);
    }
    let count = |change| compared.iter().filter(|c| c.change == change).count();
    context.say(format!(
        "\n{table}\n\n{} faster, {} slower beyond the noise",
        count(Change::Faster),
        count(Change::Slower)
    ));
}
