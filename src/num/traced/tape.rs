//! The record of a computation: for each result its own rounding error, and how it depends on the
//! results before it.

use std::cell::RefCell;

/// Every result of a computation, in order. Result 0 stands for exact numbers.
#[derive(Debug, Default)]
pub struct Tape {
    /// Bound on the rounding of each result by itself.
    errors: Vec<f64>,
    /// Where the arguments of each result end in `arguments`.
    ends: Vec<usize>,
    /// The number of an earlier result, and the derivative by it.
    arguments: Vec<(u32, f32)>,
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
pub(super) fn push(error: f64, arguments: impl IntoIterator<Item = (u32, f64)>) -> u32 {
    TAPE.with_borrow_mut(|tape| {
        let before = tape.arguments.len();
        let inexact = arguments.into_iter().filter(|a| a.0 != 0);
        tape.arguments.extend(inexact.map(|(result, slope)| (result, slope as f32)));
        if error == 0.0 && tape.arguments.len() == before {
            return 0;
        }
        tape.errors.push(error);
        tape.ends.push(tape.arguments.len());
        u32::try_from(tape.errors.len()).expect("fewer than 2³² results")
    })
}

impl Tape {
    /// Σ |∂result/∂rᵢ| · (rounding of rᵢ) over all results rᵢ that lead to it: backwards through the
    /// record, once. `room` is memory that is used again.
    pub fn bound(&self, result: u32, room: &mut Vec<f64>) -> f64 {
        let last = result as usize;
        room.clear();
        room.resize(last + 1, 0.0);
        room[last] = 1.0;
        let mut bound = 0.0;
        for k in (1..=last).rev() {
            let slope = room[k];
            if slope != 0.0 {
                bound += slope.abs() * self.errors[k - 1];
                let from = if k == 1 { 0 } else { self.ends[k - 2] };
                for &(argument, partial) in &self.arguments[from..self.ends[k - 1]] {
                    room[argument as usize] += slope * f64::from(partial);
                }
            }
        }
        if bound.is_nan() { f64::INFINITY } else { bound }
    }
}
