//! An allocator that begins matrices at the border of a cache line: a vector that lies in two lines
//! costs two loads, and with malloc's 16 bytes every vector of a large matrix does.
//!
//! Sound because each request goes to the system's allocator with a layout that depends on size and
//! alignment of the request alone, so memory is given back with the layout it was taken with.

use std::alloc::{GlobalAlloc, Layout, System};

/// A cache line, and the widest vector.
const LINE: usize = 64;
/// Sizes that are aligned. Smaller ones are no matrices; larger ones are the data of a run, which grow
/// while they are read, and the system's allocator grows them without a copy.
const ALIGNED: std::ops::Range<usize> = 1 << 10..1 << 24;

/// The system's allocator, with matrices on cache lines. A program that wants the speed of the
/// command line names it as its `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheLines;

fn aligned(layout: Layout) -> Layout {
    match ALIGNED.contains(&layout.size()) {
        true => layout.align_to(LINE).unwrap_or(layout),
        false => layout,
    }
}

// SAFETY: see the head of the file; a stricter alignment than asked for satisfies the request.
unsafe impl GlobalAlloc for CacheLines {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise: the size is not 0.
        unsafe { System.alloc(aligned(layout)) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` was taken with `aligned` of the same layout.
        unsafe { System.dealloc(memory, aligned(layout)) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        unsafe { System.alloc_zeroed(aligned(layout)) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise: `size` is not 0 and does not overflow with this alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let (old_align, new_align) = (aligned(layout).align(), aligned(new).align());
        // SAFETY: the system moves what keeps its alignment; the rest is copied into memory of its own.
        unsafe {
            if old_align == new_align {
                return System.realloc(memory, aligned(layout), size);
            }
            let moved = self.alloc(new);
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(memory, layout.size().min(size));
                self.dealloc(memory, layout);
            }
            moved
        }
    }
}

/// Gives memory that was freed back to the system. glibc keeps what lies between two pieces in use, and
/// after a stage that is as much as the next one needs. Costs some milliseconds: for the end of a stage,
/// not for a loop.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        unsafe extern "C" {
            safe fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        // glibc promises that it may be called at any time, by any thread: it takes the locks of the
        // heaps and frees whole pages that hold nothing.
        malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_keeps_its_contents() {
        for sizes in [[8, 2000, 5000], [3000, 100, 70_000], [4096, 1 << 25, 64]] {
            let layout = |size| Layout::from_size_align(size, 4).unwrap();
            // SAFETY: each size is that of the memory at that time; all bytes below it are readable.
            unsafe {
                let mut memory = CacheLines.alloc_zeroed(layout(sizes[0]));
                assert_eq!(*memory.add(sizes[0] - 1), 0);
                memory.write(7);
                for k in 0..2 {
                    memory = CacheLines.realloc(memory, layout(sizes[k]), sizes[k + 1]);
                    assert_eq!(*memory, 7, "{sizes:?}");
                    let want = if ALIGNED.contains(&sizes[k + 1]) { LINE } else { 4 };
                    assert_eq!(memory.addr() % want, 0, "{sizes:?}");
                }
                CacheLines.dealloc(memory, layout(sizes[2]));
            }
        }
    }
}
