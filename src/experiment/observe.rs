//! The observer of a cell: adds what the cell knows to what the caller hears.

use std::time::Instant;

use crate::Result;
use crate::data::Labels;
use crate::method::Observer;

/// Steps into which a fit is divided when a cell has several.
const STEPS: usize = 1000;

/// Passes everything on to the caller's observer; judges labels by the truth, which the method does
/// not have; measures the time of the phases; counts the fits of a cell that has several.
pub(super) struct CellObserver<'a> {
    inner: &'a mut dyn Observer,
    truth: Option<&'a Labels>,
    fits: usize,
    begun: usize,
    phases: Vec<(String, f64)>,
    since: Instant,
}

impl<'a> CellObserver<'a> {
    /// `fits` is how often a method will be fitted.
    pub fn new(inner: &'a mut dyn Observer, truth: Option<&'a Labels>, fits: usize) -> Self {
        let (phases, since) = (Vec::new(), Instant::now());
        CellObserver { inner, truth, fits, begun: 0, phases, since }
    }

    /// Another fit begins.
    pub fn next_fit(&mut self) {
        self.begun += 1;
    }

    /// Seconds of each phase.
    pub fn finish(mut self) -> Vec<(String, f64)> {
        self.stop_watch();
        self.phases
    }

    fn stop_watch(&mut self) {
        if let Some((_, seconds)) = self.phases.last_mut() {
            *seconds += self.since.elapsed().as_secs_f64();
        }
        self.since = Instant::now();
    }
}

impl Observer for CellObserver<'_> {
    fn progress(&mut self, phase: &str, done: usize, total: usize) -> bool {
        self.stop_watch();
        if self.phases.last().is_none_or(|(name, _)| name != phase) {
            self.phases.push((phase.to_owned(), 0.0));
        }
        if self.fits == 1 {
            return self.inner.progress(phase, done, total);
        }
        let before = STEPS * self.begun.saturating_sub(1);
        self.inner.progress(phase, before + STEPS * done / total.max(1), STEPS * self.fits)
    }

    fn resume(&mut self) -> Result<Option<Vec<u8>>> {
        // A stored state does not say which of several fits it belongs to.
        if self.fits == 1 { self.inner.resume() } else { Ok(None) }
    }

    fn checkpoint(&mut self, state: &dyn Fn() -> Vec<u8>) -> Result<()> {
        if self.fits == 1 { self.inner.checkpoint(state) } else { Ok(()) }
    }

    fn stops(&self) -> bool {
        self.inner.stops()
    }

    fn epsilon(&mut self, pseudo: &Labels) -> Option<f64> {
        // While settings are tried, the labels are those of a part of the rows.
        let truth = self.truth.filter(|y| y.rows() == pseudo.rows())?;
        Some(pseudo.hamming_distance(truth))
    }
}
