//! Codes of a batch as lists of non-zero entries, for large blocks: dense codes could take as much
//! memory as the atoms.

use std::ops::Range;

/// Codes by columns; the non-zero entries of each, with ascending index.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SparseCodes {
    /// The end of each column's entries.
    ends: Vec<usize>,
    /// (q, y_q).
    entries: Vec<(u32, f64)>,
}

impl SparseCodes {
    /// The number of columns.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Appends the columns of `y`, each of length `n`.
    pub fn append(&mut self, y: &[f64], n: usize) {
        for column in y.chunks_exact(n) {
            let entries = (0..).zip(column).filter(|(_, y)| **y != 0.0);
            self.entries.extend(entries.map(|(q, y)| (q, *y)));
            self.ends.push(self.entries.len());
        }
    }

    /// Appends the columns of `other`.
    pub fn join(&mut self, other: &SparseCodes) {
        let before = self.entries.len();
        self.ends.extend(other.ends.iter().map(|end| before + end));
        self.entries.extend_from_slice(&other.entries);
    }

    /// Writes these columns, each of length `n`, to `y`.
    pub fn expand(&self, columns: Range<usize>, n: usize, y: &mut [f64]) {
        y.fill(0.0);
        for (j, y) in columns.zip(y.chunks_exact_mut(n)) {
            let from = j.checked_sub(1).map_or(0, |before| self.ends[before]);
            for (q, value) in &self.entries[from..self.ends[j]] {
                y[*q as usize] = *value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_in_parts() {
        let y = [0.0, 1.5, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0, 3.0];
        let (mut codes, mut rest) = (SparseCodes::default(), SparseCodes::default());
        codes.append(&y[..3], 3);
        rest.append(&y[3..], 3);
        codes.join(&rest);
        assert_eq!(codes.len(), 3);
        for (from, to) in [(0, 3), (0, 1), (1, 3), (2, 3), (3, 3)] {
            let mut back = vec![9.0; 3 * (to - from)];
            codes.expand(from..to, 3, &mut back);
            assert_eq!(back, y[3 * from..3 * to]);
        }
    }
}
