//! Progress of a long computation: a bar with the remaining time on a terminal, silence elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on stderr, hidden when stderr is no terminal or the user asked for quiet.
pub struct Bar(ProgressBar);

impl Bar {
    /// A new bar.
    pub fn new(quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Bar(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} epochs, {eta} left")
            .expect("a valid template");
        Bar(ProgressBar::new(0).with_style(style))
    }

    /// Shows that `done` of `total` epochs are done.
    pub fn show(&self, phase: &str, done: usize, total: usize) {
        self.0.set_length(total as u64);
        self.0.set_message(phase.to_owned());
        self.0.set_position(done as u64);
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}
