//! One agent's private block of atoms.

use crate::error::{Error, Result};
use dictmesh_kernels::gram::{gram, renew};
use dictmesh_kernels::matrix::Matrix;
use dictmesh_kernels::unit_columns::UnitColumns;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Memory limit in bytes for all stored Gram matrices of one mesh or one `exact` problem: 4,096
/// atoms at one agent, or 512 at each of 64.
///
/// Above it, the required entries of W'W are computed from the atoms
/// (`exact/coding/working_set.rs`).
pub const GRAM_BYTES: usize = 128 << 20;

/// Gram matrices up to this fraction of the atoms' memory are stored regardless of [`GRAM_BYTES`]:
/// if M is much larger than N_k, each pass over the atoms costs more than the matrix.
pub const GRAM_SHARE: f64 = 0.125;

/// Whether to store the Gram matrices of blocks with these numbers of atoms, of dimension `rows`.
///
/// It depends on the sizes alone, so that a restored mesh makes the same choice.
pub fn stores_grams(sizes: impl IntoIterator<Item = usize>, rows: usize) -> bool {
    let (mut grams, mut atoms) = (0.0, 0.0);
    for n in sizes {
        grams += (n as f64).powi(2) * 8.0;
        atoms += n as f64 * rows as f64 * 8.0;
    }
    grams <= (GRAM_SHARE * atoms).max(GRAM_BYTES as f64)
}

/// The private sub-dictionary W_k (M x N_k) of one agent, with its Gram matrix if [`stores_grams`]
/// allows it. An agent without atoms only relays or observes.
///
/// Deliberately not serialisable: atoms leave an agent only through a model file.
#[derive(Clone, Debug)]
pub struct Block {
    /// Shared with the models made of it; a change copies them only while such a model exists.
    atoms: Arc<Matrix>,
    gram: Option<Matrix>,
    /// The atoms divided by their norms in single precision, after first use.
    unit: OnceLock<UnitColumns>,
    /// Unique within the process, as a cache key for results computed from the atoms.
    version: u64,
}

static VERSIONS: AtomicU64 = AtomicU64::new(1);

/// Equal if the atoms are; neither the Gram matrix nor the version is compared.
impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.atoms == other.atoms
    }
}

impl Block {
    /// A block of finite atoms. Its Gram matrix is stored if this block alone is small enough.
    pub fn new(atoms: impl Into<Arc<Matrix>>) -> Result<Self> {
        let mut block = Block::without_gram(atoms)?;
        block.store_gram(stores_grams([block.len()], block.atoms.rows()))?;
        Ok(block)
    }

    /// A block of finite atoms without its Gram matrix.
    pub(crate) fn without_gram(atoms: impl Into<Arc<Matrix>>) -> Result<Self> {
        let atoms = atoms.into();
        Error::check_finite("atoms", &atoms)?;
        Ok(Block {
            atoms,
            gram: None,
            unit: OnceLock::new(),
            version: VERSIONS.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// A block with its Gram matrix. The atoms must be finite; they are not checked.
    pub(crate) fn from_finite(atoms: Matrix) -> Self {
        Block {
            gram: Some(gram(&atoms.columns().collect::<Vec<_>>())),
            atoms: Arc::new(atoms),
            unit: OnceLock::new(),
            version: VERSIONS.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Computes and stores W'W, or drops it.
    pub(crate) fn store_gram(&mut self, stored: bool) -> Result<()> {
        let n = self.len();
        match (stored, &self.gram) {
            (true, None) => {
                Error::check_room("atoms of one agent", n, n.checked_mul(n))?;
                self.gram = Some(gram(&self.atoms.columns().collect::<Vec<_>>()));
            }
            (false, Some(_)) => self.gram = None,
            _ => {}
        }
        Ok(())
    }

    /// Replaces the atoms and updates W'W. Only the atoms in `changed` may differ from before.
    pub(crate) fn renew(&mut self, atoms: Matrix, changed: &[usize]) {
        self.atoms = Arc::new(atoms);
        self.renew_gram(changed);
    }

    /// Modifies the atoms `changed` in place and updates W'W.
    pub(crate) fn renew_in_place(&mut self, changed: &[usize], change: impl FnOnce(&mut Matrix)) {
        change(Arc::make_mut(&mut self.atoms));
        self.renew_gram(changed);
    }

    fn renew_gram(&mut self, changed: &[usize]) {
        self.version = VERSIONS.fetch_add(1, Ordering::Relaxed);
        self.unit = OnceLock::new();
        if let Some(gram) = &mut self.gram {
            renew(&self.atoms.columns().collect::<Vec<_>>(), changed, gram);
        }
    }

    /// W_k.
    pub fn atoms(&self) -> &Matrix {
        &self.atoms
    }

    /// W_k, shared.
    pub fn shared_atoms(&self) -> Arc<Matrix> {
        self.atoms.clone()
    }

    /// N_k, the number of atoms.
    pub fn len(&self) -> usize {
        self.atoms.cols()
    }

    /// Whether the agent has no atoms.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// W_k'W_k, if it is stored.
    pub fn gram(&self) -> Option<&Matrix> {
        self.gram.as_ref()
    }

    /// The atoms divided by their norms in single precision, stored where W'W is: memory for a copy
    /// of half the size of the atoms is available there.
    pub(crate) fn unit_atoms(&self) -> Option<&UnitColumns> {
        let stored = self.gram.is_some();
        stored.then(|| self.unit.get_or_init(|| UnitColumns::of(&self.atoms)))
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// |W_k|^2, the squared spectral norm.
    pub fn norm_squared(&self) -> f64 {
        self.atoms.spectral_norm_squared()
    }
}
