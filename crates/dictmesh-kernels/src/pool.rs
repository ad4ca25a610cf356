//! Scratch memory that is allocated once and reused.

use std::sync::{Mutex, PoisonError};

/// Scratch objects, with a free list per thread: a single list would be contended.
#[derive(Debug, Default)]
pub struct PerThreadPool<T> {
    /// Boxed: the objects are large, and move in and out many times a round.
    lists: [Mutex<Vec<Box<T>>>; LISTS],
}

/// Free lists; threads beyond this number share them.
const LISTS: usize = 16;

impl<T: Default> PerThreadPool<T> {
    /// Calls `work` with a scratch object, which returns to the pool.
    pub fn with<U>(&self, work: impl FnOnce(&mut T) -> U) -> U {
        let thread = rayon::current_thread_index().unwrap_or(0);
        // A panic in another thread leaves the list valid.
        let list = || (self.lists[thread % LISTS].lock()).unwrap_or_else(PoisonError::into_inner);
        let mut one = list().pop().unwrap_or_default();
        let out = work(&mut one);
        list().push(one);
        out
    }
}

/// An empty vector in the memory of `old`, for elements with another lifetime. (The standard
/// library collects in place where it can; the tests that count allocations fail if that changes.)
pub fn recycle<T, U>(mut old: Vec<T>) -> Vec<U> {
    old.clear();
    old.into_iter().filter_map(|_| None).collect()
}
