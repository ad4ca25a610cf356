//! The atoms of all parts as one dictionary.
//!
//! Few atoms are copied into one matrix: a product with it is faster than one with each block. Many
//! are used in place. W'W is stored if it is small enough.

use super::coding::{CodePenalty, Coding};
use super::Part;
use crate::error::{Error, Result};
use crate::problem::block::{stores_grams, GRAM_BYTES};
use crate::problem::regularizer::{Regularizer, ScalarPenalty};
use crate::problem::residual::Residual;
use dictmesh_kernels::atoms::{Atoms, Blocks};
use dictmesh_kernels::gram::gram;
use dictmesh_kernels::matrix::Matrix;
use dictmesh_kernels::quadratic::Batching;
use std::borrow::Cow;

/// Bytes of atoms up to which they are copied into one matrix ...
const COPY_BYTES: usize = GRAM_BYTES;
/// ... if W'W is stored, or blocks have fewer atoms than this on average: products with small
/// matrices are slow.
const SMALL_BLOCK: usize = 64;

/// W, h, and W'W if it is stored.
pub(super) struct Joined<'a> {
    atoms: Columns<'a>,
    gram: Option<Cow<'a, Matrix>>,
    /// The regularizer of each block, and the scalar penalty of each atom if all are separable.
    regularizers: Vec<(usize, &'a dyn Regularizer)>,
    scalars: Vec<&'a dyn ScalarPenalty>,
    /// The version of the block if there is one only, otherwise [`ONE_USE`].
    pub version: u64,
}

enum Columns<'a> {
    Together(Cow<'a, Matrix>),
    Apart(Blocks<'a>),
}

impl<'a> Joined<'a> {
    /// Joins parts whose atoms have `rows` rows. A single block is borrowed.
    pub fn new(parts: &[Part<'a>], rows: usize) -> Result<Self> {
        let regularizers: Vec<(usize, &dyn Regularizer)> = (parts.iter())
            .map(|part| (part.block.len(), part.task.regularizer()))
            .collect();
        (regularizers.iter()).try_for_each(|(n, h)| h.check_atoms(*n))?;
        let mut scalars = Vec::new();
        CodePenalty::collect_scalars(&regularizers, &mut scalars);
        if let [Part { block, .. }] = parts {
            Error::check_dimension("rows of the atoms", block.atoms().rows(), rows)?;
            return Ok(Joined {
                atoms: Columns::Together(Cow::Borrowed(block.atoms())),
                gram: block.gram().map(Cow::Borrowed),
                regularizers,
                scalars,
                version: block.version(),
            });
        }
        let blocks = Blocks::new(rows, parts.iter().map(|part| part.block.atoms()).collect())?;
        let n = blocks.columns().len();
        let stored = stores_grams([n], rows);
        let is_small = n.saturating_mul(rows) <= COPY_BYTES / size_of::<f64>();
        if stored {
            let given = format!("{n} of all agents");
            Error::check_room("atoms", given, n.checked_mul(n))?;
        }
        Ok(Joined {
            gram: stored.then(|| Cow::Owned(gram(blocks.columns()))),
            atoms: match is_small && (stored || n < SMALL_BLOCK * parts.len()) {
                true => {
                    Columns::Together(Cow::Owned(Matrix::from_columns(rows, blocks.columns())?))
                }
                false => Columns::Apart(blocks),
            },
            regularizers,
            scalars,
            version: ONE_USE,
        })
    }

    /// The coding problem over all atoms.
    pub fn problem<'s>(&'s self, residual: &'s dyn Residual, batching: Batching) -> Coding<'s> {
        Coding {
            residual,
            h: CodePenalty {
                blocks: &self.regularizers,
                scalars: &self.scalars,
            },
            gram: self.gram.as_deref(),
            atoms: match &self.atoms {
                Columns::Together(atoms) => Atoms::Matrix(atoms),
                Columns::Apart(blocks) => Atoms::Blocks(blocks),
            },
            s: 1.0,
            q: 0.0,
            interrupt: None,
            batching,
        }
    }
}

/// A version that no block has, for scratch memory that serves one problem only.
const ONE_USE: u64 = u64::MAX;
