//! Many independent pieces of work on the threads there are, begun in order.
//!
//! Each worker has its share of the threads for itself. In one common pool a cell that waits for a
//! part of its own work would be given another whole cell: cells would finish late and in any order,
//! and their times would mean nothing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::{Error, Result};

/// `work(0), …, work(count − 1)`, in this order. Results must not depend on the number of threads;
/// nothing new is begun after an error.
pub(super) fn in_order<T: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = rayon::current_num_threads();
    let workers = threads.min(count).max(1);
    let next = AtomicUsize::new(0);
    let worker = || -> Result<Vec<(usize, T)>> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads / workers)
            .build()
            .map_err(|e| Error::config(format!("cannot start threads: {e}")))?;
        let mut done = Vec::new();
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= count {
                return Ok(done);
            }
            match pool.install(|| work(k)) {
                Ok(result) => done.push((k, result)),
                Err(e) => {
                    next.store(count, Ordering::Relaxed);
                    return Err(e);
                }
            }
        }
    };
    let parts: Vec<Result<Vec<(usize, T)>>> = thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let join = |h: thread::ScopedJoinHandle<'_, _>| match h.join() {
            Ok(part) => part,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        handles.into_iter().map(join).collect()
    });
    let mut all = Vec::with_capacity(count);
    for part in parts {
        all.extend(part?);
    }
    all.sort_by_key(|(k, _)| *k);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_errors() {
        assert_eq!(in_order(7, |k| Ok(k * k)).unwrap(), [0, 1, 4, 9, 16, 25, 36]);
        assert!(in_order(0, Ok).unwrap().is_empty());
        let begun = AtomicUsize::new(0);
        let failed = in_order(1000, |k| {
            begun.fetch_add(1, Ordering::Relaxed);
            if k == 3 {
                return Err(Error::numeric("three"));
            }
            thread::sleep(std::time::Duration::from_millis(1));
            Ok(())
        });
        assert_eq!(failed.unwrap_err().message(), "three");
        assert!(begun.into_inner() < 1000, "nothing new after the error");
    }
}
