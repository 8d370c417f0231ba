//! The command line: one file a command, one contract for all of them.
//!
//! Exit codes: 0 done, 1 a check failed, 2 could not run. Results go to stdout, progress and
//! messages to stderr; `--json FILE|-` writes the machine-readable result.

mod apply;
mod audit;
mod bench;
mod classifier;
mod context;
mod data;
mod evaluate;
mod flags;
mod folder;
mod generate;
mod grid_bar;
pub(crate) mod input;
mod interrupt;
mod memory;
mod output;
mod pace;
mod progress;
mod reproduce;
mod select;
mod settings;
mod setup;
mod stats;
mod verify;

use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

pub use context::Context;

use crate::{ErrorKind, Result};

/// Partial multi-label learning as two POMDPs: clean labels and a feature ranking from noisy
/// candidate labels.
#[derive(Parser)]
#[command(name = "pomdp-fs", version, propagate_version = true, max_term_width = 100)]
#[command(before_help = BEGIN)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    global: Global,
}

/// What somebody who is new here needs.
const BEGIN: &str = "\
New here? These three commands are the way in:
  pomdp-fs select                               the main job, on embedded data: half a minute
  pomdp-fs data info FILE                       what your file holds, and how it was understood
  pomdp-fs select FILE --role candidates        clean your candidate labels, rank your features";

/// Options that every command takes.
#[derive(Args, Clone)]
pub struct Global {
    /// Number of threads (results never depend on it) [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Root of all random streams
    #[arg(long, global = true, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// No progress, only results and errors
    #[arg(long, global = true)]
    quiet: bool,
    /// Write the result as JSON to FILE, or to stdout with '-'
    #[arg(long, global = true, value_name = "FILE|-")]
    json: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    Select(Box<select::Select>),
    Apply(Box<apply::Apply>),
    Audit(audit::Audit),
    Bench(bench::Bench),
    Stats(stats::Stats),
    Data(Box<data::Data>),
    Evaluate(Box<evaluate::Evaluate>),
    Reproduce(Box<reproduce::Reproduce>),
    Verify(verify::Verify),
    Completions(generate::Completions),
    Man(generate::Man),
}

/// Parses the arguments, runs the command, prints an error once, and says how it went.
pub fn main() -> ExitCode {
    let ran = match Cli::try_parse() {
        Ok(cli) => run(cli),
        // Help and version are results like any other.
        Err(e) if !e.use_stderr() => {
            output::print(e.render().to_string().as_bytes());
            Ok(true)
        }
        Err(e) => {
            output::note(e.render().to_string().trim_end());
            return ExitCode::from(2);
        }
    };
    let printed = output::finish();
    match ran.and_then(|pass| printed.map(|()| pass)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(e) if e.kind() == ErrorKind::Cancelled => {
            output::note(e);
            ExitCode::from(interrupt::exit_code())
        }
        Err(e) => {
            output::note(format!("error: {}", flags::with_flag(e)));
            ExitCode::from(2)
        }
    }
}

/// True when everything that was asked for holds.
fn run(cli: Cli) -> Result<bool> {
    let context = Context::new(&cli.global)?;
    match cli.command {
        Some(Command::Select(select)) => select.run(&context),
        Some(Command::Apply(apply)) => apply.run(&context),
        Some(Command::Audit(audit)) => audit.run(&context),
        Some(Command::Bench(bench)) => bench.run(&context),
        Some(Command::Evaluate(evaluate)) => evaluate.run(&context),
        Some(Command::Reproduce(reproduce)) => reproduce.run(&context),
        Some(Command::Verify(verify)) => verify.run(&context),
        Some(Command::Stats(stats)) => stats.run(&context),
        Some(Command::Data(data)) => data.run(&context),
        Some(Command::Completions(completions)) => completions.run(Cli::command()),
        Some(Command::Man(man)) => man.run(Cli::command()),
        None => {
            output::print(Cli::command().render_help().to_string().as_bytes());
            Ok(true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_definitions_are_consistent() {
        Cli::command().debug_assert();
    }
}
