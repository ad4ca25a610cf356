//! A batch of samples as columns (M x B), dense or sparse.

mod select;
pub(crate) mod weights;

use crate::error::{Error, Result};
use dictmesh_kernels::count;
use dictmesh_kernels::matrix::{axpy, dot, gemm, norm, Matrix};
use dictmesh_kernels::products::SAMPLES_TOGETHER;
use faer::MatMut;
use rayon::prelude::*;

/// A batch of B samples x of dimension M, one per column; all entries are finite.
///
/// Sparse samples stay sparse; their dual vectors are dense.
///
/// ```
/// use dictmesh::Samples;
/// let one = Samples::dense_from_columns(3, &[[1.0, 0.0, 2.0]])?;
/// let same = Samples::sparse(3, vec![0, 2], vec![0, 2], vec![1.0, 2.0])?;
/// assert_eq!(one.to_dense(), same.to_dense());
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    rows: usize,
    store: Store,
    /// One weight per sample; `None` if all are 1.
    weights: Option<Vec<f64>>,
}

/// The norm of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// |x|_1, the sum of absolute entries.
    L1,
    /// |x|_2, the Euclidean length.
    L2,
}

/// The largest dimension of a sparse sample.
const MAX_ROWS: usize = 1 << 32;

#[derive(Clone, Debug, PartialEq)]
enum Store {
    Dense(Matrix),
    Sparse {
        /// Entries of sample j are at `start[j]..start[j + 1]`.
        start: Vec<usize>,
        /// Row of each entry, rising within a sample.
        row: Vec<usize>,
        value: Vec<f64>,
    },
}

impl Samples {
    /// The recommended number of entries that a reader holds in memory at a time. Readers that use
    /// it initialise atoms from the same first part.
    pub const PART: usize = 1 << 23;

    /// Dense samples: the columns of `x`. NaN and infinities are an error.
    pub fn dense(x: Matrix) -> Result<Self> {
        if x.rows() == 0 {
            return Err(Error::Empty {
                what: "the sample",
                need: "a sample has at least one row",
            });
        }
        Error::check_finite("samples", &x)?;
        Ok(Samples {
            rows: x.rows(),
            store: Store::Dense(x),
            weights: None,
        })
    }

    /// Dense samples from slices of length `rows`.
    pub fn dense_from_columns<C: AsRef<[f64]>>(rows: usize, columns: &[C]) -> Result<Self> {
        Samples::dense(Matrix::from_columns(rows, columns)?)
    }

    /// Sparse samples in compressed sparse column (CSC) form: sample j has the entries
    /// `start[j]..start[j+1]` of `row` and `value`. Rows must increase strictly within a sample.
    pub fn sparse(
        rows: usize,
        start: Vec<usize>,
        row: Vec<usize>,
        value: Vec<f64>,
    ) -> Result<Self> {
        check_sparse(rows, &start, &row, &value)?;
        Ok(Samples {
            rows,
            store: Store::Sparse { start, row, value },
            weights: None,
        })
    }

    /// The dimension M.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of samples B.
    pub fn len(&self) -> usize {
        match &self.store {
            Store::Dense(x) => x.cols(),
            Store::Sparse { start, .. } => start.len() - 1,
        }
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the samples are stored sparse.
    pub fn is_sparse(&self) -> bool {
        matches!(self.store, Store::Sparse { .. })
    }

    /// The matrix of dense samples; `None` if they are sparse.
    pub(crate) fn dense_columns(&self) -> Option<&Matrix> {
        match &self.store {
            Store::Dense(x) => Some(x),
            Store::Sparse { .. } => None,
        }
    }

    /// The stored entries (row, value) of sample `j`, in ascending row order.
    ///
    /// Panics if there is no sample `j`.
    pub fn entries(&self, j: usize) -> Box<dyn Iterator<Item = (usize, f64)> + '_> {
        match &self.store {
            Store::Dense(x) => Box::new(x.column(j).iter().copied().enumerate()),
            Store::Sparse { start, row, value } => {
                let range = start[j]..start[j + 1];
                Box::new(
                    row[range.clone()]
                        .iter()
                        .copied()
                        .zip(value[range].iter().copied()),
                )
            }
        }
    }

    /// `out += scale * x_j`.
    ///
    /// Panics if there is no sample `j`.
    pub fn add_scaled(&self, j: usize, scale: f64, out: &mut [f64]) {
        match &self.store {
            Store::Dense(x) => axpy(scale, x.column(j), out),
            Store::Sparse { start, row, value } => {
                let range = start[j]..start[j + 1];
                count(range.len());
                for (i, v) in row[range.clone()].iter().zip(&value[range]) {
                    out[*i] += scale * v;
                }
            }
        }
    }

    /// The inner product of sample `j` with `v`.
    ///
    /// Panics if there is no sample `j`.
    pub fn dot(&self, j: usize, v: &[f64]) -> f64 {
        match &self.store {
            Store::Dense(x) => dot(x.column(j), v),
            Store::Sparse { start, row, value } => {
                let range = start[j]..start[j + 1];
                sparse_dot(&row[range.clone()], &value[range], v)
            }
        }
    }

