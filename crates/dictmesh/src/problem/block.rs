//! One agent's private block of atoms.

use crate::error::{Error, Result};
use dictmesh_kernels::gram::{gram, renew};
use dictmesh_kernels::matrix::Matrix;
use std::sync::atomic::{AtomicU64, Ordering};

/// The private sub-dictionary W_k (M x N_k) of one agent, with its Gram matrix. It may have no atoms:
/// the agent then only relays, or only observes.
///
/// Deliberately not serialisable: atoms leave an agent only through a model file it writes itself.
#[derive(Clone, Debug)]
pub struct Block {
    atoms: Matrix,
    gram: Matrix,
    /// A number that no other atoms of this process have: what was computed from them can be kept.
    version: u64,
}

static VERSIONS: AtomicU64 = AtomicU64::new(1);

/// Equal if the atoms are; the version is not compared.
impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.atoms == other.atoms
    }
}

impl Block {
    /// A block of finite atoms.
    pub fn new(atoms: Matrix) -> Result<Self> {
        Error::check_finite("atoms", &atoms)?;
        let count = atoms.cols();
        Error::check_room("atoms of one agent", count, count.checked_mul(count))?;
        Ok(Block::from_finite(atoms))
    }

    pub(crate) fn from_finite(atoms: Matrix) -> Self {
        let gram = gram(&atoms.columns().collect::<Vec<_>>());
        let version = VERSIONS.fetch_add(1, Ordering::Relaxed);
        Block {
            atoms,
            gram,
            version,
        }
    }

    /// Takes these atoms, of which those in `changed` may differ from before, and brings W'W up to date.
    pub(crate) fn renew(&mut self, atoms: Matrix, changed: &[usize]) {
        self.atoms = atoms;
        self.version = VERSIONS.fetch_add(1, Ordering::Relaxed);
        let columns: Vec<&[f64]> = self.atoms.columns().collect();
        renew(&columns, changed, &mut self.gram);
    }

    /// W_k.
    pub fn atoms(&self) -> &Matrix {
        &self.atoms
    }

    /// N_k, the number of atoms.
    pub fn len(&self) -> usize {
        self.atoms.cols()
    }

    /// Whether the agent has no atoms.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// W_k'W_k.
    pub fn gram(&self) -> &Matrix {
        &self.gram
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// |W_k|^2, the squared spectral norm.
    pub fn norm_squared(&self) -> f64 {
        self.atoms.spectral_norm_squared()
    }
}
