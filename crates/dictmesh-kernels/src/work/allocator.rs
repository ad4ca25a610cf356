//! The system's allocator with two counters.
//!
//! Unsafe, as every allocator is: it hands each call on to [`System`] as it came, and only counts.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// To be made the `#[global_allocator]` of a test or bench.
#[derive(Debug)]
pub struct Allocator;

/// How often this thread has asked for memory.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// The bytes in use, in the whole process.
pub fn bytes() -> usize {
    CURRENT.load(Relaxed)
}

/// The most bytes that were in use at one time since [`forget_peak`].
pub fn peak_bytes() -> usize {
    PEAK.load(Relaxed)
}

/// From now on, [`peak_bytes`] starts from what is in use.
pub fn forget_peak() {
    PEAK.store(bytes(), Relaxed);
}

fn taken(bytes: usize) {
    // A thread that is ending has no counter any more.
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
        // Both may exist at once.
        taken(size);
        given_back(layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }
}
