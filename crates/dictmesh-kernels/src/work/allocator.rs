//! The system's allocator with counters of allocations and bytes.
//!
//! Unsafe, as every allocator is: it forwards each call to [`System`] unchanged, and only counts.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// A counting allocator, to be the `#[global_allocator]` of a test or bench.
#[derive(Debug)]
pub struct Allocator;

/// The number of allocations by this thread.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// The bytes in use by the process.
pub fn bytes() -> usize {
    CURRENT.load(Relaxed)
}

/// The peak of [`bytes`] since [`forget_peak`].
pub fn peak_bytes() -> usize {
    PEAK.load(Relaxed)
}

/// Resets [`peak_bytes`] to the bytes in use.
pub fn forget_peak() {
    PEAK.store(bytes(), Relaxed);
}

fn taken(bytes: usize) {
    // A thread that exits may have no counter any more.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
    let now = CURRENT.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(now, Relaxed);
}

fn given_back(bytes: usize) {
    CURRENT.fetch_sub(bytes, Relaxed);
}

unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        given_back(layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both blocks may exist at once.
        taken(size);
        given_back(layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }
}
