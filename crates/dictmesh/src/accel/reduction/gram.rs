//! W'W over the atoms of all agents, updated for the blocks that changed.

use super::atoms_of;
use super::rotation::Rotation;
use crate::problem::block::Block;
use dictmesh_kernels::gram::renew;
use dictmesh_kernels::matrix::Matrix;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// W'W of the last batch, cached.
#[derive(Debug, Default)]
pub(super) struct JointGram {
    last: Mutex<Arc<Products>>,
}

/// W'W over all blocks.
#[derive(Debug, Default)]
pub(super) struct Products {
    pub gram: Matrix,
    /// The version of the block from which each atom's row and column were computed.
    versions: Vec<u64>,
    /// The rotation of all rows, computed on first use.
    pub rotation: Once<Option<Arc<Rotation>>>,
}

impl JointGram {
    /// W'W of these blocks; only changed blocks are recomputed.
    pub(super) fn of(&self, blocks: &[&Block]) -> Arc<Products> {
        let versions: Vec<u64> = (blocks.iter())
            .flat_map(|b| vec![b.version(); b.len()])
            .collect();
        let last = self.locked().clone();
        if last.versions == versions && !versions.is_empty() {
            return last;
        }
        // Not under the lock: a thread that waits for tiles may steal work that takes the same
        // lock.
        let new = Arc::new(last.renewed(&atoms_of(blocks), versions));
        *self.locked() = new.clone();
        new
    }

    fn locked(&self) -> MutexGuard<'_, Arc<Products>> {
        // A panic while it is held leaves the value valid.
        let last = self.last.lock();
        last.unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Products {
    fn renewed(&self, atoms: &[&[f64]], versions: Vec<u64>) -> Products {
        let n = atoms.len();
        let (mut gram, known) = match self.versions.len() == n {
            true => (self.gram.clone(), self.versions.clone()),
            false => (Matrix::zeros(n, n), vec![0; n]), // no block's version
        };
        let moved: Vec<usize> = (0..n).filter(|q| known[*q] != versions[*q]).collect();
        renew(atoms, &moved, &mut gram);
        Products {
            gram,
            versions,
            rotation: Once::default(),
        }
    }
}

/// A cached value, computed on first use.
///
/// Unlike `OnceLock::get_or_init` it holds no lock while it computes, and may compute more than
/// once. The computation may run on several threads, and a thread that waits for its parts may
/// steal work that needs the same value: with a lock it would deadlock.
#[derive(Debug, Default)]
pub(super) struct Once<T> {
    value: Mutex<Option<T>>,
}

impl<T: Clone> Once<T> {
    /// The value; all callers get the one that was stored first.
    pub fn get_or_compute(&self, compute: impl FnOnce() -> T) -> T {
        let known = || self.value.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = &*known() {
            return value.clone();
        }
        let new = compute();
        known().get_or_insert(new).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stolen work may need the value under computation: with `OnceLock::get_or_init` this call
    /// never returns.
    #[test]
    fn the_computation_may_ask_for_the_value_itself() {
        let once = Once::default();
        let value = once.get_or_compute(|| once.get_or_compute(|| 1) + 1);
        assert_eq!((value, once.get_or_compute(|| 9)), (1, 1));
    }
}
