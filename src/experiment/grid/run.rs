//! Computes what is missing of a grid.

use super::{RunFolder, StoredCell, Task, Timed};
use crate::experiment::parallel::in_order;
use crate::experiment::plan::Watched;
use crate::experiment::{Failure, Watch};
use crate::{Error, ErrorKind, Result};

/// What became of the cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Cells that this run computed.
    pub computed: usize,
    /// Cells that failed now.
    pub failed: usize,
    /// Cells that another run was computing or had computed in the meantime.
    pub elsewhere: usize,
}

/// Computes the cells in parallel and keeps each as it finishes. A cell that fails is kept with its
/// reason; the others go on. Cells that another run works on are left to it.
pub fn run(tasks: &[Task<'_>], folder: &RunFolder, watch: &dyn Watch) -> Result<Ran> {
    let done = in_order(tasks.len(), |k| one(&tasks[k], k, folder, watch))?;
    let count = |what: End| done.iter().filter(|end| **end == what).count();
    Ok(Ran {
        computed: count(End::Computed),
        failed: count(End::Failed),
        elsewhere: count(End::Elsewhere),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Computed,
    Failed,
    Elsewhere,
}

fn one(task: &Task<'_>, number: usize, folder: &RunFolder, watch: &dyn Watch) -> Result<End> {
    let Some(_claim) = folder.claim(&task.id)? else {
        return Ok(End::Elsewhere);
    };
    if let Ok(Some(stored)) = folder.load(&task.id) {
        watch.finished(number, &Ok(stored.result), true);
        return Ok(End::Elsewhere);
    }
    if !watch.progress(number, 0.0) {
        return Err(Error::cancelled());
    }
    let before = processor_seconds();
    match task.cell.run(task.cell.prepare(), &mut Watched { watch, cell: number }) {
        Ok(outcome) => {
            // A cell on one thread knows its processor time, which a busy machine does not stretch.
            let processor = before.zip(processor_seconds()).map(|(from, to)| to - from);
            let time = Timed::new(task, processor.unwrap_or(outcome.result.seconds));
            let stored = StoredCell::new(task, outcome.result.clone());
            folder.save(&task.id, &stored.bytes()?, Some(&time))?;
            watch.finished(number, &Ok(outcome.result), false);
            Ok(End::Computed)
        }
        Err(e) if e.kind() == ErrorKind::Cancelled => Err(e),
        Err(e) => {
            folder.fail(task, &e.to_string())?;
            let failure = Failure {
                method: task.method(),
                repeat: 0,
                fold: task.cell.fold,
                reason: format!("{}: {e}", task.set.name),
            };
            watch.finished(number, &Err(failure), false);
            Ok(End::Failed)
        }
    }
}

/// Processor time of this thread, where the system tells it and a cell has no other thread.
fn processor_seconds() -> Option<f64> {
    if rayon::current_num_threads() > 1 {
        return None;
    }
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split(' ').next()?.parse().ok()?;
    Some(1e-9 * nanoseconds)
}
