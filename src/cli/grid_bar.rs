//! Progress of a grid: by expected work instead of by cells, because cells take from a second to minutes.

use std::sync::Mutex;
use std::time::Instant;

use indicatif::ProgressBar;

use super::Context;
use super::interrupt;
use super::pace::left_in_words;
use super::progress::bar;
use crate::experiment::grid::Eta;
use crate::experiment::{CellResult, Failure, Watch};

/// Steps of the bar.
const STEPS: f64 = 1000.0;

/// The progress of a grid, by expected work instead of by cells.
pub struct GridBar<'a> {
    bar: ProgressBar,
    context: &'a Context,
    weights: Vec<f64>,
    begin: Instant,
    state: Mutex<GridState>,
}

struct GridState {
    eta: Eta,
    done: Vec<f64>,
    finished: usize,
    /// Share of the work at the last line, where there is no bar.
    told: f64,
}

/// Where there is no bar, a line is written each time this share of the work is done.
const LINE_EVERY: f64 = 0.05;

impl<'a> GridBar<'a> {
    /// A bar for cells of these weights, in seconds.
    pub fn new(context: &'a Context, weights: Vec<f64>) -> Self {
        let bar = bar(context.quiet, "{bar:30} {msg}");
        bar.set_length(STEPS as u64);
        let eta = Eta::new(weights.iter().sum(), rayon::current_num_threads().min(weights.len()));
        let state = GridState { eta, done: vec![0.0; weights.len()], finished: 0, told: 0.0 };
        GridBar { bar, context, weights, begin: Instant::now(), state: Mutex::new(state) }
    }

    /// Where the run stands.
    pub fn position(&self) -> String {
        let state = self.state.lock().expect("no thread panics while it holds the lock");
        format!("{} of {} cells", state.finished, self.weights.len())
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn show(&self, state: &mut GridState) {
        state.eta.set_done(state.done.iter().zip(&self.weights).map(|(d, w)| d * w).sum());
        let share = state.eta.share();
        let message = || {
            format!(
                "{:.0} %, {} of {} cells, {}",
                100.0 * share,
                state.finished,
                self.weights.len(),
                left_in_words(Some(state.eta.left(self.begin.elapsed())))
            )
        };
        self.bar.set_message(message());
        self.bar.set_position((STEPS * share) as u64);
        if self.bar.is_hidden() && share >= state.told + LINE_EVERY {
            self.context.note(message());
            state.told = share;
        }
    }
}

impl Watch for GridBar<'_> {
    fn progress(&self, cell: usize, share: f64) -> bool {
        let mut state = self.state.lock().expect("no thread panics while it holds the lock");
        // The scores come after the fit: a whole cell is done only when it is finished.
        state.done[cell] = 0.8 * share;
        self.show(&mut state);
        !interrupt::requested()
    }

    fn finished(&self, cell: usize, result: &Result<CellResult, Failure>, _: bool) {
        let mut state = self.state.lock().expect("no thread panics while it holds the lock");
        state.done[cell] = 1.0;
        state.finished += 1;
        self.show(&mut state);
        if let Err(f) = result {
            let text = format!("{} failed: {}", f.method, f.reason);
            self.bar.suspend(|| self.context.note(text));
        }
    }
}

/// 1:23:45 h, 4:05 min or 12 s.
pub fn clock(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes}:{seconds:02} min"),
        _ => format!("{hours}:{minutes:02}:{seconds:02} h"),
    }
}
