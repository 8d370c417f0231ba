//! What to do next, from what a selection says about itself.

use super::page::grouped;
use super::suspicious::{emptied_rows, suspicious};
use crate::experiment::Selection;
use crate::method::Status;

/// Whether the cleaned labels may go into a file that is ready to use.
pub(super) fn usable(selection: &Selection<'_>) -> bool {
    status(selection) != Some(Status::Collapsed)
}

/// Whether `cleaned.csv` has a meaning: the candidates came with the data.
pub(super) fn cleans_the_input(selection: &Selection<'_>) -> bool {
    selection.noise.is_none() && selection.data.candidates.is_some()
}

fn status(selection: &Selection<'_>) -> Option<Status> {
    selection.outcome.result.verdict.as_ref().map(|v| v.status)
}

/// What to do next, the most important first.
pub fn next_steps(selection: &Selection<'_>) -> Vec<String> {
    let doubtful = suspicious(selection).len();
    let mut steps: Vec<String> = Vec::new();
    let mut step = |text: &str| steps.push(text.to_owned());
    match status(selection) {
        Some(Status::Collapsed) => {
            step(
                "Do not use these labels; cleaned.csv is not written. Check that the label columns are \
                 the right ones and that features are numbers that say something about them (pomdp-fs \
                 data info).",
            );
            step(
                "If you know the share of wrong labels, give it: --set rho=0.2. More rows or better \
                 features help most.",
            );
        }
        Some(Status::Unchanged) => {
            step(
                "Go on with the labels that you have: nothing in these features speaks against them. The \
                 feature ranking can be used.",
            );
            step(
                "If you know that labels are wrong, give the share, --set rho=0.2, and check \
                 suspicious.csv; or add features that tell the labels apart.",
            );
        }
        Some(Status::Uncertain) => step(&format!(
            "Check the first 20 of the {} labels in suspicious.csv by hand. If most of them are wrong, use \
             the cleaned labels; if not, keep your own.",
            grouped(doubtful)
        )),
        Some(Status::Cleaned) if doubtful > 0 => step(&format!(
            "Look at suspicious.csv: {} labels that are more likely wrong than right, the most likely first.",
            grouped(doubtful)
        )),
        _ => {}
    }
    if status(selection) == Some(Status::Cleaned) && cleans_the_input(selection) {
        step("Use cleaned.csv: your data without the labels that were removed.");
    }
    let empty = emptied_rows(selection).len();
    if empty > 0 && usable(selection) {
        step(&format!(
            "Rows that keep no label at all: {}. If every row must have one: --at-least-one.",
            grouped(empty)
        ));
    }
    if selection.outcome.fitted.stability.is_none() && usable(selection) {
        step("See how much of this is chance: --seeds 5 fits again and compares.");
    }
    steps
}
