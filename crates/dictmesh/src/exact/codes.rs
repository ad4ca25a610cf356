//! Sparse codes of a batch.

use super::Certificate;
use crate::Stop;
use dictmesh_kernels::matrix::Matrix;

/// The exact codes of a batch, as their non-zero entries.
///
/// ```
/// use dictmesh::problem::TaskSpec;
/// use dictmesh::{Matrix, Mesh, Samples, AtomInit, Topology};
///
/// let w = Matrix::from_columns(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// let mesh = Mesh::builder(TaskSpec::sparse_svd(0.5, 1.0).build()?, Topology::ring(1)?)
///     .build(2, &[2], AtomInit::Given(&w))?;
/// let codes = mesh.exact_codes(&Samples::dense_from_columns(2, &[[0.2, -3.5]])?)?;
/// assert_eq!(codes.entries(0), [(1, -1.5)]); // (3.5 - gamma) / (1 + delta)
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Codes {
    atoms: usize,
    /// Samples per part.
    together: usize,
    /// As they were solved: joining them would copy all entries.
    parts: Vec<Part>,
    /// The certificates, one per sample.
    pub certificates: Vec<Certificate>,
}

/// The codes of one part of the samples.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// The end of each sample's entries.
    ends: Vec<usize>,
    /// (q, y_q).
    entries: Vec<(usize, f64)>,
}

impl Part {
    /// Appends a sample. `used` is ascending and includes all non-zero entries of `y`.
    pub fn push(&mut self, y: &[f64], used: &[usize]) {
        let found = used.iter().map(|q| (*q, y[*q]));
        self.entries.extend(found.filter(|(_, y)| *y != 0.0));
        self.ends.push(self.entries.len());
    }
}

impl Codes {
    pub(super) fn new(
        atoms: usize,
        together: usize,
        parts: Vec<Part>,
        certificates: Vec<Certificate>,
    ) -> Self {
        Codes {
            atoms,
            together,
            parts,
            certificates,
        }
    }

    /// The number of samples B.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.ends.len()).sum()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of atoms K, blocks in order.
    pub fn atoms(&self) -> usize {
        self.atoms
    }

    /// The non-zero entries (q, y_q) of sample `j`, with ascending q. Panics if there is no such
    /// sample.
    pub fn entries(&self, j: usize) -> &[(usize, f64)] {
        let (part, j) = (&self.parts[j / self.together], j % self.together);
        let from = j.checked_sub(1).map_or(0, |before| part.ends[before]);
        &part.entries[from..part.ends[j]]
    }

    /// The codes as a dense K x B matrix.
    pub fn to_dense(&self) -> Matrix {
        let mut dense = Matrix::zeros(self.atoms, self.len());
        for j in 0..self.len() {
            let column = dense.column_mut(j);
            self.entries(j).iter().for_each(|(q, y)| column[*q] = *y);
        }
        dense
    }

    /// The worst [`Stop`] over the batch.
    pub fn stop(&self) -> Stop {
        Certificate::worst(&self.certificates)
    }

    /// The largest relative gap over the batch.
    pub fn relative_gap(&self) -> f64 {
        Certificate::widest(&self.certificates)
    }
}
