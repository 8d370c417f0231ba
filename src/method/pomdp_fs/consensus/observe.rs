//! The observer of one fit of several: their states are stored together.

use crate::data::Labels;
use crate::method::Observer;
use crate::{Error, Result};

/// Tells which fit is going on, and keeps the states of those before it: after an interruption each
/// goes on from its own.
pub(super) struct OneOfSeveral<'a> {
    inner: &'a mut dyn Observer,
    number: usize,
    of: usize,
    /// The last states of the fits before this one; on resuming those of later ones too.
    states: &'a mut Vec<Vec<u8>>,
    last: Vec<u8>,
}

impl<'a> OneOfSeveral<'a> {
    /// Fit `number` (from 0) of `of`.
    pub(super) fn new(
        inner: &'a mut dyn Observer,
        (number, of): (usize, usize),
        states: &'a mut Vec<Vec<u8>>,
    ) -> Self {
        let last = states.get(number).cloned().unwrap_or_default();
        OneOfSeveral { inner, number, of, states, last }
    }

    /// The fit is over: its last state is kept for the next checkpoint.
    pub(super) fn done(self) {
        self.states.truncate(self.number);
        self.states.push(self.last);
    }
}

impl Observer for OneOfSeveral<'_> {
    fn progress(&mut self, phase: &str, done: usize, total: usize) -> bool {
        let phase = format!("{phase}, fit {} of {}", self.number + 1, self.of);
        self.inner.progress(&phase, done, total)
    }

    fn resume(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(Some(self.last.clone()).filter(|state| !state.is_empty()))
    }

    fn checkpoint(&mut self, state: &dyn Fn() -> Vec<u8>) -> Result<()> {
        self.last = state();
        let (before, last) = (&self.states[..self.number.min(self.states.len())], &self.last);
        self.inner.checkpoint(&|| pack(before.iter().chain([last])))
    }

    fn stops(&self) -> bool {
        self.inner.stops()
    }

    fn epsilon(&mut self, pseudo: &Labels) -> Option<f64> {
        self.inner.epsilon(pseudo)
    }
}

/// Each state with its length in front.
fn pack<'a>(states: impl Iterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for state in states {
        bytes.extend((state.len() as u64).to_le_bytes());
        bytes.extend(state);
    }
    bytes
}

/// The states of at most `most` fits.
pub(super) fn unpack(mut bytes: &[u8], most: usize) -> Result<Vec<Vec<u8>>> {
    let broken = || Error::input("the stored progress is not that of several fits");
    let mut states = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<8>() {
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| broken())?;
        let state = rest.get(..length).ok_or_else(broken)?;
        states.push(state.to_vec());
        bytes = &rest[length..];
    }
    if !bytes.is_empty() || states.len() > most {
        return Err(broken());
    }
    Ok(states)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_stored_together() {
        let states = vec![vec![1, 2, 3], Vec::new(), vec![9]];
        let bytes = pack(states.iter());
        assert_eq!(unpack(&bytes, 3).unwrap(), states);
        assert!(unpack(&bytes, 2).is_err(), "more fits than there are");
        assert!(unpack(&bytes[..bytes.len() - 1], 3).is_err(), "cut off");
        assert!(unpack(&u64::MAX.to_le_bytes(), 3).is_err(), "no such length");
    }
}
