//! Memory that coding needs and keeps nothing in: made once, used in every round.

use super::quadratic;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The memory for one thread at a time.
#[derive(Default)]
pub(super) struct Scratch {
    /// W'C over the curvature, by columns.
    pub before: Vec<f64>,
    /// W'V, by columns.
    pub after: Vec<f64>,
    /// c and what is added to it, by columns.
    pub total: Vec<f64>,
    pub quadratic: quadratic::Memory,
}

/// As many of them as threads have asked for at once. They serve the problems of one Gram matrix.
#[derive(Default)]
pub(crate) struct Scratches {
    idle: Mutex<Vec<Scratch>>,
}

impl Scratches {
    /// Calls `work` with one of them. Which one has no influence on any result.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        // A panic in another thread leaves the list as it was.
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = idle().pop().unwrap_or_default();
        let out = work(&mut scratch);
        idle().push(scratch);
        out
    }

    /// To be called where the Gram matrix becomes another one.
    pub fn forget(&mut self) {
        let idle = self.idle.get_mut().unwrap_or_else(PoisonError::into_inner);
        idle.iter_mut()
            .for_each(|scratch| scratch.quadratic.forget());
    }
}

impl fmt::Debug for Scratches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratches").finish_non_exhaustive()
    }
}

/// An empty vector in the memory of `old`, for things that may live for another time. (The standard
/// library collects in place what it can; `tests/work/` would notice if it ceased to.)
pub(crate) fn emptied<T, U>(mut old: Vec<T>) -> Vec<U> {
    old.clear();
    old.into_iter().filter_map(|_| None).collect()
}
