//! Reading a file takes at most three times the memory of its matrix: a counting allocator looks.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use pomdp_fs::data::{ReadOptions, load, save};

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; only sums are kept.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Peak of the bytes held while `path` is read, in units of its f64 matrix.
fn peak(path: &Path) -> f64 {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let set = load(path, &ReadOptions::default()).unwrap();
    let peak = PEAK.load(Relaxed) - before;
    peak as f64 / (8 * set.n() * set.d()) as f64
}

/// One test, because the counters are shared.
#[test]
fn at_most_three_times_the_matrix() {
    let dir = tempfile::tempdir().unwrap();
    let arff = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/mediamill-first15.arff");
    let csv = dir.path().join("mediamill.csv");
    save(&load(&arff, &ReadOptions::default()).unwrap(), &csv, None).unwrap();
    for path in [arff, csv] {
        let times = peak(&path);
        eprintln!("{}: {times:.2} times the matrix", path.display());
        assert!(times <= 3.0, "{times}");
    }
}
