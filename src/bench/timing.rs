//! Interleaved timing: every piece of work is visited in turn, round after round, so that a disturbance
//! of the machine falls on all of them; the fastest run and the median run are kept.

use std::time::Instant;

use serde::{Deserialize, Serialize};

/// A visit lasts at least so long, unless one run is longer.
const VISIT: f64 = 0.02;
/// Runs that are shorter are timed several at a time.
const SHORTEST: f64 = 2e-4;

/// What kind of work it is.
pub enum Kind {
    /// A matrix product: form and shape.
    Product { name: &'static str, shape: [usize; 3] },
    /// A training step.
    Train { batch: usize, tokens: usize },
    /// Rollouts.
    Rollout { batch: usize, steps: usize, features: usize },
    /// Anything else, counted in `unit`.
    Other { unit: &'static str },
}

/// A piece of work that can be run again and again.
pub struct Work {
    /// Stable id.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// What one run does: floating-point operations, or whatever is counted.
    pub amount: f64,
    /// One run.
    pub run: Box<dyn FnMut() + Send>,
}

/// Times of one run, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// Fastest.
    pub ms: f64,
    /// Median.
    pub ms_median: f64,
    /// Runs that were timed.
    pub runs: usize,
}

impl Timed {
    /// How much slower the median is than the fastest: what the machine did besides.
    pub fn spread(&self) -> f64 {
        self.ms_median / self.ms - 1.0
    }
}

/// Visits every work once per round; the first run of each is not counted.
pub fn interleave(
    works: &mut [Work],
    rounds: usize,
    progress: &mut dyn FnMut(usize, usize),
) -> Vec<Timed> {
    let mut seconds: Vec<Vec<f64>> = vec![Vec::new(); works.len()];
    let mut together = vec![1; works.len()];
    for (work, together) in works.iter_mut().zip(&mut together) {
        (work.run)();
        let start = Instant::now();
        (work.run)();
        let once = start.elapsed().as_secs_f64().max(1e-9);
        *together = (SHORTEST / once).ceil() as usize;
    }
    for round in 0..rounds {
        for (k, work) in works.iter_mut().enumerate() {
            progress(round * seconds.len() + k, rounds * seconds.len());
            let visit = Instant::now();
            loop {
                let start = Instant::now();
                (0..together[k]).for_each(|_| (work.run)());
                seconds[k].push(start.elapsed().as_secs_f64() / together[k] as f64);
                if visit.elapsed().as_secs_f64() >= VISIT {
                    break;
                }
            }
        }
    }
    seconds.iter_mut().zip(together).map(|(s, together)| summary(s, together)).collect()
}

fn summary(seconds: &mut [f64], together: usize) -> Timed {
    seconds.sort_by(f64::total_cmp);
    Timed {
        ms: 1e3 * seconds[0],
        ms_median: 1e3 * seconds[seconds.len() / 2],
        runs: seconds.len() * together,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn works_take_turns_and_all_runs_count() {
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let count = Arc::new(AtomicUsize::new(0));
        let mut works: Vec<Work> = (0..2)
            .map(|k| {
                let (order, count) = (order.clone(), count.clone());
                Work {
                    id: format!("test/{k}"),
                    kind: Kind::Other { unit: "runs" },
                    amount: 1.0,
                    run: Box::new(move || {
                        count.fetch_add(1, Ordering::Relaxed);
                        let mut order = order.lock().unwrap();
                        if order.last() != Some(&k) {
                            order.push(k);
                        }
                    }),
                }
            })
            .collect();
        let times = interleave(&mut works, 3, &mut |_, _| {});
        assert_eq!(*order.lock().unwrap(), [0, 1, 0, 1, 0, 1, 0, 1], "warm-up, then three rounds");
        let timed: usize = times.iter().map(|t| t.runs).sum();
        assert_eq!(timed + 4, count.load(Ordering::Relaxed));
        assert!(times.iter().all(|t| t.ms > 0.0 && t.ms <= t.ms_median));
    }

    #[test]
    fn the_median_and_the_fastest() {
        let timed = summary(&mut [0.003, 0.001, 0.002], 4);
        assert_eq!((timed.ms, timed.ms_median, timed.runs), (1.0, 2.0, 12));
        assert_eq!(timed.spread(), 1.0);
    }
}
