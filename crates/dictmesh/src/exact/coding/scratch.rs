//! Scratch memory of coding, allocated once and reused in every round.

use super::outliers::Extended;
use super::{accelerated, newton};
use dictmesh_kernels::pool::PerThreadPool;
use dictmesh_kernels::quadratic;
use std::fmt;

/// Scratch memory of one thread at a time.
#[derive(Default)]
pub(super) struct Scratch {
    /// Version of the block whose Gram matrix is cached.
    version: u64,
    /// W'C over the curvature, by columns.
    pub before: Vec<f64>,
    /// W'V, by columns.
    pub after: Vec<f64>,
    /// |c|^2 over the curvature, of each sample.
    pub energies: Vec<f64>,
    /// Which samples are solved in SIMD lanes first.
    pub cold: Vec<bool>,
    /// Columns of some samples, contiguous: their dual vectors and W'V.
    pub gathered: [Vec<f64>; 2],
    /// Which samples are solved, if there are few coordinates.
    pub solved: Vec<bool>,
    /// c + share of one sample.
    pub total: Vec<f64>,
    pub quadratic: quadratic::Scratch,
    pub newton: newton::Steps,
    pub accelerated: accelerated::Steps,
    /// The problem with outliers as further atoms.
    pub extended: Extended,
}

/// Scratch memory that the argmins of all agents of a process share, one object per concurrent use.
/// No result depends on its contents.
#[derive(Default)]
pub struct ScratchPool {
    idle: PerThreadPool<Scratch>,
}

impl ScratchPool {
    /// For problems with the Gram matrix of the block of this version.
    pub(crate) fn of(&self, version: u64) -> BlockScratch<'_> {
        BlockScratch {
            pool: self,
            version,
        }
    }
}

impl fmt::Debug for ScratchPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScratchPool").finish_non_exhaustive()
    }
}

/// The version of no block.
const NO_VERSION: u64 = 0;

/// The scratch memory for problems with one Gram matrix.
pub(crate) struct BlockScratch<'a> {
    pool: &'a ScratchPool,
    version: u64,
}

impl BlockScratch<'_> {
    /// For problems whose Gram matrix is used once: nothing computed from it is cached.
    pub(super) fn without_cache(&self) -> BlockScratch<'_> {
        BlockScratch {
            pool: self.pool,
            version: NO_VERSION,
        }
    }

    /// Calls `work` with scratch memory, whose caches of another Gram matrix are invalidated.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        self.pool.idle.with(|scratch| {
            if scratch.version != self.version || self.version == NO_VERSION {
                scratch.version = self.version;
                scratch.quadratic.invalidate();
                scratch.extended.invalidate();
                scratch.accelerated.invalidate();
            }
            work(scratch)
        })
    }
}
