//! Progress of a long computation: a bar with the remaining time on a terminal, silence elsewhere.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use super::Context;
use super::interrupt;
use super::pace::{Pace, left_in_words};
use crate::experiment::{CellResult, Failure, Watch};
use crate::method::Observer;

/// Steps of the bar per cell.
const STEPS: f64 = 1000.0;

/// A bar on stderr, hidden when stderr is no terminal or the user asked for quiet.
pub(super) fn bar(quiet: bool, template: &str) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(template).expect("a valid template");
    ProgressBar::new(0).with_style(style)
}

/// The progress of one fit.
pub struct FitBar<'a> {
    bar: ProgressBar,
    context: &'a Context,
    /// An earlier run is continued, and it has not been said from where.
    resumed: bool,
    /// Phase, units that are done, all units.
    at: (String, usize, usize),
    pace: Pace,
}

impl<'a> FitBar<'a> {
    /// A new bar.
    pub fn new(context: &'a Context) -> Self {
        let bar = bar(context.quiet, "{prefix} {bar:30} {pos}/{len}, {msg}");
        let at = (String::new(), 0, 0);
        FitBar { bar, context, resumed: false, at, pace: Pace::default() }
    }

    /// The fit goes on from a stored state.
    pub fn resumes(&mut self) {
        self.resumed = true;
    }

    /// Where the fit stands.
    pub fn position(&self) -> String {
        let (phase, done, total) = &self.at;
        format!("{phase}, after {done} of {total} steps")
    }
}

impl Observer for FitBar<'_> {
    fn progress(&mut self, phase: &str, done: usize, total: usize) -> bool {
        if done > 0 && std::mem::take(&mut self.resumed) {
            self.context.note(format!("resuming after {done} of {total} epochs"));
            self.pace = Pace::default();
        }
        // The steps of another stage take another time.
        if self.at.0 != phase {
            self.pace = Pace::default();
        }
        self.at = (phase.to_owned(), done, total);
        let what = match phase {
            "Stage 1: linear" | "Stage 1" => "Stage 1: labels  ",
            "Stage 2" => "Stage 2: features",
            other => other,
        };
        let left = self.pace.left(done as f64, total as f64, Instant::now());
        self.bar.set_length(total as u64);
        self.bar.set_prefix(what.to_owned());
        self.bar.set_message(left_in_words(left));
        self.bar.set_position(done as u64);
        !interrupt::requested()
    }

    fn stops(&self) -> bool {
        interrupt::requested()
    }
}

impl Drop for FitBar<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The progress of many cells.
pub struct CellBar<'a> {
    bar: ProgressBar,
    context: &'a Context,
    state: Mutex<State>,
}

struct State {
    /// Share of each cell that is done.
    done: Vec<f64>,
    finished: usize,
    from_store: usize,
    pace: Pace,
    /// Cells of each method that are missing, and seconds of the others.
    methods: Vec<(usize, f64)>,
}

impl<'a> CellBar<'a> {
    /// A bar for `methods` methods of `cells` cells each.
    pub fn new(context: &'a Context, methods: usize, cells: usize) -> Self {
        let bar = bar(context.quiet, "{prefix} {bar:30} {percent} %, {msg}");
        bar.set_length((STEPS * (methods * cells) as f64) as u64);
        let state = State {
            done: vec![0.0; methods * cells],
            finished: 0,
            from_store: 0,
            pace: Pace::default(),
            methods: vec![(cells, 0.0); methods],
        };
        CellBar { bar, context, state: Mutex::new(state) }
    }

    /// Where the evaluation stands.
    pub fn position(&self) -> String {
        let state = self.state.lock().expect("no thread panics while it holds the lock");
        format!("{} of {} cells", state.finished, state.done.len())
    }

    /// Takes the bar away; says how many cells were there already.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
        let state = self.state.lock().expect("no thread panics while it holds the lock");
        if state.from_store > 0 {
            let all = state.done.len();
            self.context.note(format!("{} of {all} cells were finished before", state.from_store));
        }
    }
}

impl CellBar<'_> {
    fn show(&self, state: &mut State) {
        let done = state.done.iter().sum::<f64>();
        // What was done before says nothing about the time that is left.
        let total = (state.done.len() - state.from_store) as f64;
        let left = state.pace.left(done, total, Instant::now());
        self.bar.set_length((STEPS * total) as u64);
        self.bar.set_prefix(format!("{} of {} cells", state.finished, state.done.len()));
        self.bar.set_message(left_in_words(left));
        self.bar.set_position((STEPS * done) as u64);
    }
}

impl Watch for CellBar<'_> {
    fn progress(&self, cell: usize, share: f64) -> bool {
        let mut state = self.state.lock().expect("no thread panics while it holds the lock");
        state.done[cell] = share;
        self.show(&mut state);
        !interrupt::requested()
    }

    fn finished(&self, cell: usize, result: &Result<CellResult, Failure>, from_store: bool) {
        let mut state = self.state.lock().expect("no thread panics while it holds the lock");
        state.done[cell] = if from_store { 0.0 } else { 1.0 };
        if from_store {
            state.from_store += 1;
        }
        state.finished += 1;
        self.show(&mut state);
        let number = cell / (state.done.len() / state.methods.len());
        let method = &mut state.methods[number];
        method.0 -= 1;
        let say = |text: String| self.bar.suspend(|| self.context.note(text));
        match result {
            Err(f) => say(format!("{} failed: {}", f.method, f.reason)),
            Ok(r) => {
                method.1 += r.seconds;
                if method.0 == 0 {
                    say(format!("{}: {:.1} s", r.method, method.1));
                }
            }
        }
    }
}