    /// W'X, K x B. No sum depends on the number of threads.
    pub(crate) fn correlations(&self, atoms: &Matrix) -> Matrix {
        match &self.store {
            Store::Dense(x) => {
                let mut out = Matrix::zeros(atoms.cols(), x.cols());
                let parts = out
                    .as_mut_slice()
                    .par_chunks_mut((atoms.cols() * SAMPLES_TOGETHER).max(1));
                parts.enumerate().with_max_len(1).for_each(|(part, out)| {
                    let columns = out.len() / atoms.cols();
                    let x = x.view().subcols(part * SAMPLES_TOGETHER, columns);
                    let out = MatMut::from_column_major_slice_mut(out, atoms.cols(), columns);
                    gemm(out, atoms.view().transpose(), x, 1.0, false);
                });
                out
            }
            Store::Sparse { start, row, value } => {
                let mut out = Matrix::zeros(self.len(), atoms.cols());
                let columns = out.as_mut_slice().par_chunks_mut(self.len().max(1));
                let columns = columns.zip(0..atoms.cols()).with_max_len(1);
                columns.for_each(|(out, q)| {
                    let w = atoms.column(q);
                    for (out, range) in out.iter_mut().zip(start.windows(2)) {
                        let range = range[0]..range[1];
                        *out = sparse_dot(&row[range.clone()], &value[range], w);
                    }
                });
                out.transpose()
            }
        }
    }

    /// The Euclidean norm of sample `j`.
    pub fn norm(&self, j: usize) -> f64 {
        match &self.store {
            Store::Dense(x) => norm(x.column(j)),
            Store::Sparse { start, value, .. } => norm(&value[start[j]..start[j + 1]]),
        }
    }

    /// The samples scaled to norm 1; zero samples stay zero, sparse samples stay sparse.
    pub fn normalised(&self, norm: Norm) -> Samples {
        let mut scaled = self.clone();
        for j in 0..self.len() {
            // Divides by the largest entry first: sums of huge entries overflow, squares of tiny
            // ones underflow.
            let largest = self.entries(j).fold(0.0, |m: f64, (_, v)| m.max(v.abs()));
            if largest == 0.0 {
                continue;
            }
            let relative = self.entries(j).map(|(_, v)| v / largest);
            let size = match norm {
                Norm::L1 => relative.map(f64::abs).sum::<f64>(),
                Norm::L2 => relative.map(|v| v * v).sum::<f64>().sqrt(),
            };
            let entries = match &mut scaled.store {
                Store::Dense(x) => x.column_mut(j),
                Store::Sparse { start, value, .. } => &mut value[start[j]..start[j + 1]],
            };
            entries.iter_mut().for_each(|v| *v = *v / largest / size);
        }
        scaled
    }

    /// The samples as a dense M x B matrix.
    pub fn to_dense(&self) -> Matrix {
        match &self.store {
            Store::Dense(x) => x.clone(),
            Store::Sparse { .. } => {
                let mut out = Matrix::zeros(self.rows, self.len());
                for j in 0..self.len() {
                    self.add_scaled(j, 1.0, out.column_mut(j));
                }
                out
            }
        }
    }
}

/// The sparse dot product sum_e value_e w[row_e].
fn sparse_dot(row: &[usize], value: &[f64], w: &[f64]) -> f64 {
    count(row.len());
    // Four independent accumulators hide the latency of the addition.
    let mut sums = [0.0; 4];
    let (rows, values) = (row.chunks_exact(4), value.chunks_exact(4));
    let tail: f64 = (rows.remainder().iter().zip(values.remainder()))
        .map(|(i, v)| v * w[*i])
        .sum();
    for (i, v) in rows.zip(values) {
        for e in 0..4 {
            sums[e] += v[e] * w[i[e]];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// Checks the conditions of [`Samples::sparse`].
fn check_sparse(rows: usize, start: &[usize], row: &[usize], value: &[f64]) -> Result<()> {
    if rows == 0 {
        return Err(Error::Empty {
            what: "the sample",
            need: "a sample has at least one row",
        });
    }
    let dense = rows.checked_mul(start.len()).and_then(|n| n.checked_mul(8));
    if rows > MAX_ROWS || dense.is_none() {
        return Err(Error::parameter(
            "rows",
            rows,
            format!("a sample has at most {MAX_ROWS} rows: its dual vector is dense"),
        ));
    }
    Error::check_dimension("number of sparse values", value.len(), row.len())?;
    if start.first() != Some(&0) || start.last() != Some(&row.len()) {
        return Err(Error::parameter(
            "start",
            format!("[{:?} .. {:?}]", start.first(), start.last()),
            format!(
                "must begin with 0 and end with the number of entries, {}",
                row.len()
            ),
        ));
    }
    for j in 0..start.len() - 1 {
        let (from, to) = (start[j], start[j + 1]);
        if from > to || to > row.len() {
            return Err(Error::parameter(
                "start",
                format!("{from}, {to} at sample {j}"),
                "must not fall from one sample to the next",
            ));
        }
        for e in from..to {
            if row[e] >= rows || (e > from && row[e - 1] >= row[e]) {
                return Err(Error::parameter(
                    "row",
                    format!("{} in sample {j}", row[e]),
                    format!("rows must rise strictly within a sample and be below {rows}"),
                ));
            }
            if !value[e].is_finite() {
                return Err(Error::NotFinite {
                    what: "samples",
                    row: row[e],
                    column: j,
                    value: value[e],
                });
            }
        }
    }
    Ok(())
}
