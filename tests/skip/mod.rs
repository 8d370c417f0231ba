//! A test that cannot run here says so, past the harness's capture, with a running count.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

static SKIPPED: AtomicUsize = AtomicUsize::new(0);

/// `needed`, or a line on stderr that says what is not tested and why. `.ci/run` counts these lines.
pub fn unless<T>(needed: Option<T>, what: &str, why: &str) -> Option<T> {
    if needed.is_none() {
        let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
        let _ =
            writeln!(std::io::stderr(), "skipped: {what}: {why} ({count} so far in this program)");
    }
    needed
}
