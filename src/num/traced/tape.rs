//! The record of a computation: for each result its own rounding, and how it depends on the results
//! before it.

use std::cell::RefCell;

/// The rounding of one operation by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounding {
    /// What it was.
    pub own: f64,
    /// What it may be at most.
    pub bound: f64,
}

/// Every result of a computation, in order. Result 0 stands for exact numbers.
#[derive(Debug, Default)]
pub struct Tape {
    roundings: Vec<Rounding>,
    /// Where the arguments of each result end in `arguments` and `slopes`.
    ends: Vec<usize>,
    /// The numbers of earlier results.
    arguments: Vec<u32>,
    /// How much of the error of each argument reaches the result.
    slopes: Vec<f64>,
}

/// How the roundings of a computation make up the error of one result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Explained {
    /// Σ S_i δ_i: the error itself.
    pub error: f64,
    /// Σ |S_i| ε_i: no rounding within its own bound can make more of it.
    pub bound: f64,
}

thread_local! {
    /// Numbers are values without a place for a reference, so the tape belongs to the thread.
    static TAPE: RefCell<Tape> = RefCell::default();
}

/// Runs `f` and returns what it recorded. Everything must happen on this thread.
pub fn record<R>(f: impl FnOnce() -> R) -> (R, Tape) {
    TAPE.take();
    let result = f();
    (result, TAPE.take())
}

/// Records a result; returns its number, or 0 if it is exact.
pub(super) fn push(rounding: Rounding, arguments: impl IntoIterator<Item = (u32, f64)>) -> u32 {
    TAPE.with_borrow_mut(|tape| {
        let before = tape.arguments.len();
        for (result, slope) in arguments.into_iter().filter(|a| a.0 != 0) {
            tape.arguments.push(result);
            tape.slopes.push(slope);
        }
        if rounding.bound == 0.0 && rounding.own == 0.0 && tape.arguments.len() == before {
            return 0;
        }
        tape.roundings.push(rounding);
        tape.ends.push(tape.arguments.len());
        u32::try_from(tape.roundings.len()).expect("fewer than 2³² results")
    })
}

impl Tape {
    /// Number of recorded operations, and of those whose rounding was larger than its bound.
    pub fn operations(&self) -> (usize, usize) {
        let kept = |r: &&Rounding| r.own.abs() <= r.bound;
        (self.roundings.len(), self.roundings.len() - self.roundings.iter().filter(kept).count())
    }

    /// The error of a result: backwards through the record, once. `room` is memory that is used again.
    pub fn explain(&self, result: u32, room: &mut Vec<f64>) -> Explained {
        let last = result as usize;
        room.clear();
        room.resize(last + 1, 0.0);
        room[last] = 1.0;
        let mut found = Explained::default();
        for k in (1..=last).rev() {
            let share = room[k];
            if share != 0.0 {
                let Rounding { own, bound } = self.roundings[k - 1];
                found.error += share * own;
                found.bound += share.abs() * bound;
                let from = if k == 1 { 0 } else { self.ends[k - 2] };
                let used = from..self.ends[k - 1];
                for (&argument, slope) in
                    self.arguments[used.clone()].iter().zip(&self.slopes[used])
                {
                    room[argument as usize] += share * slope;
                }
            }
        }
        if found.bound.is_nan() {
            found.bound = f64::INFINITY;
        }
        found
    }
}
