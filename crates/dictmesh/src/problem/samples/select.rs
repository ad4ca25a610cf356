//! Selection of samples and rows, and concatenation.

use super::{Samples, Store};
use crate::error::{Error, Result};
use dictmesh_kernels::matrix::Matrix;

impl Samples {
    /// The samples `range` as a batch. Panics if the range is out of bounds.
    pub fn range(&self, range: std::ops::Range<usize>) -> Samples {
        let weights = self.weights().map(|w| w[range.clone()].to_vec());
        let store = match &self.store {
            Store::Dense(x) => Store::Dense(x.columns_range(range)),
            Store::Sparse { start, row, value } => {
                let (from, to) = (start[range.start], start[range.end]);
                Store::Sparse {
                    start: start[range.start..=range.end]
                        .iter()
                        .map(|s| s - from)
                        .collect(),
                    row: row[from..to].to_vec(),
                    value: value[from..to].to_vec(),
                }
            }
        };
        Samples {
            rows: self.rows,
            store,
            weights,
        }
    }

    /// The samples at `indices`, in that order. Panics if an index is out of bounds.
    pub fn select(&self, indices: &[usize]) -> Samples {
        let store = match &self.store {
            Store::Dense(x) => Store::Dense(Matrix::from_fn(self.rows, indices.len(), |i, j| {
                x.get(i, indices[j])
            })),
            Store::Sparse { start, row, value } => {
                let (mut s, mut r, mut v) = (vec![0], Vec::new(), Vec::new());
                for &j in indices {
                    r.extend_from_slice(&row[start[j]..start[j + 1]]);
                    v.extend_from_slice(&value[start[j]..start[j + 1]]);
                    s.push(r.len());
                }
                Store::Sparse {
                    start: s,
                    row: r,
                    value: v,
                }
            }
        };
        let weights = self.weights();
        Samples {
            rows: self.rows,
            store,
            weights: weights.map(|w| indices.iter().map(|&j| w[j]).collect()),
        }
    }

    /// The samples of all parts, concatenated; sparse if every part is.
    pub fn joined(parts: &[Samples]) -> Result<Samples> {
        let rows = parts.first().map_or(0, |part| part.rows);
        for part in parts {
            Error::check_dimension("rows of a part of the samples", part.rows, rows)?;
        }
        let weights = parts
            .iter()
            .flat_map(|x| (0..x.len()).map(|j| x.weight(j)))
            .collect();
        let each = parts.iter().flat_map(|x| (0..x.len()).map(move |j| (x, j)));
        if parts.iter().all(Samples::is_sparse) {
            let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
            for (x, j) in each {
                let entries = x.entries(j);
                entries.for_each(|(i, v)| {
                    row.push(i);
                    value.push(v);
                });
                start.push(row.len());
            }
            return Samples::sparse(rows, start, row, value)?.weighted(weights);
        }
        let mut all = Matrix::zeros(rows, parts.iter().map(Samples::len).sum());
        for (to, (x, j)) in each.enumerate() {
            x.add_scaled(j, 1.0, all.column_mut(to));
        }
        Samples::dense(all)?.weighted(weights)
    }

    /// The samples restricted to these rows, in ascending order. Panics if a row is out of bounds.
    pub fn select_rows(&self, rows: &[usize]) -> Samples {
        let store = match &self.store {
            Store::Dense(x) => Store::Dense(Matrix::from_fn(rows.len(), x.cols(), |i, j| {
                x.get(rows[i], j)
            })),
            Store::Sparse { .. } => {
                let mut place = vec![None; self.rows];
                for (i, row) in rows.iter().enumerate() {
                    place[*row] = Some(i);
                }
                let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
                for j in 0..self.len() {
                    for (i, v) in self.entries(j) {
                        if let Some(i) = place[i] {
                            row.push(i);
                            value.push(v);
                        }
                    }
                    start.push(row.len());
                }
                Store::Sparse { start, row, value }
            }
        };
        Samples {
            rows: rows.len(),
            store,
            weights: self.weights.clone(),
        }
    }
}
