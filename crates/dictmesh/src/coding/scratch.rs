//! Memory that coding needs and keeps nothing in: made once, used in every round.

use super::outliers::Extended;
use super::{newton, quadratic};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The memory for one thread at a time.
#[derive(Default)]
pub(super) struct Scratch {
    /// The block whose Gram matrix was worked with last.
    version: u64,
    /// W'C over the curvature, by columns.
    pub before: Vec<f64>,
    /// W'V, by columns.
    pub after: Vec<f64>,
    /// |c|^2 over the curvature, of each sample.
    pub energies: Vec<f64>,
    /// Which samples are solved, where coordinates are few.
    pub solved: Vec<bool>,
    /// c and what is added to it, by columns.
    pub total: Vec<f64>,
    pub quadratic: quadratic::Memory,
    pub newton: newton::Memory,
    /// The atoms with those for outliers.
    pub extended: Extended,
}

/// Memory that the argmins of all agents of a process share: as much as threads have asked for at once. No result
/// depends on what is in it.
#[derive(Default)]
pub struct Memory {
    idle: Shelves<Scratch>,
}

impl Memory {
    /// For problems with the Gram matrix of the block of this version.
    pub(crate) fn of(&self, version: u64) -> Scratches<'_> {
        Scratches {
            memory: self,
            version,
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

/// The memory as problems of one Gram matrix see it.
pub(crate) struct Scratches<'a> {
    memory: &'a Memory,
    version: u64,
}

impl Scratches<'_> {
    /// Calls `work` with the memory for one thread.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        self.memory.idle.with(|scratch| {
            if scratch.version != self.version {
                scratch.version = self.version;
                scratch.quadratic.forget();
                scratch.extended.forget();
            }
            work(scratch)
        })
    }
}

/// Things that are used for a while and put back, each thread's on a shelf of its own: one shelf for all would have
/// them wait for each other many times a round.
#[derive(Debug, Default)]
pub(crate) struct Shelves<T> {
    /// Boxed: they are large, and go back and forth many times a round.
    shelves: [Mutex<Vec<Box<T>>>; SHELVES],
}

const SHELVES: usize = 16;

impl<T: Default> Shelves<T> {
    /// Calls `work` with one of them.
    pub fn with<U>(&self, work: impl FnOnce(&mut T) -> U) -> U {
        let thread = rayon::current_thread_index().unwrap_or(0);
        // A panic in another thread leaves the list as it was.
        let shelf =
            || (self.shelves[thread % SHELVES].lock()).unwrap_or_else(PoisonError::into_inner);
        let mut one = shelf().pop().unwrap_or_default();
        let out = work(&mut one);
        shelf().push(one);
        out
    }
}

/// An empty vector in the memory of `old`, for things that may live for another time. (The standard
/// library collects in place what it can; `tests/work/` would notice if it ceased to.)
pub(crate) fn emptied<T, U>(mut old: Vec<T>) -> Vec<U> {
    old.clear();
    old.into_iter().filter_map(|_| None).collect()
}
