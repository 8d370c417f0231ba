//! Computes stored cells again and compares the bytes.

use super::{CellBytes, StoredCell, Task};
use crate::Result;
use crate::experiment::parallel::in_order;
use crate::method::Silent;
use crate::rng::Streams;

/// A cell that was computed again.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Verified {
    /// Hash of its configuration.
    pub id: String,
    /// Name of the set.
    pub set: String,
    /// Name of the method.
    pub method: String,
    /// Root of its random streams.
    pub seed: u64,
    /// Fold, from 0.
    pub fold: usize,
    /// Whether the bytes are the same.
    pub same: bool,
    /// What differs, if something does.
    pub difference: Option<String>,
}

/// Computes `sample` cells among `tasks` whose bytes are `stored`, chosen by `streams`, again (all, if
/// there are fewer).
pub fn verify(
    tasks: &[Task<'_>],
    stored: &CellBytes,
    sample: usize,
    streams: &Streams,
) -> Result<Vec<Verified>> {
    let mut chosen: Vec<&Task<'_>> = tasks.iter().filter(|t| stored.contains_key(&t.id)).collect();
    streams.stream("verify").shuffle(&mut chosen);
    chosen.truncate(sample);
    in_order(chosen.len(), |k| {
        let task = chosen[k];
        let outcome = task.cell.run(task.cell.prepare(), &mut Silent)?;
        let again = StoredCell::new(task, outcome.result);
        let stored = &stored[&task.id];
        let difference = (*stored != again.bytes()?).then(|| difference(stored, &again));
        Ok(Verified {
            id: task.id.clone(),
            set: task.set.name.clone(),
            method: task.method(),
            seed: task.seed(),
            fold: task.fold(),
            same: difference.is_none(),
            difference,
        })
    })
}

/// Where two cells differ first.
fn difference(stored: &[u8], again: &StoredCell) -> String {
    let stored = match StoredCell::parse(stored) {
        Ok(stored) => stored,
        Err(e) => return e.message().to_owned(),
    };
    let (a, b) = (&stored.result, &again.result);
    let scores = a.scores.iter().zip(&b.scores).filter(|(x, y)| x != y).count();
    match () {
        () if a.configuration != b.configuration => "the configuration".to_owned(),
        () if a.ranking != b.ranking => "the ranking of the features".to_owned(),
        () if a.epsilon != b.epsilon => "the labels".to_owned(),
        () if scores > 0 => format!("{scores} of {} scores", a.scores.len()),
        () => "remarks or form".to_owned(),
    }
}
